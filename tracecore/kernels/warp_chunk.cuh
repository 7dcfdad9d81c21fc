// Rays that a warp has taken and not given to its lanes yet.
#pragma once

#include "ray.cuh"
#include "warp.cuh"

struct WarpChunk {
    unsigned next;  // index of the first one
    unsigned end;   // behind the last one

    // Assigns rays to the lanes whose index is NO_RAY, as far as they go. LANES_PER_RAY lanes side by side get the same. All
    // lanes of the warp together. Returns the lanes that have none.
    __device__ unsigned assign(unsigned& index) {
        const unsigned idle = __ballot_sync(WHOLE_WARP, index == NO_RAY);
        const unsigned assigned = min(end - next, __popc(idle) / LANES_PER_RAY);
        const unsigned rank = __popc(idle & lanes_below(lane_index())) / LANES_PER_RAY;
        if (index == NO_RAY && rank < assigned) index = next + rank;
        next += assigned;
        return __ballot_sync(WHOLE_WARP, index == NO_RAY);
    }
};

// Whether the calling lane is the first of those that work on one ray.
__device__ inline bool is_first_lane() {
    return threadIdx.x % LANES_PER_RAY == 0;
}
