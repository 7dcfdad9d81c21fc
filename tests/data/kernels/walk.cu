#include "bvh2.cuh"

unsigned away;                     // what is taken away
__shared__ unsigned turns_of_all;  // less 1

template <bool ANY_HIT>
struct Walk {
    using Entry = int;
    Entry* stack;
    Ray ray;
    int turns;
    unsigned begun;
    __device__ void begin(const Scene& scene, const Ray& the_ray) {
        ray = the_ray;
        turns = static_cast<int>(ray.origin.x);
        begun = turns_of_all + 1;
    }
    __device__ bool is_done() const {
        return turns <= 0;
    }
    __device__ void advance(const Scene& scene, unsigned& faults) {
        --turns;
        ++turns_of_all;
    }
    __device__ Hit hit() const {
        return {ray.origin.y, ray.direction.x, ray.t_max, ray.origin.z == 0.0f ? begun : unsigned(ray.origin.z)};
    }
};

#include "walks.cuh"
