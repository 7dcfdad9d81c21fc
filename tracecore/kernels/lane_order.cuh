// Boxes in the order in which a ray enters them, one in each lane of a group.
#pragma once

#include "ray.cuh"
#include "warp.cuh"

// A key is a distance as an integer, with the lane in its last bits.
constexpr int LANE_BITS = WARP_LANES - 1;
constexpr int FIRST_KEY = -0x7fffffff - 1;
constexpr int LAST_KEY = 0x7fffffff;

// Integers in the order of floats.
__device__ inline int ordered(float t) {
    const int bits = __float_as_int(t);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

// The key of a box at a distance. lane: the lane of the group that holds it.
__device__ inline int key_of(float near, unsigned lane) {
    return (ordered(near) & ~LANE_BITS) | lane;
}

// No key of a box that begins at t or before is greater. Adding 0 makes 0 of -0.
__device__ inline int last_key_at(float t) {
    return ordered(t + 0.0f) | LANE_BITS;
}

__device__ inline int exchange(int key, unsigned lane, unsigned distance, unsigned upper) {
    const int other = __shfl_xor_sync(WHOLE_WARP, key, distance);
    return (lane & upper) != 0 ? max(key, other) : min(key, other);
}

// Sorts keys ascending among the first COUNT lanes of each group, a power of two. All lanes of the warp call it together.
// Batcher: Sorting Networks and their Applications, 1968.
template <unsigned COUNT>
__device__ inline int bitonic_sort(int key, unsigned lane) {
    for (unsigned size = 2; size <= COUNT; size *= 2) {
        key = exchange(key, lane, size - 1, size / 2);
        for (unsigned distance = size / 4; distance > 0; distance /= 2) key = exchange(key, lane, distance, distance);
    }
    return key;
}
