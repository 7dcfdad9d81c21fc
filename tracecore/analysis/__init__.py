"""Finds what kernels do for rays, step by step, and how fast a GPU could do it at best.

In: steps counted by a device or logged by the emulator, and machine code. Out: SIMD efficiency, instructions and
bounds.
"""
