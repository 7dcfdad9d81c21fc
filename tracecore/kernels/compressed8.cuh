// The bytes of tracecore/layout/compressed8.py, and how a ray is tested against a node's eight boxes. Ylitie, Karras, Laine:
// Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017.
#pragma once

#include "box.cuh"
#include "compressed8_node.cuh"
#include "packed_triangle.cuh"

struct Scene {
    const PackedNode* nodes;
    const PackedTriangle* triangles;
    Cutouts cutouts;
    float extent;  // largest coordinate by magnitude
};
static_assert(sizeof(Scene) == SCENE_BYTES, "Scene differs from the layout's SCENE");

// The bytes of four children, by position.
struct Quad {
    unsigned lower_x, lower_y, lower_z;
    unsigned upper_x, upper_y, upper_z;
};

struct Node {
    float3 origin;
    unsigned exponents_and_inner;
    unsigned child_base;
    unsigned triangle_base;
    unsigned triangles;
    Quad first;
    Quad second;
};

__device__ inline Node load_node(const Scene& scene, unsigned index) {
    const uint4* words = reinterpret_cast<const uint4*>(scene.nodes + index);
    const uint4 a = __ldg(words);
    const uint4 b = __ldg(words + 1);
    const uint4 c = __ldg(words + 2);
    const uint4 d = __ldg(words + 3);
    const uint4 e = __ldg(words + 4);
    const Quad first = {c.x, c.z, d.x, d.z, e.x, e.z};
    const Quad second = {c.y, c.w, d.y, d.w, e.y, e.w};
    return {{__uint_as_float(a.x), __uint_as_float(a.y), __uint_as_float(a.z)}, a.w, b.x, b.y, b.z, first, second};
}

// The length of a node's steps along an axis.
__device__ inline float step(const Node& node, int axis) {
    return __uint_as_float((node.exponents_and_inner >> 8 * axis & 0xff) << 23);
}

// ------------------------------------------------------------------------------------------------------------------ groups

// Some inner nodes among the children of a node, by index from a base. Bits of those that are still to be visited are the
// upper eight, of the nearest one the highest; the lower eight say which positions hold inner nodes.
struct alignas(8) Group {
    unsigned base;
    unsigned bits;
};

constexpr int FIRST_CHILD = 24;
constexpr unsigned ROOT = 1u << 31;

// Some triangles of a node's leaves, by index from a base. Three bits for each position, of those that are still to be
// tested, and of those that there are.
struct Triangles {
    unsigned base;
    unsigned bits;
    unsigned all;
};

// Eight bits with bit i where bit i ^ octant was. Bits that change places are told by an exclusive or: Warren: Hacker's
// Delight, section 2-20, 2013. Products instead of shifts go to another pipe.
__device__ inline unsigned by_octant(unsigned bits, unsigned octant) {
    bits ^= ((bits ^ bits >> 1) & (octant & 1) * 0x55u) * 0x3u;
    bits ^= ((bits ^ bits >> 2) & (octant >> 1 & 1) * 0x33u) * 0x5u;
    return bits ^ ((bits ^ bits >> 4) & (octant >> 2) * 0x0fu) * 0x11u;
}

// Three bits for each of eight.
__device__ inline unsigned thrice(unsigned bits) {
    bits = bits * 0x101u & 0x00f00fu;
    bits = bits * 0x11u & 0x0c30c3u;
    bits = bits * 0x5u & 0x249249u;
    return bits * 0x7u;
}

// hits: a bit for each position whose box the ray may hit.
__device__ inline Group children_of(const Node& node, unsigned hits, unsigned octant) {
    const unsigned inner = node.exponents_and_inner >> 24;
    return {node.child_base, by_octant(hits & inner, octant) << FIRST_CHILD | inner};
}

__device__ inline Triangles triangles_of(const Node& node, unsigned hits) {
    return {node.triangle_base, thrice(hits) & node.triangles, node.triangles};
}

__device__ inline bool has_child(const Group& children) {
    return children.bits >> FIRST_CHILD != 0;
}

__device__ inline unsigned take_highest(unsigned& bits) {
    const unsigned bit = 31 - __clz(bits);
    bits ^= 1u << bit;
    return bit;
}

// The nearest child's index; it leaves the group.
__device__ inline unsigned take_child(Group& children, unsigned octant) {
    const unsigned position = (take_highest(children.bits) - FIRST_CHILD) ^ octant;
    return children.base + __popc(children.bits & ((1u << position) - 1));
}

__device__ inline unsigned take_triangle(Triangles& triangles) {
    const unsigned bit = take_highest(triangles.bits);
    return triangles.base + __popc(triangles.all & ((1u << bit) - 1));
}

// -------------------------------------------------------------------------------------------------------------------- rays

// One axis of a ray. The pad, in lengths of the direction, widens every box on both sides.
struct Axis {
    float origin;
    float inverse;
    float pad;
};

struct StepRay {
    Axis x;
    Axis y;
    Axis z;
    unsigned octant;  // a bit for each axis along which the ray goes up
};

// Limits of what a distance may be in lengths of the direction; beyond them an axis excludes nothing. Below the upper one
// 2^15 steps cannot overflow. Above the lower one no step is a denormal, as the layout has none below 2^-40 of the extent.
constexpr float LEAST_STEP_LENGTHS = 1e-25f;
constexpr float MOST_STEP_LENGTHS = 1e33f;

