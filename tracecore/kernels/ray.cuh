// Rays in, hits out: the bytes of tracecore/rays.py.
#pragma once

struct Ray {
    float3 origin;
    float t_min;
    float3 direction;
    float t_max;
};
static_assert(sizeof(Ray) == RAY_BYTES, "Ray differs from the RAY of rays.py");

struct Hit {
    float t;
    float u;
    float v;
    unsigned prim_id;
};
static_assert(sizeof(Hit) == HIT_BYTES, "Hit differs from the HIT of rays.py");

__device__ inline float infinity() {
    return __uint_as_float(0x7f800000u);
}

__device__ inline Hit miss() {
    return {infinity(), 0.0f, 0.0f, MISS};
}

// What an any-hit query answers for a ray that hits something: the same bits whatever triangle was found first.
__device__ inline Hit occluded() {
    return {0.0f, 0.0f, 0.0f, 0};
}

// What a query answers. An any-hit query may have found any hit of the ray.
template <bool ANY_HIT>
__device__ inline Hit answer_of(const Hit& hit) {
    return ANY_HIT && hit.prim_id != MISS ? occluded() : hit;
}

// A lane with nothing to do: its interval is empty, so that it hits no box and no triangle.
__device__ inline Ray no_ray() {
    return {{0.0f, 0.0f, 0.0f}, infinity(), {0.0f, 0.0f, 1.0f}, -infinity()};
}

// Index of the ray of a lane with nothing to do.
constexpr unsigned NO_RAY = 0xffffffffu;

__device__ inline Ray load_ray(const float4* rays, unsigned index) {
    const float4 a = __ldcs(rays + 2 * index);
    const float4 b = __ldcs(rays + 2 * index + 1);
    return {{a.x, a.y, a.z}, a.w, {b.x, b.y, b.z}, b.w};
}

__device__ inline void store_hit(float4* hits, unsigned index, const Hit& hit) {
    __stcs(hits + index, make_float4(hit.t, hit.u, hit.v, __uint_as_float(hit.prim_id)));
}

__device__ inline float largest(float3 v) {
    return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fabsf(v.z));
}

__device__ inline bool finite(float3 v) {
    return fabsf(v.x) < infinity() && fabsf(v.y) < infinity() && fabsf(v.z) < infinity();
}

// Neither NaN, nor infinite but for the ends of the interval, nor without a direction of full precision.
__device__ inline bool is_valid(const Ray& ray) {
    const bool numbers = ray.t_min == ray.t_min && ray.t_max == ray.t_max;
    return numbers && finite(ray.origin) && finite(ray.direction) && largest(ray.direction) >= LEAST_DIRECTION;
}
