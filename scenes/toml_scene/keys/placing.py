"""This module lists the keys of a scene file that put something in its place, those of groups, and those of tracks,
which move what is placed."""

from scenes.keys.tables import (
    MAX_NUMBER,
    ListOf,
    OneOrMore,
    Table,
    Triple,
    Turn,
    degrees,
    direction,
    factors,
    number,
    shift,
)
from scenes.keys.values import Choice, Flag, Key, Text, Vector
from scenes.meshes.geometry import MAX_COORDINATE

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

SHAPE_KEYS = (
    Key("tension", number, "1 comes to rest at this key, -1 hurries through.", "0.5", fallback="0"),
    Key("continuity", number, "-1 makes a corner.", "-1", fallback="0"),
    Key("bias", number, "1 follows the direction from the key before, -1 that to the key after.", "0.2", fallback="0"),
)

VECTOR_KEY = Table(
    "tracks.NAME.translate",
    "A position at a time.",
    (
        time,
        Key("value", shift, "The shift, in the unit of what moves.", "[0, 1, 0]", required=True),
        *SHAPE_KEYS,
    ),
)
TURN_KEY = Turn(
    "tracks.NAME.rotate",
    "A turn at a time. From key to key it goes the short way, so that less than half a turn lies between two.",
    (time, *TURN.keys, *SHAPE_KEYS),
)
SCALE_KEY = Table(
    "tracks.NAME.scale",
    "A scale at a time.",
    (
        time,
        Key(
            "value",
            Triple(-MAX_COORDINATE, MAX_COORDINATE),
            "Factor, or one for each axis.",
            "[1, 2, 1]",
            required=True,
        ),
        *SHAPE_KEYS,
    ),
)
VISIBLE_KEY = Table(
    "tracks.NAME.visible",
    "Whether something is seen from a time on.",
    (
        time,
        Key("value", Flag(), "Whether it is seen; before the first key it is.", "false", required=True),
    ),
)

INTERPOLATIONS = ("spline", "linear", "inner-spline")

TRACK = Table(
    "tracks.NAME",
    "What moves, turns, scales and hides the groups, objects and lights that name it, and the camera of its name. A "
    "part that is missing does nothing.",
    (
        Key(
            "interpolation",
            Choice(INTERPOLATIONS),
            "How values change from key to key; see below.",
            '"linear"',
            default="spline",
        ),
        Key(
            "translate",
            ListOf(VECTOR_KEY),
            "Shifts at times.",
            "[{ time = 0, value = [0, 0, 0] }, { time = 1, value = [0, 1, 0], tension = 1 }]",
            fallback="no shift",
        ),
        Key(
            "rotate",
            ListOf(TURN_KEY),
            "Turns at times.",
            "[{ time = 0, axis = [0, 1, 0], degrees = 0 }, { time = 1, axis = [0, 1, 0], degrees = 90 }]",
            fallback="no turn",
        ),
        Key(
            "scale",
            ListOf(SCALE_KEY),
            "Scales at times.",
            "[{ time = 0, value = 1 }, { time = 1, value = [1, 2, 1] }]",
            fallback="1",
        ),
        Key(
            "visible",
            ListOf(VISIBLE_KEY),
            "Times from which on it is seen or not.",
            "[{ time = 0.5, value = false }]",
            fallback="it is seen",
        ),
        Key(
            "file",
            Text(),
            "A file of arrays (.npz) that has the keys instead: `NAME.translate`, `NAME.rotate` and `NAME.scale`, rows "
            "of time, value (or axis and degrees), tension, continuity and bias. Its path, from the folder of the "
            "scene file.",
            '"robots-tracks.npz"',
        ),
    ),
)
