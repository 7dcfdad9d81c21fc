// The bytes of tracecore/layout/packed_triangle.py: triangles in the order of the leaves, a row for each axis.
#pragma once

#include "triangle.cuh"

struct alignas(16) PackedRow {
    float component[3];  // by corner
    unsigned prim_id;
};
static_assert(sizeof(PackedRow) == ROW_BYTES, "PackedRow differs from the layout's ROW");

struct PackedTriangle {
    PackedRow rows[3];  // by axis
};
static_assert(sizeof(PackedTriangle) == TRIANGLE_BYTES, "PackedTriangle differs from the layout's PACKED_TRIANGLE");

// The row along an axis is `pitch` rows behind that of the axis before. first: index of the row along axis 0. Indices have
// 32 bits, or the compiler would keep an address for each axis in two registers.
__device__ inline Triangle load_rows(const PackedRow* rows, int first, int pitch, const Axes& axes) {
    const float4* words = reinterpret_cast<const float4*>(rows);
    const float4 x = __ldg(words + (first + axes.x * pitch));
    const float4 y = __ldg(words + (first + axes.y * pitch));
    const float4 z = __ldg(words + (first + axes.z * pitch));
    return {{x.x, x.y, x.z}, {y.x, y.y, y.z}, {z.x, z.y, z.z}, __float_as_uint(x.w)};
}

__device__ inline Triangle load_triangle(const PackedTriangle* triangles, int leaf_index, const Axes& axes) {
    return load_rows(triangles->rows, 3 * leaf_index, 1, axes);
}
