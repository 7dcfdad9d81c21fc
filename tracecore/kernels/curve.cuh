// Places of triangles along a space-filling curve: the bits of tracecore/bvh/morton.py, whose citation is not repeated
// here. Two launches: `bound`, the bounds of all triangles, and `locate`.
#pragma once

#include "block_sums.cuh"
#include "corners.cuh"

struct Curve {
    const Corners* triangles;
    unsigned* greatest;  // ordered bits of the greatest -x -y -z x y z of all corners; 0 is less than any
    unsigned long long* codes;
    unsigned* prim_ids;
    unsigned count;
};
static_assert(sizeof(Curve) == CURVE_BYTES, "Curve differs from the CURVE of ploc_records.py");

// Bits that are ordered as the numbers are. Herf: Radix Tricks, 2001.
__device__ inline unsigned ordered_bits(float value) {
    const unsigned bits = __float_as_uint(value);
    return bits ^ (bits >> 31 ? ~0u : 1u << 31);
}

__device__ inline float of_ordered_bits(unsigned bits) {
    return __uint_as_float(bits ^ (bits >> 31 ? 1u << 31 : ~0u));
}

// The bounds of all triangles, by as many blocks as there are.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) bound(const Curve curve) {
    unsigned greatest[6] = {};
    for (unsigned i = thread_index(); i < curve.count; i += gridDim.x * BLOCK_SIZE) {
        const Bounds bounds = bounds_of(load_corners(curve.triangles, i));
        for (int axis = 0; axis < 3; ++axis) {
            greatest[axis] = max(greatest[axis], ordered_bits(-bounds.lower[axis]));
            greatest[axis + 3] = max(greatest[axis + 3], ordered_bits(bounds.upper[axis]));
        }
    }
    for (int i = 0; i < 6; ++i) {
        const unsigned of_warp = greatest_in_warp(greatest[i]);
        if (lane_index() == 0) atomicMax(&curve.greatest[i], of_warp);
    }
}

// The largest coordinate by magnitude of triangles with such bounds.
__device__ inline float extent_of(const unsigned* greatest) {
    float extent = 0.0f;
    for (int i = 0; i < 6; ++i) extent = fmaxf(extent, of_ordered_bits(greatest[i]));
    return extent;
}

// The least cube that holds all triangles.
struct Cube {
    double low[3];
    double scale;  // 1 over its edge, or 0 for one without size
};

__device__ inline Cube cube_around(const unsigned* greatest) {
    Cube cube;
    double edge = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        cube.low[axis] = -static_cast<double>(of_ordered_bits(greatest[axis]));
        const double extent = static_cast<double>(of_ordered_bits(greatest[axis + 3])) - cube.low[axis];
        if (extent > edge) edge = extent;
    }
    cube.scale = edge > 0.0 ? 1.0 / edge : 0.0;
    return cube;
}

__device__ inline float in_cube(float coordinate, const Cube& cube, int axis) {
    return static_cast<float>((static_cast<double>(coordinate) - cube.low[axis]) * cube.scale);
}

// A number of 21 bits with two zeros before each of them.
__device__ inline unsigned long long spread(unsigned long long bits) {
    bits = (bits | bits << 32) & 0x1f00000000ffffull;
    bits = (bits | bits << 16) & 0x1f0000ff0000ffull;
    bits = (bits | bits << 8) & 0x100f00f00f00f00full;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3ull;
    return (bits | bits << 2) & 0x1249249249249249ull;
}

// Where the centres of the triangles' boxes are along the curve, and which triangle each is.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) locate(const Curve curve) {
    const unsigned prim_id = thread_index();
    if (prim_id >= curve.count) return;
    const Cube cube = cube_around(curve.greatest);
    const Bounds bounds = bounds_of(load_corners(curve.triangles, prim_id));
    unsigned long long code = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float lower = in_cube(bounds.lower[axis], cube, axis), upper = in_cube(bounds.upper[axis], cube, axis);
        const double centre = 0.5 * (static_cast<double>(lower) + static_cast<double>(upper));
        code |= spread(static_cast<unsigned long long>(centre * MOST_COORDINATE)) << (2 - axis);
    }
    curve.codes[prim_id] = code;
    curve.prim_ids[prim_id] = prim_id;
}
