"""This module lists the keys of a scene file that put something in its place, and those of groups."""

from scenes.keys.quantities import MAX_NUMBER, degrees, direction, factors, number, shift
from scenes.keys.tables import ListOf, OneOrMore, Table, Turn
from scenes.keys.values import Key, Text, Vector

#: Of all that is given at several times.
time = Key("time", number, "Time of this key, not before the one above.", "0.5", required=True)

TURN = Turn(
    "rotate",
    "A turn, as an inline table: `rotate = { axis = [0, 1, 0], degrees = 30 }`.",
    (
        Key("axis", direction, "Axis of the turn, of any length; right-handed.", "[0, 1, 0]", required=True),
        Key("degrees", degrees, "Angle of the turn.", "30.0", required=True),
    ),
)

TRANSFORM_KEYS = (
    Key("parent", Text(), "Name of the group that this stands in.", '"table"', fallback="none: it stands in the world"),
    Key("translate", shift, "Shift, in the parent's unit.", "[0, 0.75, 0]", fallback="no shift"),
    Key(
        "rotate",
        OneOrMore(TURN),
        "A turn, or a list of them, of which the first is done first.",
        "{ axis = [0, 1, 0], degrees = 30 }",
        fallback="no turn",
    ),
    Key(
        "scale",
        factors,
        "Factor, or one for each axis. Scaled first, then turned, then shifted.",
        "[1, 2, 1]",
        fallback="1",
    ),
    Key(
        "matrix",
        ListOf(Vector(4, -MAX_NUMBER, MAX_NUMBER), 4, 4),
        "Instead of `translate`, `rotate` and `scale`: four rows, of a matrix that is multiplied by columns (x, y, "
        "z, 1). The last row is 0 0 0 1.",
        "[[1, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]",
    ),
    Key(
        "track",
        Text(),
        "Name of the track that moves it, inside its `translate`, `rotate`, `scale` or `matrix`.",
        '"spin"',
        fallback="it stands still",
    ),
)

GROUP = Table(
    "group",
    "A place that objects, lights and other groups stand in, and move with.",
    (
        Key("name", Text(), "Name by which others refer to it.", '"table"', required=True),
        *TRANSFORM_KEYS,
    ),
)
