// Collapses a binary tree to the wide tree of least cost: the bits of tracecore/bvh/optimal_collapse.py and of
// `fill_children` of tracecore/bvh/wide.py, whose citations are not repeated here. Each layout packs what this makes.
//
// The steps, which are launched one after another: `link_parents`, `share_out` (the costs, from the leaves up), for each
// level of wide nodes `open_level`, `scan_level` and `number_level`, and from the last level to the first `find_need`.
// tracecore/cuda/device_collapse.py launches them.
#pragma once

#include "block_sums.cuh"
#include "corners.cuh"
#include "hand_over.cuh"
#include "node_boxes.cuh"

constexpr int EMPTY = -1;  // a spare child; in place of the number of a wide node a leaf
constexpr int INNER = 0;   // an inner child that has no number yet: the root is nobody's child

struct PackedNode;

// The arrays of a BinaryTree. Children of an inner node are 2 * r + 1 and the next one, where r is its rank.
struct BinaryTree {
    const float* lower;
    const float* upper;
    const int* child;
    const int* first;
    const int* count;
    const unsigned* order;
};

// What is below an inner node of the binary tree.
struct alignas(16) Costs {
    double least[WIDTH];  // cost in at most 1, 2, ... of a wide node's children, the last one without the node itself
    long long surface;    // of its triangles, see node_boxes.cuh
    int first, count;     // leaf indices
    int useful;           // how many children it can make use of
    signed char share[WIDTH + 1];  // how many of so many children go to the left one, 0 where it takes one; the first
                                   // says whether a leaf costs least
};
static_assert(sizeof(Costs) == COSTS_BYTES, "Costs differs from the COSTS of collapse_records.py");

// Wide nodes of a level, and triangles in leaves of the nodes before them.
struct Level {
    unsigned first, length, triangles, unused;
};
static_assert(sizeof(Level) == LEVEL_BYTES, "Level differs from the LEVEL of collapse_records.py");

struct Collapse {
    BinaryTree tree;
    const Corners* triangles;
    int* parent;                 // the node of each rank
    unsigned* arrivals;          // at the node of each rank, 0
    Costs* costs;                // of the node of each rank
    int* binary;                 // of each wide node, the nodes of the binary tree that are its children
    int* wide;                   // of each wide node, the wide nodes that stand for inner children
    unsigned* inner_before;      // of each wide node, the first of these, and triangles in leaves before its own; where
    unsigned* triangles_before;  // it is not numbered yet, how many of either it has
    unsigned* tile_inner;        // the same for a block's nodes of a level
    unsigned* tile_triangles;
    unsigned* need;  // entries of a stack below each wide node
    Level* level;
    Level* next_level;
    PackedNode* nodes;
    PackedTriangle* packed_triangles;
    unsigned tree_nodes;
    unsigned wide_nodes;
    unsigned triangle_count;
};
static_assert(sizeof(Collapse) == COLLAPSE_BYTES, "Collapse differs from the COLLAPSE of collapse_records.py");

// -------------------------------------------------------------------------------------------------------------- costs

__device__ inline int rank_of(const BinaryTree& tree, int node) {
    return (tree.child[node] - 1) / 2;
}

__device__ inline double half_area(const BinaryTree& tree, int node) {
    return half_area(tree.lower + 3 * node, tree.upper + 3 * node);
}

// The largest coordinate of the scene by magnitude.
__device__ inline float extent_of(const BinaryTree& tree) {
    float extent = 0.0f;
    for (int axis = 0; axis < 3; ++axis) extent = fmaxf(extent, fmaxf(-tree.lower[axis], tree.upper[axis]));
    return extent;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) link_parents(const Collapse collapse) {
    const unsigned node = thread_index();
    if (node == 0) {
        *collapse.level = {0, 1, 0, 0};
        collapse.binary[0] = 0;
    }
    if (node >= collapse.tree_nodes || collapse.tree.child[node] == 0) return;
    collapse.parent[rank_of(collapse.tree, node)] = node;
}

__device__ inline Costs costs_of_leaf(const Collapse& collapse, int node) {
    const BinaryTree& tree = collapse.tree;
    Costs costs = {};
    costs.first = tree.first[node];
    costs.count = tree.count[node];
    costs.useful = 1;
    for (int i = 0; i < WIDTH; ++i) costs.least[i] = TRIANGLE_COST * costs.count * half_area(tree, node);
    const double scale = surface_scale(extent_of(tree));
    for (int i = 0; i < costs.count; ++i) {
        costs.surface += surface_of(load_corners(collapse.triangles, tree.order[costs.first + i]), scale);
    }
    return costs;
}

