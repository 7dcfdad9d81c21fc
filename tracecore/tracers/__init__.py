"""Holds the tracers: every ray against every triangle, the CPU, and an NVIDIA GPU. All give the same hits, bit for bit.

In: checked triangles. Out: a `dispatch.tracer.Tracer`. The emulator's tracer is in `emulator`.
"""
