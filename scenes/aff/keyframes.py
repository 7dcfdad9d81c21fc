"""This module reads the `k` command: the keyframes of one name."""

import numpy as np

from scenes.aff.lexer import Cursor, quote
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.motion.tracks import RotationTrack, Track, VectorTrack, VisibilityTrack

#: A spline needs a key before and one after each segment.
SPLINE_KEYS = 4
#: Tension, continuity and bias are meant to be from -1 to 1; a few files go beyond.
MAX_SHAPE = 100.0
TRACK_BLOCKS = ("transl", "rot", "scale", "visibility")


def read_track(cursor: Cursor) -> Track:
    """Reads the blocks between the braces that follow a track's name; each may stand there once."""
    cursor.keyword(b"{")
    opened = cursor.position - 1
    parts: dict[str, VectorTrack | RotationTrack | VisibilityTrack] = {}
    while not cursor.at_end:
        word = cursor.take("a block")
        if word == b"}":
            return Track(**parts)  # type: ignore[arg-type]
        if word[:1] in (b"#", b"%"):
            cursor.skip_line()
            continue
        block = word.decode("latin-1")
        if block not in TRACK_BLOCKS or block in parts:
            once = "only one block of each kind" if block in parts else f"{', '.join(TRACK_BLOCKS)} or '}}'"
            raise cursor.error(f"expected {once}, got {quote(word)}", cursor.position - 1)
        parts[block] = read_block(cursor, block)
    raise cursor.error("this '{' is never closed by a '}'", opened)


def read_block(cursor: Cursor, block: str) -> VectorTrack | RotationTrack | VisibilityTrack:
    """Reads the rows of one block, whose name has been taken already: time, then x, y and z, of a rotation an axis and
    degrees, then tension, continuity and bias."""
    if block == "visibility":
        return read_visibility(cursor)
    is_turn = block == "rot"
    width = 8 if is_turn else 7
    count = cursor.count(f"the number of {block} keys", SPLINE_KEYS)
    start = cursor.position
    rows = cursor.floats(count * width, f"{block} keys").reshape(count, width)
    if is_turn:
        wrong, message = ~rows[:, 1:4].any(axis=1) & (rows[:, 4] % 360.0 != 0.0), "an axis of some length to turn about"
    else:
        wrong, message = np.abs(rows[:, 1:4]).max(axis=1) > MAX_COORDINATE, f"values of at most {MAX_COORDINATE:g}"
    if wrong.any():
        raise cursor.error(f"expected {message}", start + width * int(np.argmax(wrong)) + 1)
    wild = np.abs(rows[:, -3:]).max(axis=1) > MAX_SHAPE
    if wild.any():
        message = f"expected tension, continuity and bias of at most {MAX_SHAPE:g} in size"
        raise cursor.error(message, start + width * (int(np.argmax(wild)) + 1) - 3)
    return RotationTrack.of(rows) if is_turn else VectorTrack.of(rows)


def read_visibility(cursor: Cursor) -> VisibilityTrack:
    """Returns rows of time and 0 or 1."""
    count = cursor.count("the number of visibility keys", 1)
    start = cursor.position
    rows = cursor.floats(count * 2, "visibility keys").reshape(count, 2)
    wrong = np.flatnonzero((rows[:, 1] != 0.0) & (rows[:, 1] != 1.0))
    if len(wrong):
        raise cursor.error("expected a visibility of 0 or 1", start + 2 * int(wrong[0]) + 1)
    return VisibilityTrack(times=rows[:, 0], shown=rows[:, 1] == 1.0)
