// CUDA's warp collectives and barriers.
#pragma once

#include <string.h>

#include "warp.hpp"

namespace emulator {

[[gnu::cold, gnu::noinline]] inline void fail_by_source(Warp& warp, uint32_t lanes) {
    for_each(lanes, [&](int i) {
        Lane& lane = warp.lanes[i];
        if (lanes >> lane.source & 1) return;
        block.lane = &lane;
        fail(place_of(lane), "%s reads lane %d, which is not in its mask %#010x", lane.wait.collective->name,
             lane.source, lanes);
    });
}

inline void combine_shuffle(Warp& warp, uint32_t lanes) {
    uint32_t read = 0;
    for_each(lanes, [&](int i) {
        Lane& lane = warp.lanes[i];
        lane.result = warp.lanes[lane.source].brought;
        read |= 1u << lane.source;
    });
    if ((read & ~lanes) != 0) fail_by_source(warp, lanes);
}

// Each brought 0 or 1; every lane gets the set of lanes that brought 1.
inline void combine_vote(Warp& warp, uint32_t lanes) {
    uint32_t set = 0;
    for_each(lanes, [&](int i) { set |= uint32_t(warp.lanes[i].brought) << i; });
    for_each(lanes, [&](int i) { warp.lanes[i].result = set; });
}

// Every lane gets the set of lanes that brought the same as it.
inline void combine_match(Warp& warp, uint32_t lanes) {
    for_each(lanes, [&](int i) {
        uint32_t set = 0;
        for_each(lanes, [&](int k) { set |= uint32_t(warp.lanes[k].brought == warp.lanes[i].brought) << k; });
        warp.lanes[i].result = set;
    });
}

// Every lane gets the least of the integers that they brought.
inline void combine_least(Warp& warp, uint32_t lanes) {
    int32_t least = INT32_MAX;
    for_each(lanes, [&](int i) {
        const int32_t brought = warp.lanes[i].brought;
        if (brought < least) least = brought;
    });
    for_each(lanes, [&](int i) { warp.lanes[i].result = uint32_t(least); });
}

// Hands memory over, and is the only one that does.
inline void combine_sync(Warp&, uint32_t lanes) { hand_over_in_warp(lanes); }

inline constexpr Collective SYNC = {"__syncwarp", false, combine_sync};
inline constexpr Collective SHUFFLE = {"__shfl_sync", true, combine_shuffle};
inline constexpr Collective SHUFFLE_UP = {"__shfl_up_sync", true, combine_shuffle};
inline constexpr Collective SHUFFLE_DOWN = {"__shfl_down_sync", true, combine_shuffle};
inline constexpr Collective SHUFFLE_XOR = {"__shfl_xor_sync", true, combine_shuffle};
inline constexpr Collective BALLOT = {"__ballot_sync", true, combine_vote};
inline constexpr Collective ANY = {"__any_sync", true, combine_vote};
inline constexpr Collective ALL = {"__all_sync", true, combine_vote};
inline constexpr Collective MATCH = {"__match_any_sync", true, combine_match};
inline constexpr Collective LEAST = {"__reduce_min_sync", true, combine_least};

// The bytes of a value, cut or filled up with zeros.
template <class To, class From>
inline To bits(From value) {
    To result = {};
    memcpy(&result, &value, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
    return result;
}

template <class T>
inline T shuffle(const Collective& kind, uint32_t mask, T value, int source, Site site) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle takes at most 64 bits");
    return bits<T>(meet(kind, mask, bits<uint64_t>(value), source, site));
}

// The first lane of the running lane's segment of `width` lanes.
inline int segment(int width, Site site) {
    if (width < 1 || width > LANES || (width & (width - 1)) != 0) {
        fail(site, "a shuffle of width %d; there are 1, 2, 4, 8, 16, 32", width);
    }
    return lane_index() & ~(width - 1);
}

namespace cuda {

inline void __syncwarp(unsigned mask = ~0u, Site site = here()) { meet(SYNC, mask, 0, 0, site); }

inline void __syncthreads(Site site = here()) { wait_at_barrier(site); }

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = LANES, Site site = here()) {
    return shuffle(SHUFFLE, mask, value, segment(width, site) + (source & (width - 1)), site);
}

// A lane that would read outside of its segment gets its own value; but `xor` may read earlier segments.
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = LANES, Site site = here()) {
    const int own = lane_index(), from = own - int(delta % LANES);
    return shuffle(SHUFFLE_UP, mask, value, from >= segment(width, site) ? from : own, site);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = LANES, Site site = here()) {
    const int own = lane_index(), from = own + int(delta % LANES);
    return shuffle(SHUFFLE_DOWN, mask, value, from < segment(width, site) + width ? from : own, site);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = LANES, Site site = here()) {
    const int own = lane_index(), from = own ^ (flip & (LANES - 1));
    return shuffle(SHUFFLE_XOR, mask, value, from < segment(width, site) + width ? from : own, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, Site site = here()) {
    return meet(BALLOT, mask, predicate != 0, 0, site);
}

inline int __any_sync(unsigned mask, int predicate, Site site = here()) {
    return meet(ANY, mask, predicate != 0, 0, site) != 0;
}

inline int __all_sync(unsigned mask, int predicate, Site site = here()) {
    return meet(ALL, mask, predicate != 0, 0, site) == mask;
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, Site site = here()) {
    return meet(MATCH, mask, bits<uint64_t>(value), 0, site);
}

inline int __reduce_min_sync(unsigned mask, int value, Site site = here()) {
    return int(meet(LEAST, mask, uint32_t(value), 0, site));
}

// The least that CUDA promises: only the lane that asks.
inline unsigned __activemask() { return block.lane->bit; }

}  // namespace cuda
}  // namespace emulator
