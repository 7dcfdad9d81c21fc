// Rays that begin far from the scene. Seen from there all of it is within the rounding of the origin: boxes would be widened
// beyond their size, and hits would be coarse. So such a ray is traced from where it comes near, and its t is counted from
// the origin again afterwards. tracecore/tracers/brute_force.py and tracecore/cpu/traversal.py compute the same.
#pragma once

#include "ray.cuh"

// A ray that begins near, and t of its origin on the ray as it was given.
struct NearRay {
    Ray ray;
    float before;
};

// When a ray comes within `edge` of the middle along an axis; 0 if it begins there or goes away.
__device__ inline float entry_time(float origin, float direction, float edge) {
    const bool comes = fabsf(origin) > edge && (origin < 0.0f) != (direction < 0.0f);
    return comes ? (fabsf(origin) - edge) / fabsf(direction) : 0.0f;
}

// The same along all axes; 0 where it never comes near. Apart, as few rays need it.
__device__ __noinline__ float entry_time(float3 o, float3 d, float edge) {
    const float before =
        fmaxf(fmaxf(entry_time(o.x, d.x, edge), entry_time(o.y, d.y, edge)), entry_time(o.z, d.z, edge));
    return finite({fmaf(before, d.x, o.x), fmaf(before, d.y, o.y), fmaf(before, d.z, o.z)}) ? before : 0.0f;
}

// extent: the scene's largest coordinate by magnitude.
__device__ inline NearRay brought_near(const Ray& ray, float extent) {
    const float edge = FAR * extent;
    if (!(largest(ray.origin) > edge)) return {ray, 0.0f};
    const float3 o = ray.origin, d = ray.direction;
    const float before = entry_time(o, d, edge);
    const float3 origin = {fmaf(before, d.x, o.x), fmaf(before, d.y, o.y), fmaf(before, d.z, o.z)};
    return {{origin, ray.t_min - before, d, ray.t_max - before}, before};
}

// The hit of a ray that was brought near, for the ray as it was given. An any-hit query has no t.
template <bool ANY_HIT>
__device__ inline Hit counted_from_origin(const Hit& hit, float before) {
    if (ANY_HIT || before == 0.0f) return hit;
    return {hit.t + before, hit.u, hit.v, hit.prim_id};
}
