// The one box test: never misses a box that holds a triangle which the triangle test would take.
//
// A box is packed with a pad of its own (tracecore/precision.py), and a ray adds one for its origin. Together they cover the
// rounding of this test and of the triangle test, so that this arithmetic is free to be fast. docs/correctness.md has the
// bound. After Ize: Robust BVH Ray Traversal, 2013, with an absolute instead of a relative error.
#pragma once

#include "ray.cuh"
#include "reciprocal.cuh"

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

// A box by the middle between its planes and half of the way between them, rounded outward.
struct Box {
    float3 centre;
    float3 half;
};

// One axis of a ray for such boxes: t of the centre = centre * inverse + offset, and from there it is
// |half * inverse + pad| to each plane.
struct CentreSlab {
    float inverse;
    float offset;
    float pad;  // with the sign of the inverse
};

struct CentreRay {
    CentreSlab x;
    CentreSlab y;
    CentreSlab z;
};

__device__ inline float slab_inverse(float direction, float least) {
    return rough_reciprocal(copysignf(fmaxf(fabsf(direction), least), direction));
}

// Whether an axis is of use; else it excludes nothing.
__device__ inline bool is_usable(float inverse, float reach) {
    const float lengths = reach * fabsf(inverse);
    return LEAST_LENGTHS < lengths && lengths < MOST_LENGTHS;
}

// By how much a ray widens boxes beside their own pads.
__device__ inline float pad_of(const Ray& ray) {
    return PAD * fmaxf(largest(ray.origin), LEAST_REACH * largest(ray.direction));
}

__device__ inline Slab make_slab(float origin, float direction, float pad, float reach, float least) {
    const float inverse = slab_inverse(direction, least);
    if (!is_usable(inverse, reach)) return {0.0f, -infinity(), infinity()};
    return {inverse, -(origin + pad) * inverse, -(origin - pad) * inverse};
}

__device__ inline CentreSlab make_centre_slab(float origin, float direction, float pad, float reach, float least) {
    const float inverse = slab_inverse(direction, least);
    if (!is_usable(inverse, reach)) return {0.0f, 0.0f, infinity()};
    return {inverse, -origin * inverse, pad * inverse};
}

// extent: the scene's largest coordinate by magnitude.
__device__ inline BoxRay make_box_ray(const Ray& ray, float extent) {
    const float reach = fmaxf(largest(ray.origin), extent);
    const float pad = pad_of(ray), least = LEAST_SLOPE * largest(ray.direction);
    return {make_slab(ray.origin.x, ray.direction.x, pad, reach, least),
            make_slab(ray.origin.y, ray.direction.y, pad, reach, least),
            make_slab(ray.origin.z, ray.direction.z, pad, reach, least)};
}

__device__ inline CentreRay make_centre_ray(const Ray& ray, float extent) {
    const float reach = fmaxf(largest(ray.origin), extent);
    const float pad = pad_of(ray), least = LEAST_SLOPE * largest(ray.direction);
    return {make_centre_slab(ray.origin.x, ray.direction.x, pad, reach, least),
            make_centre_slab(ray.origin.y, ray.direction.y, pad, reach, least),
            make_centre_slab(ray.origin.z, ray.direction.z, pad, reach, least)};
}

__device__ inline float3 least(float3 a, float3 b) {
    return {fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)};
}

__device__ inline float3 most(float3 a, float3 b) {
    return {fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z)};
}

struct Bounds {
    float3 lower;
    float3 upper;
};

// With the pad that boxes are packed with: `padded` of tracecore/precision.py.
__device__ inline Bounds padded(const Bounds& box) {
    const float pad = PAD * fmaxf(largest(box.lower), largest(box.upper));
    return {{box.lower.x - pad, box.lower.y - pad, box.lower.z - pad},
            {box.upper.x + pad, box.upper.y + pad, box.upper.z + pad}};
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

__device__ inline Interval slab_interval(float centre, float half, const CentreSlab& slab) {
    const float middle = fmaf(centre, slab.inverse, slab.offset);
    const float distance = fabsf(fmaf(half, slab.inverse, slab.pad));
    return {middle - distance, middle + distance};
}

// The largest of floats by their order as integers, which is reversed among negative ones: where all are negative, the least
// of them. A GPU compares three integers by one instruction.
__device__ inline float largest_or_less(float a, float b) {
    return __int_as_float(max(__float_as_int(a), __float_as_int(b)));
}

__device__ inline float largest_or_less(float a, float b, float c) {
    return largest_or_less(largest_or_less(a, b), c);
}

// The least of floats in the same way: where some are negative, the largest of these.
__device__ inline float least_or_more(float a, float b) {
    return __int_as_float(min(__float_as_int(a), __float_as_int(b)));
}

__device__ inline float least_or_more(float a, float b, float c) {
    return least_or_more(least_or_more(a, b), c);
}

// The slab test. No number here is NaN. Before t = 0 the part may be too large, never too small.
__device__ inline Interval slab_test(const Box& box, const CentreRay& ray, float t_min, float t_max) {
    const Interval x = slab_interval(box.centre.x, box.half.x, ray.x);
    const Interval y = slab_interval(box.centre.y, box.half.y, ray.y);
    const Interval z = slab_interval(box.centre.z, box.half.z, ray.z);
    return {largest_or_less(largest_or_less(x.near, y.near, z.near), t_min),
            least_or_more(least_or_more(x.far, y.far, z.far), t_max)};
}
