// The 32 threads that run together. All of a warp's collectives name their lanes.
#pragma once

constexpr unsigned WARP_LANES = 32;
constexpr unsigned WHOLE_WARP = 0xffffffffu;

__device__ inline unsigned lane_index() {
    return threadIdx.x % WARP_LANES;
}

// Index of the warp in its block.
__device__ inline unsigned warp_index() {
    return threadIdx.x / WARP_LANES;
}

__device__ inline unsigned lanes_below(unsigned lane) {
    return (1u << lane) - 1;
}

// Every lane gets the least value of all 32.
__device__ inline int least_of_warp(int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int distance = WARP_LANES / 2; distance > 0; distance /= 2) {
        value = min(value, __shfl_xor_sync(WHOLE_WARP, value, distance));
    }
    return value;
#else
    return __reduce_min_sync(WHOLE_WARP, value);
#endif
}
