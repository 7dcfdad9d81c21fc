"""Runs the CUDA kernels on the CPU, thread by thread, and finds what is wrong with them.

In: a strategy, a packed scene and rays. Out: hits, the log of steps, or an error with file, line and lanes.
"""
