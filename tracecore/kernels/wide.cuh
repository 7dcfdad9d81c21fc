// The bytes of tracecore/layout/wide.py: a tree of WIDTH children a node, one for each lane, and leaves with a triangle for
// each lane. After Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018.
#pragma once

#include "box.cuh"
#include "child.cuh"
#include "triangle.cuh"

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

// A leaf has all its first corners, then all its second ones, then all its third ones.
struct alignas(16) PackedCorner {
    float position[3];
    unsigned prim_id;
};
static_assert(sizeof(PackedCorner) == CORNER_BYTES, "PackedCorner differs from the layout's CORNER");

struct Scene {
    const PackedNode* nodes;
    const PackedCorner* corners;
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
__device__ inline Triangle load_triangle(const Scene& scene, int leaf, int index) {
    const int count = triangle_count(leaf);
    const float4* words = reinterpret_cast<const float4*>(scene.corners + 3 * first_leaf_index(leaf)) + index;
    const float4 v0 = __ldg(words);
    const float4 v1 = __ldg(words + count);
    const float4 v2 = __ldg(words + 2 * count);
    return {{v0.x, v0.y, v0.z}, {v1.x, v1.y, v1.z}, {v2.x, v2.y, v2.z}, __float_as_uint(v0.w)};
}
