"""This module lists the keys of tracks in a scene file."""

from scenes.geometry import MAX_COORDINATE
from scenes.keys.quantities import number, shift
from scenes.keys.tables import ListOf, Table, Triple, Turn
from scenes.keys.values import Choice, Flag, Key
from scenes.toml_scene.keys.placing import TURN, time

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
    ),
)
