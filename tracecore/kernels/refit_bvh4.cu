// Fits a tree in the layout of tracecore/layout/bvh4.py to triangles that have moved.
#include "bvh4_node.cuh"
#include "refit_named.cuh"

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
