#include "bvh2.cuh"
#include "fault.cuh"

// Hits nothing, after as many steps as the ray's origin says; has a fault at the first step where origin.y is not 0.
template <bool ANY_HIT>
struct Walk {
    using Entry = int;
    Entry* stack;
    int steps;
    bool has_fault;
    __device__ void begin(const Scene& scene, const Ray& ray) {
        steps = static_cast<int>(ray.origin.x);
        has_fault = ray.origin.y != 0.0f;
    }
    __device__ bool is_done() const {
        return steps <= 0;
    }
    __device__ void advance(const Scene& scene, unsigned& faults) {
        --steps;
        if (has_fault) faults |= STACK_OVERFLOW;
        has_fault = false;
    }
    __device__ Hit hit() const {
        return miss();
    }
};

#include "walks.cuh"
