"""Holds the CUDA kernels, a row for each, and the records that host and device share.

In: the name of a kernel. Out: its strategy: source, layout, named constants, stack and blocks. Nothing here needs a
GPU.
"""
