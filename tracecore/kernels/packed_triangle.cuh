// Loads the triangles of tracecore/layout/packed_triangle.py.
#pragma once

#include "packed_row.cuh"
#include "triangle.cuh"

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
