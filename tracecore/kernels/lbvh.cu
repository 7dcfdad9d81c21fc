// Builds a tree by the bits of a space-filling curve, and packs it: the bits of tracecore/bvh/lbvh.py and
// tracecore/layout/bvh2.py, whose citations are not repeated here. One thread works for each triangle, split or node.
//
// The steps, which are launched one after another: `bound` and `locate` (places along the curve), the passes of
// radix_sort.cuh, `join` (the hierarchy, from the triangles up), `number` (the nodes, depth first), `pack_nodes` and
// `pack_triangles`. tracecore/cuda/device_lbvh.py launches them.
#include "bvh2_node.cuh"
#include "child.cuh"
#include "hand_over.cuh"
#include "packed_row.cuh"
#include "radix_sort.cuh"

__device__ inline unsigned thread_index() {
    return blockIdx.x * BLOCK_SIZE + threadIdx.x;
}

// ----------------------------------------------------------------------------------------------------------- triangles

// Three corners of three coordinates, as the caller gives them.
struct Corners {
    float corner[3][3];
};

struct Bounds {
    float lower[3], upper[3];
};

__device__ inline Corners load_corners(const Corners* triangles, unsigned prim_id) {
    Corners triangle;
    for (int corner = 0; corner < 3; ++corner) {
        for (int axis = 0; axis < 3; ++axis) {
            triangle.corner[corner][axis] = __ldg(&triangles[prim_id].corner[corner][axis]);
        }
    }
    return triangle;
}

// As tracecore/bvh/boxes.py has it also for 0 and -0: the first of equal numbers.
__device__ inline Bounds bounds_of(const Corners& triangle) {
    Bounds bounds;
    for (int axis = 0; axis < 3; ++axis) {
        float least = triangle.corner[0][axis], greatest = least;
        for (int corner = 1; corner < 3; ++corner) {
            const float value = triangle.corner[corner][axis];
            least = value < least ? value : least;
            greatest = value > greatest ? value : greatest;
        }
        bounds.lower[axis] = least;
        bounds.upper[axis] = greatest;
    }
    return bounds;
}

// ----------------------------------------------------------------------------------------------------- along the curve

struct Curve {
    const Corners* triangles;
    unsigned* greatest;  // ordered bits of the greatest -x -y -z x y z of all corners; 0 is less than any
    unsigned long long* codes;
    unsigned* prim_ids;
    unsigned count;
};
static_assert(sizeof(Curve) == CURVE_BYTES, "Curve differs from the CURVE of lbvh_records.py");

// Bits that are ordered as the numbers are. Herf: Radix Tricks, 2001.
__device__ inline unsigned ordered_bits(float value) {
    const unsigned bits = __float_as_uint(value);
    return bits ^ (bits >> 31 ? ~0u : 1u << 31);
}

__device__ inline float of_ordered_bits(unsigned bits) {
    return __uint_as_float(bits ^ (bits >> 31 ? 1u << 31 : ~0u));
}

__device__ inline unsigned greatest_in_warp(unsigned value) {
    for (int flip = 1; flip < static_cast<int>(WARP_LANES); flip *= 2) {
        value = max(value, __shfl_xor_sync(WHOLE_WARP, value, flip));
    }
    return value;
}

// The bounds of all triangles, by as many blocks as there are.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) bound(const Curve curve) {
    unsigned greatest[6] = {};
    for (unsigned i = thread_index(); i < curve.count; i += gridDim.x * BLOCK_SIZE) {
        const Bounds bounds = bounds_of(load_corners(curve.triangles, i));
        for (int axis = 0; axis < 3; ++axis) {
            greatest[axis] = max(greatest[axis], ordered_bits(-bounds.lower[axis]));
            greatest[axis + 3] = max(greatest[axis + 3], ordered_bits(bounds.upper[axis]));
        }
    }
    for (int i = 0; i < 6; ++i) {
        const unsigned of_warp = greatest_in_warp(greatest[i]);
        if (lane_index() == 0) atomicMax(&curve.greatest[i], of_warp);
    }
}

// The least cube that holds all triangles.
struct Cube {
    double low[3];
    double scale;  // 1 over its edge, or 0 for one without size
};

__device__ inline Cube cube_around(const unsigned* greatest) {
    Cube cube;
    double edge = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
        cube.low[axis] = -static_cast<double>(of_ordered_bits(greatest[axis]));
        const double extent = static_cast<double>(of_ordered_bits(greatest[axis + 3])) - cube.low[axis];
        if (extent > edge) edge = extent;
    }
    cube.scale = edge > 0.0 ? 1.0 / edge : 0.0;
    return cube;
}

