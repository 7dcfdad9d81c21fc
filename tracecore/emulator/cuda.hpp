// CUDA's names on the CPU: enough for the kernels of this project, and for similar ones. No standard header can come
// after it, since it gives another meaning to words of theirs.
#pragma once

#include "collectives.hpp"
#include "grid.hpp"
#include "vectors.hpp"

#define TRACECORE_EMULATOR 1

// The indices of the thread that runs. Blocks and grids have one dimension.
#define threadIdx (emulator::block.lane->thread)
#define blockIdx (emulator::block.block_index)
#define blockDim (emulator::block.size)
#define gridDim (emulator::block.grid)

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
// All in one section, so that they can be poisoned, and only outside of functions. `used`: they change in ways that the
// compiler does not see.
#define __shared__ __attribute__((section("tracecore_shared"), used))

#define assert(condition) ((condition) ? void() : emulator::fail(emulator::here(), "assertion failed: %s", #condition))

namespace emulator {

// As wrong as rough_reciprocal of kernels/reciprocal.cuh may be: too large where the last bit of x is set, else too small.
inline float rough_reciprocal(float x) {
    constexpr float LEAST_NORMAL = 0x1p-126f;
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    const float operand = __builtin_fabsf(x) < LEAST_NORMAL ? __builtin_copysignf(0.0f, x) : x;
    const float wrong = float(1.0 / operand * (bits & 1 ? 1 + 0x1p-22 : 1 - 0x1p-22));
    return __builtin_fabsf(wrong) < LEAST_NORMAL ? __builtin_copysignf(0.0f, wrong) : wrong;
}

// Memory of a launch, from begin to end.
struct Memory {
    uint64_t begin;
    uint64_t end;
};

inline const Memory* memories;
inline uint32_t memories_count;

inline bool is_of_launch(uint64_t begin, uint64_t end) {
    const Memory shared = {reinterpret_cast<uint64_t>(__start_tracecore_shared),
                           reinterpret_cast<uint64_t>(__stop_tracecore_shared)};
    if (shared.begin <= begin && end <= shared.end) return true;
    for (uint32_t i = 0; i < memories_count; ++i) {
        if (memories[i].begin <= begin && end <= memories[i].end) return true;
    }
    return false;
}

// A device refuses what is not aligned to its size.
template <class T>
inline T* aligned(T* address, Site site) {
    if (reinterpret_cast<uint64_t>(address) % alignof(T) != 0) {
        fail(site, "access to %d bytes at %p, which is not aligned to %d", int(sizeof(T)),
             static_cast<const volatile void*>(address), int(alignof(T)));
    }
    tick(site);
    return address;
}

// A device also refuses a load or store outside of its memory.
template <class T>
inline T* checked(T* address, Site site) {
    const uint64_t begin = reinterpret_cast<uint64_t>(address);
    if (!is_of_launch(begin, begin + sizeof(T))) {
        fail(site, "access to %d bytes at %p, outside of the launch's memory", int(sizeof(T)),
             static_cast<const volatile void*>(address));
    }
    return aligned(address, site);
}

// What lanes do, step by step (tracecore/kernels/steps.cuh), in the order of time.
struct StepLog {
    uint64_t* entries;
    uint64_t capacity;
    uint64_t length;  // also of those for which there was no room
};

inline StepLog* step_log;

// Logs a step in the form that `StepSequences.decoded` of tracecore/analysis/steps.py reads.
inline void log_step(uint32_t ray, uint32_t lane, uint32_t kind, bool is_useful) {
    const uint64_t entry = uint64_t(ray) << 32 | lane << 16 | uint32_t(is_useful) << 8 | kind;
    if (step_log->length < step_log->capacity) step_log->entries[step_log->length] = entry;
    ++step_log->length;
}

template <class T>
inline T load_plainly(const T* address) {
    return *address;
}

// T itself, but nothing that it could be deduced from.
template <class T>
struct Same {
    using Type = T;
};

inline uint64_t joined(unsigned low, unsigned high) { return uint64_t(high) << 32 | low; }

namespace cuda {

constexpr int warpSize = LANES;

// -------------------------------------------------------------------------------------------------------------- memory

#define EMULATOR_LOAD(name, load)                         \
    template <class T>                                    \
    inline T name(const T* address, Site site = here()) { \
        return load(checked(address, site));              \
    }

EMULATOR_LOAD(__ldg, load_plainly)
EMULATOR_LOAD(__ldca, load_plainly)
EMULATOR_LOAD(__ldcg, load_weakly)
EMULATOR_LOAD(__ldcs, load_plainly)
EMULATOR_LOAD(__ldcv, load_hosts_word)
EMULATOR_LOAD(__ldlu, load_plainly)

#undef EMULATOR_LOAD

#define EMULATOR_STORE(name, reader)                                                 \
    template <class T>                                                               \
    inline void name(T* address, typename Same<T>::Type value, Site site = here()) { \
        store_weakly<T>(checked(address, site), value, reader);                      \
    }

EMULATOR_STORE(__stwb, Reader::DEVICE)
EMULATOR_STORE(__stcg, Reader::DEVICE)
EMULATOR_STORE(__stcs, Reader::HOST)
EMULATOR_STORE(__stwt, Reader::DEVICE)

#undef EMULATOR_STORE

// Plain operations, since one thread runs at a time. Each returns the old value, after other warps have run:
// what they share by way of atomics is shared out among them.
#define EMULATOR_ATOMIC(name, expression)                                         \
    template <class T>                                                            \
    inline T name(T* address, typename Same<T>::Type value, Site site = here()) { \
        commit_own(address);                                                      \
        const T old = *aligned(address, site);                                    \
        *address = expression;                                                    \
        sleep(site);                                                              \
        return old;                                                               \
    }

EMULATOR_ATOMIC(atomicAdd, old + value)
EMULATOR_ATOMIC(atomicSub, old - value)
EMULATOR_ATOMIC(atomicOr, old | value)
EMULATOR_ATOMIC(atomicAnd, (old & value))
EMULATOR_ATOMIC(atomicXor, old ^ value)
EMULATOR_ATOMIC(atomicExch, value)
EMULATOR_ATOMIC(atomicMin, value < old ? value : old)
EMULATOR_ATOMIC(atomicMax, value > old ? value : old)
EMULATOR_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
EMULATOR_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

#undef EMULATOR_ATOMIC

template <class T>
inline T atomicCAS(T* address, typename Same<T>::Type expected, typename Same<T>::Type value, Site site = here()) {
    commit_own(address);
    const T old = *aligned(address, site);
    if (old == expected) *address = value;
    sleep(site);
    return old;
}

inline void __threadfence_block() {}

inline void __threadfence() { commit_for_device(); }

inline void __threadfence_system() { commit_for_all(); }

// ---------------------------------------------------------------------------------------------------------- hand-overs

// The functions of kernels/hand_over.cuh.

template <class T>
inline T current(const T& variable) {
    return load_weakly(&variable);
}

template <class T>
inline void publish(T& variable, typename Same<T>::Type value) {
    store_weakly<T>(&variable, value, Reader::DEVICE);
}

template <class T>
inline T acquire(const T& variable, Site site = here()) {
    take_over_by(&variable, site);
    return load_weakly(&variable);
}

template <class T>
inline void release(T& variable, typename Same<T>::Type value, Site site = here()) {
    hand_over_by(&variable, site);
    store_at_once<T>(&variable, value, __ATOMIC_RELEASE);
}

template <class T>
inline T acquire_from_host(const T& variable, Site site = here()) {
    if (!weak.is_on) return load_at_once(&variable, __ATOMIC_ACQUIRE);
    const T value = load_hosts_word(&variable);
    take_over_from_host(&variable, value, site);
    return value;
}

template <class T>
inline void release_to_host(T& variable, typename Same<T>::Type value) {
    commit_for_all();
    commit_own(&variable);
    store_at_once<T>(&variable, value, __ATOMIC_RELEASE);
    let_host_act();
}

inline void reduce_add(unsigned& variable, unsigned value, Site site = here()) {
    if (!weak.is_on) return void(atomicAdd(&variable, value, site));
    add_store(aligned(&variable, site), &value, sizeof(value), Reader::DEVICE, Operation::ADD);
}

inline void reduce_or(unsigned& variable, unsigned value, Site site = here()) {
    if (!weak.is_on) return void(atomicOr(&variable, value, site));
    add_store(aligned(&variable, site), &value, sizeof(value), Reader::DEVICE, Operation::OR);
}

inline unsigned count_down(unsigned& variable, Site site = here()) {
    hand_over_by(&variable, site);
    take_over_by(&variable, site);
    return atomicSub(&variable, 1u, site);
}

inline void count_up(unsigned long long& variable, Site site = here()) {
    hand_over_by(&variable, site);
    atomicAdd(&variable, 1ull, site);
}

// ------------------------------------------------------------------------------------------------------------- control

// All other threads of the block go first. Without it, a thread that waits for one of another warp waits forever.
inline void __nanosleep(unsigned, Site site = here()) { sleep(site); }

inline void __trap(Site site = here()) { fail(site, "__trap"); }

// ---------------------------------------------------------------------------------------------------------------- bits

inline int __float_as_int(float value) { return bits<int>(value); }
inline unsigned __float_as_uint(float value) { return bits<unsigned>(value); }
inline float __int_as_float(int value) { return bits<float>(value); }
inline float __uint_as_float(unsigned value) { return bits<float>(value); }
inline long long __double_as_longlong(double value) { return bits<long long>(value); }
inline double __longlong_as_double(long long value) { return bits<double>(value); }

inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(value); }
inline int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll(value); }

