// Fits a tree in the layout of tracecore/layout/compressed8.py to triangles that have moved.
#include "compressed8_boxes.cuh"
#include "refit.cuh"

__device__ inline Child child_of(const PackedNode& node, int place) {
    const unsigned before = (1u << place) - 1, triangles_before = (1u << WIDE_LEAF * place) - 1;
    if (node.inner >> place & 1) return {static_cast<int>(node.child_base + __popc(node.inner & before)), 0, 0};
    const unsigned own = node.triangles >> WIDE_LEAF * place & ((1u << WIDE_LEAF) - 1);
    const unsigned first = node.triangle_base + __popc(node.triangles & triangles_before);
    return {-1, first, static_cast<unsigned>(__popc(own))};
}

__device__ inline void write_boxes(PackedNode& node, const Bounds* boxes, unsigned filled, float extent) {
    Planes planes[WIDTH];
    for (int place = 0; place < WIDTH; ++place) {
        if (filled >> place & 1) planes[place] = padded_box(boxes[place].lower, boxes[place].upper);
    }
    for (int axis = 0; axis < 3; ++axis) write_axis(planes, filled, axis, least_exponent(extent), node);
}
