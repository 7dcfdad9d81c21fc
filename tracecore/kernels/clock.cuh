// Wall time as all multiprocessors see it.
#pragma once

__device__ inline unsigned long long nanoseconds() {
#ifdef TRACECORE_EMULATOR
    return emulator::nanoseconds();
#else
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
#endif
}
