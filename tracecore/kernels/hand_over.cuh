// How threads of the device and of the host hand memory over to each other.
//
// A release hands over all that its thread wrote and all that had been handed over to that thread; whoever acquires the
// value that it stored takes all of it over. So chains are cumulative: what a thread has acquired from the host and
// releases on the device is the host's for those who acquire it there. The scope of each link has to include both of
// its ends: `_from_host` and `_to_host` reach the host, the others reach this device. Among the lanes of a warp
// `__syncwarp` hands over, but shuffles and votes hand over nothing. NVIDIA: Parallel Thread Execution ISA, Memory
// Consistency Model; Lustig, Sahasrabuddhe, Giroux: A Formal Analysis of the NVIDIA PTX Memory Consistency Model, 2019.
//
// The emulator has these functions in its memory.hpp, on a memory in which nothing is handed over by chance.
#pragma once

#ifndef TRACECORE_EMULATOR

// Reads what others change meanwhile. Takes nothing over.
template <class T>
__device__ inline T current(const T& variable) {
    return *const_cast<const volatile T*>(&variable);
}

// Writes what others read meanwhile. Hands nothing over.
template <class T>
__device__ inline void publish(T& variable, T value) {
    *const_cast<volatile T*>(&variable) = value;
}

__device__ inline unsigned acquire(const unsigned& variable) {
    unsigned value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(&variable) : "memory");
    return value;
}

__device__ inline unsigned long long acquire(const unsigned long long& variable) {
    unsigned long long value;
    asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(&variable) : "memory");
    return value;
}

__device__ inline void release(unsigned long long& variable, unsigned long long value) {
    asm volatile("st.release.gpu.u64 [%0], %1;" : : "l"(&variable), "l"(value) : "memory");
}

__device__ inline unsigned long long acquire_from_host(const unsigned long long& variable) {
    unsigned long long value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(&variable) : "memory");
    return value;
}

__device__ inline void release_to_host(unsigned long long& variable, unsigned long long value) {
    asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(&variable), "l"(value) : "memory");
}

// Adds to what others read meanwhile, some time. Hands nothing over.
__device__ inline void reduce_add(unsigned& variable, unsigned value) {
    atomicAdd(&variable, value);
}

// Sets bits of what others read meanwhile, some time. Hands nothing over.
__device__ inline void reduce_or(unsigned& variable, unsigned bits) {
    atomicOr(&variable, bits);
}

// Subtracts 1 and returns what was there before. Releases and acquires.
__device__ inline unsigned count_down(unsigned& variable) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(&variable), "r"(~0u) : "memory");
    return before;
}

// Adds 1. Releases.
__device__ inline void count_up(unsigned long long& variable) {
    asm volatile("red.release.gpu.add.u64 [%0], %1;" : : "l"(&variable), "l"(1ull) : "memory");
}

#endif
