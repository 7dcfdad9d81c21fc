"""Packs trees into the bytes that kernels and the CPU's traversal read.

In: a `BinaryTree` and its triangles. Out: arrays of records, whose sizes the kernels check by named constants.
"""
