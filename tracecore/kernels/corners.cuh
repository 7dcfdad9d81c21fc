// Triangles as the caller gives them, their bounds, and how they are packed.
#pragma once

#include "packed_row.cuh"

// Three corners of three coordinates, as the caller gives them.
struct Corners {
    float corner[3][3];
};

struct Bounds {
    float lower[3], upper[3];
};

__device__ inline Corners load_corners(const Corners* triangles, unsigned prim_id) {
    Corners triangle;
    for (int corner = 0; corner < 3; ++corner) {
        for (int axis = 0; axis < 3; ++axis) {
            triangle.corner[corner][axis] = __ldg(&triangles[prim_id].corner[corner][axis]);
        }
    }
    return triangle;
}

// As tracecore/bvh/boxes.py has it also for 0 and -0: the first of equal numbers.
__device__ inline Bounds bounds_of(const Corners& triangle) {
    Bounds bounds;
    for (int axis = 0; axis < 3; ++axis) {
        float least = triangle.corner[0][axis], greatest = least;
        for (int corner = 1; corner < 3; ++corner) {
            const float value = triangle.corner[corner][axis];
            least = value < least ? value : least;
            greatest = value > greatest ? value : greatest;
        }
        bounds.lower[axis] = least;
        bounds.upper[axis] = greatest;
    }
    return bounds;
}

__device__ inline PackedTriangle load_packed(const Corners* triangles, unsigned prim_id) {
    const Corners triangle = load_corners(triangles, prim_id);
    PackedTriangle packed;
    for (int axis = 0; axis < 3; ++axis) {
        for (int corner = 0; corner < 3; ++corner) packed.rows[axis].component[corner] = triangle.corner[corner][axis];
        packed.rows[axis].prim_id = prim_id;
    }
    return packed;
}

__device__ inline Bounds bounds_of(const PackedTriangle& packed) {
    Corners triangle;
    for (int axis = 0; axis < 3; ++axis) {
        for (int corner = 0; corner < 3; ++corner) triangle.corner[corner][axis] = packed.rows[axis].component[corner];
    }
    return bounds_of(triangle);
}
