// One ray per thread, by the way of "if-if" -- and a kernel that fails on purpose, at the rays that it strikes: FAULT says
// how. About one of FAULT_PERIOD rays is struck, which ones follows from FAULT_SEED and their bits alone.
#include "bvh2_walk.cuh"

constexpr int WRONG_HIT = 1;         // the distance has another last bit
constexpr int MISSING_TRIANGLE = 2;  // a triangle is hit that is not there
constexpr int ILLEGAL_ADDRESS = 3;   // memory is written to that is nobody's
constexpr int ENDLESS = 4;           // the ray never ends

__device__ inline bool is_struck(const Ray& ray) {
    unsigned bits = (__float_as_uint(ray.direction.x) ^ FAULT_SEED) * 2654435761u;
    bits = (bits ^ bits >> 15 ^ __float_as_uint(ray.origin.y)) * 2246822519u;
    return (bits ^ bits >> 13) % FAULT_PERIOD == 0;
}

template <bool ANY_HIT>
struct Walk : Bvh2Walk<ANY_HIT> {
    using Bvh2Walk<ANY_HIT>::node;
    int leaf_index;
    int end;
    bool struck;

    __device__ void begin(const Scene& scene, const Ray& ray) {
        this->start(scene, ray);
        leaf_index = end = 0;
        struck = is_struck(ray);
        if (FAULT == ILLEGAL_ADDRESS && struck) *reinterpret_cast<volatile unsigned*>(16) = 1;
        while (FAULT == ENDLESS && struck) __nanosleep(1000);  // a loop that does nothing is left out by some compilers
    }

    __device__ bool is_done() const {
        return node == DONE && (leaf_index == end || (ANY_HIT && this->found()));
    }

    __device__ void advance(const Scene& scene, unsigned& faults) {
        if (is_inner(node) && leaf_index == end) this->descend(scene, faults);
        if (is_leaf(node) && leaf_index == end) {
            mark(Step::LEAF);
            leaf_index = first_leaf_index(node);
            end = end_leaf_index(node);
            node = this->pop();
        }
        if (leaf_index != end) this->test(scene, leaf_index++);
    }

    __device__ Hit hit() const {
        Hit hit = Bvh2Walk<ANY_HIT>::hit();
        if (ANY_HIT || !struck || hit.prim_id == MISS) return hit;
        if (FAULT == WRONG_HIT) hit.t = __uint_as_float(__float_as_uint(hit.t) ^ 1u);
        if (FAULT == MISSING_TRIANGLE) hit.prim_id = 0x7fffffffu;
        return hit;
    }
};

#include "walks.cuh"
