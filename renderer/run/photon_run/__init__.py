"""This package traces photons until so many are stored or sent out, and measures how fast that goes.

In: a scene with an open tracer, and how many are wanted. Out: photons, and what they took.

`trace_until_stored` does it, in `rounds`; `local_tracing` traces them in this process. `photon_parts` has those of
a part of a run in a file, and merges such files.
"""
