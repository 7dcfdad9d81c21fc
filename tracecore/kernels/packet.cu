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
#include "packet_ray.cuh"

constexpr int ENTRY_WORDS = KEEP_NODES ? NODE_WORDS : 1;
constexpr int NAME_WORD = ENTRY_WORDS - 1;  // of an entry; unused in a node

__shared__ int stacks[BLOCK_SIZE / PACKET][STACK_SIZE][ENTRY_WORDS];

template <bool ANY_HIT>
struct Packet : PacketRay<ANY_HIT> {
    using PacketRay<ANY_HIT>::ray;
    using PacketRay<ANY_HIT>::best;
    GroupStack<PACKET, ENTRY_WORDS> stack;
    CentreRay box_ray;
    Node kept;  // with KEEP_NODES, the inner node to visit

    __device__ Packet(const Scene& scene, const Ray& its_ray)
        : PacketRay<ANY_HIT>(its_ray),
          stack{stacks[threadIdx.x / PACKET], group_mask<PACKET>(), 0},
          box_ray(make_centre_ray(ray, scene.extent)) {
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
        mark(Step::NODE, COUNTED && has_reason_at(scene, pair));
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

    // Tests the triangles of a leaf. Returns the next node.
    __device__ int test(const Scene& scene, int leaf) {
        this->test_leaf(scene, leaf);
        if (ANY_HIT && !__any_sync(stack.mask, this->may_hit())) return DONE;
        return pop();
    }

   private:
    // By the box around both children.
    __device__ bool has_reason_at(const Scene& scene, const Node& pair) const {
        const float3 lower = least(lower_of(pair.left_box), lower_of(pair.right_box));
        return this->has_reason(scene, lower, most(upper_of(pair.left_box), upper_of(pair.right_box)));
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
    walk(packet, scene, faults);
    return packet.hit();
}

#include "rounds.cuh"
