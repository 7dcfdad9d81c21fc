// Fits a tree in the layout of tracecore/layout/bvh2.py to triangles that have moved.
#include "bvh2_node.cuh"
#include "refit_named.cuh"

__device__ inline void write_boxes(PackedNode& node, const Bounds* boxes, unsigned filled, float) {
    for (int place = 0; place < WIDTH; ++place) {
        if ((filled >> place & 1) == 0) continue;
        const Planes planes = padded_box(boxes[place].lower, boxes[place].upper);
        float* xy = place == 0 ? node.left_xy : node.right_xy;
        for (int axis = 0; axis < 3; ++axis) {
            const float2 side = centre_and_half(planes.lower[axis], planes.upper[axis]);
            float* to = axis < 2 ? xy + 2 * axis : node.z + 2 * place;
            to[0] = side.x;
            to[1] = side.y;
        }
    }
}
