// The bytes of tracecore/layout/bvh4.py: a tree of four children a node, and triangles in the order of the leaves. Node
// layout after Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014.
#pragma once

#include "box.cuh"
#include "child.cuh"
#include "packed_triangle.cuh"

// A spare child has a box at infinity and a leaf without triangles.
struct alignas(16) PackedNode {
    float planes[3][2][WIDTH];  // by axis, lower or upper, and child
    int child[WIDTH];
    int unused[4];
};
static_assert(sizeof(PackedNode) == NODE_BYTES, "PackedNode differs from the layout's NODE");

struct Scene {
    const PackedNode* nodes;
    const PackedTriangle* triangles;
    Cutouts cutouts;
    float extent;  // largest coordinate by magnitude
};
static_assert(sizeof(Scene) == SCENE_BYTES, "Scene differs from the layout's SCENE");

// Something to visit: a child, and where the ray enters its box.
struct alignas(8) Entry {
    int node;
    float near;  // infinity where the ray does not hit it
};

__device__ inline bool is_hit(const Entry& entry) {
    return entry.near < infinity();
}

// No hit is at infinity, but spare children are.
__device__ inline Entry enter(int child, float3 lower, float3 upper, const BoxRay& ray, float t_min, float t_max) {
    const Interval part = slab_test(lower, upper, ray, t_min, t_max);
    return {child, is_hit(part) ? part.near : infinity()};
}

struct Children {
    Entry a, b, c, d;
};

// All of the node is loaded and all its boxes are tested side by side, so that each waits for no other.
__device__ inline Children enter_children(const Scene& scene, int node, const BoxRay& ray, float t_min, float t_max) {
    const float4* words = reinterpret_cast<const float4*>(scene.nodes + node);
    const float4 x0 = __ldg(words), x1 = __ldg(words + 1);
    const float4 y0 = __ldg(words + 2), y1 = __ldg(words + 3);
    const float4 z0 = __ldg(words + 4), z1 = __ldg(words + 5);
    const int4 child = __ldg(reinterpret_cast<const int4*>(words + 6));
    return {enter(child.x, {x0.x, y0.x, z0.x}, {x1.x, y1.x, z1.x}, ray, t_min, t_max),
            enter(child.y, {x0.y, y0.y, z0.y}, {x1.y, y1.y, z1.y}, ray, t_min, t_max),
            enter(child.z, {x0.z, y0.z, z0.z}, {x1.z, y1.z, z1.z}, ray, t_min, t_max),
            enter(child.w, {x0.w, y0.w, z0.w}, {x1.w, y1.w, z1.w}, ray, t_min, t_max)};
}

__device__ inline void sort(Entry& first, Entry& second) {
    const bool swap = second.near < first.near;
    const Entry nearer = swap ? second : first;
    second = swap ? first : second;
    first = nearer;
}

// The nearest first, by five exchanges without a branch.
__device__ inline void sort(Children& children) {
    sort(children.a, children.b);
    sort(children.c, children.d);
    sort(children.a, children.c);
    sort(children.b, children.d);
    sort(children.b, children.c);
}
