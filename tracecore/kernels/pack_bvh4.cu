// Packs a binary tree that lies on the GPU: the bits of tracecore/layout/bvh4.py.
#include "collapse.cuh"
#include "bvh4_node.cuh"
#include "child.cuh"

constexpr float FLOAT_MOST = 3.402823466e+38f;

__device__ inline unsigned need_of(const Collapse& collapse, unsigned node) {
    unsigned filled = 0, below = 1;
    for (int place = 0; place < WIDTH; ++place) {
        const Child child = child_of(collapse, node, place);
        filled += !child.is_spare();
        if (child.is_inner()) below = max(below, collapse.need[child.wide]);
    }
    return max(filled, 1u) - 1 + below;
}

__device__ inline long long surface_below(const Collapse& collapse, const Child& child) {
    if (child.is_spare()) return -1;
    const int inner = collapse.tree.child[child.binary];
    return inner == 0 ? costs_of_leaf(collapse, child.binary).surface : collapse.costs[(inner - 1) / 2].surface;
}

// Children stand in the order of their surface, ascending, after the spare ones.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pack_nodes(const Collapse collapse) {
    const unsigned node = thread_index();
    if (node >= collapse.wide_nodes) return;
    Child children[WIDTH];
    long long surfaces[WIDTH];
    for (int i = 0; i < WIDTH; ++i) {
        const Child child = child_of(collapse, node, i);
        const long long surface = surface_below(collapse, child);
        int place = i;
        for (; place > 0 && surfaces[place - 1] > surface; --place) {
            children[place] = children[place - 1];
            surfaces[place] = surfaces[place - 1];
        }
        children[place] = child;
        surfaces[place] = surface;
    }
    PackedNode packed;
    for (int i = 0; i < WIDTH; ++i) {
        const Child& child = children[i];
        Planes planes = {{FLOAT_MOST, FLOAT_MOST, FLOAT_MOST}, {-FLOAT_MOST, -FLOAT_MOST, -FLOAT_MOST}};
        if (!child.is_spare()) planes = padded_box(collapse.tree, child.binary);
        for (int axis = 0; axis < 3; ++axis) {
            packed.planes[axis][0][i] = packed.planes[axis][2][i] = planes.lower[axis];
            packed.planes[axis][1][i] = planes.upper[axis];
        }
        packed.child[i] = child.is_inner() ? child.wide : leaf_of(child.first, child.count);
    }
    collapse.nodes[node] = packed;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pack_triangles(const Collapse collapse) {
    const unsigned leaf_index = thread_index();
    if (leaf_index >= collapse.triangle_count) return;
    collapse.packed_triangles[leaf_index] = load_packed(collapse.triangles, collapse.tree.order[leaf_index]);
}
