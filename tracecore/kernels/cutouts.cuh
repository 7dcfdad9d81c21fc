// Triangles of which a mask says where they are not there: the bytes of tracecore/cutouts.py.
#pragma once

#include "ray.cuh"

struct alignas(16) PackedCutout {
    float uv[3][2];  // texture coordinates of the corners
    unsigned first_word;
    unsigned shape;  // width, height << SIDE_BITS, and whether it is clamped above
};
static_assert(sizeof(PackedCutout) == CUTOUT_BYTES, "PackedCutout differs from the CUTOUT of cutouts.py");

// Null where all triangles are solid; then CUTOUTS is 0 and nothing of it is read.
struct Cutouts {
    const int* cutout_of;  // by prim_id; -1: solid
    const PackedCutout* cutouts;
    const unsigned* mask_words;
};

// Row or column of a mask. A coordinate that is no number has the first one.
__device__ inline unsigned texel(float coordinate, unsigned size, bool is_clamped) {
    const float scaled = (is_clamped ? coordinate : coordinate - floorf(coordinate)) * static_cast<float>(size);
    if (!(scaled > 0.0f)) return 0;
    return scaled < static_cast<float>(size - 1) ? static_cast<unsigned>(scaled) : size - 1;
}

// A texture coordinate from those of the corners.
__device__ inline float mean(const Hit& hit, float at_v0, float at_v1, float at_v2) {
    return fmaf(hit.v, at_v2, fmaf(hit.u, at_v1, ((1.0f - hit.u) - hit.v) * at_v0));
}

// Whether the triangle is there where it is hit.
__device__ inline bool is_there(const Cutouts& cutouts, const Hit& hit) {
    const int index = __ldg(cutouts.cutout_of + hit.prim_id);
    if (index < 0) return true;
    const uint4* words = reinterpret_cast<const uint4*>(cutouts.cutouts + index);
    const uint4 a = __ldg(words);
    const uint4 b = __ldg(words + 1);
    const float s = mean(hit, __uint_as_float(a.x), __uint_as_float(a.z), __uint_as_float(b.x));
    const float t = mean(hit, __uint_as_float(a.y), __uint_as_float(a.w), __uint_as_float(b.y));
    constexpr unsigned SIDE = (1u << SIDE_BITS) - 1;
    const unsigned width = b.w & SIDE;
    const bool is_clamped = b.w >> 2 * SIDE_BITS != 0;
    const unsigned row = texel(t, b.w >> SIDE_BITS & SIDE, is_clamped);
    const unsigned bit = row * width + texel(s, width, is_clamped);
    return (__ldg(cutouts.mask_words + b.z + bit / 32) >> bit % 32 & 1) != 0;
}
