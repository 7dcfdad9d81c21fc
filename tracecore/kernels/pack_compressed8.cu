// Packs a binary tree that lies on the GPU: the bits of tracecore/layout/compressed8.py, whose citations are not repeated
// here. `place_level` comes between `open_level` and `scan_level`.
#include "collapse.cuh"
#include "compressed8_boxes.cuh"

constexpr unsigned SETS = 1u << WIDTH;

__device__ inline unsigned need_of(const Collapse& collapse, unsigned node) {
    unsigned inner = 0, below = 0;
    for (int place = 0; place < WIDTH; ++place) {
        const int wide = collapse.wide[WIDTH * node + place];
        if (wide == EMPTY) continue;
        ++inner;
        below = max(below, collapse.need[wide]);
    }
    return inner > 1 ? below + 1 : below;
}

// ----------------------------------------------------------------------------------------------------------- positions

// How far the children of a warp's node lie from the mean of all, twice, and 0 for spare ones; and of each set of
// positions the largest sum of gains by which the first children can be in it.
__shared__ double offsets[BLOCK_SIZE / WARP_LANES][3][WIDTH];
__shared__ double worth[BLOCK_SIZE / WARP_LANES][SETS];

// How far a child lies towards the side of a position.
__device__ inline double gain(int child, unsigned position) {
    const double (&offset)[3][WIDTH] = offsets[warp_index()];
    const double x = position & 1 ? offset[0][child] : -offset[0][child];
    const double y = position & 2 ? offset[1][child] : -offset[1][child];
    return x + y + (position & 4 ? offset[2][child] : -offset[2][child]);
}

__device__ inline void write_offsets(const Collapse& collapse, const int* binary, unsigned axis) {
    double (&offset)[WIDTH] = offsets[warp_index()][axis];
    double total = 0.0;
    int filled = 0;
    for (; filled < WIDTH && binary[filled] != EMPTY; ++filled) {  // spare ones come last
        const int own = 3 * binary[filled] + axis;
        offset[filled] = static_cast<double>(collapse.tree.lower[own]) + static_cast<double>(collapse.tree.upper[own]);
        total += offset[filled];
    }
    for (int i = 0; i < WIDTH; ++i) offset[i] = i < filled ? offset[i] - total / filled : 0.0;
}

// A warp finds the worth of all sets of as many positions at a time.
__device__ inline void write_worth() {
    double (&worth_of)[SETS] = worth[warp_index()];
    if (lane_index() == 0) worth_of[0] = 0.0;
    for (int count = 1; count <= WIDTH; ++count) {
        __syncwarp(WHOLE_WARP);  // the smaller sets are there
        for (unsigned positions = lane_index(); positions < SETS; positions += WARP_LANES) {
            if (__popc(positions) != count) continue;
            double most = -infinite();
            for (unsigned left = positions; left != 0; left &= left - 1) {
                const unsigned position = __ffs(left) - 1;
                const double total = worth_of[positions ^ 1u << position] + gain(count - 1, position);
                most = total > most ? total : most;
            }
            worth_of[positions] = most;
        }
    }
    __syncwarp(WHOLE_WARP);
}

// Gives the children of a node positions: `_place_children`. A warp takes a node at a time.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) place_level(const Collapse collapse) {
    const Level level = *collapse.level;
    const unsigned warps = gridDim.x * (BLOCK_SIZE / WARP_LANES);
    for (unsigned i = thread_index() / WARP_LANES; i < level.length; i += warps) {
        int* binary = collapse.binary + WIDTH * (level.first + i);
        int* wide = collapse.wide + WIDTH * (level.first + i);
        if (lane_index() < 3) write_offsets(collapse, binary, lane_index());
        __syncwarp(WHOLE_WARP);
        write_worth();
        if (lane_index() == 0) {
            int binary_of[WIDTH], wide_of[WIDTH];
            unsigned left = SETS - 1;
            for (int child = WIDTH - 1; child >= 0; --child) {
                double most = -infinite();
                unsigned chosen = 0;
                for (unsigned position = 0; position < WIDTH; ++position) {
                    if ((left >> position & 1) == 0) continue;
                    const double total = worth[warp_index()][left ^ 1u << position] + gain(child, position);
                    if (total > most) {
                        most = total;
                        chosen = position;
                    }
                }
                binary_of[chosen] = binary[child];
                wide_of[chosen] = wide[child];
                left ^= 1u << chosen;
            }
            for (int position = 0; position < WIDTH; ++position) {
                binary[position] = binary_of[position];
                wide[position] = wide_of[position];
            }
        }
        __syncwarp(WHOLE_WARP);  // the next node overwrites what this one needed
    }
}

// --------------------------------------------------------------------------------------------------------------- bytes

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) pack_nodes(const Collapse collapse) {
    const unsigned node = thread_index();
    if (node >= collapse.wide_nodes) return;
    PackedNode packed = {};
    packed.child_base = collapse.inner_before[node];
    packed.triangle_base = collapse.triangles_before[node];
    Planes planes[WIDTH];
    unsigned filled = 0, next = packed.triangle_base;
    for (int position = 0; position < WIDTH; ++position) {
        const Child child = child_of(collapse, node, position);
        if (child.is_spare()) continue;
        filled |= 1u << position;
        planes[position] = padded_box(collapse.tree, child.binary);
        if (child.is_inner()) {
            packed.inner |= 1u << position;
            continue;
        }
        packed.triangles |= ((1u << child.count) - 1) << WIDE_LEAF * position;
        for (int i = 0; i < child.count; ++i) {
            collapse.packed_triangles[next++] = load_packed(collapse.triangles, collapse.tree.order[child.first + i]);
        }
    }
    const int least = least_exponent(extent_of(collapse.tree));
    for (int axis = 0; axis < 3; ++axis) write_axis(planes, filled, axis, least, packed);
    collapse.nodes[node] = packed;
}
