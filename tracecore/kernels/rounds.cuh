// A warp traces its rays in rounds, one for every LANES_PER_RAY lanes: the next round begins when all are done. A strategy
// includes this file last, after it has defined
//
//     template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults);
//
// All 32 lanes call it together. The lanes of a group bring the same ray; the first one's hit counts. A group without a ray
// brings `no_ray()`. An any-hit query may return any hit.
#pragma once

#include "far_origin.cuh"
#include "fault.cuh"
#include "ray.cuh"

template <bool ANY_HIT, class Rays>
__device__ void traverse(const Scene& scene, Rays& rays, unsigned& faults) {
    unsigned index = NO_RAY;
    volatile float before = 0.0f;  // in memory, so that it takes no register from the traversal
    while (rays.refill(index)) {
        const NearRay near = brought_near(rays.load(index), scene.extent);
        if (!ANY_HIT) before = near.before;
        const Hit hit = trace<ANY_HIT>(scene, near.ray, faults);
        rays.store(index, counted_from_origin<ANY_HIT>(hit, before));
        index = NO_RAY;
    }
}

#include "entry_points.cuh"
