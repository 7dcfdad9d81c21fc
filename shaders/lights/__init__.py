"""This package holds lights: their share of the photons, and what they send to a point. A file for each kind.

One row per light in `LightArrays`. Photons choose a light in proportion to its power, and so do shadow rays. Suns and
the sky are outside of the scene; their power is what enters the sphere around it. Rows come in, from lights of a scene
and triangles that glow; what loops call goes out: samples, densities and photons.
"""
