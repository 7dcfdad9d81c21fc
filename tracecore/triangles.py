"""Checks the triangles given to a tracer, once."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tracecore.arrays import Array, as_numpy
from tracecore.errors import TriangleError
from tracecore.rays import MISS, Floats
from tracecore.threads import Piece, in_pieces

#: Beyond it the products of the triangle test overflow float32 (third powers of twice the size of the scene).
LARGEST_COORDINATE = 1e12

#: A triangle is as good as seen from its edge, and not hit, where twice its area as the ray sees it is below this:
#: products of it with what is small underflow, and t would be noise, outside of the boxes of trees.
LEAST_DETERMINANT = np.float32(2.0**-100)


#: Numbers that a thread looks through at a time.
PIECE = 1 << 20


def least_and_greatest(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the least and the greatest of numbers of any shape and 0, both NaN where one of them is."""
    flat = numbers.reshape(-1)
    found = [(flat[:0].min(initial=0.0), flat[:0].max(initial=0.0))]

    def look(piece: Piece) -> None:
        part = flat[slice(*piece)]
        found.append((part.min(), part.max()))

    in_pieces(look, len(flat), PIECE)
    least, greatest = np.transpose(found)
    return np.array([least.min(), greatest.max()])


def extent_of(triangles: Floats) -> np.float32:
    """Returns the largest absolute coordinate of (t, 3, 3) float32 triangles, 0 of none."""
    return np.float32(np.abs(least_and_greatest(triangles)).max())


def check_finite(triangles: Floats) -> None:
    """Raises `TriangleError` for triangles of which a number is not finite: a builder would sort them nowhere.

    triangles: (t, ...) float32, of each its corners or its box.
    """
    if not np.isfinite(least_and_greatest(triangles)).all():
        is_good = np.isfinite(triangles.reshape(len(triangles), -1)).all(axis=1)
        raise TriangleError(f"triangle {int(np.argmin(is_good))} has a corner that is not finite; remove it")


def checked_triangles(triangles: Array) -> Floats:
    """Returns triangles as the tracers take them: (t, 3, 3) float32, C-contiguous.

    triangles: (t, 3, 3), three corners each, world units; t may be 0. Degenerate triangles are allowed; no ray hits
    them.
    Raises TriangleError for another shape, for values that are not finite, larger than `LARGEST_COORDINATE` or no
    numbers, for an array in the memory of a GPU, and for more triangles than a `prim_id` can name.
    """
    try:
        given = as_numpy(triangles)
        array = given.astype(np.float64 if given.dtype != np.float32 else np.float32, copy=False)
    except (TypeError, ValueError) as error:
        raise TriangleError(f"triangles must be numbers, shape (t, 3, 3): {error}") from error
    if array.ndim != 3 or array.shape[1:] != (3, 3):
        raise TriangleError(f"triangles must have shape (t, 3, 3), got {array.shape}")
    if len(array) >= MISS // 4:
        raise TriangleError(f"at most {MISS // 4} triangles can be traced, got {len(array)}")
    largest = np.abs(least_and_greatest(array)).max()
    if not largest <= LARGEST_COORDINATE:  # NaN is not
        bad = int(np.argmin((np.abs(array) <= LARGEST_COORDINATE).all(axis=(1, 2))))
        raise TriangleError(
            f"triangle {bad} has a corner that is not finite or beyond {LARGEST_COORDINATE:g}: {array[bad].tolist()}; "
            "remove it or scale the scene"
        )
    return np.ascontiguousarray(array, np.float32)


def moved_triangles(triangles: Array, count: int) -> Floats:
    """Returns triangles that others, so many, have become, as `checked_triangles` does, which says what is raised; also
    for another number of them.
    """
    checked = checked_triangles(triangles)
    if len(checked) != count:
        raise TriangleError(f"{count} triangles cannot become {len(checked)}; open another tracer")
    return checked


def chosen_triangles(triangles: Array | None, vertices: Array | None, faces: Array | None) -> Array:
    """Returns triangles as they were given: as such, or as an indexed mesh.

    triangles: (t, 3, 3), or None for those of a mesh.
    vertices, faces: (v, 3), and (t, 3) integers from 0 to v - 1; None where triangles are given.
    Raises TriangleError where both or neither are given, and for other shapes, types and integers.
    """
    if (triangles is None) == (vertices is None) or (vertices is None) != (faces is None):
        raise TriangleError("give triangles, or else both vertices and faces")
    if vertices is None or faces is None:
        return cast("Array", triangles)
    try:
        points, corners = as_numpy(vertices), as_numpy(faces)
    except (TypeError, ValueError) as error:
        raise TriangleError(f"vertices and faces must be arrays: {error}") from error
    if points.shape[1:] != (3,) or corners.shape[1:] != (3,) or not np.issubdtype(corners.dtype, np.integer):
        got = f"{points.shape} and {corners.shape} {corners.dtype}"
        raise TriangleError(f"vertices must have shape (v, 3), faces (t, 3) of integers, got {got}")
    is_good = ((corners >= 0) & (corners < len(points))).all(axis=1)
    if not is_good.all():
        first = int(np.argmin(is_good))
        raise TriangleError(f"face {first} is {corners[first].tolist()}, but there are vertices 0 to {len(points) - 1}")
    return points[corners]
