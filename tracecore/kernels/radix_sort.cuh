// Sorts keys of 64 bits with the index that each of them brings along, a digit a pass from the lowest one on; those of
// equal digits stay in their order. Satish, Harris, Garland: Designing Efficient Sorting Algorithms for Manycore GPUs,
// 2009. A pass is three launches: `count_digits`, a block for each tile of keys; `scan_counts`, a block for each digit;
// and `scatter`, a block for each tile. A block has as many threads as there are digits.
#pragma once

#include "block_sums.cuh"

constexpr unsigned DIGITS = 1u << DIGIT_BITS;
constexpr unsigned KEYS_OF_LANE = TILE_KEYS / BLOCK_SIZE;
constexpr unsigned KEYS_OF_WARP = TILE_KEYS / WARPS;
static_assert(BLOCK_SIZE == DIGITS && TILE_KEYS % BLOCK_SIZE == 0, "each thread has a digit, and keys of a tile");

// One pass.
struct Sort {
    const unsigned long long* keys;
    const unsigned* indices;
    unsigned long long* sorted_keys;
    unsigned* sorted_indices;
    unsigned* tile_counts;   // of each digit, those of each tile; then how many of the digit are in tiles before
    unsigned* digit_counts;  // of all tiles
    unsigned count;
    unsigned tiles;
    unsigned shift;  // to the digit
};
static_assert(sizeof(Sort) == SORT_BYTES, "Sort differs from the SORT of ploc_records.py");

__shared__ unsigned counts_of_block[DIGITS];
__shared__ unsigned counts_of_warps[WARPS][DIGITS];

__device__ inline unsigned digit_of(const Sort& sort, unsigned long long key) {
    return key >> sort.shift & (DIGITS - 1);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) count_digits(const Sort sort) {
    const unsigned first = blockIdx.x * TILE_KEYS, end = min(first + TILE_KEYS, sort.count);
    counts_of_block[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = first + threadIdx.x; i < end; i += BLOCK_SIZE) {
        atomicAdd(&counts_of_block[digit_of(sort, sort.keys[i])], 1u);
    }
    __syncthreads();
    sort.tile_counts[threadIdx.x * sort.tiles + blockIdx.x] = counts_of_block[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) scan_counts(const Sort sort) {
    const unsigned of_digit = exclusive_sums(sort.tile_counts + blockIdx.x * sort.tiles, sort.tiles);
    if (threadIdx.x == 0) sort.digit_counts[blockIdx.x] = of_digit;
}

// A warp's keys, 32 in a row at a time, and how many before each of them in the warp have the same digit. Counts the
// digits of the warp.
struct RankedKeys {
    unsigned long long keys[KEYS_OF_LANE];
    unsigned ranks[KEYS_OF_LANE];
    unsigned first;  // index of this lane's first key

    __device__ explicit RankedKeys(const Sort& sort)
        : first(blockIdx.x * TILE_KEYS + warp_index() * KEYS_OF_WARP + lane_index()) {
        unsigned* counts = counts_of_warps[warp_index()];
#pragma unroll
        for (unsigned i = 0; i < KEYS_OF_LANE; ++i) {
            const unsigned long long last = ~0ull;  // behind all keys there are, in the last digit: harms no rank
            keys[i] = index_of(i) < sort.count ? sort.keys[index_of(i)] : last;
            const unsigned digit = digit_of(sort, keys[i]);
            const unsigned same = __match_any_sync(WHOLE_WARP, digit);
            const unsigned before = counts[digit];
            __syncwarp(WHOLE_WARP);  // all have read it
            ranks[i] = before + __popc(same & lanes_below(lane_index()));
            if ((same & lanes_below(lane_index())) == 0) counts[digit] = before + __popc(same);
            __syncwarp(WHOLE_WARP);
        }
    }

    __device__ unsigned index_of(unsigned i) const {
        return first + i * WARP_LANES;
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) scatter(const Sort sort) {
    const unsigned digit = threadIdx.x;
    for (unsigned warp = 0; warp < WARPS; ++warp) counts_of_warps[warp][digit] = 0;
    __syncthreads();
    const RankedKeys ranked(sort);  // all have counted when the sum below is there
    unsigned sum;
    unsigned begin = sum_before(sort.digit_counts[digit], sum) + sort.tile_counts[digit * sort.tiles + blockIdx.x];
    for (unsigned warp = 0; warp < WARPS; ++warp) {
        const unsigned count = counts_of_warps[warp][digit];
        counts_of_warps[warp][digit] = begin;
        begin += count;
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_LANE; ++i) {
        const unsigned index = ranked.index_of(i);
        if (index >= sort.count) break;
        const unsigned place = counts_of_warps[warp_index()][digit_of(sort, ranked.keys[i])] + ranked.ranks[i];
        sort.sorted_keys[place] = ranked.keys[i];
        sort.sorted_indices[place] = sort.indices[index];
    }
}
