// Fits a packed tree to triangles that have moved, where it lies: nodes and the order of triangles stay. Each layout says
// what a node's children are, and writes their boxes.
//
// The steps, which are launched one after another: `measure`, `move_triangles`, `link` and `fit_nodes`.
// tracecore/cuda/device_refit.py launches them. Lauterbach, Yoon, Tuft, Manocha: RT-DEFORM: Interactive Ray Tracing of
// Dynamic Scenes using BVHs, 2006.
#pragma once

#include "block_sums.cuh"
#include "hand_over.cuh"
#include "node_boxes.cuh"

struct Refit {
    PackedNode* nodes;
    PackedTriangle* packed_triangles;
    const Corners* triangles;  // in the caller's order
    unsigned* parent;          // of each node
    unsigned* arrivals;        // inner children of each node whose boxes are not there yet
    Bounds* boxes;             // of each node, without pads
    unsigned* extent;          // bits of the largest coordinate by magnitude, above those of any where one is none
    unsigned node_count;
    unsigned triangle_count;
};
static_assert(sizeof(Refit) == REFIT_BYTES, "Refit differs from the REFIT of refit_records.py");

// A child of a node: inner, or else so many triangles from the first one on.
struct Child {
    int inner;
    unsigned first, count;

    __device__ bool is_inner() const {
        return inner >= 0;
    }
    __device__ bool is_spare() const {
        return inner < 0 && count == 0;
    }
};

// By the layout.
__device__ inline Child child_of(const PackedNode& node, int place);

// Writes the boxes of children. filled: a bit for each that is not spare. extent: the scene's. By the layout.
__device__ inline void write_boxes(PackedNode& node, const Bounds* boxes, unsigned filled, float extent);

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) measure(const Refit refit) {
    unsigned extent = 0;
    for (unsigned i = thread_index(); i < refit.triangle_count; i += gridDim.x * BLOCK_SIZE) {
        const Corners triangle = load_corners(refit.triangles, i);
        for (int corner = 0; corner < 3; ++corner) {
            for (int axis = 0; axis < 3; ++axis) {
                extent = max(extent, __float_as_uint(fabsf(triangle.corner[corner][axis])));
            }
        }
    }
    extent = greatest_in_warp(extent);
    if (lane_index() == 0) atomicMax(refit.extent, extent);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) move_triangles(const Refit refit) {
    const unsigned i = thread_index();
    if (i >= refit.triangle_count) return;
    refit.packed_triangles[i] = load_packed(refit.triangles, refit.packed_triangles[i].rows[0].prim_id);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) link(const Refit refit) {
    const unsigned node = thread_index();
    if (node >= refit.node_count) return;
    unsigned inner = 0;
    for (int place = 0; place < WIDTH; ++place) {
        const Child child = child_of(refit.nodes[node], place);
        if (!child.is_inner()) continue;
        refit.parent[child.inner] = node;
        ++inner;
    }
    refit.arrivals[node] = inner;
}

__device__ inline Bounds united(const Bounds& one, const Bounds& other) {
    Bounds both;
    for (int axis = 0; axis < 3; ++axis) {
        both.lower[axis] = fminf(one.lower[axis], other.lower[axis]);
        both.upper[axis] = fmaxf(one.upper[axis], other.upper[axis]);
    }
    return both;
}

__device__ inline Bounds bounds_of_leaf(const Refit& refit, const Child& child) {
    Bounds bounds = bounds_of(refit.packed_triangles[child.first]);
    for (unsigned i = 1; i < child.count; ++i) {
        bounds = united(bounds, bounds_of(refit.packed_triangles[child.first + i]));
    }
    return bounds;
}

// What another thread has written before it counted down lies where the whole device sees it, past the caches of
// multiprocessors.
__device__ inline void store_bounds(Bounds* to, const Bounds& bounds) {
    float2* words = reinterpret_cast<float2*>(to);
    __stcg(words, make_float2(bounds.lower[0], bounds.lower[1]));
    __stcg(words + 1, make_float2(bounds.lower[2], bounds.upper[0]));
    __stcg(words + 2, make_float2(bounds.upper[1], bounds.upper[2]));
}

__device__ inline Bounds load_bounds(const Bounds* from) {
    const float2* words = reinterpret_cast<const float2*>(from);
    const float2 a = __ldcg(words), b = __ldcg(words + 1), c = __ldcg(words + 2);
    return {{a.x, a.y, b.x}, {b.y, c.x, c.y}};
}

// Writes a node, and returns the bounds of all that is below it.
__device__ inline Bounds fit_node(const Refit& refit, unsigned node) {
    PackedNode packed = refit.nodes[node];
    Bounds boxes[WIDTH], whole;
    unsigned filled = 0;
    for (int place = 0; place < WIDTH; ++place) {
        const Child child = child_of(packed, place);
        if (child.is_spare()) continue;
        boxes[place] = child.is_inner() ? load_bounds(refit.boxes + child.inner) : bounds_of_leaf(refit, child);
        whole = filled == 0 ? boxes[place] : united(whole, boxes[place]);
        filled |= 1u << place;
    }
    write_boxes(packed, boxes, filled, __uint_as_float(*refit.extent));
    refit.nodes[node] = packed;
    return whole;
}

// Each thread goes up from a node whose children are leaves. Of those that come to a node, the last one goes on.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) fit_nodes(const Refit refit) {
    unsigned node = thread_index();
    if (node >= refit.node_count) return;
    for (int place = 0; place < WIDTH; ++place) {
        if (child_of(refit.nodes[node], place).is_inner()) return;
    }
    store_bounds(refit.boxes + node, fit_node(refit, node));
    while (node > 0) {
        node = refit.parent[node];
        if (count_down(refit.arrivals[node]) > 1) return;
        store_bounds(refit.boxes + node, fit_node(refit, node));
    }
}
