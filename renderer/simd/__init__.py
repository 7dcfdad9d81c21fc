"""Loops over columns of numbers that the compiler turns into vector instructions, and the packing between them.

In and out: columns of float32 and int32 in memory of one thread.
"""
