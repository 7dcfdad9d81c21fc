// One ray per thread. A strategy includes this file last, after it has defined a ray's way through the tree:
//
//     template <bool ANY_HIT> struct Walk {
//         using Entry = int;  // of its stack
//         Entry* stack;       // STACK_SIZE of them; apart from the rest, so that the rest can be in registers
//         __device__ void begin(const Scene& scene, const Ray& ray);
//         __device__ bool is_done() const;
//         __device__ void advance(const Scene& scene, unsigned& faults);  // an iteration; not after it is done
//         __device__ Hit hit() const;                                     // when it is done
//     };
//
// When fewer than REPLACE_BELOW lanes of a warp still walk, the others get new rays. Aila, Laine, Karras: Understanding the
// Efficiency of Ray Traversal on GPUs - Kepler and Fermi Addendum, 2012. 0: not before all are done.
#pragma once

#include "far_origin.cuh"
#include "fault.cuh"
#include "ray.cuh"
#include "steps.cuh"
#include "warp.cuh"

// Whether the lanes that are done should wait for the others.
template <class Rays>
__device__ inline bool goes_on(bool walks, const Rays& rays) {
    if (REPLACE_BELOW == 0) return walks;
    const int walking = __popc(__ballot_sync(WHOLE_WARP, walks));
    return walking >= (rays.are_left() ? REPLACE_BELOW : 1);
}

template <bool ANY_HIT, class Rays>
__device__ void traverse(const Scene& scene, Rays& rays, unsigned& faults) {
    typename Walk<ANY_HIT>::Entry stack[STACK_SIZE];
    Walk<ANY_HIT> walk;
    walk.stack = stack;
    unsigned index = NO_RAY;
    volatile float before = 0.0f;  // in memory, so that it takes no register from the traversal
    while (true) {
        const bool was_idle = index == NO_RAY;
        if (!rays.refill(index)) return;
        if (was_idle) {
            const NearRay near = brought_near(rays.load(index), scene.extent);
            walk.begin(scene, near.ray);
            if (!ANY_HIT) before = near.before;
        }
        while (goes_on(!walk.is_done(), rays)) {
            if (REPLACE_BELOW == 0 || !walk.is_done()) {
                walk.advance(scene, faults);
                mark_iteration();
            }
        }
        if (walk.is_done()) {
            rays.store(index, counted_from_origin<ANY_HIT>(walk.hit(), before));
            index = NO_RAY;
        }
    }
}

#include "entry_points.cuh"
