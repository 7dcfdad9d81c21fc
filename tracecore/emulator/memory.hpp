// Weak memory: what a lane writes, others see late and in any order, unless it is handed over to them.
//
// A store waits until it is committed: at random, or by a release of a lane that owns it. Its lane owns it, and every
// lane that it has been handed over to, by __syncwarp and __syncthreads, or by an acquire of what an owner released. A
// lane sees the stores that it owns, and what is committed. A release on the device commits what the device reads.
// What the host reads is committed by a release to the host alone; until then, releases and acquires on the device hand
// it on. The host's words are read through a cache, which keeps old ones: lanes may see these until an acquire of a
// newer value from the host is theirs or has been handed over to them.
//
// Stores that wait are those of Owens, Sarkar, Sewell: A Better x86 Memory Model: x86-TSO, 2009, but in no order. That
// owners hand them on makes hand-overs cumulative, as a device's are: Lustig, Sahasrabuddhe, Giroux: A Formal Analysis
// of the NVIDIA PTX Memory Consistency Model, 2019.
//
// Only the functions of kernels/hand_over.cuh, __stcg, __ldcg, atomics, and what reaches the host's memory, __stcs and
// __ldcv, take part. Fences commit stores and take nothing over. Reductions wait as stores do. What waits at the end of a
// block is owned by nobody any more and waits on, while others run, until the end of the launch. A lane loads the device's words in the order of the
// program: where an acquire on the device takes over only such words, nothing goes wrong without it.
//
// What weak memory alone does is in functions that are not inlined: kernels call it at each access, and would be long.
#pragma once

#include <string.h>

#include "error.hpp"

#define WEAK_MEMORY [[gnu::noinline]] inline

namespace emulator {

constexpr uint32_t MOST_WAITING = 512;
constexpr uint32_t MOST_RELEASED = 64;
constexpr uint32_t LINES = 1 << 13;
constexpr uint32_t COMMIT_ODDS = 16;  // one in so many accesses commits a store
constexpr uint32_t FRESH_ODDS = 4;    // one in so many loads of the host's words that may be old reads anew
constexpr uint32_t HOST_ODDS = 256;   // one in so many pauses of a lane lets the host act
constexpr uint32_t SWITCH_ODDS = 64;  // one in so many changes of lanes goes to another warp
constexpr uint64_t LOOK_NANOSECONDS = 1000;

// Whom a store is for.
enum class Reader : uint8_t { DEVICE, HOST };

// What becomes of the word in memory, which has 32 bits where it is not set.
enum class Operation : uint8_t { SET, ADD, OR };

// A store or a reduction that waits.
struct Store {
    char* address;
    alignas(16) char value[16];
    uint8_t bytes;
    Reader reader;
    Operation operation;
    uint64_t released;           // bit set of the released variables whose acquirers own it
    uint32_t owners[MAX_WARPS];  // bit sets of lanes
};

// A variable that has been released, by the device or by the host.
struct Released {
    const void* address;
    uint64_t host_view;  // of who acquires it
    uint64_t value;      // of the host
};

// A word of the host's memory as it was read last.
struct Line {
    const void* address;
    uint64_t time;
    alignas(16) char value[16];
};

struct WeakMemory {
    bool is_on;
    bool is_host_next;
    void (*act_as_host)();                  // may be null
    uint64_t looks;                         // at the clock
    uint64_t time;                          // acquires of new values from the host
    uint64_t host_views[MAX_WARPS][LANES];  // words of the host that are older are not seen any more
    uint32_t waiting;
    uint32_t released_count;
    Store stores[MOST_WAITING];  // in the order in which they were made
    Released released[MOST_RELEASED];
    Line lines[LINES];

