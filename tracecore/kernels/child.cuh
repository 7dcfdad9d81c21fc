// How a node names a child: the index of a node where >= 0, else ~(first leaf index << LEAF_COUNT_BITS | count) of a leaf.
#pragma once

constexpr int ROOT = 0;
constexpr int NONE = 0x7ffffffe;  // not known yet
constexpr int DONE = 0x7fffffff;  // there is no more; lies at the bottom of a stack

__device__ inline bool is_leaf(int child) {
    return child < 0;
}

__device__ inline bool is_inner(int child) {
    return child >= 0 && child < NONE;
}

__device__ inline int leaf_of(int first_leaf_index, int count) {
    return ~(first_leaf_index << LEAF_COUNT_BITS | count);
}

__device__ inline int first_leaf_index(int leaf) {
    return ~leaf >> LEAF_COUNT_BITS;
}

__device__ inline int triangle_count(int leaf) {
    return ~leaf & ((1 << LEAF_COUNT_BITS) - 1);
}

__device__ inline int end_leaf_index(int leaf) {
    return first_leaf_index(leaf) + triangle_count(leaf);
}
