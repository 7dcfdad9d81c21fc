"""Loops call no library of mathematics: these differ in the last bit from system to system."""

import math
import re
from collections.abc import Callable

import numba
import numpy as np
import pytest

import renderer
from tracecore.compilation.private_folder import CODE_SUFFIX, cache_folder

#: Names of functions in the tables of object files, with what Numba and systems put before and after them.
CALLS = re.compile(
    rb"\0_*(?:numba_|npy_)?(exp2|expm1|exp|log2|log10|log1p|log|pow|powi|sincos|sin|cos|tan|asin|acos|atan2|atan|sinh|cosh"
    rb"|tanh|cbrt|hypot|fmod|remainder|fmin|fmax|ldexp)f?(?=\0)"
)

#: Of loops in which lights, skies, cameras, filters and cones are computed.
UNITS = (
    "renderer.camera_paths.camera_rays.start_eye_paths",
    "renderer.camera_paths.lighting.add_shadow_rays",
    "renderer.camera_paths.bounce.scatter",
    "renderer.photons.emission.launch",
    "renderer.photons.shading.shade_rays",
)


def called(code: bytes) -> set[str]:
    """The functions of a library of mathematics that machine code calls."""
    return {name.decode() for name in CALLS.findall(code)}


def test_loops_call_no_library_of_mathematics() -> None:
    chosen = {"size": (8, 6), "passes": 1, "device": "cpu", "threads": 1, "quiet": True}
    for driver in ("photon", "path"):
        renderer.render("cornell", driver=driver, **chosen)  # type: ignore[arg-type]
    files = list(cache_folder("renderer").path.rglob(f"renderer.*{CODE_SUFFIX}"))
    assert all(any(file.name.startswith(unit) for file in files) for unit in UNITS)
    calls = {file.name: called(file.read_bytes()) for file in files}
    assert {name: found for name, found in calls.items() if found} == {}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("exp", lambda x: math.exp(x)),
        ("log2", lambda x: math.log2(x)),
        ("sin", lambda x: math.sin(x)),
        ("acos", lambda x: math.acos(x)),
        ("atan2", lambda x: math.atan2(x, x)),
        ("pow", lambda x: x**x),
    ],
)
def test_a_call_is_seen(name: str, function: Callable[[float], float]) -> None:
    compiled = numba.njit(function)
    for number in (np.float32(0.5), 0.5):
        compiled(number)  # type: ignore[arg-type]
        _, _, (code, _) = compiled.overloads[compiled.signatures[-1]].library.serialize_using_object_code()  # type: ignore[attr-defined]
        assert called(code) == {name}
