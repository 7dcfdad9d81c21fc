"""This package shades the hits of a chunk in vector loops that photons and eye paths share.

In: columns of a chunk of hits, and records of triangles and materials. Out: the numbers of each hit's material, and its
normal.
"""
