// What a kernel does for its rays, step by step. A kernel marks each step where it begins. Only where COUNTED or MARKED is
// set are the marks compiled. COUNTED: on a device they add up, in an emulator they are logged
// (tracecore/analysis/steps.py). MARKED: each is an instruction, by which machine code is divided into steps
// (tracecore/analysis/instruction_counts.py); its code is never run.
//
// A step's efficiency is that of Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009: lanes with work
// of their own, of all lanes of the warp that issues it.
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

// What all warps did.
struct Counts {
    unsigned long long issued[STEPS];  // by a warp
    unsigned long long useful[STEPS];  // lanes with work of their own
};
static_assert(sizeof(Counts) == COUNTS_BYTES, "Counts differs from the COUNTS of step_records.py");

// What was done for a ray; these lie behind Counts.
struct RayCounts {
    unsigned steps[STEPS];
    unsigned idle;  // lanes without work while it had nodes visited and triangles tested
    unsigned unused[3];
};
static_assert(sizeof(RayCounts) == RAY_COUNTS_BYTES, "RayCounts differs from the RAY_COUNTS of step_records.py");

struct LaneCounts {
    unsigned ray;
    RayCounts of_ray;
    unsigned issued[STEPS];  // by this lane for its warp
    unsigned useful[STEPS];
};

// Nothing in the loops of a kernel is atomic or waits: the compiler would add a YIELD, and lanes that are together without
// the marks would part.
__shared__ LaneCounts lane_counts[BLOCK_SIZE];

__device__ inline void begin_marks() {
    lane_counts[threadIdx.x] = {};
    lane_counts[threadIdx.x].ray = NO_RAY;
}

// What the lane does from now on is for this ray; what it did for the one before is handed over. counts: where to; null in
// an emulator, which has a log.
__device__ inline void mark_ray(void* counts, unsigned index) {
    LaneCounts& lane = lane_counts[threadIdx.x];
    if (counts != nullptr && lane.ray != NO_RAY && threadIdx.x % LANES_PER_RAY == 0) {
        reinterpret_cast<RayCounts*>(static_cast<Counts*>(counts) + 1)[lane.ray] = lane.of_ray;
    }
    lane.of_ray = {};
    lane.ray = index;
}

__device__ inline void end_marks(void* counts) {
    if (counts == nullptr) return;
    mark_ray(counts, NO_RAY);
    const LaneCounts& lane = lane_counts[threadIdx.x];
    Counts& all = *static_cast<Counts*>(counts);
    for (unsigned i = 0; i < STEPS; ++i) {
        atomicAdd(&all.issued[i], static_cast<unsigned long long>(lane.issued[i]));
        atomicAdd(&all.useful[i], static_cast<unsigned long long>(lane.useful[i]));
    }
}

// The lanes that run together with this one, and those of them that have work of their own.
struct Together {
    unsigned lanes;
    unsigned useful;
};

__device__ inline Together together(bool is_useful) {
    const unsigned lanes = __activemask();
    if (ITEM_LANES == 1) return {lanes, lanes};  // each has a ray for itself
    return {lanes, __ballot_sync(lanes, is_useful)};
}

// A step. is_useful: the lane has work of its own in it. takes_part: it is a step of the lane's ray, rather than only of
// others that the warp traces.
__device__ inline void mark(Step step, bool is_useful = true, bool takes_part = true) {
    LaneCounts& lane = lane_counts[threadIdx.x];
    const unsigned kind = static_cast<unsigned>(step);
    takes_part = takes_part && lane.ray != NO_RAY;
    is_useful = is_useful && takes_part;
#ifdef TRACECORE_EMULATOR
    if (takes_part) emulator::log_step(lane.ray, threadIdx.x % LANES_PER_RAY, kind, is_useful);
#else
    const Together warp = together(is_useful);
    lane.issued[kind] += (warp.lanes & lanes_below(lane_index())) == 0;
    if (!takes_part) return;
    lane.useful[kind] += is_useful;
    lane.of_ray.steps[kind] += 1;
    if (step == Step::NODE || step == Step::TRIANGLE) lane.of_ray.idle += WARP_LANES - __popc(warp.useful);
#endif
}

// An iteration of the loop that the strategy's `loop=` describes ends here: ITERATION of step_records.py. The emulator logs
// it, for `simulator.check_loop`; on a device it is nothing.
__device__ inline void mark_iteration() {
#ifdef TRACECORE_EMULATOR
    const LaneCounts& lane = lane_counts[threadIdx.x];
    if (lane.ray != NO_RAY) emulator::log_step(lane.ray, threadIdx.x % LANES_PER_RAY, STEPS, false);
#endif
}

#else

__device__ inline void mark_iteration() {}
__device__ inline void begin_marks() {}
__device__ inline void mark_ray(void*, unsigned) {}
__device__ inline void end_marks(void*) {}

__device__ inline void mark(Step step, bool = true, bool = true) {
    mark_code(step);
}

#endif
