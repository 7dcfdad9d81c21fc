// Fits a tree in the layout of tracecore/layout/bvh4.py to triangles that have moved.
#include "bvh4_node.cuh"
#include "child.cuh"
#include "refit.cuh"

__device__ inline Child child_of(const PackedNode& node, int place) {
    const int child = node.child[place];
    if (is_inner(child)) return {child, 0, 0};
    return {-1, static_cast<unsigned>(first_leaf_index(child)), static_cast<unsigned>(triangle_count(child))};
}

__device__ inline void write_boxes(PackedNode& node, const Bounds* boxes, unsigned filled, float) {
    for (int place = 0; place < WIDTH; ++place) {
        if ((filled >> place & 1) == 0) continue;
        const Planes planes = padded_box(boxes[place].lower, boxes[place].upper);
        for (int axis = 0; axis < 3; ++axis) {
            node.planes[axis][0][place] = node.planes[axis][2][place] = planes.lower[axis];
            node.planes[axis][1][place] = planes.upper[axis];
        }
    }
}
