// What packets of rays have in common on every tree: a lane's ray, the test of a leaf by all lanes, and their way. Günther,
// Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007.
#pragma once

#include "box.cuh"
#include "child.cuh"
#include "packed_triangle.cuh"

template <bool ANY_HIT>
struct PacketRay {
    Ray ray;
    Shear shear;
    Hit best;

    __device__ explicit PacketRay(const Ray& its_ray)
        : ray(its_ray), shear(make_shear(ray)), best(nothing_before(ray.t_max)) {}

    // Tests the triangles of a leaf against the rays of all lanes.
    __device__ void test_leaf(const Scene& scene, int leaf) {
        mark(Step::LEAF);
        for (int leaf_index = first_leaf_index(leaf); leaf_index < end_leaf_index(leaf); ++leaf_index) {
            mark(Step::TRIANGLE, COUNTED && has_reason(scene, load_triangle(scene.triangles, leaf_index, {0, 1, 2})));
            const Triangle triangle = load_triangle(scene.triangles, leaf_index, shear.axes);
            const bool taken = intersect(triangle, ray, shear, scene.cutouts, best);
            if (ANY_HIT && taken) best.t = -infinity();  // the ray hits nothing any more
        }
    }

    __device__ bool may_hit() const {
        return ray.t_min < best.t;
    }

    __device__ Hit hit() const {
        return is_found(best) ? best : miss();
    }

    // Whether this lane's ray has a reason of its own to be at a box, or at a triangle, by the box around it.
    __device__ bool has_reason(const Scene& scene, float3 lower, float3 upper) const {
        return is_hit(slab_test(lower, upper, make_box_ray(ray, scene.extent), ray.t_min, best.t));
    }

    __device__ bool has_reason(const Scene& scene, const Triangle& triangle) const {
        const Row x = triangle.x, y = triangle.y, z = triangle.z;
        const float3 v0 = {x.v0, y.v0, z.v0}, v1 = {x.v1, y.v1, z.v1}, v2 = {x.v2, y.v2, z.v2};
        const Bounds box = padded({least(least(v0, v1), v2), most(most(v0, v1), v2)});
        return has_reason(scene, box.lower, box.upper);
    }
};

// All lanes go from node to node together until there is no other.
template <class Packet>
__device__ inline void walk(Packet& packet, const Scene& scene, unsigned& faults) {
    int node = ROOT;
    while (node != DONE) {
        while (is_inner(node)) node = packet.descend(scene, node, faults);
        while (is_leaf(node)) node = packet.test(scene, node);
    }
}
