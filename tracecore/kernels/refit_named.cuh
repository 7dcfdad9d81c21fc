// Fits trees of layouts whose nodes name each child as child.cuh has it.
#pragma once

#include "child.cuh"
#include "refit.cuh"

__device__ inline Child child_of(const PackedNode& node, int place) {
    const int child = node.child[place];
    if (is_inner(child)) return {child, 0, 0};
    return {-1, static_cast<unsigned>(first_leaf_index(child)), static_cast<unsigned>(triangle_count(child))};
}
