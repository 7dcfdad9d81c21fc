// A reciprocal by one instruction, for what no hit depends on.
#pragma once

// 1 / x, wrong by up to 2^-22 of it: NVIDIA's documents say one unit in the last place, 2^-23 at most, and as much again is
// allowed for. Denormals count as zero, whose reciprocal is infinite, and become it. An emulator's is as wrong as it may be.
__device__ inline float rough_reciprocal(float x) {
#ifdef TRACECORE_EMULATOR
    return emulator::rough_reciprocal(x);
#else
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(x));
    return reciprocal;
#endif
}
