// A node of a binary tree in the lanes of a warp: lane i has word i, so that six lanes have a centre and six a half extent
// of the two boxes. Barczak: GPU Ray Tracing the Wrong Way, 2016.
#pragma once

#include "bvh2.cuh"
#include "warp.cuh"

constexpr int NODE_WORDS = sizeof(PackedNode) / sizeof(int);
constexpr int Z_WORD = (sizeof(PackedNode::left_xy) + sizeof(PackedNode::right_xy)) / sizeof(int);
constexpr int CHILD_WORD = Z_WORD + sizeof(PackedNode::z) / sizeof(int);

__device__ inline int load_word(const Scene& scene, int node, unsigned word) {
    return __ldg(reinterpret_cast<const int*>(scene.nodes + node) + word);
}

// The upper half of the warp has the same words as the lower one.
__device__ inline int load_word(const Scene& scene, int node) {
    return load_word(scene, node, lane_index() % NODE_WORDS);
}

// A node out of its words, as they lie in memory.
__device__ inline Node node_of_words(const int* words) {
    const auto value = [words](int word) { return __int_as_float(words[word]); };
    const auto box = [value](int xy, int z) {
        return Box{{value(xy), value(xy + 2), value(z)}, {value(xy + 1), value(xy + 3), value(z + 1)}};
    };
    return {box(0, Z_WORD), box(Z_WORD / 2, Z_WORD + 2), words[CHILD_WORD], words[CHILD_WORD + 1]};
}

__device__ inline int child_of_lanes(int word, bool left) {
    return __shfl_sync(WHOLE_WARP, word, left ? CHILD_WORD : CHILD_WORD + 1);
}

// What becomes of this lane's word: word * inverse + offset.
struct Plane {
    float inverse;
    float offset;  // of odd lanes the pad
};

__device__ inline Plane plane_of_lane(const CentreRay& ray) {
    const unsigned word = lane_index() % NODE_WORDS;
    const CentreSlab slab = word >= Z_WORD ? ray.z : (word & 2) != 0 ? ray.y : ray.x;
    return {slab.inverse, word % 2 == 0 ? slab.offset : slab.pad};
}

// Bits of what `test_boxes` returns.
constexpr unsigned LEFT_HIT = 1 << 0;
constexpr unsigned LEFT_FIRST = 1 << 2;
constexpr unsigned RIGHT_HIT = 1 << 4;
constexpr unsigned BOTH_HIT = LEFT_HIT | RIGHT_HIT;

// Which boxes the ray hits, and whether the left one is no farther, as by `slab_test`, but that the part before t = 0 is no
// larger than it is. Other bits mean nothing. Even lanes work on `near` and odd lanes on `-far`, so that all want the
// largest of the axes.
__device__ inline unsigned test_boxes(int word, const Plane& plane, float t_min, float t_max) {
    const unsigned lane = lane_index();
    const float t = fmaf(__int_as_float(word), plane.inverse, plane.offset);
    const float partner = __shfl_xor_sync(WHOLE_WARP, t, 1);
    const float axis = lane % 2 == 0 ? t - fabsf(partner) : -partner - fabsf(t);
    const float xy = fmaxf(axis, __shfl_xor_sync(WHOLE_WARP, axis, 2));
    const float z = __shfl_sync(WHOLE_WARP, axis, Z_WORD + (lane & 4) / 2 + lane % 2);
    const float end = fmaxf(fmaxf(xy, z), lane % 2 == 0 ? t_min : -t_max);
    // Lanes 0 to 3 have the left box's interval now and lanes 4 to 7 the right one's. Lanes 0 and 4 compare near with far,
    // lane 2 both near.
    const float other = __shfl_sync(WHOLE_WARP, end, lane == 2 ? 4 : lane ^ 1);
    return __ballot_sync(WHOLE_WARP, end <= (lane == 2 ? other : -other));
}
