// The nodes of tracecore/layout/bvh2.py. Layout of Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
#pragma once

struct alignas(16) PackedNode {
    float left_xy[4];   // centre.x half.x centre.y half.y
    float right_xy[4];  // centre.x half.x centre.y half.y
    float z[4];         // left centre, left half, right centre, right half
    int child[2];       // left, right
    int unused[2];
};
static_assert(sizeof(PackedNode) == NODE_BYTES, "PackedNode differs from the layout's NODE");
