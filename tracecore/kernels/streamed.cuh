// Entry points of streamed dispatch: one launch per batch. A strategy includes this file last, after it has defined
//
//     template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults);
//
// All 32 lanes of a warp call it together, each with its own ray; a lane without one brings `no_ray()`. An any-hit query may
// return any hit; it is made the same for every strategy here.
#pragma once

#include "clock.cuh"
#include "ray.cuh"

// What a launch tells the host, in memory that the host can read.
struct Report {
    unsigned long long start;  // nanoseconds of the device's clock
    unsigned long long end;
    unsigned invalid_rays;
    unsigned faults;
};
static_assert(sizeof(Report) == REPORT_BYTES, "Report differs from the REPORT of launch.py");

// The same while it is gathered, in device memory; all zero between launches.
struct Tally {
    unsigned blocks_done;
    unsigned invalid_rays;
    unsigned faults;
};
static_assert(sizeof(Tally) == TALLY_BYTES, "Tally differs from the TALLY of launch.py");

struct Launch {
    const float4* rays;  // two a ray
    float4* hits;
    Report* report;
    Tally* tally;
    unsigned count;
};
static_assert(sizeof(Launch) == LAUNCH_BYTES, "Launch differs from the LAUNCH of launch.py");

__device__ inline Ray ray_to_trace(const Launch& launch, unsigned index) {
    if (index >= launch.count) return no_ray();
    const Ray ray = load_ray(launch.rays, index);
    if (is_valid(ray)) return ray;
    atomicAdd(&launch.tally->invalid_rays, 1u);
    return no_ray();
}

// The last block hands the tally over and clears it for the next launch.
__device__ inline void finish(const Launch& launch) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicInc(&launch.tally->blocks_done, gridDim.x - 1) != gridDim.x - 1) return;
    launch.report->invalid_rays = atomicExch(&launch.tally->invalid_rays, 0u);
    launch.report->faults = atomicExch(&launch.tally->faults, 0u);
    launch.report->end = nanoseconds();
}

template <bool ANY_HIT>
__device__ void answer(const Scene& scene, const Launch& launch) {
    const unsigned index = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (index == 0) launch.report->start = nanoseconds();
    unsigned faults = 0;
    Hit hit = trace<ANY_HIT>(scene, ray_to_trace(launch, index), faults);
    if (ANY_HIT && hit.prim_id != MISS) hit = occluded();
    if (index < launch.count) store_hit(launch.hits, index, hit);
    if (faults != 0) atomicOr(&launch.tally->faults, faults);
    finish(launch);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) closest_hit(const Scene scene, const Launch launch) {
    answer<false>(scene, launch);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) any_hit(const Scene scene, const Launch launch) {
    answer<true>(scene, launch);
}
