// The one ray-triangle test. Woop, Benthin, Wald: Watertight Ray/Triangle Intersection, 2013.
//
// Every tracer computes these very operations, each rounded once to nearest: compile with contraction off, denormals kept
// and exact division.
#pragma once

#include "cutouts.cuh"
#include "ray.cuh"
#include "steps.cuh"

struct Triangle {
    float3 v0;
    float3 v1;
    float3 v2;
    unsigned prim_id;
};

// Maps the ray to the positive z axis: a cyclic exchange of axes, then a shear.
struct Shear {
    int axis;  // the direction's largest component becomes z
    float x;
    float y;
    float z;
};

// The vector with its axes exchanged, component by component, so that it compiles to selections and not to branches.
__device__ inline float3 permuted(float3 v, int axis) {
    const float x = axis == 0 ? v.y : axis == 1 ? v.z : v.x;
    const float y = axis == 0 ? v.z : axis == 1 ? v.x : v.y;
    const float z = axis == 0 ? v.x : axis == 1 ? v.y : v.z;
    return {x, y, z};
}

__device__ inline Shear make_shear(float3 direction) {
    int axis = fabsf(direction.y) > fabsf(direction.x) ? 1 : 0;
    if (fabsf(direction.z) > fabsf(axis == 1 ? direction.y : direction.x)) axis = 2;
    const float3 d = permuted(direction, axis);
    return {axis, d.x / d.z, d.y / d.z, 1.0f / d.z};
}

// x and y in the sheared frame; z stays unscaled.
__device__ inline float3 sheared(float3 vertex, float3 origin, const Shear& shear) {
    const float3 p = permuted({vertex.x - origin.x, vertex.y - origin.y, vertex.z - origin.z}, shear.axis);
    return {fmaf(-shear.x, p.z, p.x), fmaf(-shear.y, p.z, p.y), p.z};
}

// p.x q.y - p.y q.x with the right sign and an error below two units in the last place, so that no ray slips between
// triangles that share an edge. Kahan's method: Jeannerod, Louvet, Muller: Further Analysis of Kahan's Algorithm for the
// Accurate Computation of 2 x 2 Determinants, 2013.
__device__ inline float edge(float3 p, float3 q) {
    const float product = p.y * q.x;
    return fmaf(p.x, q.y, -product) + fmaf(-p.y, q.x, product);
}

// Offers a triangle's hit to `best`, whose `t` begins as the ray's t_max and whose prim_id begins as 0. Of hits at the same
// t the lowest prim_id stays. Returns whether the triangle was taken.
__device__ inline bool intersect(const Triangle& triangle, const Ray& ray, const Shear& shear, Hit& best) {
    const float3 a = sheared(triangle.v0, ray.origin, shear);
    const float3 b = sheared(triangle.v1, ray.origin, shear);
    const float3 c = sheared(triangle.v2, ray.origin, shear);
    const float u = edge(c, b);
    const float v = edge(a, c);
    const float w = edge(b, a);
    if ((u < 0.0f || v < 0.0f || w < 0.0f) && (u > 0.0f || v > 0.0f || w > 0.0f)) return false;
    const float det = (u + v) + w;
    if (det == 0.0f) return false;
    mark(Step::INSIDE);
    const float scaled_t = fmaf(w, shear.z * c.z, fmaf(v, shear.z * b.z, u * (shear.z * a.z)));
    const float inverse_det = 1.0f / det;
    const float t = scaled_t * inverse_det;
    const bool nearer = t < best.t || (t == best.t && triangle.prim_id < best.prim_id);
    if (!(t > ray.t_min && nearer)) return false;
    best = {t, v * inverse_det, w * inverse_det, triangle.prim_id};
    return true;
}

// The test with cut-outs: a triangle is not taken where a mask says that it is not there.
__device__ inline bool intersect(const Triangle& triangle, const Ray& ray, const Shear& shear, const Cutouts& cutouts,
                                 Hit& best) {
    if (!CUTOUTS) return intersect(triangle, ray, shear, best);
    Hit hit = best;
    if (!intersect(triangle, ray, shear, hit) || !is_there(cutouts, hit)) return false;
    best = hit;
    return true;
}
