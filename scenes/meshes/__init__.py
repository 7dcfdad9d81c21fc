"""This package makes and measures meshes: arrays of triangles, round shapes, polygons."""
