// Lanes run by turns in one thread: each runs until it has to wait, then the next one that can run goes on. The last lane to
// come to a collective computes the results of all.
#pragma once

#include <time.h>

#include "memory.hpp"

namespace emulator {

// ---------------------------------------------------------------------------------------------------------- scheduler

// Chooses one of a set that is not empty.
inline uint32_t pick(uint32_t set) {
    if (block.order == Order::ASCENDING) return __builtin_ctz(set);
    if (block.order == Order::DESCENDING) return 31 - __builtin_clz(set);
    const uint32_t shift = next_random() % 32;
    return (__builtin_ctz(set >> shift | set << (-shift % 32)) + shift) % 32;
}

inline bool wake_sleepers() {
    for_each(all_warps(), [](int i) {
        Warp& warp = block.warps[i];
        warp.ready |= warp.asleep;
        warp.asleep = 0;
        if (warp.ready != 0) block.runnable |= 1u << i;
    });
    return block.runnable != 0;
}

// Lets all threads go on that are in __syncthreads, if all threads are.
inline void open_barrier() {
    const Lane& first = block.warps[0].lanes[0];
    uint32_t absent = 0, elsewhere = 0, present = 0;
    for_each(all_warps(), [&](int i) {
        const Warp& warp = block.warps[i];
        absent |= ~warp.at_barrier;
        present |= warp.at_barrier;
        for_each(warp.at_barrier, [&](int k) { elsewhere |= warp.lanes[k].wait.line != first.wait.line; });
    });
    if (present == 0) fail_in_block("deadlock:");
    if (absent != 0) fail_in_block("a __syncthreads that some threads never reach:");
    if (elsewhere != 0) fail_in_block("threads meet in different __syncthreads:");
    hand_over_in_block();
    for_each(all_warps(), [](int i) {
        block.warps[i].ready = block.warps[i].at_barrier;
        block.warps[i].at_barrier = 0;
    });
    block.runnable = all_warps();
}

inline bool has_ended() {
    uint32_t alive = 0;
    for_each(all_warps(), [&](int i) { alive |= ~block.warps[i].ended; });
    return alive == 0;
}

// The running warp has no lane that can run.
[[gnu::noinline]] inline void select_warp() {
    block.runnable &= ~(1u << (block.warp - block.warps));
    if (block.runnable == 0 && !wake_sleepers()) {
        if (has_ended()) leave_to_host();
        open_barrier();
    }
    block.warp = &block.warps[pick(block.runnable)];
}

// Goes on with a lane that can run; returns when the running one, which is left in `from`, is chosen again.
[[gnu::always_inline]] inline void run_next_lane(Fiber& from) {
    if (block.warp->ready == 0) {
        select_warp();
    } else if (weak.is_on && next_random() % SWITCH_ODDS == 0) {
        block.warp = &block.warps[pick(block.runnable)];
    }
    Warp& warp = *block.warp;
    const uint32_t index = pick(warp.ready);
    warp.ready &= ~(1u << index);
    block.lane = &warp.lanes[index];
    tracecore_switch_fiber(&from, &block.lane->fiber);
}

// ---------------------------------------------------------------------------------------------------------------- time

constexpr uint32_t TICKS = 1 << 16;

inline unsigned long long wall_nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

// The clock as kernels see it. That of a weak memory goes by how often it is looked at: the same in every run.
inline unsigned long long nanoseconds() { return weak.is_on ? ++weak.looks * LOOK_NANOSECONDS : wall_nanoseconds(); }

[[gnu::cold, gnu::noinline]] inline void look_at_time(Site site) {
    block.ticks_left = TICKS;
    if (wall_nanoseconds() - block.start > block.time_limit) {
        fail(site, "still running after %g s: an endless loop?", 1e-9 * block.time_limit);
    }
}

// Whatever a loop without end must do now and then calls it.
inline void tick(Site site) {
    if (--block.ticks_left == 0) look_at_time(site);
}

// --------------------------------------------------------------------------------------------------------- collectives

// Whether the lanes of the last one's mask, which wait for different things, can go on all the same.
[[gnu::noinline]] inline bool can_complete(const Warp& warp, const Lane& last) {
    bool can = true;
    for_each(last.wait.mask, [&](int i) {
        const Wait& wait = warp.lanes[i].wait;
        if (wait.mask != last.wait.mask) {
            if (wait.mask & last.bit) fail_in_warp("lanes wait for each other with different masks:");
            can = false;  // it waits for other lanes first
        } else if (wait.collective != last.wait.collective) {
            fail_in_warp("lanes of one mask meet in different collectives:");
        } else if (wait.line != last.wait.line && wait.collective->answers) {
            fail_in_warp("lanes of one mask meet in collectives of different lines:");
        }
    });
    return can;
}

inline bool do_all_wait_for(const Wait& wait, const Warp& warp) {
    typedef uint64_t Words __attribute__((vector_size(16)));
    const Words expected = reinterpret_cast<const Words&>(wait);
    Words different = {};
    for_each(wait.mask, [&](int i) { different |= reinterpret_cast<const Words&>(warp.lanes[i].wait) ^ expected; });
    return (different[0] | different[1]) == 0;
}

// The lanes of the last one's mask all wait.
[[gnu::noinline]] inline void complete(Warp& warp, const Lane& last) {
    if (!do_all_wait_for(last.wait, warp) && !can_complete(warp, last)) return;
    const uint32_t mask = last.wait.mask;
    if (last.wait.collective->combine != nullptr) last.wait.collective->combine(warp, mask);
    warp.waiting &= ~mask;
    warp.ready |= mask;
    tick(place_of(last));
}

[[gnu::cold, gnu::noinline]] inline void fail_by_mask(const Lane& lane) {
    if (lane.wait.mask & lane.bit) fail_in_warp("a mask names a lane that has ended:");
    fail(place_of(lane), "%s with mask %#010x, in which the lane itself is missing", lane.wait.collective->name,
         lane.wait.mask);
}

// The running lane comes to a collective. Returns its result once all lanes of the mask have come.
// brought: for the collective; source: the lane whose value a shuffle wants.
[[gnu::noinline]] inline uint64_t meet(const Collective& collective, uint32_t mask, uint64_t brought, int source,
                                       Site site) {
    Warp& warp = *block.warp;
    Lane& lane = *block.lane;
    lane.wait = {&collective, mask, site.line};
    lane.file = site.file;
    lane.source = source;
    lane.brought = brought;
    warp.waiting |= lane.bit;
    if ((mask & (lane.bit | warp.ended)) != lane.bit) fail_by_mask(lane);
    if ((mask & ~warp.waiting) == 0) complete(warp, lane);
    run_next_lane(lane.fiber);
    return lane.result;
}

inline constexpr Collective BARRIER = {"__syncthreads", false, nullptr};

[[gnu::noinline]] inline void wait_at_barrier(Site site) {
    tick(site);
    Lane& lane = *block.lane;
    lane.wait = {&BARRIER, 0, site.line};
    lane.file = site.file;
    block.warp->at_barrier |= lane.bit;
    run_next_lane(lane.fiber);
}

// Lets the running lane wait until no thread of the block can run.
[[gnu::noinline]] inline void sleep(Site site) {
    tick(site);
    if (weak.is_on && next_random() % HOST_ODDS == 0) let_host_act();
    block.warp->asleep |= block.lane->bit;
    run_next_lane(block.lane->fiber);
}

// ----------------------------------------------------------------------------------------------------- a thread's life

// What a thread's fiber runs.
inline void live() {
    block.kernel();
    Warp& warp = *block.warp;
    warp.ended |= block.lane->bit;
    for_each(warp.waiting, [&](int i) {
        if (warp.lanes[i].wait.mask & warp.ended) fail_in_warp("a mask names a lane that has ended:");
    });
    run_next_lane(block.lane->fiber);
    __builtin_unreachable();
}

}  // namespace emulator
