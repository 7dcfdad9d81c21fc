"""Builds trees over triangles, makes them cheaper, fits them to moved triangles, and collapses them to wider ones.

In: (t, 3, 3) float32 triangles. Out: a `BinaryTree`, or a `WideTree` made of one. Builders see boxes and centres alone.
"""