inline unsigned __brev(unsigned value) {
    value = (value & 0x55555555u) << 1 | (value >> 1 & 0x55555555u);
    value = (value & 0x33333333u) << 2 | (value >> 2 & 0x33333333u);
    value = (value & 0x0f0f0f0fu) << 4 | (value >> 4 & 0x0f0f0f0fu);
    return __builtin_bswap32(value);
}

inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned choice = selector >> 4 * i;
        const unsigned byte = joined(low, high) >> 8 * (choice & 7) & 0xff;
        const unsigned sign = byte & 0x80 ? 0xff : 0;
        result |= (choice & 8 ? sign : byte) << 8 * i;
    }
    return result;
}

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return joined(low, high) << (shift & 31) >> 32;
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return joined(low, high) >> (shift & 31);
}

// ---------------------------------------------------------------------------------------------------------- arithmetic

inline float fabsf(float x) { return __builtin_fabsf(x); }
inline float copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float sqrtf(float x) { return __builtin_sqrtf(x); }
inline float floorf(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float ceilf(float x) { return __builtin_ceilf(x); }
inline bool isnan(float x) { return x != x; }
inline bool isinf(float x) { return fabsf(x) == __builtin_inff(); }
inline bool isfinite(float x) { return fabsf(x) < __builtin_inff(); }

// Returns of a number and a NaN the number; -0 is less than 0 (minimumNumber and maximumNumber of IEEE 754-2019).
inline float fminf(float a, float b) {
    if (a == b) return __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
    return a < b || b != b ? a : b;
}

inline float fmaxf(float a, float b) {
    if (a == b) return __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
    return a > b || b != b ? a : b;
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

inline int abs(int x) { return x < 0 ? -x : x; }
inline float abs(float x) { return fabsf(x); }

#define EMULATOR_MIN_MAX(A, B, C) \
    inline C min(A a, B b) {      \
        const C x = a, y = b;     \
        return y < x ? y : x;     \
    }                             \
    inline C max(A a, B b) {      \
        const C x = a, y = b;     \
        return x < y ? y : x;     \
    }

EMULATOR_MIN_MAX(int, int, int)
EMULATOR_MIN_MAX(unsigned, unsigned, unsigned)
EMULATOR_MIN_MAX(int, unsigned, unsigned)
EMULATOR_MIN_MAX(unsigned, int, unsigned)
EMULATOR_MIN_MAX(long long, long long, long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)

#undef EMULATOR_MIN_MAX

inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }

}  // namespace cuda
}  // namespace emulator

using namespace emulator::cuda;
