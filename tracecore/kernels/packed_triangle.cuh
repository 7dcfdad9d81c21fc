// The bytes of tracecore/layout/packed_triangle.py: triangles in the order of the leaves.
#pragma once

#include "triangle.cuh"

struct alignas(16) PackedTriangle {
    float v0[3];
    unsigned prim_id;
    float v1[3];
    float unused_1;
    float v2[3];
    float unused_2;
};
static_assert(sizeof(PackedTriangle) == TRIANGLE_BYTES, "PackedTriangle differs from the layout's PACKED_TRIANGLE");

__device__ inline Triangle load_triangle(const PackedTriangle* triangles, int leaf_index) {
    const float4* words = reinterpret_cast<const float4*>(triangles + leaf_index);
    const float4 v0 = __ldg(words);
    const float4 v1 = __ldg(words + 1);
    const float4 v2 = __ldg(words + 2);
    return {{v0.x, v0.y, v0.z}, {v1.x, v1.y, v1.z}, {v2.x, v2.y, v2.z}, __float_as_uint(v0.w)};
}
