// Boxes of nodes, and surfaces: of boxes, and of triangles in the units of tracecore/layout/occlusion_order.py.
#pragma once

#include "corners.cuh"

__device__ inline double infinite() {
    return __longlong_as_double(0x7ff0000000000000ll);
}

__device__ inline double half_area(const float* lower, const float* upper) {
    const double x = static_cast<double>(upper[0]) - static_cast<double>(lower[0]);
    const double y = static_cast<double>(upper[1]) - static_cast<double>(lower[1]);
    const double z = static_cast<double>(upper[2]) - static_cast<double>(lower[2]);
    return x * y + y * z + z * x;
}

// Units of surface in a square of size 1. extent: the scene's largest coordinate by magnitude.
__device__ inline double surface_scale(float extent) {
    const int exponent = static_cast<int>(__double_as_longlong(extent) >> 52) - 1022;  // the extent is below 2 to this
    const int power = SURFACE_UNIT_BITS - 2 * (extent > 0.0f ? exponent : 0);
    return __longlong_as_double(static_cast<long long>(power + 1023) << 52);
}

// Twice the area of a triangle, in units of surface.
__device__ inline long long surface_of(const Corners& triangle, double scale) {
    double edges[2][3];
    for (int edge = 0; edge < 2; ++edge) {
        for (int axis = 0; axis < 3; ++axis) {
            edges[edge][axis] = static_cast<double>(triangle.corner[edge + 1][axis]) - triangle.corner[0][axis];
        }
    }
    const double* a = edges[0];
    const double* b = edges[1];
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    return static_cast<long long>(__dsqrt_rn(x * x + y * y + z * z) * scale);
}

struct Planes {
    float lower[3], upper[3];
};

// A box as kernels read it, widened as `padded` of tracecore/precision.py has it.
__device__ inline Planes padded_box(const float* lower, const float* upper) {
    float reach = 0.0f;
    for (int axis = 0; axis < 3; ++axis) reach = fmaxf(reach, fmaxf(fabsf(lower[axis]), fabsf(upper[axis])));
    const float pad = PAD * reach;
    Planes planes;
    for (int axis = 0; axis < 3; ++axis) {
        planes.lower[axis] = lower[axis] - pad;
        planes.upper[axis] = upper[axis] + pad;
    }
    return planes;
}

// The middle between two planes, and what reaches from it to both or farther: `_centre_and_half` of
// tracecore/layout/bvh2.py.
__device__ inline float2 centre_and_half(float lower, float upper) {
    const double low = lower, high = upper;
    const float centre = static_cast<float>((low + high) / 2.0);
    const double down = centre - low, up = high - centre;
    double half = down > up ? down : up;
    if (half > 0.0) half = __longlong_as_double(__double_as_longlong(half) + 1);
    float rounded = static_cast<float>(half);
    if (rounded < half) rounded = __uint_as_float(__float_as_uint(rounded) + 1);
    return make_float2(centre, rounded);
}
