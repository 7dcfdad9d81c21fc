// One ray per thread on a compressed 8-wide tree. Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through
// Compressed Wide BVHs, 2017.
//
// There a warp votes to postpone triangles that few of its lanes would test. Here a lane tests TESTS_PER_ITERATION of them
// at most before the others go on, and only visits a node when it has none left: no vote, and no triangles on the stack.
#include "compressed8.cuh"
#include "fault.cuh"

template <bool ANY_HIT>
struct Walk {
    using Entry = Group;
    Entry* stack;  // children that wait
    Ray ray;
    Shear shear;
    StepRay step_ray;
    Hit best;  // so far; an any-hit query ends with the first one
    int top;
    Group children;       // to visit next
    Triangles triangles;  // to test before

    __device__ void begin(const Scene& scene, const Ray& its_ray) {
        ray = its_ray;
        shear = make_shear(ray);
        step_ray = make_step_ray(ray, scene.extent);
        best = nothing_before(ray.t_max);
        top = 0;
        children = {0, ROOT};
        triangles = {0, 0, 0};
    }

    __device__ bool is_done() const {
        return triangles.bits == 0 && !has_child(children);
    }

    __device__ void advance(const Scene& scene, unsigned& faults) {
        if (triangles.bits == 0) visit(scene, faults);
        for (int i = 0; i < TESTS_PER_ITERATION && triangles.bits != 0; ++i) test(scene);
    }

    __device__ Hit hit() const {
        return is_found(best) ? best : miss();
    }

   private:
    // The nearest child; the others wait.
    __device__ void visit(const Scene& scene, unsigned& faults) {
        mark(Step::NODE);
        const unsigned index = take_child(children, step_ray.octant);
        if (has_child(children)) {
            if (top == STACK_SIZE) {
                faults |= STACK_OVERFLOW;
                return finish();
            }
            stack[top++] = children;
        }
        const Node node = load_node(scene, index);
        const unsigned hits = hit_positions(node, step_ray, ray.t_min, best.t);
        children = children_of(node, hits, step_ray.octant);
        triangles = triangles_of(node, hits);
        if (!has_child(children) && top > 0) children = stack[--top];
    }

    __device__ void test(const Scene& scene) {
        mark(Step::TRIANGLE);
        const Triangle triangle = load_triangle(scene.triangles, take_triangle(triangles), shear.axes);
        if (offer<ANY_HIT>(triangle, ray, shear, scene.cutouts, best) && ANY_HIT) finish();
    }

    __device__ void finish() {
        children.bits = triangles.bits = 0;
    }
};

#include "walks.cuh"
