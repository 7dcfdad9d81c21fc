// LANES_PER_RAY lanes side by side trace one ray through a tree of WIDTH children a node: Lier, Stamminger, Selgrad:
// CPU-Style SIMD Ray Traversal on GPUs, 2018. A whole warp for fewer children: Barczak: GPU Ray Tracing the Wrong Way, 2016.
//
// "if-if" of the former: in an iteration of the loop a group tests the boxes of a node, one in each lane, if it stands at
// one, and then the triangles of a leaf, one in each lane, if it has one. The groups of a warp iterate together, so that
// collectives can be the whole warp's: for another mask the compiler adds a comparison of the lanes' masks.
#include "closest_of_lanes.cuh"
#include "fault.cuh"
#include "lane_order.cuh"
#include "wide.cuh"

// A stack for each group: nodes, and keys by which a nearest-hit query passes over nodes behind the nearest hit so far. The
// stacks of a warp are shifted against each other, so that groups at the same height use different banks.
constexpr int GROUPS = BLOCK_SIZE / LANES_PER_RAY;
constexpr int PITCH = STACK_SIZE + LANES_PER_RAY % WARP_LANES;
__shared__ int stack_nodes[GROUPS][PITCH];
__shared__ int stack_keys[GROUPS][PITCH];

__device__ inline unsigned lane_of_group() {
    return threadIdx.x % LANES_PER_RAY;
}

// Bit i is the vote of lane i of the group. All of the warp call it together.
__device__ inline unsigned group_ballot(bool vote) {
    constexpr unsigned ALL = (2u << (LANES_PER_RAY - 1)) - 1;
    return __ballot_sync(WHOLE_WARP, vote) >> (lane_index() - lane_of_group()) & ALL;
}

// The value that lane i of the group has.
__device__ inline int from_lane(int value, int i) {
    return __shfl_sync(WHOLE_WARP, value, i, LANES_PER_RAY);
}

// A child and its rank among those that the ray hits: 0 is visited first; from their number on it is none of them.
struct Visit {
    int child;
    int key;
    int rank;
};

// All lanes of a warp call its functions together.
template <bool ANY_HIT>
struct GroupWalk {
    Ray ray;
    Shear shear;
    BoxRay box_ray;
    Hit best;     // of this lane's triangles; an any-hit query ends with the first one
    float limit;  // least t of all lanes
    int node;
    int height;  // of the stack

    __device__ GroupWalk(const Scene& scene, const Ray& its_ray)
        : ray(its_ray),
          shear(make_shear(ray)),
          box_ray(make_box_ray(ray, scene.extent)),
          best(nothing_before(ray.t_max)),
          limit(ray.t_max),
          node(ROOT),
          height(1) {
        __syncwarp(WHOLE_WARP);  // all have read what this overwrites
        if (lane_of_group() == 0) put(0, DONE, FIRST_KEY);
    }

    // A group at an inner node goes to the nearest child that the ray hits. The others wait, the nearest on top.
    __device__ void visit(const Scene& scene, unsigned& faults) {
        int child = NONE;
        float near = infinity();  // where the ray misses the box. No hit is there, but spare children are
        bool has_child = false;
        if (is_inner(node) && lane_of_group() < WIDTH) {
            const Child its = load_child(scene, node, lane_of_group());
            const Interval part = slab_test(its.lower, its.upper, box_ray, ray.t_min, limit);
            child = its.name;
            has_child = is_inner(child) || triangle_count(child) > 0;
            if (is_hit(part)) near = part.near;
        }
        mark(Step::NODE, has_child, is_inner(node));
        const unsigned hit_mask = group_ballot(near < infinity());
        const Visit visit = ANY_HIT ? by_lane(child, hit_mask) : by_distance(child, near, hit_mask);
        const int first = from_lane(visit.child, ANY_HIT ? __ffs(hit_mask) - 1 : 0);
        __syncwarp(WHOLE_WARP);  // as in the constructor
        if (is_inner(node)) descend(visit, first, __popc(hit_mask), faults);
    }

