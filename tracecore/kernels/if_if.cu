// One ray per thread. Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
//
// "if-if": each turn of the loop visits an inner node, if the lane stands at one, and tests one triangle, if the lane has a
// leaf. With SPECULATIVE a lane that has a leaf visits nodes as long as no second leaf stops it.
#include "bvh2_walk.cuh"

template <bool ANY_HIT>
struct Walk : Bvh2Walk<ANY_HIT> {
    using Bvh2Walk<ANY_HIT>::node;
    int slot;  // of the next triangle of the leaf in hand
    int end;   // behind its last; none in hand where slot == end

    __device__ void begin(const Scene& scene, const Ray& ray) {
        this->start(scene, ray);
        slot = end = 0;
    }

    __device__ bool is_done() const {
        return node == DONE && (slot == end || (ANY_HIT && this->found));
    }

    __device__ void advance(const Scene& scene, unsigned& faults) {
        if (is_inner(node) && (SPECULATIVE || slot == end)) this->descend(scene, faults);
        if (is_leaf(node) && slot == end) {
            mark(Step::LEAF);
            slot = first_slot(node);
            end = end_slot(node);
            node = this->pop();
        }
        if (slot != end) this->test(scene, slot++);
    }
};

#include "walks.cuh"
