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
    BoxRay box_ray;
    Hit best;  // so far; an any-hit query ends with the first one
    int top;
    int node;

    __device__ void begin(const Scene& scene, const Ray& its_ray) {
        ray = its_ray;
        shear = make_shear(ray);
        box_ray = make_box_ray(ray, scene.extent);
        best = nothing_before(ray.t_max);
        stack[0] = {DONE, -infinity()};
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
    __device__ void push(const Entry& entry) {
        if (is_hit(entry)) stack[++top] = entry;
    }

    // What lies behind the nearest hit so far is passed over.
    __device__ int pop() {
        while (!ANY_HIT && stack[top].near > best.t) --top;
        return stack[top--].node;
    }

    // From an inner node to the nearest child that the ray hits; the others wait on the stack, the farthest at the bottom.
    __device__ void descend(const Scene& scene, unsigned& faults) {
        mark(Step::NODE);
        Children children = enter_children(scene, node, box_ray, ray.t_min, best.t);
        if (!ANY_HIT) sort(children);
        if (top + is_hit(children.b) + is_hit(children.c) + is_hit(children.d) >= STACK_SIZE) {
            faults |= STACK_OVERFLOW;
            return finish();
        }
        push(children.d);
        push(children.c);
        push(children.b);
        node = is_hit(children.a) ? children.a.node : pop();
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