// What another thread has written before it counted down lies where the whole device sees it, past the caches of
// multiprocessors.
__device__ inline void store_costs(Costs* to, const Costs& costs) {
    const uint4* words = reinterpret_cast<const uint4*>(&costs);
#pragma unroll
    for (unsigned i = 0; i < sizeof(Costs) / sizeof(uint4); ++i) __stcg(reinterpret_cast<uint4*>(to) + i, words[i]);
}

__device__ inline Costs load_costs(const Costs* from) {
    Costs costs;
    uint4* words = reinterpret_cast<uint4*>(&costs);
#pragma unroll
    for (unsigned i = 0; i < sizeof(Costs) / sizeof(uint4); ++i)
        words[i] = __ldcg(reinterpret_cast<const uint4*>(from) + i);
    return costs;
}

__device__ inline Costs costs_of(const Collapse& collapse, int node) {
    if (collapse.tree.child[node] == 0) return costs_of_leaf(collapse, node);
    return load_costs(collapse.costs + rank_of(collapse.tree, node));
}

// The least cost of two siblings in so many children, and how many of them go to the left one: `_distribute`.
__device__ inline void distribute(const Costs& left, const Costs& right, int children, Costs& whole) {
    double lowest = infinite();
#pragma unroll
    for (int i = 1; i < WIDTH; ++i) {
        if (i >= children || i > left.useful) break;
        const double both = left.least[i - 1] + right.least[children - i - 1];
        if (both < lowest) {
            lowest = both;
            whole.share[children] = i;
        }
    }
    whole.least[children - 1] = lowest;
}

// The costs of an inner node of two children: `_join`.
__device__ inline Costs joined(const Costs& left, const Costs& right, double area) {
    Costs whole = {};
    whole.surface = left.surface + right.surface;
    whole.first = left.first;
    whole.count = left.count + right.count;
    const int useful = left.useful + right.useful;
#pragma unroll
    for (int children = 2; children <= WIDTH; ++children) {
        if (children <= useful) {
            distribute(left, right, children, whole);
        } else {  // one more makes no difference
            whole.least[children - 1] = whole.least[children - 2];
            whole.share[children] = whole.share[children - 1];
        }
    }
    whole.useful = min(useful, WIDTH);
    const double leaf = whole.count <= WIDE_LEAF ? TRIANGLE_COST * whole.count * area : infinite();
    const double inner = area + whole.least[WIDTH - 1];
    whole.share[0] = leaf <= inner;
    whole.least[0] = leaf <= inner ? leaf : inner;
#pragma unroll
    for (int children = 2; children < WIDTH; ++children) {
        if (whole.least[0] < whole.least[children - 1]) {
            whole.least[children - 1] = whole.least[0];
            whole.share[children] = 0;
        }
    }
    return whole;
}

// Each thread goes up from a leaf. Of two that come to a node, the first one ends, and the other joins both sides.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) share_out(const Collapse collapse) {
    int node = thread_index();
    if (node >= collapse.tree_nodes || collapse.tree.child[node] > 0) return;
    while (node > 0) {
        const int rank = (node - 1) / 2, left = 2 * rank + 1;
        if (count_down(collapse.arrivals[rank]) == 0) return;
        node = collapse.parent[rank];
        const double area = half_area(collapse.tree, node);
        store_costs(collapse.costs + rank, joined(costs_of(collapse, left), costs_of(collapse, left + 1), area));
    }
}

// ------------------------------------------------------------------------------------------------------------- levels

// A child of a wide node.
struct Child {
    int binary, wide, first, count;

    __device__ bool is_spare() const {
        return binary == EMPTY;
    }
    __device__ bool is_inner() const {
        return wide != EMPTY;
    }
};

__device__ inline Child child_of(const Collapse& collapse, unsigned node, int place) {
    const BinaryTree& tree = collapse.tree;
    const int binary = collapse.binary[WIDTH * node + place], wide = collapse.wide[WIDTH * node + place];
    if (binary == EMPTY) return {EMPTY, EMPTY, 0, 0};
    if (tree.child[binary] == 0) return {binary, wide, tree.first[binary], tree.count[binary]};
    const Costs& costs = collapse.costs[rank_of(tree, binary)];
    return {binary, wide, costs.first, costs.count};
}

__device__ inline int share_of(const Collapse& collapse, int node, int children) {
    const int child = collapse.tree.child[node];
    return child == 0 ? 0 : collapse.costs[(child - 1) / 2].share[children];
}

