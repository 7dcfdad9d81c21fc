// The one box test: never misses a box that holds a triangle which the triangle test would take.
//
// Each ray widens every box by the same pad, which covers the rounding of this test and of the triangle test, so that this
// arithmetic is free to be fast. After Ize: Robust BVH Ray Traversal, 2013, with an absolute instead of a relative error.
#pragma once

#include "ray.cuh"
#include "reciprocal.cuh"

// Relative to the largest coordinate, the ray's or the scene's: 64 roundings, of which about 46 can come together. In units of
// one at the reach, t of a plane takes 1 and 1 for the offset, 2 for the multiply-add, whose result is up to twice the reach,
// and 8 for the reciprocal, which is wrong by 4 roundings, at twice the reach. The other 34 are the triangle test's.
constexpr float PAD_SCALE = 1.0f / (1 << 18);
// A component of the direction counts as at least so much of the largest.
constexpr float LEAST_SLOPE = 1e-20f;
// Limits of distances, in lengths of the direction, for an axis to be of use: below are denormals, which lose bits, above is
// no number.
constexpr float LEAST_LENGTHS = 1e-30f;
constexpr float MOST_LENGTHS = 8e37f;

// One axis of a ray: t of a lower plane = lower * inverse + lower_offset, and t of an upper one = upper * inverse +
// upper_offset.
struct Slab {
    float inverse;
    float lower_offset;
    float upper_offset;
};

struct BoxRay {
    Slab x;
    Slab y;
    Slab z;
};

__device__ inline Slab make_slab(float origin, float direction, float reach, float least) {
    const float pad = PAD_SCALE * reach;
    const float inverse = rough_reciprocal(copysignf(fmaxf(fabsf(direction), least), direction));
    const float lengths = reach * fabsf(inverse);
    if (!(LEAST_LENGTHS < lengths && lengths < MOST_LENGTHS)) return {0.0f, -infinity(), infinity()};  // excludes nothing
    return {inverse, -(origin + pad) * inverse, -(origin - pad) * inverse};
}

// extent: the scene's largest coordinate by magnitude.
__device__ inline BoxRay make_box_ray(const Ray& ray, float extent) {
    const float reach = fmaxf(largest(ray.origin), extent);
    const float least = LEAST_SLOPE * largest(ray.direction);
    return {make_slab(ray.origin.x, ray.direction.x, reach, least),
            make_slab(ray.origin.y, ray.direction.y, reach, least),
            make_slab(ray.origin.z, ray.direction.z, reach, least)};
}

__device__ inline float3 least(float3 a, float3 b) {
    return {fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)};
}

__device__ inline float3 most(float3 a, float3 b) {
    return {fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z)};
}

// The part of a ray that is inside a box, or between two planes; empty where near > far.
struct Interval {
    float near;
    float far;
};

__device__ inline bool is_hit(const Interval& interval) {
    return interval.near <= interval.far;
}

// The part of a ray's line between the two planes of one axis.
__device__ inline Interval slab_interval(float lower, float upper, const Slab& slab) {
    const float a = fmaf(lower, slab.inverse, slab.lower_offset);
    const float b = fmaf(upper, slab.inverse, slab.upper_offset);
    return {fminf(a, b), fmaxf(a, b)};
}

// The slab test: the part of [t_min, t_max] in which the ray may be inside the box; fminf and fmaxf ignore NaN, which
// excludes nothing.
__device__ inline Interval slab_test(float3 lower, float3 upper, const BoxRay& ray, float t_min, float t_max) {
    const Interval x = slab_interval(lower.x, upper.x, ray.x);
    const Interval y = slab_interval(lower.y, upper.y, ray.y);
    const Interval z = slab_interval(lower.z, upper.z, ray.z);
    return {fmaxf(fmaxf(x.near, y.near), fmaxf(z.near, t_min)), fminf(fminf(x.far, y.far), fminf(z.far, t_max))};
}
