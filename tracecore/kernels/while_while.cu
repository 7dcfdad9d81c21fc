// One ray per thread. Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009.
//
// "while-while": all lanes of a warp walk inner nodes until each has found a leaf, then all test triangles. With SPECULATIVE
// a lane that has found a leaf postpones it and walks on until the second, since its neighbours keep it waiting anyway.
#include "bvh2_walk.cuh"

template <bool ANY_HIT>
struct Walk : Bvh2Walk<ANY_HIT> {
    using Bvh2Walk<ANY_HIT>::node;
    int leaf;  // postponed, or DONE

    __device__ void begin(const Scene& scene, const Ray& ray) {
        this->start(scene, ray);
        leaf = DONE;
    }

    __device__ bool is_done() const {
        return node == DONE;
    }

    __device__ void advance(const Scene& scene, unsigned& faults) {
        while (is_inner(node)) {
            this->descend(scene, faults);
            if (is_leaf(node) && !is_leaf(leaf)) {
                leaf = node;
                node = this->pop();
                if (!SPECULATIVE) break;
            }
        }
        while (is_leaf(leaf)) {
            mark(Step::LEAF);
            for (int leaf_index = first_leaf_index(leaf); leaf_index < end_leaf_index(leaf); ++leaf_index) {
                this->test(scene, leaf_index);
                if (ANY_HIT && this->found()) return;
            }
            leaf = node;
            if (is_leaf(node)) node = this->pop();
        }
    }
};

#include "walks.cuh"
