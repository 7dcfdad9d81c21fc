"""The GPU by way of CUDA: its memory, kernels compiled for it, launches.

In: a kernel strategy and a packed scene. Out: kernels loaded on a device. Or in: triangles. Out: a tree built and
packed on a device. Nothing is imported before it is needed, so that all else runs without a GPU.
"""
