// Packets of rays side by side, a ray per lane, that go through the tree together. Günther, Popov, Seidel, Slusallek:
// Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007.
//
// The PACKET lanes share one stack. They visit a node if any of their rays hits its box. With KEEP_NODES the nearer child
// is loaded when its parent has been visited, and the stack holds whole nodes, so that nothing waits for memory when it is
// popped: Barczak: GPU Ray Tracing the Wrong Way, 2016.
#include "bvh2.cuh"
#include "closest_of_lanes.cuh"
#include "fault.cuh"
#include "group_stack.cuh"
#include "node_of_lanes.cuh"

constexpr int ENTRY_WORDS = KEEP_NODES ? NODE_WORDS : 1;
constexpr int NAME_WORD = ENTRY_WORDS - 1;  // of an entry; unused in a node

__shared__ int stacks[BLOCK_SIZE / PACKET][STACK_SIZE][ENTRY_WORDS];

template <bool ANY_HIT>
struct Packet {
    GroupStack<PACKET, ENTRY_WORDS> stack;
    Ray ray;  // this lane's
    Shear shear;
    CentreRay box_ray;
    Hit best;
    Node kept;  // with KEEP_NODES, the inner node to visit

    __device__ Packet(const Scene& scene, const Ray& its_ray)
        : stack{stacks[threadIdx.x / PACKET], group_mask<PACKET>(), 0},
          ray(its_ray),
          shear(make_shear(ray)),
          box_ray(make_centre_ray(ray, scene.extent)),
          best(nothing_before(ray.t_max)) {
        push(scene, DONE);
        keep(scene, ROOT);
    }

    __device__ int pop() {
        const int* entry = stack.pop();
        const int node = entry[NAME_WORD];
        if (KEEP_NODES && is_inner(node)) kept = node_of_words(entry);
        return node;
    }

    // For the node that is visited next.
    __device__ void keep(const Scene& scene, int node) {
        if (KEEP_NODES && is_inner(node)) kept = load_node(scene, node);
    }

    // For a node that is visited later.
    __device__ void push(const Scene& scene, int node) {
        const unsigned lane = lane_index() % PACKET;
        int* entry = stack.add();
        if (lane == 0) entry[NAME_WORD] = node;
        if (!KEEP_NODES || !is_inner(node)) return;
        for (unsigned word = lane; word < NAME_WORD; word += PACKET) entry[word] = load_word(scene, node, word);
    }

    // From an inner node to the next.
    __device__ int descend(const Scene& scene, int node, unsigned& faults) {
        const Node pair = KEEP_NODES ? kept : load_node(scene, node);
        mark(Step::NODE, hits_box_of(pair));
        const Interval left = slab_test(pair.left_box, box_ray, ray.t_min, best.t);
        const Interval right = slab_test(pair.right_box, box_ray, ray.t_min, best.t);
        const unsigned left_hit = __ballot_sync(stack.mask, is_hit(left));
        const unsigned right_hit = __ballot_sync(stack.mask, is_hit(right));
        if (left_hit == 0 && right_hit == 0) return pop();
        if (left_hit == 0 || right_hit == 0) {
            const int only = left_hit == 0 ? pair.right : pair.left;
            keep(scene, only);
            return only;
        }
        if (stack.is_full()) {
            faults |= STACK_OVERFLOW;
            return DONE;
        }
        // The rays that hit both vote for the child to go to first.
        const unsigned both_hit = left_hit & right_hit;
        const unsigned for_left = __ballot_sync(stack.mask, left.near <= right.near) & both_hit;
        const bool left_first = 2 * __popc(for_left) >= __popc(both_hit);
        const int nearer = left_first ? pair.left : pair.right;
        keep(scene, nearer);
        push(scene, left_first ? pair.right : pair.left);
        return nearer;
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
