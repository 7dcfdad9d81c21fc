// The block that runs: its warps, their lanes, and what each lane waits for. Blocks run one after another.
#pragma once

#include <stdint.h>

#include "fiber.hpp"

namespace emulator {

constexpr int LANES = 32;
constexpr int MAX_WARPS = 32;

// A line of the kernel's source.
struct Site {
    const char* file;
    int line;
};

// Returns, as a default argument, where the call is in the source.
constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

struct Warp;

// Something that lanes of a warp do together.
struct Collective {
    const char* name;
    bool answers;                                 // so that lanes of one mask meet in the same line
    void (*combine)(Warp& warp, uint32_t lanes);  // makes the lanes' results of what they brought; may be null
};

// What `threadIdx` and its like are.
struct Extent {
    uint32_t x;
};

// What a lane waits for; all lanes of a collective wait for the same.
struct alignas(16) Wait {
    const Collective* collective;
    uint32_t mask;
    int line;
};

inline bool is_same(const Wait& a, const Wait& b) {
    return a.collective == b.collective && a.mask == b.mask && a.line == b.line;
}

// One cache line.
struct alignas(64) Lane {
    Wait wait;
    const char* file;
    Fiber fiber;
    uint64_t brought;
    uint64_t result;
    int source;    // the lane whose value it wants
    uint32_t bit;  // the lane in a bit set
    Extent thread;
};
static_assert(sizeof(Lane) == 64, "a lane takes more than a cache line");

// Bit sets of lanes. A lane is in one of them, or runs.
struct Warp {
    Lane lanes[LANES];
    uint32_t ready;
    uint32_t waiting;  // in a collective of the warp
    uint32_t at_barrier;
    uint32_t asleep;
    uint32_t ended;
};

// In which order lanes run between two collectives, warps between two barriers, and blocks.
enum class Order : uint32_t { ASCENDING, DESCENDING, SHUFFLED };

struct Block {
    Warp warps[MAX_WARPS];
    Warp* warp;  // the one that runs
    Lane* lane;  // and its lane
    uint32_t warps_count;
    uint32_t runnable;   // bit set of warps that have a ready lane
    Extent block_index;  // `blockIdx`
    Extent size;         // `blockDim`
    Extent grid;         // `gridDim`
    Order order;
    uint32_t random;
    void (*kernel)();
    Fiber host;           // who gets control back when the block is done
    uint32_t ticks_left;  // until the time is looked at
    uint64_t start;       // of the launch, nanoseconds
    uint64_t time_limit;  // nanoseconds
};

inline Block block;

inline Site place_of(const Lane& lane) { return {lane.file, lane.wait.line}; }

inline int lane_index() { return block.lane->thread.x % LANES; }

// Marsaglia: Xorshift RNGs, 2003.
inline uint32_t next_random() {
    uint32_t x = block.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return block.random = x;
}

inline uint32_t all_warps() { return ~0u >> (MAX_WARPS - block.warps_count); }

// Calls visit(i) for every i of a bit set, from the lowest. Most sets are full.
template <class Visit>
[[gnu::always_inline]] inline void for_each(uint32_t set, Visit visit) {
    if (set == ~0u) {
#pragma GCC unroll 8
        for (int i = 0; i < 32; ++i) visit(i);
    } else {
        for (; set != 0; set &= set - 1) visit(__builtin_ctz(set));
    }
}

}  // namespace emulator
