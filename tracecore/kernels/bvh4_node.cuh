// The nodes of tracecore/layout/bvh4.py. Layout of Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014.
#pragma once

// A spare child has its planes the wrong way round, as far apart as can be, and is a leaf without triangles.
struct alignas(16) PackedNode {
    float planes[3][3][WIDTH];  // by axis: the lower ones, the upper ones, the lower ones once more, by child
    int child[WIDTH];
};
static_assert(sizeof(PackedNode) == NODE_BYTES, "PackedNode differs from the layout's NODE");
