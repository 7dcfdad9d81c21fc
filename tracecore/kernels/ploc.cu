// Builds a tree from the triangles up, by joining neighbours along a curve, and packs it: the bits of
// tracecore/bvh/ploc.py and tracecore/layout/bvh2.py, whose citations are not repeated here.
//
// The steps, which are launched one after another: those of curve.cuh, the passes of radix_sort.cuh, `plant` (a row of
// all triangles), in each round `find_nearest`, `count_pairs`, `scan_pairs` and `join_pairs`, then `number` (the nodes,
// depth first), `list_triangles`, `pack_nodes` and `pack_triangles`. tracecore/cuda/device_ploc.py launches them.
#include "bvh2_node.cuh"
#include "child.cuh"
#include "curve.cuh"
#include "node_boxes.cuh"
#include "radix_sort.cuh"

// ------------------------------------------------------------------------------------------------------- the hierarchy

// What is below a node.
struct alignas(16) Subtree {
    float lower[3], upper[3];
    unsigned count;     // of triangles
    unsigned inner;     // inner nodes down to the leaves, 0 of a leaf
    double cost;        // expected cost of a ray, times half of the scene's surface
    long long surface;  // of the triangles: `surface_before` of tracecore/layout/occlusion_order.py
    unsigned height;    // levels of inner nodes
    unsigned slot;      // 2 * the split that has it as a child, and 1 more on the right; of the root NO_SLOT
    unsigned unused[2];
};
static_assert(sizeof(Subtree) == SUBTREE_BYTES, "Subtree differs from the SUBTREE of ploc_records.py");

constexpr unsigned NO_SLOT = ~0u;

// Nodes are the triangles along the curve, and then the splits. Splits are numbered as threads come: what they divide is
// the same each time.
struct Hierarchy {
    Subtree* subtrees;        // of each node
    unsigned* children;       // which node is in each slot
    unsigned triangle_count;  // at least 2
};

// -------------------------------------------------------------------------------------------------------------- rounds

// The row of subtrees that are not joined yet, before a round.
struct RowState {
    unsigned length;
    unsigned splits;   // that there are
    unsigned by_twos;  // whether all are joined two by two in this round, as too few found each other
    unsigned unused;
};
static_assert(sizeof(RowState) == ROW_STATE_BYTES, "RowState differs from the ROW_STATE of ploc_records.py");

struct Round {
    Hierarchy nodes;
    const Corners* triangles;
    const unsigned* prim_ids;  // in the order of the curve
    const unsigned* greatest;  // as in Curve
    unsigned* row;             // nodes
    unsigned* next_row;
    unsigned* nearest;     // which one of the row each would be joined with
    unsigned* tile_pairs;  // pairs whose second one is in each tile; then in all tiles before
    RowState* state;
    RowState* next_state;
    Subtree* root;
    unsigned max_leaf;
    unsigned triangle_block;
};
static_assert(sizeof(Round) == ROUND_BYTES, "Round differs from the ROUND of ploc_records.py");

__device__ inline Subtree subtree_of_triangle(const Round& round, unsigned place) {
    const Corners triangle = load_corners(round.triangles, __ldg(&round.prim_ids[place]));
    const Bounds bounds = bounds_of(triangle);
    Subtree subtree = {};
    for (int axis = 0; axis < 3; ++axis) {
        subtree.lower[axis] = bounds.lower[axis];
        subtree.upper[axis] = bounds.upper[axis];
    }
    subtree.count = 1;
    subtree.cost = half_area(bounds.lower, bounds.upper);
    subtree.surface = surface_of(triangle, surface_scale(extent_of(round.greatest)));
    return subtree;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) plant(const Round round) {
    const unsigned place = thread_index();
    if (place == 0) *round.state = {round.nodes.triangle_count, 0, 0, 0};
    if (place >= round.nodes.triangle_count) return;
    round.nodes.subtrees[place] = subtree_of_triangle(round, place);
    round.row[place] = place;
}

constexpr unsigned WINDOW = BLOCK_SIZE + 2 * RADIUS;

