// What a kernel does for its rays, step by step. A kernel marks each step where it begins. Only where COUNTED or MARKED is set
// are the marks compiled. COUNTED: on a device they add up, in an emulator they are logged (tracecore/steps.py). MARKED: each
// is an instruction, by which machine code is divided into steps (tracecore/instruction_counts.py); its code is never run.
//
// A step's efficiency is that of Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009: lanes with work of
// their own, of all lanes of the warp that issues it.
#pragma once

#include "ray.cuh"
#include "warp.cuh"

enum class Step : unsigned {
    NODE,      // an inner node is visited: the boxes of its children are tested
    LEAF,      // a leaf is picked up
    TRIANGLE,  // a triangle is tested; by lanes side by side, one each
    INSIDE,    // the ray's line passes inside of its edges, so that the distance is computed
};

// The code of a step begins here; for where `mark` is not called there. Marks are events of performance monitors, which the
// compiler leaves in their place.
__device__ inline void mark_code([[maybe_unused]] Step step) {
#if MARKED
    if (step == Step::NODE) asm volatile("pmevent 0;");
    if (step == Step::LEAF) asm volatile("pmevent 1;");
    if (step == Step::TRIANGLE) asm volatile("pmevent 2;");
    if (step == Step::INSIDE) asm volatile("pmevent 3;");
#endif
}

// The warp asks for rays: REFILL of instruction_counts.py.
__device__ inline void mark_refill() {
#if MARKED
    asm volatile("pmevent 4;");
#endif
}

#if COUNTED

constexpr unsigned STEPS = 4;

// Of all warps.
struct Counts {
    unsigned long long issued[STEPS];  // by a warp
    unsigned long long useful[STEPS];  // lanes with work of their own
};
static_assert(sizeof(Counts) == COUNTS_BYTES, "Counts differs from the COUNTS of steps.py");

// Of a ray; they lie behind Counts.
struct RayCounts {
    unsigned steps[STEPS];
    unsigned idle;  // lanes without work while it had nodes visited and triangles tested
    unsigned unused[3];
};
static_assert(sizeof(RayCounts) == RAY_COUNTS_BYTES, "RayCounts differs from the RAY_COUNTS of steps.py");

__shared__ Counts* counts;
__shared__ unsigned marked_rays[BLOCK_SIZE];  // of each lane

// All threads of the block together, first.
__device__ inline void begin_marks(void* address) {
    if (threadIdx.x == 0) counts = static_cast<Counts*>(address);
    marked_rays[threadIdx.x] = NO_RAY;
    __syncthreads();
}

// What the lane does from now on is for this ray.
__device__ inline void mark_ray(unsigned index) {
    marked_rays[threadIdx.x] = index;
}

// A step. is_useful: the lane has work of its own in it. takes_part: it is a step of the lane's ray, rather than only of
// others that the warp traces.
__device__ inline void mark(Step step, bool is_useful = true, bool takes_part = true) {
    const unsigned ray = takes_part ? marked_rays[threadIdx.x] : NO_RAY;
#ifdef TRACECORE_EMULATOR
    if (ray != NO_RAY) emulator::log_step(ray, threadIdx.x % LANES_PER_RAY, static_cast<unsigned>(step), is_useful);
#else
    const unsigned kind = static_cast<unsigned>(step);
    const unsigned together = __activemask();
    const unsigned useful = __popc(__ballot_sync(together, is_useful && ray != NO_RAY));
    if (lane_index() == __ffs(together) - 1) {
        atomicAdd(&counts->issued[kind], 1ull);
        atomicAdd(&counts->useful[kind], static_cast<unsigned long long>(useful));
    }
    if (ray != NO_RAY && threadIdx.x % LANES_PER_RAY == 0) {
        RayCounts& own = reinterpret_cast<RayCounts*>(counts + 1)[ray];
        atomicAdd(&own.steps[kind], 1u);
        if (step == Step::NODE || step == Step::TRIANGLE) atomicAdd(&own.idle, WARP_LANES - useful);
    }
    __syncwarp(together);
#endif
}

#else

__device__ inline void begin_marks(void*) {}
__device__ inline void mark_ray(unsigned) {}

__device__ inline void mark(Step step, bool = true, bool = true) {
    mark_code(step);
}

#endif