    void start(bool is_weak, void (*host)()) {
        is_on = is_weak;
        if (!is_weak) return;
        act_as_host = host;
        looks = time = waiting = released_count = 0;
        memset(host_views, 0, sizeof(host_views));
        memset(lines, 0, sizeof(lines));
    }
};

inline WeakMemory weak;

inline uint32_t running_warp() { return block.warp - block.warps; }

inline bool owns(const Store& store) { return store.owners[running_warp()] & block.lane->bit; }

inline bool has_owner(const Store& store) {
    uint32_t owners = 0;
    for (uint32_t of_warp : store.owners) owners |= of_warp;
    return owners != 0;
}

inline uint64_t& host_view() { return weak.host_views[running_warp()][lane_index()]; }

// ------------------------------------------------------------------------------------------------------------ commits

// place: the word in memory, or what a lane sees there.
inline void apply(const Store& store, void* place) {
    if (store.operation == Operation::SET) {
        memcpy(place, store.value, store.bytes);
        return;
    }
    uint32_t word, operand;
    memcpy(&word, place, sizeof(word));
    memcpy(&operand, store.value, sizeof(operand));
    word = store.operation == Operation::ADD ? word + operand : word | operand;
    memcpy(place, &word, sizeof(word));
}

WEAK_MEMORY void commit(uint32_t index) {
    const Store& store = weak.stores[index];
    apply(store, store.address);
    --weak.waiting;
    memmove(weak.stores + index, weak.stores + index + 1, (weak.waiting - index) * sizeof(Store));
}

// Commits those that a test names, the oldest first.
template <class Test>
inline void commit_if(Test test) {
    for (uint32_t i = 0; i < weak.waiting;) {
        if (test(weak.stores[i])) {
            commit(i);
        } else {
            ++i;
        }
    }
}

// Commits at random one store, or the oldest one at its address.
WEAK_MEMORY void drift() {
    if (weak.waiting == 0 || next_random() % COMMIT_ODDS != 0) return;
    uint32_t index = next_random() % weak.waiting;
    for (uint32_t i = 0; i < index; ++i) {
        if (weak.stores[i].address == weak.stores[index].address) index = i;
    }
    commit(index);
}

// ------------------------------------------------------------------------------------------------ what a lane accesses

// Stores as other threads of this process see it, which are the host where memory is not weak. They do not look at what is
// too large for that.
template <class T>
inline void store_at_once(T* address, const T& value, int order) {
    if constexpr (sizeof(T) <= sizeof(uint64_t)) {
        __atomic_store(address, const_cast<T*>(&value), order);
    } else {
        *address = value;
    }
}

template <class T>
inline T load_at_once(const T* address, int order) {
    T value;
    if constexpr (sizeof(T) <= sizeof(uint64_t)) {
        __atomic_load(address, &value, order);
    } else {
        value = *address;
    }
    return value;
}

WEAK_MEMORY void add_store(void* address, const void* value, uint8_t bytes, Reader reader,
                           Operation operation = Operation::SET) {
    drift();
    if (weak.waiting == MOST_WAITING) commit(0);
    Store& store = weak.stores[weak.waiting++];
    store = {static_cast<char*>(address), {}, bytes, reader, operation, 0, {}};
    memcpy(store.value, value, bytes);
    store.owners[running_warp()] = block.lane->bit;
}

template <class T>
inline void store_weakly(T* address, const T& value, Reader reader) {
    static_assert(sizeof(T) <= sizeof(Store::value), "a store takes at most 16 bytes");
    if (!weak.is_on) return store_at_once(address, value, __ATOMIC_RELAXED);
    add_store(address, &value, sizeof(T), reader);
}

WEAK_MEMORY void load_own(const void* address, void* value, uint32_t bytes) {
    drift();
    memcpy(value, address, bytes);
    for (uint32_t i = 0; i < weak.waiting; ++i) {
        const Store& store = weak.stores[i];
        if (store.address == address && owns(store)) apply(store, value);
    }
}

template <class T>
inline T load_weakly(const T* address) {
    if (!weak.is_on) return load_at_once(address, __ATOMIC_RELAXED);
    T value;
    load_own(address, &value, sizeof(T));
    return value;
}

WEAK_MEMORY void load_line(const void* address, void* value, uint32_t bytes) {
    drift();
    Line& line = weak.lines[reinterpret_cast<uint64_t>(address) / bytes % LINES];
    const bool is_old = line.address == address && line.time >= host_view() && next_random() % FRESH_ODDS != 0;
    if (!is_old) {
        line.address = address;
        line.time = weak.time;
        memcpy(line.value, address, bytes);
    }
    memcpy(value, line.value, bytes);
}

template <class T>
inline T load_hosts_word(const T* address) {
    static_assert(sizeof(T) <= sizeof(Line::value), "a load takes at most 16 bytes");
    if (!weak.is_on) return *address;
    T value;
    load_line(address, &value, sizeof(T));
    return value;
}

// An atomic operation is made in memory.
WEAK_MEMORY void commit_own(const void* address) {
    if (!weak.is_on) return;
    drift();
    commit_if([&](const Store& store) { return store.address == address && owns(store); });
}

// ---------------------------------------------------------------------------------------------------------- hand-overs

WEAK_MEMORY void hand_over_in_warp(uint32_t lanes) {
    if (!weak.is_on) return;
    const uint32_t warp = running_warp();
    for (uint32_t i = 0; i < weak.waiting; ++i) {
        uint32_t& owners = weak.stores[i].owners[warp];
        if (owners & lanes) owners |= lanes;
    }
    uint64_t newest = 0;
    for_each(lanes, [&](int i) { newest = weak.host_views[warp][i] > newest ? weak.host_views[warp][i] : newest; });
    for_each(lanes, [&](int i) { weak.host_views[warp][i] = newest; });
}

WEAK_MEMORY void hand_over_in_block() {
    if (!weak.is_on) return;
    for (uint32_t i = 0; i < weak.waiting; ++i) {
        Store& store = weak.stores[i];
        if (has_owner(store)) memset(store.owners, 0xff, sizeof(store.owners));
    }
    uint64_t newest = 0;
    for (const auto& of_warp : weak.host_views) {
        for (uint64_t view : of_warp) newest = view > newest ? view : newest;
    }
    for (auto& of_warp : weak.host_views) {
        for (uint64_t& view : of_warp) view = newest;
    }
}

WEAK_MEMORY void commit_for_device() {
    if (weak.is_on) commit_if([](const Store& store) { return store.reader == Reader::DEVICE && owns(store); });
}

WEAK_MEMORY void commit_for_all() {
    if (weak.is_on) commit_if(owns);
}

WEAK_MEMORY uint32_t index_of_released(const void* address, Site site) {
    for (uint32_t i = 0; i < weak.released_count; ++i) {
        if (weak.released[i].address == address) return i;
    }
    if (weak.released_count == MOST_RELEASED) fail(site, "more than %u variables are released", MOST_RELEASED);
    weak.released[weak.released_count] = {address, 0, 0};
    return weak.released_count++;
}

// The lanes of a block that has ended are not those of the next one.
WEAK_MEMORY void forget_owners() {
    if (!weak.is_on) return;
    for (uint32_t i = 0; i < weak.waiting; ++i) memset(weak.stores[i].owners, 0, sizeof(weak.stores[i].owners));
    memset(weak.host_views, 0, sizeof(weak.host_views));
}

// To those who acquire the variable.
WEAK_MEMORY void hand_over_by(const void* address, Site site) {
    if (!weak.is_on) return;
    commit_for_device();
    const uint32_t index = index_of_released(address, site);
    Released& released = weak.released[index];
    if (released.host_view < host_view()) released.host_view = host_view();
    for (uint32_t i = 0; i < weak.waiting; ++i) {
        if (owns(weak.stores[i])) weak.stores[i].released |= uint64_t(1) << index;
    }
}

WEAK_MEMORY void take_over_by(const void* address, Site site) {
    if (!weak.is_on) return;
    const uint32_t index = index_of_released(address, site);
    if (host_view() < weak.released[index].host_view) host_view() = weak.released[index].host_view;
    for (uint32_t i = 0; i < weak.waiting; ++i) {
        Store& store = weak.stores[i];
        if (store.released >> index & 1) store.owners[running_warp()] |= block.lane->bit;
    }
}

// ------------------------------------------------------------------------------------------------------------ the host

// What the host wrote before a value is seen by who acquires the value, and all else may be old.
WEAK_MEMORY void take_over_from_host(const void* address, uint64_t value, Site site) {
    Released& released = weak.released[index_of_released(address, site)];
    if (released.value != value) released = {address, ++weak.time, value};
    if (host_view() < released.host_view) host_view() = released.host_view;
}

// The host acts, now that the lane that runs has written something for it or pauses.
WEAK_MEMORY void let_host_act() {
    if (!weak.is_on || weak.act_as_host == nullptr) return;
    weak.is_host_next = true;
    tracecore_switch_fiber(&block.lane->fiber, &block.host);
}

#undef WEAK_MEMORY

}  // namespace emulator
