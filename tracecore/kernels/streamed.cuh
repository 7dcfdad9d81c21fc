// Entry points of streamed dispatch (entry_points.cuh includes it): one launch per batch.
#pragma once

// What a launch tells the host, in memory that the host can read.
struct Report {
    unsigned long long start;  // nanoseconds of the device's clock
    unsigned long long end;
    unsigned invalid_rays;
    unsigned faults;
};
static_assert(sizeof(Report) == REPORT_BYTES, "Report differs from the REPORT of launch_records.py");

// What a launch counts for its report, in device memory; all zero between launches.
struct LaunchCounters {
    unsigned blocks_done;
    unsigned rays_taken;  // by the warps of a persistent kernel
    unsigned invalid_rays;
    unsigned faults;
};
static_assert(sizeof(LaunchCounters) == LAUNCH_COUNTERS_BYTES,
              "LaunchCounters differs from the LAUNCH_COUNTERS of launch_records.py");

struct Launch {
    const float4* rays;  // two a ray
    float4* hits;
    Report* report;
    LaunchCounters* counters;
    unsigned count;
    void* steps;                             // Counts and RayCounts of the rays where they are COUNTED (steps.cuh)
    const unsigned long long* device_count;  // of the rays, where another kernel says it (DEVICE_COUNT)
};
static_assert(sizeof(Launch) == LAUNCH_BYTES, "Launch differs from the LAUNCH of launch_records.py");

// A warp's rays. PERSISTENT warps take the next 32 whenever they run out (Aila, Laine: Understanding the Efficiency of Ray
// Traversal on GPUs, 2009); others get theirs once, by their index in the grid.
template <bool ANY_HIT>
class LaunchRays {
   public:
    __device__ explicit LaunchRays(const Launch& launch) : launch(launch), chunk{0, 0}, left(true) {}

    // Gives a ray to every lane whose index is NO_RAY, as long as there are any. Returns whether a lane of the warp has one.
    // All lanes call it together.
    __device__ bool refill(unsigned& index) {
        mark_refill();
        if (!PERSISTENT) return assign_by_grid(index);
        unsigned idle = chunk.assign(index);
        while (idle != 0 && take()) idle = chunk.assign(index);
        return idle != WHOLE_WARP;
    }

    // Whether the warp may get more. The same for all lanes.
    __device__ bool are_left() const {
        return left;
    }

    __device__ Ray load(unsigned index) const {
        mark_ray(launch.steps, index);
        if (index == NO_RAY) return no_ray();
        const Ray ray = load_ray(launch.rays, index);
        if (is_valid(ray)) return ray;
        if (is_first_lane()) reduce_add(launch.counters->invalid_rays, 1u);
        return no_ray();
    }

    __device__ void store(unsigned index, const Hit& hit) const {
        if (index == NO_RAY || !is_first_lane()) return;
        store_hit(launch.hits, index, answer_of<ANY_HIT>(hit));
    }

   private:
    const Launch& launch;
    WarpChunk chunk;
    bool left;

    __device__ unsigned count() const {
        return DEVICE_COUNT ? static_cast<unsigned>(*launch.device_count) : launch.count;
    }

    __device__ bool assign_by_grid(unsigned& index) {
        if (!left) return false;
        left = false;
        // Fits 32 bits: the host cuts launches at KernelStrategy.most_rays.
        index = (blockIdx.x * BLOCK_SIZE + threadIdx.x) / LANES_PER_RAY;
        if (index >= count()) index = NO_RAY;
        return true;
    }

    __device__ bool take() {
        const unsigned end = count();
        unsigned first = end;
        if (left && lane_index() == 0) first = atomicAdd(&launch.counters->rays_taken, WARP_LANES);
        first = __shfl_sync(WHOLE_WARP, first, 0);
        left = first < end;
        if (left) chunk = {first, min(first + WARP_LANES, end)};
        return left;
    }
};

// The last block hands the counters over and clears them for the next launch.
__device__ inline void finish(const Launch& launch) {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicInc(&launch.counters->blocks_done, gridDim.x - 1) != gridDim.x - 1) return;
    launch.counters->rays_taken = 0;
    launch.report->invalid_rays = atomicExch(&launch.counters->invalid_rays, 0u);
    launch.report->faults = atomicExch(&launch.counters->faults, 0u);
    launch.report->end = nanoseconds();
}

template <bool ANY_HIT>
__device__ void answer(const Scene& scene, const Launch& launch) {
    if (blockIdx.x == 0 && threadIdx.x == 0) launch.report->start = nanoseconds();
    begin_marks();
    unsigned faults = 0;
    LaunchRays<ANY_HIT> rays(launch);
    traverse<ANY_HIT>(scene, rays, faults);
    end_marks(launch.steps);
    if (faults != 0) reduce_or(launch.counters->faults, faults);
    finish(launch);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, LEAST_BLOCKS)
    closest_hit(const Scene scene, const Launch launch) {
    answer<false>(scene, launch);
}

extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, LEAST_BLOCKS) any_hit(const Scene scene, const Launch launch) {
    answer<true>(scene, launch);
}
