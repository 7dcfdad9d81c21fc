"""This package holds the scene as loops read it: materials, lights and camera packed into arrays, beside a tracer of
its triangles.

In: a snapshot of a scene (`scenes`) and what is to trace it. Out: `PackedScene` for paths, `PhotonScene` for photons,
and a `RenderContext` that holds a snapshot and its tracer.
"""
