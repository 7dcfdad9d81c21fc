// The triangles of tracecore/layout/packed_triangle.py: in the order of the leaves, a row for each axis.
#pragma once

struct alignas(16) PackedRow {
    float component[3];  // by corner
    unsigned prim_id;
};
static_assert(sizeof(PackedRow) == ROW_BYTES, "PackedRow differs from the layout's ROW");

struct PackedTriangle {
    PackedRow rows[3];  // by axis
};
static_assert(sizeof(PackedTriangle) == TRIANGLE_BYTES, "PackedTriangle differs from the layout's PACKED_TRIANGLE");
