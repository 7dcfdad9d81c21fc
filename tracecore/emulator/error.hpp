// What is wrong with a kernel, in words. The launch ends with the first error.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "block.hpp"

namespace emulator {

inline bool is_one(uint32_t lanes) { return (lanes & (lanes - 1)) == 0; }

// The error so far, cut where it gets too long.
struct Text {
    char bytes[4096];
    uint32_t length;

    void clear() {
        length = 0;
        bytes[0] = 0;
    }

    [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
        va_list values;
        va_start(values, format);
        add_values(format, values);
        va_end(values);
    }

    void add_values(const char* format, va_list values) {
        const uint32_t room = sizeof(bytes) - length;
        const uint32_t wanted = vsnprintf(bytes + length, room, format, values);
        length += wanted < room ? wanted : room - 1;
    }

    // As in "lanes 0-15, 20".
    void add_lanes(uint32_t lanes) {
        add(is_one(lanes) ? "lane " : "lanes ");
        for (const char* between = ""; lanes != 0; between = ", ") {
            const int first = __builtin_ctz(lanes);
            const uint32_t beyond = ~(lanes >> first);
            const int count = beyond == 0 ? LANES : __builtin_ctz(beyond);
            add(count == 1 ? "%s%d" : "%s%d-%d", between, first, first + count - 1);
            lanes &= count + first == LANES ? 0 : ~0u << (first + count);
        }
    }

    void add_waits(const Warp& warp) {
        uint32_t rest = warp.waiting | warp.at_barrier;
        while (rest != 0) {
            const Lane& lane = warp.lanes[__builtin_ctz(rest)];
            uint32_t same = 0;
            for_each(rest, [&](int i) { same |= is_same(warp.lanes[i].wait, lane.wait) ? 1u << i : 0; });
            add_lanes(same);
            add(is_one(same) ? " waits" : " wait");
            add(" in %s at %s:%d", lane.wait.collective->name, lane.file, lane.wait.line);
            if (warp.waiting & same) add(" with mask %#010x", lane.wait.mask);
            add("; ");
            rest &= ~same;
        }
    }

    void add_state(const Warp& warp) {
        add("\n  warp %d: ", int(&warp - block.warps));
        add_waits(warp);
        if (warp.ended != 0) {
            add_lanes(warp.ended);
            add(is_one(warp.ended) ? " has ended; " : " have ended; ");
        }
        length -= 2;
        bytes[length] = 0;
    }
};

inline Text error;

[[noreturn]] inline void leave_to_host() {
    Fiber never_again;
    tracecore_switch_fiber(&never_again, &block.host);
    __builtin_unreachable();
}

// Ends the launch with an error of the lane that runs.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void fail(Site site, const char* format, ...) {
    const int warp = block.warp - block.warps;
    error.add("%s:%d: block %u, warp %d, lane %d: ", site.file, site.line, block.block_index.x, warp, lane_index());
    va_list values;
    va_start(values, format);
    error.add_values(format, values);
    va_end(values);
    leave_to_host();
}

// Ends the launch with an error of the warp that runs; says what its lanes wait for.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_in_warp(const char* what) {
    error.add("block %u: %s", block.block_index.x, what);
    error.add_state(*block.warp);
    leave_to_host();
}

// Ends the launch with an error of all threads; says what they wait for.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_in_block(const char* what) {
    error.add("block %u: %s", block.block_index.x, what);
    for_each(all_warps(), [](int i) { error.add_state(block.warps[i]); });
    leave_to_host();
}

}  // namespace emulator
