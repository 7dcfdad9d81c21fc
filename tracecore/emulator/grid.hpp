// A grid of blocks, run one after another.
#pragma once

#include <string.h>

#include "warp.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// Where the linker puts the first and the last byte of all shared variables.
extern "C" char __start_tracecore_shared[] __attribute__((visibility("hidden")));
extern "C" char __stop_tracecore_shared[] __attribute__((visibility("hidden")));

namespace emulator {

constexpr uint64_t LANE_BYTES = EMULATOR_LANE_BYTES;    // of library.py
constexpr uint64_t FRAME_BYTES = EMULATOR_FRAME_BYTES;  // the same
constexpr uint64_t STACK_BYTES = LANE_BYTES / 2;
constexpr uint64_t STAGGER = 128;  // spreads the lanes' stacks over the sets of the cache
constexpr int POISON = 0xff;

// Makes the section of shared variables exist.
__attribute__((section("tracecore_shared"), used)) static char no_shared_variables[1];

// The stacks of a block's fibers: of each lane's LANE_BYTES the upper half. Below lies a zone of zeros that any
// overflow writes to, since no function has a frame beyond FRAME_BYTES. Below the zone is room for the rest of it.
struct Stacks {
    char* memory;
    uint32_t threads;

    char* stack(uint32_t thread) const { return memory + (thread + 1) * LANE_BYTES - STACK_BYTES; }

    // Also for a sanitizer, to which frames of lanes that ended or failed are there still.
    void poison() {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(memory, threads * LANE_BYTES);
#endif
        for (uint32_t i = 0; i < threads; ++i) memset(stack(i), POISON, STACK_BYTES);
    }

    Fiber make(uint32_t thread) const {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(stack(thread), STACK_BYTES);
#endif
        return make_fiber(stack(thread), STACK_BYTES - STAGGER * (thread % LANES), live);
    }

    // Clears the zones.
    void check() {
        int overflows = 0;
        for (uint32_t i = 0; i < threads; ++i) {
            if (!has_overflowed(i)) continue;
            memset(stack(i) - FRAME_BYTES, 0, FRAME_BYTES);
            if (overflows++ > 0) continue;
            error.add("%sthe stack of %d bytes of warp %u, lane %u overflowed: use smaller arrays, less recursion",
                      error.length > 0 ? "; " : "", int(STACK_BYTES), i / LANES, i % LANES);
        }
    }

    bool has_overflowed(uint32_t thread) const {
        const uint64_t* zone = reinterpret_cast<const uint64_t*>(stack(thread) - FRAME_BYTES);
        uint64_t written = 0;
        for (uint64_t i = 0; i < FRAME_BYTES / sizeof(*zone); ++i) written |= zone[i];
        return written != 0;
    }
};

inline void start_warp(uint32_t index, const Stacks& stacks) {
    Warp& warp = block.warps[index];
    warp.ready = ~0u;
    warp.waiting = warp.at_barrier = warp.asleep = warp.ended = 0;
    for (uint32_t i = 0; i < LANES; ++i) {
        const uint32_t thread = index * LANES + i;
        warp.lanes[i].fiber = stacks.make(thread);
        warp.lanes[i].bit = 1u << i;
        warp.lanes[i].thread = {thread};
    }
}

inline void run_block(uint32_t index, const Stacks& stacks) {
    memset(__start_tracecore_shared, POISON, __stop_tracecore_shared - __start_tracecore_shared);
    block.block_index = {index};
    forget_owners();
    for_each(all_warps(), [&](int i) { start_warp(i, stacks); });
    block.runnable = all_warps();
    block.warp = &block.warps[pick(block.runnable)];
    run_next_lane(block.host);
    while (weak.is_host_next) {
        weak.is_host_next = false;
        weak.act_as_host();
        tracecore_switch_fiber(&block.host, &block.lane->fiber);
    }
}

// Indices of all blocks, each once, in the order in which they run: the numbers of a full cycle of a linear congruential
// generator (Hull, Dobell: Random Number Generators, 1962) that are indices of blocks. Others are passed over.
class BlockOrder {
   public:
    explicit BlockOrder(uint32_t blocks) : mask(blocks > 1 ? ~0u >> __builtin_clz(blocks - 1) : 0), factor(1) {
        step = block.order == Order::DESCENDING ? ~0u : 1;
        index = block.order == Order::DESCENDING ? 0 : ~0u;
        if (block.order == Order::SHUFFLED) {
            factor = next_random() << 2 | 1;
            step = next_random() | 1;
        }
    }

    uint32_t next() { return index = (factor * index + step) & mask; }

   private:
    uint32_t mask, factor, step, index;
};

// Runs all blocks, or as far as the first error.
inline void run_grid(uint32_t blocks, Stacks stacks) {
    block.warps_count = stacks.threads / LANES;
    block.size = {stacks.threads};
    block.grid = {blocks};
    stacks.poison();
    BlockOrder blocks_in_order(blocks);
    for (uint32_t left = blocks; left > 0 && error.length == 0;) {
        const uint32_t index = blocks_in_order.next();
        if (index >= blocks) continue;
        run_block(index, stacks);
        --left;
    }
    commit_if([](const Store&) { return true; });
    stacks.check();
}

}  // namespace emulator
