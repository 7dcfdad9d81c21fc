// A group of lanes side by side, and the nearest of their hits.
#pragma once

#include "ray.cuh"
#include "warp.cuh"

// The LANES lanes side by side, a power of two, among which the calling lane is.
template <int LANES>
__device__ inline unsigned group_mask() {
    if (LANES == WARP_LANES) return WHOLE_WARP;
    return ((1u << (LANES % WARP_LANES)) - 1) << (lane_index() & ~(LANES - 1u));
}

// Every lane of the group gets the hit with the least t; of those at the same t the one with the lowest prim_id. A lane that
// has found nothing brings a miss, or the best hit so far if all lanes have the same one. mask: from `group_mask`, or the
// whole warp where all its groups call together.
template <int LANES>
__device__ inline Hit closest_of_lanes(unsigned mask, const Hit& hit) {
    if (LANES == 1) return hit;
    float t = hit.t;
    unsigned prim_id = hit.prim_id;
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        const float other_t = __shfl_xor_sync(mask, t, distance);
        const unsigned other_id = __shfl_xor_sync(mask, prim_id, distance);
        if (other_t < t || (other_t == t && other_id < prim_id)) {
            t = other_t;
            prim_id = other_id;
        }
    }
    const bool won = hit.t == t && hit.prim_id == prim_id;
    const int winner = __ffs(__ballot_sync(mask, won) & group_mask<LANES>()) - 1;
    return {t, __shfl_sync(mask, hit.u, winner), __shfl_sync(mask, hit.v, winner), prim_id};
}
