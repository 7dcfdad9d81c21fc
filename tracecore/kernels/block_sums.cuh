// Sums over the threads of a block, and the greatest of a warp.
#pragma once

#include "warp.cuh"

constexpr unsigned WARPS = BLOCK_SIZE / WARP_LANES;

__shared__ unsigned sums_of_warps[WARPS];

__device__ inline unsigned thread_index() {
    return blockIdx.x * BLOCK_SIZE + threadIdx.x;
}

// The sum of what the threads of the block before this one bring; `sum` is that of all. All threads call it together.
__device__ inline unsigned sum_before(unsigned value, unsigned& sum) {
    unsigned up_to_lane = value;
    for (unsigned distance = 1; distance < WARP_LANES; distance *= 2) {
        const unsigned other = __shfl_up_sync(WHOLE_WARP, up_to_lane, distance);
        if (lane_index() >= distance) up_to_lane += other;
    }
    __syncthreads();  // all have read the sums of an earlier call
    if (lane_index() == WARP_LANES - 1) sums_of_warps[warp_index()] = up_to_lane;
    __syncthreads();
    unsigned before = up_to_lane - value;
    sum = 0;
    for (unsigned warp = 0; warp < WARPS; ++warp) {
        if (warp < warp_index()) before += sums_of_warps[warp];
        sum += sums_of_warps[warp];
    }
    return before;
}

// Has a block replace each count by the sum of those before it. Returns the sum of all.
__device__ inline unsigned exclusive_sums(unsigned* counts, unsigned length) {
    unsigned done = 0;
    for (unsigned first = 0; first < length; first += BLOCK_SIZE) {
        const unsigned i = first + threadIdx.x;
        unsigned sum;
        const unsigned before = sum_before(i < length ? counts[i] : 0, sum);
        if (i < length) counts[i] = done + before;
        done += sum;
    }
    return done;
}

__device__ inline unsigned greatest_in_warp(unsigned value) {
    for (int flip = 1; flip < static_cast<int>(WARP_LANES); flip *= 2) {
        value = max(value, __shfl_xor_sync(WHOLE_WARP, value, flip));
    }
    return value;
}
