// Fits a tree in the layout of tracecore/layout/bvh2.py to triangles that have moved.
#include "bvh2_node.cuh"
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
        float* xy = place == 0 ? node.left_xy : node.right_xy;
        for (int axis = 0; axis < 3; ++axis) {
            const float2 side = centre_and_half(planes.lower[axis], planes.upper[axis]);
            float* to = axis < 2 ? xy + 2 * axis : node.z + 2 * place;
            to[0] = side.x;
            to[1] = side.y;
        }
    }
}