// Boxes of those that a block looks at, in a cube of edge 1: lower x, y, z, upper x, y, z.
__shared__ float window[6][WINDOW];

// What a pair costs, and then in which bits their places differ: `_least_key` of tracecore/bvh/ploc.py.
__device__ inline unsigned long long key_of(unsigned one, unsigned other, unsigned difference) {
    float edge[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float upper = fmaxf(window[axis + 3][one], window[axis + 3][other]);
        edge[axis] = upper - fminf(window[axis][one], window[axis][other]);
    }
    const float area = edge[0] * edge[1] + edge[1] * edge[2] + edge[2] * edge[0];
    return static_cast<unsigned long long>(__float_as_uint(area)) << 32 | difference;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) find_nearest(const Round round) {
    const unsigned length = round.state->length, first = blockIdx.x * BLOCK_SIZE;
    if (first >= length) return;
    const Cube cube = cube_around(round.greatest);
    const unsigned begin = max(first, RADIUS) - RADIUS, end = min(first + BLOCK_SIZE + RADIUS, length);
    for (unsigned place = begin + threadIdx.x; place < end; place += BLOCK_SIZE) {
        const Subtree& subtree = round.nodes.subtrees[round.row[place]];
        for (int axis = 0; axis < 3; ++axis) {
            window[axis][place - begin] = in_cube(subtree.lower[axis], cube, axis);
            window[axis + 3][place - begin] = in_cube(subtree.upper[axis], cube, axis);
        }
    }
    __syncthreads();
    const unsigned place = first + threadIdx.x;
    if (place >= length) return;
    unsigned long long least = 0x7fffffffull << 32;  // of itself, for one without neighbours
    for (unsigned other = max(place, RADIUS) - RADIUS; other < min(place + RADIUS + 1, length); ++other) {
        const unsigned long long key = key_of(place - begin, other - begin, place ^ other);
        if (other != place && key < least) least = key;
    }
    round.nearest[place] = place ^ static_cast<unsigned>(least);
}

// Whether the subtree at a place is joined with one before it, and is in the row no more.
__device__ inline bool is_second(const Round& round, unsigned place) {
    const unsigned nearest = round.nearest[place];
    return nearest < place && round.nearest[nearest] == place;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) count_pairs(const Round round) {
    const unsigned first = blockIdx.x * TILE_KEYS, end = min(first + TILE_KEYS, round.state->length);
    if (first >= end) return;
    unsigned found = 0, sum;
    for (unsigned place = first + threadIdx.x; place < end; place += BLOCK_SIZE) found += is_second(round, place);
    sum_before(found, sum);
    if (threadIdx.x == 0) round.tile_pairs[blockIdx.x] = sum;
}

// One block.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) scan_pairs(const Round round) {
    const unsigned length = round.state->length, tiles = (length + TILE_KEYS - 1) / TILE_KEYS;
    unsigned pairs = exclusive_sums(round.tile_pairs, tiles);
    const bool by_twos = pairs * (2ull * LEAST_SHARE) < length;
    if (by_twos) {
        pairs = length / 2;
        for (unsigned tile = threadIdx.x; tile < tiles; tile += BLOCK_SIZE) {
            round.tile_pairs[tile] = tile * TILE_KEYS / 2;
        }
    }
    if (threadIdx.x > 0) return;
    round.state->by_twos = by_twos;
    *round.next_state = {length - pairs, round.state->splits, 0, 0};
}

// Two subtrees side by side under a node, or a leaf of all their triangles where that costs no more: `_choose_leaves`
// of tracecore/bvh/bottom_up.py. Of equal bounds, 0 and -0, the right one's counts.
__device__ inline Subtree joined(const Round& round, const Subtree& left, const Subtree& right) {
    Subtree whole = {};
    for (int axis = 0; axis < 3; ++axis) {
        whole.lower[axis] = left.lower[axis] < right.lower[axis] ? left.lower[axis] : right.lower[axis];
        whole.upper[axis] = left.upper[axis] > right.upper[axis] ? left.upper[axis] : right.upper[axis];
    }
    whole.count = left.count + right.count;
    whole.surface = left.surface + right.surface;
    const double area = half_area(whole.lower, whole.upper);
    const double split = VISIT_COST * area + left.cost + right.cost;
    const double leaf = static_cast<double>((whole.count + round.triangle_block - 1) / round.triangle_block) * area;
    const bool is_leaf = whole.count <= round.max_leaf && leaf <= split;
    whole.cost = is_leaf ? leaf : split;
    whole.inner = is_leaf ? 0 : 1 + left.inner + right.inner;
    whole.height = is_leaf ? 0 : 1 + max(left.height, right.height);
    return whole;
}