__device__ inline float in_cube(float coordinate, const Cube& cube, int axis) {
    return static_cast<float>((static_cast<double>(coordinate) - cube.low[axis]) * cube.scale);
}

// A number of 21 bits with two zeros before each of them.
__device__ inline unsigned long long spread(unsigned long long bits) {
    bits = (bits | bits << 32) & 0x1f00000000ffffull;
    bits = (bits | bits << 16) & 0x1f0000ff0000ffull;
    bits = (bits | bits << 8) & 0x100f00f00f00f00full;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3ull;
    return (bits | bits << 2) & 0x1249249249249249ull;
}

// Where the centres of the triangles' boxes are along the curve, and which triangle each is.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) locate(const Curve curve) {
    const unsigned prim_id = thread_index();
    if (prim_id >= curve.count) return;
    const Cube cube = cube_around(curve.greatest);
    const Bounds bounds = bounds_of(load_corners(curve.triangles, prim_id));
    unsigned long long code = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float lower = in_cube(bounds.lower[axis], cube, axis), upper = in_cube(bounds.upper[axis], cube, axis);
        const double centre = 0.5 * (static_cast<double>(lower) + static_cast<double>(upper));
        code |= spread(static_cast<unsigned long long>(centre * MOST_COORDINATE)) << (2 - axis);
    }
    curve.codes[prim_id] = code;
    curve.prim_ids[prim_id] = prim_id;
}

// ------------------------------------------------------------------------------------------------------- the hierarchy

// What is below a node, or a triangle.
struct alignas(16) Subtree {
    float lower[3], upper[3];
    double cost;        // expected cost of a ray, times half of the scene's surface
    unsigned first;     // place along the curve of the first triangle
    unsigned count;     // of triangles
    unsigned inner;     // inner nodes down to the leaves, 0 of a leaf
    unsigned height;    // levels of inner nodes
    long long surface;  // of the triangles: `surface_before` of tracecore/layout/occlusion_order.py
    long long unused;
};
static_assert(sizeof(Subtree) == SUBTREE_BYTES, "Subtree differs from the SUBTREE of lbvh_records.py");

// A split is named by the place of the last triangle on its left side. What is to the left of split i is in slot 2 * i,
// what is to its right in the next one.
struct Join {
    const Corners* triangles;
    const unsigned long long* codes;  // ascending
    const unsigned* prim_ids;         // in the order of the codes
    const unsigned* greatest;         // as in Curve
    Subtree* subtrees;                // by slot
    unsigned* slots;                  // of each split, in which slot is what it splits; of the root NO_SLOT
    unsigned* arrivals;               // of each split, 0
    Subtree* root;
    unsigned count;  // of triangles, at least 2
    unsigned max_leaf;
    unsigned triangle_block;
};
static_assert(sizeof(Join) == JOIN_BYTES, "Join differs from the JOIN of lbvh_records.py");

constexpr unsigned NO_SLOT = ~0u;

// What another thread has written before it counted down lies where the whole device sees it, past the caches of
// multiprocessors.
__device__ inline void store_subtree(Subtree* to, const Subtree& subtree) {
    const float* lower = subtree.lower;
    const float* upper = subtree.upper;
    __stcg(reinterpret_cast<float4*>(to), make_float4(lower[0], lower[1], lower[2], upper[0]));
    __stcg(reinterpret_cast<float2*>(to->upper + 1), make_float2(upper[1], upper[2]));
    __stcg(&to->cost, subtree.cost);
    __stcg(reinterpret_cast<uint4*>(&to->first),
           make_uint4(subtree.first, subtree.count, subtree.inner, subtree.height));
    __stcg(&to->surface, subtree.surface);
}

__device__ inline Subtree load_subtree(const Subtree* from) {
    const float4 low = __ldcg(reinterpret_cast<const float4*>(from));
    const float2 high = __ldcg(reinterpret_cast<const float2*>(from->upper + 1));
    const uint4 counts = __ldcg(reinterpret_cast<const uint4*>(&from->first));
    const double cost = __ldcg(&from->cost);
    const long long surface = __ldcg(&from->surface);
    return {{low.x, low.y, low.z}, {low.w, high.x, high.y}, cost, counts.x, counts.y, counts.z, counts.w, surface, 0};
}

__device__ inline double half_area(const float* lower, const float* upper) {
    const double x = static_cast<double>(upper[0]) - static_cast<double>(lower[0]);
    const double y = static_cast<double>(upper[1]) - static_cast<double>(lower[1]);
    const double z = static_cast<double>(upper[2]) - static_cast<double>(lower[2]);
    return x * y + y * z + z * x;
}

