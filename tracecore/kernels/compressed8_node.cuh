// The nodes of tracecore/layout/compressed8.py. Layout of Ylitie, Karras, Laine: Efficient
// Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017.
#pragma once

struct alignas(16) PackedNode {
    float origin[3];
    unsigned char exponent[3];
    unsigned char inner;
    unsigned child_base;
    unsigned triangle_base;
    unsigned triangles;
    unsigned unused;
    unsigned char lower[3][8];
    unsigned char upper[3][8];
};
static_assert(sizeof(PackedNode) == NODE_BYTES, "PackedNode differs from the layout's NODE");
