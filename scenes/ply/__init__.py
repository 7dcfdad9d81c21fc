"""This package reads PLY files, ASCII and binary of both byte orders, and gives a document's parts.

Turk: The PLY Polygon File Format, 1994. What of the format is read stands in `docs/meshes.md`.
"""

from scenes.ply.reader import read_ply

__all__ = ["read_ply"]
