"""Hostile and odd files, made by code: each a row that says what its error says. `tests/scenes/test_hostile.py` asserts
that; `tests/measure_hostile.py` measures the seconds and the memory that each takes."""

from collections.abc import Mapping
from importlib.util import find_spec

from hostile.aff import CASES as AFF
from hostile.case import Case
from hostile.gltf import CASES as GLTF
from hostile.mitsuba import CASES as MITSUBA
from hostile.obj import CASES as OBJ
from hostile.pbrt import CASES as PBRT
from hostile.pictures import CASES as PICTURES
from hostile.ply import CASES as PLY
from hostile.toml import CASES as TOML
from hostile.usd import CASES as USD

#: All cases by what they are about.
CASES: Mapping[str, list[Case]] = {
    "aff": AFF,
    "toml": TOML,
    "mitsuba": MITSUBA,
    "pbrt": PBRT,
    "obj": OBJ,
    "ply": PLY,
    "gltf": GLTF,
    "pictures": PICTURES,
} | ({"usd": USD} if find_spec("pxr") else {})