// Units of surface in a square of size 1.
__device__ inline double surface_scale(const unsigned* greatest) {
    float extent = 0.0f;
    for (int i = 0; i < 6; ++i) extent = fmaxf(extent, of_ordered_bits(greatest[i]));
    const int exponent = static_cast<int>(__double_as_longlong(extent) >> 52) - 1022;  // the extent is below 2 to this
    const int power = SURFACE_UNIT_BITS - 2 * (extent > 0.0f ? exponent : 0);
    return __longlong_as_double(static_cast<long long>(power + 1023) << 52);
}

// Twice the area of a triangle, in units of surface.
__device__ inline long long surface_of(const Corners& triangle, double scale) {
    double edges[2][3];
    for (int edge = 0; edge < 2; ++edge) {
        for (int axis = 0; axis < 3; ++axis) {
            edges[edge][axis] = static_cast<double>(triangle.corner[edge + 1][axis]) - triangle.corner[0][axis];
        }
    }
    const double* a = edges[0];
    const double* b = edges[1];
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    return static_cast<long long>(__dsqrt_rn(x * x + y * y + z * z) * scale);
}

__device__ inline Subtree subtree_of_triangle(const Join& join, unsigned place) {
    const Corners triangle = load_corners(join.triangles, __ldg(&join.prim_ids[place]));
    const Bounds bounds = bounds_of(triangle);
    const long long surface = surface_of(triangle, surface_scale(join.greatest));
    Subtree subtree = {{}, {}, half_area(bounds.lower, bounds.upper), place, 1, 0, 0, surface, 0};
    for (int axis = 0; axis < 3; ++axis) {
        subtree.lower[axis] = bounds.lower[axis];
        subtree.upper[axis] = bounds.upper[axis];
    }
    return subtree;
}

// Two subtrees side by side under a node, or a leaf of all their triangles where that costs no more: `_choose_leaves`
// of tracecore/bvh/bottom_up.py. Of equal bounds, 0 and -0, the right one's counts.
__device__ inline Subtree joined(const Join& join, const Subtree& left, const Subtree& right) {
    Subtree whole;
    for (int axis = 0; axis < 3; ++axis) {
        whole.lower[axis] = left.lower[axis] < right.lower[axis] ? left.lower[axis] : right.lower[axis];
        whole.upper[axis] = left.upper[axis] > right.upper[axis] ? left.upper[axis] : right.upper[axis];
    }
    whole.first = left.first;
    whole.count = left.count + right.count;
    whole.surface = left.surface + right.surface;
    const double area = half_area(whole.lower, whole.upper);
    const double split = VISIT_COST * area + left.cost + right.cost;
    const double leaf = static_cast<double>((whole.count + join.triangle_block - 1) / join.triangle_block) * area;
    const bool is_leaf = whole.count <= join.max_leaf && leaf <= split;
    whole.cost = is_leaf ? leaf : split;
    whole.inner = is_leaf ? 0 : 1 + left.inner + right.inner;
    whole.height = is_leaf ? 0 : 1 + max(left.height, right.height);
    return whole;
}

// The bits in which a triangle differs from the next one; see `_difference` of tracecore/bvh/lbvh.py.
__device__ inline long long difference(const Join& join, unsigned place) {
    if (place + 1 == join.count) return 0x7fffffffffffffffll;
    const long long bits = static_cast<long long>(__ldg(&join.codes[place]) ^ __ldg(&join.codes[place + 1]));
    return bits > 0 ? bits : static_cast<long long>(place ^ (place + 1)) - (1ll << PLACE_BITS);
}

// The slot of a subtree: beside what it differs less from.
__device__ inline unsigned slot_for(const Join& join, const Subtree& subtree) {
    if (subtree.count == join.count) return NO_SLOT;
    const unsigned last = subtree.first + subtree.count - 1;
    const bool is_right = subtree.first > 0 && difference(join, subtree.first - 1) <= difference(join, last);
    return is_right ? 2 * (subtree.first - 1) + 1 : 2 * last;
}

// Each thread goes up from a triangle. Of two that come to a split, the first one ends, and the other joins both sides.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) join(const Join join) {
    if (thread_index() >= join.count) return;
    Subtree subtree = subtree_of_triangle(join, thread_index());
    unsigned slot = slot_for(join, subtree);
    while (slot != NO_SLOT) {
        const unsigned split = slot / 2;
        store_subtree(&join.subtrees[slot], subtree);
        if (count_down(join.arrivals[split]) == 0) return;
        const Subtree sibling = load_subtree(&join.subtrees[slot ^ 1]);
        subtree = slot % 2 == 0 ? joined(join, subtree, sibling) : joined(join, sibling, subtree);
        slot = slot_for(join, subtree);
        join.slots[split] = slot;
    }
    *join.root = subtree;
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
    const Subtree* subtrees;
    const unsigned* slots;
    const Subtree* root;  // not a leaf
    Tree tree;
    unsigned* swapped;  // of each rank, whether the packed node has the children the other way round
    unsigned splits;
};
static_assert(sizeof(Number) == NUMBER_BYTES, "Number differs from the NUMBER of lbvh_records.py");

