"""Threads that run compiled loops, each with a port of its own to the co-processor.

In: a tracer and a loop. Out: what each thread has spent, and errors in the thread that asked.
"""
