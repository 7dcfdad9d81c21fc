"""What operands of AFF and NFF commands have in common: colours, points, names, and the line that they stand on."""

import numpy as np

from scenes.aff.lexer import Cursor, quote
from scenes.document import Origin
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.model import Color, Doubles
from scenes.views.viewing import triple

MAX_COLOR = 1e6


def shown(name: str) -> str:
    """A name as messages show it."""
    return quote(name.encode("utf-8", "surrogateescape"))


def origin_of(cursor: Cursor) -> Origin:
    """The line of the command whose letters were just taken."""
    return Origin(cursor.source.path, cursor.source.line_of(cursor.position - 1))


def read_color(cursor: Cursor, expected: str) -> Color:
    """Three numbers from 0 to MAX_COLOR."""
    values = cursor.floats(3, expected)
    wrong = np.flatnonzero((values < 0.0) | (values > MAX_COLOR))
    if len(wrong):
        at = cursor.position - 3 + int(wrong[0])
        raise cursor.error(f"expected {expected} from 0 to {MAX_COLOR:g}, got {values[wrong[0]]:g}", at)
    return triple(values)


def read_points(cursor: Cursor, count: int, width: int, expected: str) -> Doubles:
    """(count, width) numbers per point; the first three are its coordinates."""
    start = cursor.position
    points = cursor.floats(count * width, expected).reshape(count, width)
    far = np.flatnonzero(np.abs(points[:, :3]).max(axis=1, initial=0.0) > MAX_COORDINATE)
    if len(far):
        raise cursor.error(f"coordinates reach at most {MAX_COORDINATE:g}", start + int(far[0]) * width)
    return points