__device__ inline Axis make_axis(float origin, float inverse, float pad, float reach, float extent) {
    const float lengths = fabsf(inverse);
    const bool is_usable = extent * lengths > LEAST_STEP_LENGTHS && reach * lengths < MOST_STEP_LENGTHS;
    if (!is_usable) return {origin, 0.0f, infinity()};
    return {origin, inverse, pad * lengths};
}

__device__ inline StepRay make_step_ray(const Ray& ray, float extent) {
    const float reach = fmaxf(largest(ray.origin), extent);
    const float pad = pad_of(ray), least = LEAST_SLOPE * largest(ray.direction);
    const Axis x = make_axis(ray.origin.x, slab_inverse(ray.direction.x, least), pad, reach, extent);
    const Axis y = make_axis(ray.origin.y, slab_inverse(ray.direction.y, least), pad, reach, extent);
    const Axis z = make_axis(ray.origin.z, slab_inverse(ray.direction.z, least), pad, reach, extent);
    return {x, y, z, (x.inverse < 0.0f ? 0u : 1u) | (y.inverse < 0.0f ? 0u : 2u) | (z.inverse < 0.0f ? 0u : 4u)};
}

// ------------------------------------------------------------------------------------------------------------------- boxes

// A byte becomes the float STEP_BIAS + byte by where it stands among the bits: one instruction, cheaper than a conversion.
// The other bits come from constant memory, since the instruction takes one immediate value only.
constexpr float STEP_BIAS = 1 << 15;
__constant__ unsigned STEP_BIAS_BITS = 0x47000000u;

__device__ inline float biased_steps(unsigned bytes, int index) {
    return __uint_as_float(__byte_perm(bytes, STEP_BIAS_BITS, 0x7504 | index << 4));
}

// A share of a step: for the two roundings at 2^15 steps, each below 2^-9 of one, that the bias costs, and for those at a
// node's origin, which is up to 255 steps farther away than a child's box.
constexpr float MARGIN = 1.0f / (1 << 7);

// One axis of a ray at a node: t of a plane = biased steps * scale + near or far.
struct Planes {
    float scale;
    float near;
    float far;
};

__device__ inline Planes make_planes(const Axis& axis, float origin, float step) {
    const float scale = step * axis.inverse;  // exact, as a power of two times a number
    const float middle = fmaf(origin - axis.origin, axis.inverse, -STEP_BIAS * scale);
    const float pad = fmaf(MARGIN, fabsf(scale), axis.pad);
    return {scale, middle - pad, middle + pad};
}

struct NodeRay {
    Planes x;
    Planes y;
    Planes z;
    unsigned octant;
};

// Appends a bit for each of four positions, the last one first: whether the ray misses its box in [t_min, t_max]. Where the
// ray is before t = 0 it may be said to hit what it misses, as by `slab_test` of box.cuh. No number here is NaN.
__device__ inline unsigned append_misses(unsigned misses, const Quad& quad, const NodeRay& ray, float t_min,
                                         float t_max) {
    const bool up_x = ray.octant & 1, up_y = ray.octant & 2, up_z = ray.octant & 4;
    const unsigned near_x = up_x ? quad.lower_x : quad.upper_x, far_x = up_x ? quad.upper_x : quad.lower_x;
    const unsigned near_y = up_y ? quad.lower_y : quad.upper_y, far_y = up_y ? quad.upper_y : quad.lower_y;
    const unsigned near_z = up_z ? quad.lower_z : quad.upper_z, far_z = up_z ? quad.upper_z : quad.lower_z;
#pragma unroll
    for (int i = 3; i >= 0; --i) {
        const float in_x = fmaf(biased_steps(near_x, i), ray.x.scale, ray.x.near);
        const float in_y = fmaf(biased_steps(near_y, i), ray.y.scale, ray.y.near);
        const float in_z = fmaf(biased_steps(near_z, i), ray.z.scale, ray.z.near);
        const float out_x = fmaf(biased_steps(far_x, i), ray.x.scale, ray.x.far);
        const float out_y = fmaf(biased_steps(far_y, i), ray.y.scale, ray.y.far);
        const float out_z = fmaf(biased_steps(far_z, i), ray.z.scale, ray.z.far);
        const float near = largest_or_less(largest_or_less(in_x, in_y, in_z), t_min);
        const float far = least_or_more(least_or_more(out_x, out_y, out_z), t_max);
        misses = __funnelshift_l(__float_as_uint(far - near), misses, 1);  // the sign, which is set where far < near
    }
    return misses;
}

// A bit for each position whose box the ray may hit in [t_min, t_max]. Of spare positions it means nothing.
__device__ inline unsigned hit_positions(const Node& node, const StepRay& ray, float t_min, float t_max) {
    const NodeRay node_ray = {make_planes(ray.x, node.origin.x, step(node, 0)),
                              make_planes(ray.y, node.origin.y, step(node, 1)),
                              make_planes(ray.z, node.origin.z, step(node, 2)), ray.octant};
    const unsigned misses = append_misses(0, node.second, node_ray, t_min, t_max);
    return ~append_misses(misses, node.first, node_ray, t_min, t_max) & 0xff;
}
