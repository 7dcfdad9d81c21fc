// The bytes of tracecore/layout/wide.py: a tree of WIDTH children a node, one for each lane, and leaves with a triangle for
// each lane. After Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018.
#pragma once

#include "box.cuh"
#include "child.cuh"
#include "packed_triangle.cuh"

struct alignas(16) PackedZ {
    float lower;
    float upper;
    int child;
    int unused;
};

// A spare child has a box at infinity and a leaf without triangles.
struct PackedNode {
    float xy[WIDTH][4];  // lower.x upper.x lower.y upper.y
    PackedZ z[WIDTH];
};
static_assert(sizeof(PackedNode) == NODE_BYTES, "PackedNode differs from the layout's NODE");

struct Scene {
    const PackedNode* nodes;
    const PackedRow* rows;  // of a leaf all along x, then all along y, then all along z
    Cutouts cutouts;
    float extent;  // largest coordinate by magnitude
};
static_assert(sizeof(Scene) == SCENE_BYTES, "Scene differs from the layout's SCENE");

struct Child {
    float3 lower;
    float3 upper;
    int name;
};

__device__ inline Child load_child(const Scene& scene, int node, unsigned lane) {
    const float4* words = reinterpret_cast<const float4*>(scene.nodes + node) + lane;
    const float4 xy = __ldg(words);
    const float4 z = __ldg(words + WIDTH);
    return {{xy.x, xy.z, z.x}, {xy.y, xy.w, z.y}, __float_as_int(z.z)};
}

// The index-th triangle of a leaf.
__device__ inline Triangle load_triangle(const Scene& scene, int leaf, int index, const Axes& axes) {
    return load_rows(scene.rows, 3 * first_leaf_index(leaf) + index, triangle_count(leaf), axes);
}
