"""This package traces photons until so many are stored, and measures how fast that goes.

In: a scene with an open tracer, and how many are wanted. Out: photons, and what they took.

`trace_until_stored` does it, in `rounds`; `local_tracing` traces them in this process.
"""
