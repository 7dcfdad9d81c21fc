"""This package shades on the GPU what is traced there, in waves of a million rays that stay there.

In: a packed scene and tasks. Out: stored photons, photon maps and passes of a picture, with the CPU's bits.
"""