// Where the node of a split is.
struct Position {
    bool is_inner;  // neither a leaf nor inside one
    bool is_root;
    unsigned rank;     // inner nodes that come before it, depth first
    unsigned pending;  // inner nodes to the right of the way from the root to it
};

__device__ inline Position position_of(const Number& number, unsigned split) {
    Position position = {true, true, 0, 0};  // the root
    for (unsigned slot = number.slots[split]; slot != NO_SLOT; slot = number.slots[slot / 2]) {
        if (number.subtrees[slot].inner == 0) return {};
        const unsigned beside = number.subtrees[slot ^ 1].inner;
        const bool is_left = slot % 2 == 0;
        position.is_root = false;
        position.rank += 1 + (is_left ? 0 : beside);
        position.pending += is_left && beside > 0;
    }
    return position;
}

// rank: as of a `Position`. index: of its packed node. Both are those of an inner node.
__device__ inline void write_node(const Tree& tree, unsigned node, const Subtree& subtree, unsigned rank,
                                  unsigned index) {
    const bool is_leaf = subtree.inner == 0;
    for (int axis = 0; axis < 3; ++axis) {
        tree.lower[3 * node + axis] = subtree.lower[axis];
        tree.upper[3 * node + axis] = subtree.upper[axis];
    }
    tree.child[node] = is_leaf ? 0 : 1 + 2 * rank;
    tree.first[node] = is_leaf ? subtree.first : 0;
    tree.count[node] = is_leaf ? subtree.count : 0;
    tree.name[node] = is_leaf ? leaf_of(subtree.first, subtree.count) : index;
}

// Depth first an inner node gives the next two numbers to its children, so that those of rank r have 1 + 2 * r and the
// number behind. Packed nodes are the inner ones in the order of numbers: children of those that come before, which are
// these themselves and what is pending, come first.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) number(const Number number) {
    const unsigned split = thread_index();
    if (split >= number.splits) return;
    const Position position = position_of(number, split);
    if (!position.is_inner) return;
    const Subtree &left = number.subtrees[2 * split], &right = number.subtrees[2 * split + 1];
    const unsigned node = 1 + 2 * position.rank, index = 1 + position.rank + position.pending;
    if (position.is_root) write_node(number.tree, 0, *number.root, 0, 0);
    number.swapped[position.rank] = right.surface < left.surface;
    write_node(number.tree, node, left, position.rank + 1, index);
    write_node(number.tree, node + 1, right, position.rank + 1 + left.inner, index + (left.inner > 0));
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
static_assert(sizeof(Pack) == PACK_BYTES, "Pack differs from the PACK of lbvh_records.py");

// The middle between two planes, and what reaches from it to both or farther: `_centre_and_half` of
// tracecore/layout/bvh2.py.
__device__ inline float2 centre_and_half(float lower, float upper) {
    const double low = lower, high = upper;
    const float centre = static_cast<float>((low + high) / 2.0);
    const double down = centre - low, up = high - centre;
    double half = down > up ? down : up;
    if (half > 0.0) half = __longlong_as_double(__double_as_longlong(half) + 1);
    float rounded = static_cast<float>(half);
    if (rounded < half) rounded = __uint_as_float(__float_as_uint(rounded) + 1);
    return make_float2(centre, rounded);
}

__device__ inline void pack_child(const Tree& tree, int node, float* xy, float* z, int& child) {
    const float *lower = tree.lower + 3 * node, *upper = tree.upper + 3 * node;
    float reach = 0.0f;
    for (int axis = 0; axis < 3; ++axis) reach = fmaxf(reach, fmaxf(fabsf(lower[axis]), fabsf(upper[axis])));
    const float pad = PAD * reach;  // as `padded` of tracecore/precision.py has it
    float2 sides[3];
    for (int axis = 0; axis < 3; ++axis) sides[axis] = centre_and_half(lower[axis] - pad, upper[axis] + pad);
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
    const unsigned prim_id = pack.order[leaf_index];
    const Corners triangle = load_corners(pack.triangles, prim_id);
    PackedTriangle packed;
    for (int axis = 0; axis < 3; ++axis) {
        for (int corner = 0; corner < 3; ++corner) packed.rows[axis].component[corner] = triangle.corner[corner][axis];
        packed.rows[axis].prim_id = prim_id;
    }
    pack.packed_triangles[leaf_index] = packed;
}
