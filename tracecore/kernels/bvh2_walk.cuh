// What the ways of one ray through a binary tree have in common.
#pragma once

#include "bvh2.cuh"
#include "fault.cuh"

template <bool ANY_HIT>
struct Bvh2Walk {
    using Entry = int;
    Entry* stack;
    Ray ray;
    Shear shear;
    CentreRay box_ray;
    Hit best;  // so far; an any-hit query ends with the first one
    int top;
    int node;

    __device__ void start(const Scene& scene, const Ray& its_ray) {
        ray = its_ray;
        shear = make_shear(ray);
        box_ray = make_centre_ray(ray, scene.extent);
        best = nothing_before(ray.t_max);
        stack[0] = DONE;
        top = 0;
        node = ROOT;
    }

    __device__ int pop() {
        return stack[top--];
    }

    // From an inner node to the nearer child that the ray hits; the farther one waits on the stack. An any-hit query goes to
    // the right one first, which has more surface (tracecore/layout/occlusion_order.py).
    __device__ void descend(const Scene& scene, unsigned& faults) {
        mark(Step::NODE);
        const Node pair = load_node(scene, node);
        const Interval left = slab_test(pair.left_box, box_ray, ray.t_min, best.t);
        const Interval right = slab_test(pair.right_box, box_ray, ray.t_min, best.t);
        if (is_hit(left) && is_hit(right)) {
            if (top + 1 == STACK_SIZE) {
                faults |= STACK_OVERFLOW;
                return finish();
            }
            const bool left_first = !ANY_HIT && left.near <= right.near;
            node = left_first ? pair.left : pair.right;
            stack[++top] = left_first ? pair.right : pair.left;
        } else if (is_hit(left) || is_hit(right)) {
            node = is_hit(left) ? pair.left : pair.right;
        } else {
            node = pop();
        }
    }

    __device__ void test(const Scene& scene, int leaf_index) {
        mark(Step::TRIANGLE);
        const Triangle triangle = load_triangle(scene.triangles, leaf_index, shear.axes);
        if (offer<ANY_HIT>(triangle, ray, shear, scene.cutouts, best) && ANY_HIT) finish();
    }

    __device__ bool found() const {
        return is_found(best);
    }

    __device__ void finish() {
        node = DONE;
    }

    __device__ Hit hit() const {
        return found() ? best : miss();
    }
};
