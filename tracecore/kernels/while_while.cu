// One ray per thread. Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
//
// "while-while": all lanes of a warp walk inner nodes until each has found a leaf, then all test triangles. With SPECULATIVE
// a lane that has found a leaf postpones it and walks on until the second, since its neighbours keep it waiting anyway.
#include "bvh2.cuh"
#include "fault.cuh"

constexpr int ROOT = 0;
constexpr int DONE = 0x7fffffff;  // lies at the bottom of the stack

__device__ inline bool is_inner(int node) {
    return !is_leaf(node) && node != DONE;
}

template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    const Shear shear = make_shear(ray.direction);
    const BoxRay box_ray = make_box_ray(ray, scene.extent);
    Hit best = {ray.t_max, 0.0f, 0.0f, 0};
    int stack[STACK_SIZE];
    stack[0] = DONE;
    int top = 0;
    int node = ROOT;
    int leaf = DONE;
    while (node != DONE) {
        while (is_inner(node)) {
            const Node pair = load_node(scene, node);
            const Interval left = within(pair.left_lower, pair.left_upper, box_ray, ray.t_min, best.t);
            const Interval right = within(pair.right_lower, pair.right_upper, box_ray, ray.t_min, best.t);
            if (is_met(left) && is_met(right)) {
                if (top + 1 == STACK_SIZE) {
                    faults |= STACK_OVERFLOW;
                    return miss();
                }
                const bool left_first = left.near <= right.near;
                node = left_first ? pair.left : pair.right;
                stack[++top] = left_first ? pair.right : pair.left;
            } else if (is_met(left) || is_met(right)) {
                node = is_met(left) ? pair.left : pair.right;
            } else {
                node = stack[top--];
            }
            if (is_leaf(node) && !is_leaf(leaf)) {
                leaf = node;
                node = stack[top--];
                if (!SPECULATIVE) break;
            }
        }
        while (is_leaf(leaf)) {
            for (int slot = first_slot(leaf); slot < end_slot(leaf); ++slot) {
                if (intersect(load_triangle(scene, slot), ray, shear, best) && ANY_HIT) return best;
            }
            leaf = node;
            if (is_leaf(node)) node = stack[top--];
        }
    }
    return best.t < ray.t_max ? best : miss();
}

#include "streamed.cuh"
