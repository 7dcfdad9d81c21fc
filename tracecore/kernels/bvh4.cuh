// The bytes of tracecore/layout/bvh4.py: a tree of four children a node, and triangles in the order of the leaves. Node
// layout after Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014.
#pragma once

#include "box.cuh"
#include "child.cuh"
#include "packed_triangle.cuh"

// A spare child is a point as far away as can be, and a leaf without triangles.
struct alignas(16) PackedNode {
    float boxes[3][2][WIDTH];  // by axis, centre or half extent, and child
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

// The key of a child that the ray misses; it may be greater.
constexpr int MISSED = 0x7f800000;

// Something to visit: a child, and its key, the distance at which the ray enters its box with its index in the last two bits.
struct alignas(8) Entry {
    int node;
    int key;
};

struct Children {
    int4 key;
    int4 node;
};

__device__ inline int child_key(float near, int index) {
    return (__float_as_int(near) & ~3) | index;
}

// An any-hit query asks only whether a child is hit.
template <bool ANY_HIT>
__device__ inline int enter(const Box& box, int index, const CentreRay& ray, float t_min, float t_max) {
    const Interval part = slab_test(box, ray, t_min, t_max);
    return is_hit(part) ? (ANY_HIT ? 0 : child_key(part.near, index)) : MISSED;
}

// All of the node is loaded and all its boxes are tested side by side, so that each waits for no other.
template <bool ANY_HIT>
__device__ inline Children enter_children(const Scene& scene, int node, const CentreRay& ray, float t_min, float t_max) {
    const float4* words = reinterpret_cast<const float4*>(scene.nodes + node);
    const float4 x = __ldg(words), half_x = __ldg(words + 1);
    const float4 y = __ldg(words + 2), half_y = __ldg(words + 3);
    const float4 z = __ldg(words + 4), half_z = __ldg(words + 5);
    const int4 child = __ldg(reinterpret_cast<const int4*>(words + 6));
    const int4 key = {enter<ANY_HIT>({{x.x, y.x, z.x}, {half_x.x, half_y.x, half_z.x}}, 0, ray, t_min, t_max),
                      enter<ANY_HIT>({{x.y, y.y, z.y}, {half_x.y, half_y.y, half_z.y}}, 1, ray, t_min, t_max),
                      enter<ANY_HIT>({{x.z, y.z, z.z}, {half_x.z, half_y.z, half_z.z}}, 2, ray, t_min, t_max),
                      enter<ANY_HIT>({{x.w, y.w, z.w}, {half_x.w, half_y.w, half_z.w}}, 3, ray, t_min, t_max)};
    return {key, child};
}

__device__ inline void sort(int& first, int& second) {
    const int nearer = min(first, second);
    second = max(first, second);
    first = nearer;
}

// The nearest first, by five exchanges without a branch.
__device__ inline void sort(int4& keys) {
    sort(keys.x, keys.y);
    sort(keys.z, keys.w);
    sort(keys.x, keys.z);
    sort(keys.y, keys.w);
    sort(keys.y, keys.z);
}

// The child that a key is of.
__device__ inline int child_of(const int4& nodes, int key) {
    const int low = (key & 1) != 0 ? nodes.y : nodes.x, high = (key & 1) != 0 ? nodes.w : nodes.z;
    return (key & 2) != 0 ? high : low;
}
