// One ray per thread on a tree of four children a node. Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014.
//
// "while-while" of Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009: all lanes of a warp walk inner
// nodes until each has found a leaf, then all test triangles.
#include "bvh4.cuh"
#include "fault.cuh"

template <bool ANY_HIT>
struct Walk {
    using Entry = ::Entry;
    Entry* stack;
    Ray ray;
    Shear shear;
    DirectedRay box_ray;
    Hit best;  // so far; an any-hit query ends with the first one
    int top;
    int node;

    __device__ void begin(const Scene& scene, const Ray& its_ray) {
        ray = its_ray;
        shear = make_shear(ray);
        box_ray = make_directed_ray(ray, scene.extent);
        best = nothing_before(ray.t_max);
        stack[0] = {DONE, __float_as_int(-infinity())};
        top = 0;
        node = ROOT;
    }

    __device__ bool is_done() const {
        return node == DONE;
    }

    __device__ void advance(const Scene& scene, unsigned& faults) {
        while (is_inner(node)) descend(scene, faults);
        while (is_leaf(node)) test(scene);
    }

    __device__ Hit hit() const {
        return is_found(best) ? best : miss();
    }

   private:
    __device__ void push(int child, int key) {
        if (key < MISSED) stack[++top] = {child, key};
    }

    // What lies behind the nearest hit so far is passed over.
    __device__ int pop() {
        while (!ANY_HIT && is_behind(stack[top].key, best.t)) --top;
        return stack[top--].node;
    }

    // From an inner node to the next child that the ray hits; the others wait on the stack.
    __device__ void descend(const Scene& scene, unsigned& faults) {
        mark(Step::NODE);
        const int4 children = load_children(scene, node);
        const int4 keys = enter_children<ANY_HIT>(scene, node, box_ray, ray.t_min, best.t);
        node = ANY_HIT ? any_of(children, keys) : nearest_of(children, keys);
        if (top + WIDTH > STACK_SIZE) {  // there may be no room at the next node
            faults |= STACK_OVERFLOW;
            finish();
        }
    }

    // The farthest one lies at the bottom of the others.
    __device__ int nearest_of(const int4& children, int4 keys) {
        sort(keys);
        push(child_of(children, keys.w), keys.w);
        push(child_of(children, keys.z), keys.z);
        push(child_of(children, keys.y), keys.y);
        return keys.x < MISSED ? child_of(children, keys.x) : pop();
    }

    __device__ int any_of(const int4& children, const int4& keys) {
        const int last = last_of(children, keys, stack, top, [](int key) { return key != MISSED; });
        return last != NONE ? last : pop();
    }

    __device__ void test(const Scene& scene) {
        mark(Step::LEAF);
        for (int leaf_index = first_leaf_index(node); leaf_index < end_leaf_index(node); ++leaf_index) {
            mark(Step::TRIANGLE);
            const Triangle triangle = load_triangle(scene.triangles, leaf_index, shear.axes);
            if (offer<ANY_HIT>(triangle, ray, shear, scene.cutouts, best) && ANY_HIT) return finish();
        }
        node = pop();
    }

    __device__ void finish() {
        node = DONE;
    }
};

#include "walks.cuh"
