// The scene of tracecore/layout/bvh2.py: a binary tree whose nodes hold both children's boxes, and triangles in the order of
// the leaves.
#pragma once

#include "box.cuh"
#include "bvh2_node.cuh"
#include "child.cuh"
#include "packed_triangle.cuh"

struct Scene {
    const PackedNode* nodes;
    const PackedTriangle* triangles;
    Cutouts cutouts;
    float extent;  // largest coordinate by magnitude
};
static_assert(sizeof(Scene) == SCENE_BYTES, "Scene differs from the layout's SCENE");

struct Node {
    Box left_box, right_box;
    int left, right;
};

__device__ inline Node load_node(const Scene& scene, int index) {
    const float4* words = reinterpret_cast<const float4*>(scene.nodes + index);
    const float4 left = __ldg(words);
    const float4 right = __ldg(words + 1);
    const float4 z = __ldg(words + 2);
    const int2 child = __ldg(reinterpret_cast<const int2*>(words + 3));
    const Box left_box = {{left.x, left.z, z.x}, {left.y, left.w, z.y}};
    const Box right_box = {{right.x, right.z, z.z}, {right.y, right.w, z.w}};
    return {left_box, right_box, child.x, child.y};
}
