// The one ray-triangle test. Woop, Benthin, Wald: Watertight Ray/Triangle Intersection, 2013.
//
// Every tracer computes these very operations, each rounded once to nearest: compile with contraction off, denormals kept
// and exact division.
#pragma once

#include "cutouts.cuh"
#include "ray.cuh"
#include "steps.cuh"

// One component of a triangle's corners.
struct Row {
    float v0;
    float v1;
    float v2;
};

// Which axes of the world are x, y and z.
struct Axes {
    int x;
    int y;
    int z;
};

// A triangle along such axes.
struct Triangle {
    Row x;
    Row y;
    Row z;
    unsigned prim_id;
};

// Maps the ray to the positive z axis: a cyclic exchange of axes, then a shear. Triangles are loaded along these axes, so
// that no test has to exchange any.
struct Shear {
    Axes axes;      // the direction's largest component is z
    float3 origin;  // the ray's, along them
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

__device__ inline Shear make_shear(const Ray& ray) {
    int axis = fabsf(ray.direction.y) > fabsf(ray.direction.x) ? 1 : 0;
    if (fabsf(ray.direction.z) > fabsf(axis == 1 ? ray.direction.y : ray.direction.x)) axis = 2;
    const float3 d = permuted(ray.direction, axis);
    const Axes axes = {axis == 2 ? 0 : axis + 1, axis == 0 ? 2 : axis - 1, axis};
    return {axes, permuted(ray.origin, axis), d.x / d.z, d.y / d.z, 1.0f / d.z};
}

// A corner's x and y in the sheared frame; z stays unscaled.
__device__ inline float3 sheared(float x, float y, float z, const Shear& shear) {
    const float3 p = {x - shear.origin.x, y - shear.origin.y, z - shear.origin.z};
    return {fmaf(-shear.x, p.z, p.x), fmaf(-shear.y, p.z, p.y), p.z};
}

// p.x q.y - p.y q.x with the right sign and an error below two units in the last place, so that no ray slips between
// triangles that share an edge. Kahan's method: Jeannerod, Louvet, Muller: Further Analysis of Kahan's Algorithm for the
// Accurate Computation of 2 x 2 Determinants, 2013.
__device__ inline float edge(float3 p, float3 q) {
    const float product = p.y * q.x;
    return fmaf(p.x, q.y, -product) + fmaf(-p.y, q.x, product);
}

// A triangle is as good as seen from its edge, and not hit, where its area as the ray sees it, twice, is below this:
// products of it with what is small underflow, and t would be noise, outside of the boxes of trees.
constexpr float LEAST_DETERMINANT = 0x1p-100f;

// The best hit of a ray before it has one. Its prim_id is the lowest, so that no triangle at t_max is taken.
__device__ inline Hit nothing_before(float t_max) {
    return {t_max, infinity(), 0.0f, 0};
}

// Whether a triangle was taken since: a triangle's u is finite.
__device__ inline bool is_found(const Hit& best) {
    return best.u < infinity();
}

// Offers a triangle's hit to `best`, which begins as `nothing_before` the ray's t_max. Of hits at the same t the lowest
// prim_id stays. triangle: along the axes of the shear. Returns whether the triangle was taken.
__device__ inline bool intersect(const Triangle& triangle, const Ray& ray, const Shear& shear, Hit& best) {
    const float3 a = sheared(triangle.x.v0, triangle.y.v0, triangle.z.v0, shear);
    const float3 b = sheared(triangle.x.v1, triangle.y.v1, triangle.z.v1, shear);
    const float3 c = sheared(triangle.x.v2, triangle.y.v2, triangle.z.v2, shear);
    const float u = edge(c, b);
    const float v = edge(a, c);
    const float w = edge(b, a);
    if ((u < 0.0f || v < 0.0f || w < 0.0f) && (u > 0.0f || v > 0.0f || w > 0.0f)) return false;
    const float det = (u + v) + w;
    if (fabsf(det) < LEAST_DETERMINANT) return false;
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

// The same for a query. Of the first hit of an any-hit query no more is kept than that there is one, which takes fewer
// registers and instructions.
template <bool ANY_HIT>
__device__ inline bool offer(const Triangle& triangle, const Ray& ray, const Shear& shear, const Cutouts& cutouts,
                             Hit& best) {
    if (!ANY_HIT) return intersect(triangle, ray, shear, cutouts, best);
    Hit first = nothing_before(ray.t_max);
    if (!intersect(triangle, ray, shear, cutouts, first)) return false;
    best.u = 0.0f;
    return true;
}
