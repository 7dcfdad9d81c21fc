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
