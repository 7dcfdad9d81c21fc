// Packets of a warp's rays on a tree of four children a node: the packets of Günther, Popov, Seidel, Slusallek: Realtime Ray
// Tracing on GPU with BVH-based Packet Traversal, 2007, on the nodes of Guthe: Latency Considerations of Depth-first GPU Ray
// Tracing, 2014.
//
// The lanes visit a node if any of their rays hits its box, and go to the child first that the first of them enters. All have
// the same entries on their stacks, so that none waits for another to write, and no branch parts them.
#include "bvh4.cuh"
#include "fault.cuh"
#include "packet_ray.cuh"
#include "warp.cuh"

template <bool ANY_HIT>
struct Packet : PacketRay<ANY_HIT> {
    using PacketRay<ANY_HIT>::ray;
    using PacketRay<ANY_HIT>::best;
    Entry* stack;  // STACK_SIZE of them; apart from the rest, so that the rest can be in registers
    DirectedRay box_ray;
    int top;

    __device__ Packet(const Scene& scene, const Ray& its_ray, Entry* its_stack)
        : PacketRay<ANY_HIT>(its_ray), stack(its_stack), box_ray(make_directed_ray(ray, scene.extent)), top(0) {
        stack[0] = {DONE, __float_as_int(-infinity())};
    }

    // From an inner node to the next.
    __device__ int descend(const Scene& scene, int node, unsigned& faults) {
        mark(Step::NODE, COUNTED && has_reason_at(scene, node));
        if (top + WIDTH > STACK_SIZE) {  // there may be no room
            faults |= STACK_OVERFLOW;
            return DONE;
        }
        const int4 children = load_children(scene, node);
        const int4 keys = enter_children<ANY_HIT>(scene, node, box_ray, ray.t_min, best.t);
        return ANY_HIT ? any_of(children, keys) : nearest_of(children, keys);
    }

    // Tests the triangles of a leaf. Returns the next node.
    __device__ int test(const Scene& scene, int leaf) {
        this->test_leaf(scene, leaf);
        if (ANY_HIT && !__any_sync(WHOLE_WARP, this->may_hit())) return DONE;
        return pop();
    }

   private:
    // What lies behind the nearest hits of all rays so far is passed over.
    __device__ int pop() {
        while (!ANY_HIT && !__any_sync(WHOLE_WARP, !is_behind(stack[top].key, best.t))) --top;
        return stack[top--].node;
    }

    __device__ void push(int child, int key) {
        stack[++top] = {child, key};
    }

    // The farthest one lies at the bottom of the others. Behind one that all rays miss come only such.
    __device__ int nearest_of(const int4& children, const int4& keys) {
        int4 first = {least_of_warp(keys.x), least_of_warp(keys.y), least_of_warp(keys.z), least_of_warp(keys.w)};
        sort(first);
        if (first.y < MISSED) {
            if (first.z < MISSED) {
                if (first.w < MISSED) push(child_of(children, first.w), first.w);
                push(child_of(children, first.z), first.z);
            }
            push(child_of(children, first.y), first.y);
        }
        return first.x < MISSED ? child_of(children, first.x) : pop();
    }

    __device__ int any_of(const int4& children, const int4& keys) {
        const int last =
            last_of(children, keys, stack, top, [](int key) { return __any_sync(WHOLE_WARP, key != MISSED); });
        return last != NONE ? last : pop();
    }

    // By the box around all children.
    __device__ bool has_reason_at(const Scene& scene, int node) const {
        float3 lower, upper;
        bounds_of(scene, node, lower, upper);
        return this->has_reason(scene, lower, upper);
    }
};

template <bool ANY_HIT>
__device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {
    Entry stack[STACK_SIZE];
    Packet<ANY_HIT> packet(scene, ray, stack);
    walk(packet, scene, faults);
    return packet.hit();
}

#include "rounds.cuh"
