// The entry points of one dispatch mode. Before it, a strategy has defined
//
//     template <bool ANY_HIT, class Rays> __device__ void traverse(const Scene& scene, Rays& rays, unsigned& faults);
//
// by itself or through rounds.cuh or walks.cuh. All 32 lanes of a warp call it together, and it ends when `rays` has no more
// for them. LANES_PER_RAY lanes side by side work on the same ray. `rays` is like LaunchRays of streamed.cuh.
#pragma once

#include "clock.cuh"
#include "fault.cuh"
#include "hand_over.cuh"
#include "warp_chunk.cuh"

#if RESIDENT
#include "resident.cuh"
#else
#include "streamed.cuh"
#endif