// Opens the children of a wide node as they were shared out: `_open_by_share`.
__device__ inline void open_node(const Collapse& collapse, unsigned node) {
    const BinaryTree& tree = collapse.tree;
    int binary[WIDTH], given[WIDTH], filled = 1;
    binary[0] = collapse.binary[WIDTH * node];
    given[0] = WIDTH;
    unsigned to_open = tree.child[binary[0]] > 0;  // a bit for each child
    while (to_open != 0) {
        const int one = __ffs(to_open) - 1, left = tree.child[binary[one]];
        const int left_share = share_of(collapse, binary[one], given[one]);
        binary[one] = left;
        binary[filled] = left + 1;
        given[filled] = given[one] - left_share;
        given[one] = left_share;
        if (share_of(collapse, left, left_share) == 0) to_open ^= 1u << one;
        if (share_of(collapse, left + 1, given[filled]) > 0) to_open |= 1u << filled;
        ++filled;
    }
    for (int i = 0; i < WIDTH; ++i) {
        const bool is_leaf = i < filled && (tree.child[binary[i]] == 0 || share_of(collapse, binary[i], 0) != 0);
        collapse.binary[WIDTH * node + i] = i < filled ? binary[i] : EMPTY;
        collapse.wide[WIDTH * node + i] = i < filled && !is_leaf ? INNER : EMPTY;
    }
}

// A block takes as many nodes of a level at a time as it has threads.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) open_level(const Collapse collapse) {
    const Level level = *collapse.level;
    for (unsigned tile = blockIdx.x; tile * BLOCK_SIZE < level.length; tile += gridDim.x) {
        const unsigned i = tile * BLOCK_SIZE + threadIdx.x, node = level.first + i;
        unsigned inner = 0, triangles = 0, sum_of_inner, sum_of_triangles;
        if (i < level.length) {
            open_node(collapse, node);
            for (int place = 0; place < WIDTH; ++place) {
                const Child child = child_of(collapse, node, place);
                inner += child.is_inner();
                triangles += child.is_inner() ? 0 : child.count;
            }
            collapse.inner_before[node] = inner;
            collapse.triangles_before[node] = triangles;
        }
        sum_before(inner, sum_of_inner);
        sum_before(triangles, sum_of_triangles);
        if (threadIdx.x == 0) {
            collapse.tile_inner[tile] = sum_of_inner;
            collapse.tile_triangles[tile] = sum_of_triangles;
        }
    }
}

// One block.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) scan_level(const Collapse collapse) {
    const Level level = *collapse.level;
    const unsigned tiles = (level.length + BLOCK_SIZE - 1) / BLOCK_SIZE;
    const unsigned inner = exclusive_sums(collapse.tile_inner, tiles);
    const unsigned triangles = exclusive_sums(collapse.tile_triangles, tiles);
    if (threadIdx.x == 0) *collapse.next_level = {level.first + level.length, inner, level.triangles + triangles, 0};
}

// Numbers the inner children of a level, and begins their nodes.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) number_level(const Collapse collapse) {
    const Level level = *collapse.level;
    for (unsigned tile = blockIdx.x; tile * BLOCK_SIZE < level.length; tile += gridDim.x) {
        const unsigned i = tile * BLOCK_SIZE + threadIdx.x, node = level.first + i;
        const bool is_there = i < level.length;
        unsigned sum;
        unsigned number = collapse.next_level->first + collapse.tile_inner[tile];
        number += sum_before(is_there ? collapse.inner_before[node] : 0, sum);
        unsigned triangles = level.triangles + collapse.tile_triangles[tile];
        triangles += sum_before(is_there ? collapse.triangles_before[node] : 0, sum);
        if (!is_there) continue;
        collapse.inner_before[node] = number;
        collapse.triangles_before[node] = triangles;
        for (int place = 0; place < WIDTH; ++place) {
            int& wide = collapse.wide[WIDTH * node + place];
            if (wide == EMPTY) continue;
            collapse.binary[WIDTH * number] = collapse.binary[WIDTH * node + place];
            wide = number++;
        }
    }
}

// Entries of a stack that a walk below a node may need at once, as the layout has it.
__device__ inline unsigned need_of(const Collapse& collapse, unsigned node);

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) find_need(const Collapse collapse) {
    const Level level = *collapse.level;
    for (unsigned i = thread_index(); i < level.length; i += gridDim.x * BLOCK_SIZE) {
        collapse.need[level.first + i] = need_of(collapse, level.first + i);
    }
}

__device__ inline Planes padded_box(const BinaryTree& tree, int node) {
    return padded_box(tree.lower + 3 * node, tree.upper + 3 * node);
}
