// One ray per warp. Barczak: GPU Ray Tracing the Wrong Way, 2016.
//
// The lanes test both boxes of a node together, and TRIANGLES_AT_ONCE of them have a triangle each of a leaf; 1: all test
// the same. With KEEP_NODES the stack holds whole nodes, loaded when their parent is visited, so that nothing waits for
// memory when it is popped.
#include "bvh2.cuh"
#include "closest_of_lanes.cuh"
#include "fault.cuh"
#include "group_stack.cuh"
#include "node_of_lanes.cuh"

constexpr int ENTRY_WORDS = KEEP_NODES ? NODE_WORDS : 1;
constexpr int NAME_WORD = ENTRY_WORDS - 1;  // of an entry; unused in a node

__shared__ int stacks[BLOCK_SIZE / WARP_LANES][STACK_SIZE][ENTRY_WORDS];

// This lane's word of a node that is visited later.
__device__ inline int load_early(const Scene& scene, int node) {
    return KEEP_NODES && is_inner(node) ? load_word(scene, node) : 0;
}

template <bool ANY_HIT>
struct WarpWalk {
    GroupStack<WARP_LANES, ENTRY_WORDS> stack;
    Ray ray;
    Shear shear;
    Plane plane;  // of this lane
    Hit best;
    bool found;
    int node;
    int word;  // of the node, this lane's

    __device__ WarpWalk(const Scene& scene, const Ray& its_ray)
        : stack{stacks[warp_index()], WHOLE_WARP, 0},
          ray(its_ray),
          shear(make_shear(ray)),
          plane(plane_of_lane(make_centre_ray(ray, scene.extent))),
          best(nothing_before(ray.t_max)),
          found(false),
          node(ROOT),
          word(load_early(scene, ROOT)) {
        push(DONE, 0);
    }

    __device__ void push(int later, int its_word) {
        stack.push(lane_index() == NAME_WORD ? later : its_word);
    }

    __device__ void pop() {
        const int* entry = stack.pop();
        node = entry[NAME_WORD];
        if (KEEP_NODES) word = entry[lane_index() % ENTRY_WORDS];
    }

    __device__ void finish() {
        node = DONE;
    }

    // From an inner node to the nearer child that the ray hits; the farther one waits on the stack.
    __device__ void descend(const Scene& scene, unsigned& faults) {
        mark(Step::NODE, lane_index() < CHILD_WORD);  // a plane for each of them
        if (!KEEP_NODES) word = load_word(scene, node);
        const unsigned votes = test_boxes(word, plane, ray.t_min, best.t);
        const unsigned hit_mask = votes & BOTH_HIT;
        if (hit_mask == 0) return pop();
        const bool left = hit_mask == LEFT_HIT || (hit_mask == BOTH_HIT && (votes & LEFT_FIRST) != 0);
        const int next = child_of_lanes(word, left);
        const int next_word = load_early(scene, next);
        if (hit_mask == BOTH_HIT) {
            if (stack.is_full()) {
                faults |= STACK_OVERFLOW;
                return finish();
            }
            const int other = child_of_lanes(word, !left);
            push(other, load_early(scene, other));
        }
        node = next;
        word = next_word;
    }

    // Tests the triangles of a leaf. All lanes have the same result.
    __device__ void test(const Scene& scene) {
        mark(Step::LEAF);
        const int end = end_leaf_index(node);
        for (int leaf_index = first_leaf_index(node); leaf_index < end; leaf_index += TRIANGLES_AT_ONCE) {
            const int own = leaf_index + lane_index() % TRIANGLES_AT_ONCE;
            mark(Step::TRIANGLE, lane_index() < TRIANGLES_AT_ONCE && own < end);
            const bool taken = own < end && offer(scene, own);
            if (!(TRIANGLES_AT_ONCE == 1 ? taken : __any_sync(WHOLE_WARP, taken))) continue;
            found = true;
            if (ANY_HIT) return finish();
            best = closest_of_lanes<TRIANGLES_AT_ONCE>(WHOLE_WARP, best);
        }
        pop();
    }

    __device__ Hit hit() const {
        return found ? best : miss();
    }

   private:
    // Whether this lane takes a triangle.
    __device__ bool offer(const Scene& scene, int leaf_index) {
        return intersect(load_triangle(scene.triangles, leaf_index, shear.axes), ray, shear, scene.cutouts, best);
    }
};

template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    WarpWalk<ANY_HIT> walk(scene, ray);
    while (walk.node != DONE) {
        while (is_inner(walk.node)) walk.descend(scene, faults);
        while (is_leaf(walk.node)) walk.test(scene);
    }
    return walk.hit();
}

#include "rounds.cuh"
