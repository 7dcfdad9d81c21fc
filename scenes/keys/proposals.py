"""This module holds the keys of a picture that a scene file may propose, `[render]`, and that options of the command
line and keywords in Python have too."""

from scenes.keys.values import Choice, Key, Number, Size, Text, Whole

#: The longest side of a picture, and the most pixels of one that is rendered.
MAX_SIDE, MAX_PIXELS = 16384, 1 << 26

RADIUS = Number(1e-12, 1e12)

ROWS = (
    Key("driver", Text("a name"), "name of a driver, the algorithm that makes the picture", '"path"'),
    Key("size", Size(MAX_SIDE, MAX_PIXELS), "width and height in pixels", "[400, 300]"),
    Key("passes", Whole(1, 10**6), "passes, which are samples per pixel", "64"),
    Key("photons", Whole(1, 2 * 10**9), "photons that are emitted in each pass", "300000"),
    Key("radius", RADIUS, "initial radius of the photon search", "0.02"),
    Key("max_bounces", Whole(1, 1024), "longest path, in surface interactions", "16"),
    Key("exposure", Number(-64.0, 64.0), "exposure in stops, +1 is twice as bright", "0.5"),
    Key("tone_map", Choice(("reinhard", "linear")), "tone curve for bright parts", '"linear"'),
    Key("seed", Whole(0, 2**64 - 1), "seed of the random numbers", "7"),
)

#: The same by their names.
PROPOSALS = {key.name: key for key in ROWS}
