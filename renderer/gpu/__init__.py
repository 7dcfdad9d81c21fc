"""This package shades photons on the GPU, in waves of a million rays that stay there.

In: a packed scene and a task. Out: stored photons, with the bits that the CPU's loops give.
"""
