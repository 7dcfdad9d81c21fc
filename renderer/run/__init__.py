"""This package makes something with a driver: one picture, a sequence of them, a picture of motion, a run of photons
alone.

In: a scene with a tracer, a driver, and when to stop. Out: files of pictures, statistics and timelines. `rendering` is
the call that users make, from a scene's name and settings to a picture.
"""