// Returns the node of a new split, which has two others as children.
__device__ inline unsigned join_nodes(const Round& round, unsigned left, unsigned right) {
    const Hierarchy& nodes = round.nodes;
    const unsigned split = atomicAdd(&round.next_state->splits, 1u), node = nodes.triangle_count + split;
    nodes.subtrees[node] = joined(round, nodes.subtrees[left], nodes.subtrees[right]);
    nodes.children[2 * split] = left;
    nodes.children[2 * split + 1] = right;
    nodes.subtrees[left].slot = 2 * split;
    nodes.subtrees[right].slot = 2 * split + 1;
    if (node == 2 * nodes.triangle_count - 2) {
        nodes.subtrees[node].slot = NO_SLOT;
        *round.root = nodes.subtrees[node];
    }
    return node;
}

// Joins pairs, and closes the gaps.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) join_pairs(const Round round) {
    const unsigned length = round.state->length, first = blockIdx.x * TILE_KEYS, end = min(first + TILE_KEYS, length);
    if (first >= end) return;
    const bool by_twos = round.state->by_twos;
    unsigned gone = round.tile_pairs[blockIdx.x];  // of those before
    for (unsigned chunk = first; chunk < end; chunk += BLOCK_SIZE) {
        const unsigned place = chunk + threadIdx.x;
        const bool is_gone = place < end && (by_twos ? place % 2 == 1 : is_second(round, place));
        unsigned sum;
        const unsigned kept = place - gone - sum_before(is_gone, sum);
        gone += sum;
        if (place >= end || is_gone) continue;
        const unsigned other = by_twos ? place ^ 1 : round.nearest[place], node = round.row[place];
        const bool is_joined = other < length && (by_twos || (other > place && round.nearest[other] == place));
        round.next_row[kept] = is_joined ? join_nodes(round, node, round.row[other]) : node;
    }
}

// --------------------------------------------------------------------------------------------------------- the numbers

// The arrays of a BinaryTree, and how a packed node names each node.
struct Tree {
    float* lower;  // three a node
    float* upper;
    int* child;
    int* first;
    int* count;
    int* name;
};

struct Number {
    Hierarchy nodes;  // the root is not a leaf
    const unsigned* prim_ids;
    unsigned* order;  // which triangle each of the tree is
    Tree tree;
    unsigned* swapped;  // of each rank, whether the packed node has the children the other way round
};
static_assert(sizeof(Number) == NUMBER_BYTES, "Number differs from the NUMBER of ploc_records.py");

// Where a node is.
struct Position {
    bool is_inner;     // neither a leaf nor inside one
    unsigned rank;     // inner nodes that come before it, depth first
    unsigned pending;  // inner nodes to the right of the way from the root to it
    unsigned first;    // triangles to its left
};

__device__ inline Position position_of(const Hierarchy& nodes, unsigned node) {
    Position position = {true, 0, 0, 0};
    for (;;) {
        const Subtree& subtree = nodes.subtrees[node];
        position.is_inner = position.is_inner && subtree.inner > 0;
        const unsigned slot = subtree.slot;
        if (slot == NO_SLOT) return position;
        const Subtree& beside = nodes.subtrees[nodes.children[slot ^ 1]];
        const bool is_left = slot % 2 == 0;
        position.rank += 1 + (is_left ? 0 : beside.inner);
        position.pending += is_left && beside.inner > 0;
        position.first += is_left ? 0 : beside.count;
        node = nodes.triangle_count + slot / 2;
    }
}

