// What Python calls. Comes after the kernel's source, which defines Scene, Launch or Ring, and the entry points; or kernels
// that take one argument each, where PROGRAM_ENTRIES names them.
#pragma once

#include "grid.hpp"

namespace emulator {

// library.py fills the same.
struct Request {
    const void* scene;      // Scene; of no program
    const void* arguments;  // Launch, or Ring in resident dispatch, or what a program's kernel takes
    char* stacks;           // LANE_BYTES for each thread of a block; zeros, or what an earlier launch left
    uint32_t entry;         // index of the entry point
    uint32_t blocks;
    uint32_t threads;  // of a block
    Order order;
    uint64_t time_limit;     // nanoseconds
    const Memory* memories;  // that loads and stores may touch
    uint32_t memories_count;
    uint32_t seed;  // of the shuffled order, and of weak memory
    StepLog log;
    void (*host)();  // what the host does while a launch with weak memory runs; may be null
    uint32_t is_weak;
};

inline Request* request;

#if defined(PROGRAM_ENTRIES)
template <class Arguments>
inline void call(void (*kernel)(Arguments)) {
    kernel(*static_cast<const Arguments*>(request->arguments));
}

inline void run_kernel() {
    uint32_t entry = 0;
#define EMULATOR_ENTRY(name) \
    if (request->entry == entry++) return call(name);
    PROGRAM_ENTRIES
#undef EMULATOR_ENTRY
}
#else
inline void run_kernel() {
    const Scene& scene = *static_cast<const Scene*>(request->scene);
#if RESIDENT
    resident(scene, *static_cast<const Ring*>(request->arguments));
#else
    const Launch& launch = *static_cast<const Launch*>(request->arguments);
    if (request->entry == 1) {
        any_hit(scene, launch);
    } else {
        closest_hit(scene, launch);
    }
#endif
}
#endif

inline const char* emulate(Request* the_request) {
    request = the_request;
    error.clear();
    memories = request->memories;
    memories_count = request->memories_count;
    block.kernel = run_kernel;
    block.order = request->order;
    block.random = request->seed * 0x9e3779b9u | 1;
    block.ticks_left = TICKS;
    block.start = wall_nanoseconds();
    block.time_limit = request->time_limit;
    step_log = &request->log;
    weak.start(request->is_weak != 0, request->host);
    run_grid(request->blocks, {request->stacks, request->threads});
    return error.length == 0 ? nullptr : error.bytes;
}

}  // namespace emulator

// Runs one launch. Returns what is wrong with the kernel, or null. One call at a time.
extern "C" __attribute__((visibility("default"))) const char* tracecore_emulate(emulator::Request* request) {
    return emulator::emulate(request);
}
