// The bytes of tracecore/layout/bvh4.py: a tree of four children a node, and triangles in the order of the leaves. Node
// layout after Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014.
#pragma once

#include "box.cuh"
#include "bvh4_node.cuh"
#include "child.cuh"
#include "packed_triangle.cuh"

struct Scene {
    const PackedNode* nodes;
    const PackedTriangle* triangles;
    Cutouts cutouts;
    float extent;  // largest coordinate by magnitude
};
static_assert(sizeof(Scene) == SCENE_BYTES, "Scene differs from the layout's SCENE");

// ------------------------------------------------------------------------------------------------------------------- boxes

// One axis of a ray that knows which plane of a box comes first along it: its t = plane * inverse + near_offset, and that of
// the other one = plane * inverse + far_offset.
struct DirectedSlab {
    float inverse;
    float near_offset;
    float far_offset;
};

struct DirectedRay {
    DirectedSlab x;
    DirectedSlab y;
    DirectedSlab z;
};

__device__ inline int goes_down(float inverse) {
    return __float_as_uint(inverse) >> 31;
}

__device__ inline DirectedSlab directed(const Slab& slab) {
    if (goes_down(slab.inverse)) return {slab.inverse, slab.upper_offset, slab.lower_offset};
    return {slab.inverse, slab.lower_offset, slab.upper_offset};
}

__device__ inline DirectedRay make_directed_ray(const Ray& ray, float extent) {
    const BoxRay slabs = make_box_ray(ray, extent);
    return {directed(slabs.x), directed(slabs.y), directed(slabs.z)};
}

// The planes of four boxes, or t of them: where a ray enters and leaves.
struct Planes {
    float4 near;
    float4 far;
};

constexpr int NODE_ROWS = sizeof(PackedNode) / sizeof(float4);
constexpr int AXIS_ROWS = 3;
constexpr int CHILD_ROW = 3 * AXIS_ROWS;

// Indices have 32 bits, or the compiler would keep an address for each axis in two registers.
__device__ inline const float4* rows_of(const Scene& scene, int row) {
    return reinterpret_cast<const float4*>(scene.nodes) + row;
}

__device__ inline int4 load_children(const Scene& scene, int node) {
    return __ldg(reinterpret_cast<const int4*>(rows_of(scene, node * NODE_ROWS) + CHILD_ROW));
}

__device__ inline float4 distances(const float4& planes, float inverse, float offset) {
    return {fmaf(planes.x, inverse, offset), fmaf(planes.y, inverse, offset), fmaf(planes.z, inverse, offset),
            fmaf(planes.w, inverse, offset)};
}

// Two rows side by side: first the nearer planes.
__device__ inline Planes load_distances(const Scene& scene, int node, int axis, const DirectedSlab& slab) {
    const float4* rows = rows_of(scene, node * NODE_ROWS + goes_down(slab.inverse)) + axis * AXIS_ROWS;
    return {distances(__ldg(rows), slab.inverse, slab.near_offset),
            distances(__ldg(rows + 1), slab.inverse, slab.far_offset)};
}

// ---------------------------------------------------------------------------------------------------------------- children

// The key of a child that the ray misses; it may be greater.
constexpr int MISSED = 0x7f800000;

// The distance at which the ray enters a box, with the child's index in the last two bits.
__device__ inline int child_key(float near, int index) {
    return (__float_as_int(near) & ~3) | index;
}

// Whether a child lies behind a hit at t, by its key. Without the index it is no farther than it was, unless it begins before
// t = 0.
__device__ inline bool is_behind(int key, float t) {
    return key >= 0 && __int_as_float(key & ~3) > t;
}

// Something to visit: a child, and its key.
struct alignas(8) Entry {
    int node;
    int key;
};

// An any-hit query asks only whether a child is hit. No number here is NaN. Before t = 0 the part of the ray may be too large,
// never too small.
template <bool ANY_HIT>
__device__ inline int enter(float3 near, float3 far, int index, float t_min, float t_max) {
    const Interval part = {largest_or_less(largest_or_less(near.x, near.y, near.z), t_min),
                           least_or_more(least_or_more(far.x, far.y, far.z), t_max)};
    return is_hit(part) ? (ANY_HIT ? 0 : child_key(part.near, index)) : MISSED;
}

// Keys of the four children. All of the node is loaded and all its boxes are tested side by side, so that each waits for no
// other.
template <bool ANY_HIT>
__device__ inline int4 enter_children(const Scene& scene, int node, const DirectedRay& ray, float t_min, float t_max) {
    const Planes x = load_distances(scene, node, 0, ray.x);
    const Planes y = load_distances(scene, node, 1, ray.y);
    const Planes z = load_distances(scene, node, 2, ray.z);
    return {enter<ANY_HIT>({x.near.x, y.near.x, z.near.x}, {x.far.x, y.far.x, z.far.x}, 0, t_min, t_max),
            enter<ANY_HIT>({x.near.y, y.near.y, z.near.y}, {x.far.y, y.far.y, z.far.y}, 1, t_min, t_max),
            enter<ANY_HIT>({x.near.z, y.near.z, z.near.z}, {x.far.z, y.far.z, z.far.z}, 2, t_min, t_max),
            enter<ANY_HIT>({x.near.w, y.near.w, z.near.w}, {x.far.w, y.far.w, z.far.w}, 3, t_min, t_max)};
}

// The box around all children. A spare one changes nothing.
__device__ inline void bounds_of(const Scene& scene, int node, float3& lower, float3& upper) {
    const auto planes = scene.nodes[node].planes;
    lower = {planes[0][0][0], planes[1][0][0], planes[2][0][0]};
    upper = {planes[0][1][0], planes[1][1][0], planes[2][1][0]};
    for (int i = 1; i < WIDTH; ++i) {
        lower = least(lower, {planes[0][0][i], planes[1][0][i], planes[2][0][i]});
        upper = most(upper, {planes[0][1][i], planes[1][1][i], planes[2][1][i]});
    }
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

// The last child that is entered, or NONE; the others wait on the stack. It has the most surface
// (tracecore/layout/occlusion_order.py). is_entered: tells by a key.
template <class IsEntered>
__device__ inline int last_of(const int4& nodes, const int4& keys, Entry* stack, int& top,
                              const IsEntered& is_entered) {
    int last = NONE;
    const auto replace = [&](int node, int key) {
        if (!is_entered(key)) return;
        if (last != NONE) stack[++top] = {last, 0};
        last = node;
    };
    replace(nodes.x, keys.x);
    replace(nodes.y, keys.y);
    replace(nodes.z, keys.z);
    replace(nodes.w, keys.w);
    return last;
}