    // A group at a leaf tests its triangles.
    __device__ void test(const Scene& scene) {
        bool taken = false;
        if (is_leaf(node)) {
            mark_tests(triangle_count(node));
            for (int i = lane_of_group(); i < triangle_count(node); i += LANES_PER_RAY) {
                mark_code(Step::TRIANGLE);
                taken |= offer<ANY_HIT>(load_triangle(scene, node, i, shear.axes), ray, shear, scene.cutouts, best);
            }
            node = NONE;
        }
        if (!__any_sync(WHOLE_WARP, taken)) return;
        if (ANY_HIT) {
            if (group_ballot(is_found(best)) != 0) node = DONE;
        } else {
            limit = least_of_group(best.t);
        }
    }

    // A group without a node takes the next one from its stack.
    __device__ void pop() {
        __syncwarp(WHOLE_WARP);  // all have written
        if (node != NONE) return;
        const int group = threadIdx.x / LANES_PER_RAY;
        const int last_key = last_key_at(limit);
        --height;
        while (!ANY_HIT && stack_keys[group][height] > last_key) --height;
        node = stack_nodes[group][height];
    }

    __device__ Hit hit() const {
        if (ANY_HIT) return group_ballot(is_found(best)) != 0 ? occluded() : miss();
        return closest_of_lanes<LANES_PER_RAY>(WHOLE_WARP, is_found(best) ? best : miss());
    }

   private:
    // All lanes of the group take part in each test, also those without a triangle, which do not come to its code.
    __device__ static void mark_tests(int count) {
        mark(Step::LEAF);
        for (int i = lane_of_group(); COUNTED && i - static_cast<int>(lane_of_group()) < count; i += LANES_PER_RAY) {
            mark(Step::TRIANGLE, i < count);
        }
    }

    __device__ static void put(int level, int child, int key) {
        const int group = threadIdx.x / LANES_PER_RAY;
        stack_nodes[group][level] = child;
        if (!ANY_HIT) stack_keys[group][level] = key;
    }

    __device__ static Visit by_lane(int child, unsigned hit_mask) {
        const bool is_hit = (hit_mask >> lane_of_group() & 1) != 0;
        return {child, 0, is_hit ? __popc(hit_mask & lanes_below(lane_of_group())) : __popc(hit_mask)};
    }

    // Lane i gets the i-th.
    __device__ static Visit by_distance(int child, float near, unsigned hit_mask) {
        const unsigned lane = lane_of_group();
        int key = near < infinity() ? key_of(near, lane) : LAST_KEY;
        if (__any_sync(WHOLE_WARP, __popc(hit_mask) > 1)) {
            key = bitonic_sort<WIDTH>(key, lane);
        } else {
            key = from_lane(key, __ffs(hit_mask) - 1);
        }
        return {from_lane(child, key & LANE_BITS), key, static_cast<int>(lane)};
    }

    __device__ void descend(const Visit& visit, int first, int count, unsigned& faults) {
        if (count == 0) {
            node = NONE;
        } else if (height + count - 1 > STACK_SIZE) {
            faults |= STACK_OVERFLOW;
            node = DONE;
        } else {
            height += count - 1;
            node = first;
            if (visit.rank > 0 && visit.rank < count) put(height - visit.rank, visit.child, visit.key);
        }
    }

    __device__ static float least_of_group(float value) {
        for (int distance = LANES_PER_RAY / 2; distance > 0; distance /= 2) {
            value = fminf(value, __shfl_xor_sync(WHOLE_WARP, value, distance));
        }
        return value;
    }
};

template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    GroupWalk<ANY_HIT> walk(scene, ray);
    while (__any_sync(WHOLE_WARP, walk.node != DONE)) {
        if (__any_sync(WHOLE_WARP, is_inner(walk.node))) walk.visit(scene, faults);
        if (__any_sync(WHOLE_WARP, is_leaf(walk.node))) walk.test(scene);
        walk.pop();
    }
    return walk.hit();
}

#include "rounds.cuh"
