// Packets of rays side by side, a ray per lane, that go through the tree together. Günther, Popov, Seidel, Slusallek:
// Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007.
//
// The PACKET lanes share one stack. They visit a node if any of their rays hits its box.
#include "bvh2.cuh"
#include "closest_of_lanes.cuh"
#include "fault.cuh"
#include "group_stack.cuh"

__shared__ int stacks[BLOCK_SIZE / PACKET][STACK_SIZE][1];

template <bool ANY_HIT>
struct Packet {
    GroupStack<PACKET> stack;
    Ray ray;  // this lane's
    Shear shear;
    CentreRay box_ray;
    Hit best;

    __device__ Packet(const Scene& scene, const Ray& its_ray)
        : stack{stacks[threadIdx.x / PACKET], group_mask<PACKET>(), 0},
          ray(its_ray),
          shear(make_shear(ray)),
          box_ray(make_centre_ray(ray, scene.extent)),
          best(nothing_before(ray.t_max)) {
        stack.push(DONE);
    }

    __device__ int pop() {
        return *stack.pop();
    }

    // From an inner node to the next.
    __device__ int descend(const Scene& scene, int node, unsigned& faults) {
        const Node pair = load_node(scene, node);
        mark(Step::NODE, hits_box_of(pair));
        const Interval left = slab_test(pair.left_box, box_ray, ray.t_min, best.t);
        const Interval right = slab_test(pair.right_box, box_ray, ray.t_min, best.t);
        const unsigned left_hit = __ballot_sync(stack.mask, is_hit(left));
        const unsigned right_hit = __ballot_sync(stack.mask, is_hit(right));
        if (left_hit == 0 && right_hit == 0) return pop();
        if (left_hit == 0) return pair.right;
        if (right_hit == 0) return pair.left;
        if (stack.is_full()) {
            faults |= STACK_OVERFLOW;
            return DONE;
        }
        // The rays that hit both vote for the child to go to first.
        const unsigned both_hit = left_hit & right_hit;
        const unsigned for_left = __ballot_sync(stack.mask, left.near <= right.near) & both_hit;
        const bool left_first = 2 * __popc(for_left) >= __popc(both_hit);
        stack.push(left_first ? pair.right : pair.left);
        return left_first ? pair.left : pair.right;
    }

    // Tests the triangles of a leaf against the rays of all lanes. Returns the next node.
    __device__ int test(const Scene& scene, int leaf) {
        mark(Step::LEAF);
        for (int leaf_index = first_leaf_index(leaf); leaf_index < end_leaf_index(leaf); ++leaf_index) {
            mark(Step::TRIANGLE, COUNTED && hits_box_of(load_triangle(scene.triangles, leaf_index, {0, 1, 2})));
            const Triangle triangle = load_triangle(scene.triangles, leaf_index, shear.axes);
            const bool taken = intersect(triangle, ray, shear, scene.cutouts, best);
            if (ANY_HIT && taken) best.t = -infinity();  // the ray hits nothing any more
        }
        if (ANY_HIT && !__any_sync(stack.mask, ray.t_min < best.t)) return DONE;
        return pop();
    }

    __device__ Hit hit() const {
        return is_found(best) ? best : miss();
    }

   private:
    // Whether this lane's ray has a reason of its own to be here: by the box around both children, or around a triangle.
    __device__ bool hits_box_of(const Node& pair) const {
        const float3 lower = least(lower_of(pair.left_box), lower_of(pair.right_box));
        return hits(lower, most(upper_of(pair.left_box), upper_of(pair.right_box)));
    }

    __device__ bool hits_box_of(const Triangle& triangle) const {
        const Row x = triangle.x, y = triangle.y, z = triangle.z;
        const float3 v0 = {x.v0, y.v0, z.v0}, v1 = {x.v1, y.v1, z.v1}, v2 = {x.v2, y.v2, z.v2};
        return hits(least(least(v0, v1), v2), most(most(v0, v1), v2));
    }

    __device__ bool hits(float3 lower, float3 upper) const {
        const float3 half = {0.5f * (upper.x - lower.x), 0.5f * (upper.y - lower.y), 0.5f * (upper.z - lower.z)};
        const Box box = {{lower.x + half.x, lower.y + half.y, lower.z + half.z}, half};
        return is_hit(slab_test(box, box_ray, ray.t_min, best.t));
    }

    __device__ static float3 lower_of(const Box& box) {
        return {box.centre.x - box.half.x, box.centre.y - box.half.y, box.centre.z - box.half.z};
    }

    __device__ static float3 upper_of(const Box& box) {
        return {box.centre.x + box.half.x, box.centre.y + box.half.y, box.centre.z + box.half.z};
    }
};

template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    Packet<ANY_HIT> packet(scene, ray);
    int node = ROOT;
    while (node != DONE) {
        while (is_inner(node)) node = packet.descend(scene, node, faults);
        while (is_leaf(node)) node = packet.test(scene, node);
    }
    return packet.hit();
}

#include "rounds.cuh"
