// One ray per thread. Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
//
// "if-if": each iteration of the loop visits an inner node, if the lane stands at one, and tests one triangle, if the lane
// has a leaf. With SPECULATIVE a lane that has a leaf visits nodes as long as no second leaf stops it.
#include "bvh2_walk.cuh"

template <bool ANY_HIT>
struct Walk : Bvh2Walk<ANY_HIT> {
    using Bvh2Walk<ANY_HIT>::node;
    int leaf_index;  // of the next triangle of the leaf in hand
    int end;         // behind its last; none in hand where leaf_index == end

    __device__ void begin(const Scene& scene, const Ray& ray) {
        this->start(scene, ray);
        leaf_index = end = 0;
    }

    __device__ bool is_done() const {
        return node == DONE && (leaf_index == end || (ANY_HIT && this->found()));
    }

    __device__ void advance(const Scene& scene, unsigned& faults) {
        if (is_inner(node) && (SPECULATIVE || leaf_index == end)) this->descend(scene, faults);
        if (is_leaf(node) && leaf_index == end) {
            mark(Step::LEAF);
            leaf_index = first_leaf_index(node);
            end = end_leaf_index(node);
            node = this->pop();
        }
        if (leaf_index != end) this->test(scene, leaf_index++);
    }
};

#include "walks.cuh"