// first: triangles before it. rank: as of a `Position`; index: of its packed node, both of an inner node.
__device__ inline void write_node(const Tree& tree, unsigned node, const Subtree& subtree, unsigned first,
                                  unsigned rank, unsigned index) {
    const bool is_leaf = subtree.inner == 0;
    for (int axis = 0; axis < 3; ++axis) {
        tree.lower[3 * node + axis] = subtree.lower[axis];
        tree.upper[3 * node + axis] = subtree.upper[axis];
    }
    tree.child[node] = is_leaf ? 0 : 1 + 2 * rank;
    tree.first[node] = is_leaf ? first : 0;
    tree.count[node] = is_leaf ? subtree.count : 0;
    tree.name[node] = is_leaf ? leaf_of(first, subtree.count) : index;
}

// Depth first an inner node gives the next two numbers to its children, so that those of rank r have 1 + 2 * r and the
// number behind. Packed nodes are the inner ones in the order of numbers: children of those that come before, which are
// these themselves and what is pending, come first.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) number(const Number number) {
    const Hierarchy& nodes = number.nodes;
    const unsigned split = thread_index(), node = nodes.triangle_count + split;
    if (split >= nodes.triangle_count - 1 || nodes.subtrees[node].inner == 0) return;
    const Position position = position_of(nodes, node);
    if (!position.is_inner) return;
    const Subtree& left = nodes.subtrees[nodes.children[2 * split]];
    const Subtree& right = nodes.subtrees[nodes.children[2 * split + 1]];
    const unsigned child = 1 + 2 * position.rank, rank = position.rank + 1, index = rank + position.pending;
    if (position.rank == 0) write_node(number.tree, 0, nodes.subtrees[node], 0, 0, 0);
    number.swapped[position.rank] = right.surface < left.surface;
    write_node(number.tree, child, left, position.first, rank, index);
    write_node(number.tree, child + 1, right, position.first + left.count, rank + left.inner, index + (left.inner > 0));
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) list_triangles(const Number number) {
    const unsigned place = thread_index();
    if (place >= number.nodes.triangle_count) return;
    number.order[position_of(number.nodes, place).first] = number.prim_ids[place];
}

// --------------------------------------------------------------------------------------------------- what kernels read

struct Pack {
    Tree tree;
    const unsigned* swapped;
    const Corners* triangles;
    const unsigned* order;
    PackedNode* nodes;
    PackedTriangle* packed_triangles;
    unsigned tree_nodes;
    unsigned triangle_count;
};
static_assert(sizeof(Pack) == PACK_BYTES, "Pack differs from the PACK of ploc_records.py");

__device__ inline void pack_child(const Tree& tree, int node, float* xy, float* z, int& child) {
    const Planes planes = padded_box(tree.lower + 3 * node, tree.upper + 3 * node);
    float2 sides[3];
    for (int axis = 0; axis < 3; ++axis) sides[axis] = centre_and_half(planes.lower[axis], planes.upper[axis]);
    xy[0] = sides[0].x;
    xy[1] = sides[0].y;
    xy[2] = sides[1].x;
    xy[3] = sides[1].y;
    z[0] = sides[2].x;
    z[1] = sides[2].y;
    child = tree.name[node];
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pack_nodes(const Pack pack) {
    const unsigned node = thread_index();
    if (node >= pack.tree_nodes || pack.tree.child[node] == 0) return;
    PackedNode packed = {};
    const int first = pack.tree.child[node], swapped = pack.swapped[(first - 1) / 2];
    pack_child(pack.tree, first + swapped, packed.left_xy, packed.z, packed.child[0]);
    pack_child(pack.tree, first + 1 - swapped, packed.right_xy, packed.z + 2, packed.child[1]);
    pack.nodes[pack.tree.name[node]] = packed;
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pack_triangles(const Pack pack) {
    const unsigned leaf_index = thread_index();
    if (leaf_index >= pack.triangle_count) return;
    pack.packed_triangles[leaf_index] = load_packed(pack.triangles, pack.order[leaf_index]);
}
