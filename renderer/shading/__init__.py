"""This package shades the hits of a chunk in vector loops that photons and eye paths share, BSDF by BSDF.

In: columns of a chunk of hits, and records of triangles and materials. Out: the numbers of each hit's material, its
normal, what photons leave and where paths go on.
"""
