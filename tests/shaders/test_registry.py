"""Shaders by name, and a new one."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from shaders import registry
from shaders.bsdfs import diffuse, nff, plastic
from shaders.bsdfs.bsdf import LOBE_NONE, Seen, Use
from shaders.bsdfs.nff import Nff
from shaders.compilation import compiled
from shaders.errors import ShaderError, UnknownShaderError
from shaders.registry import get_shader, register_shader, shader_names
from shaders.vector import BLACK, Color


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    """Registrations are forgotten after the test."""
    monkeypatch.setattr(registry, "_shaders", dict(registry._shaders))


def soot(material):
    return Nff(BLACK, BLACK, BLACK, BLACK, 0.0, 1.0)


@pytest.mark.parametrize("name", shader_names())
def test_a_built_in_shader_has_a_line_and_could_be_registered(name):
    assert get_shader(name).name == name
    assert get_shader(name).summary
    register_shader(get_shader(name))


def test_an_unknown_name_is_an_error_that_lists_those_there_are():
    with pytest.raises(UnknownShaderError) as raised:
        get_shader("velvet")
    assert str(raised.value) == f"unknown shader 'velvet'; registered: {', '.join(shader_names())}"
    assert isinstance(raised.value, ShaderError)
    assert isinstance(raised.value, ValueError)


def test_a_new_shader_is_used_by_its_name():
    register_shader(replace(nff.BSDF, name="soot", summary="black", pack=soot))
    assert "soot" in shader_names()
    found, one, none = get_shader("soot"), np.float32(1.0), np.float32(0.0)
    parameters = Nff(*(tuple(map(np.float32, color)) for color in found.pack(None)[:4]), none, one)  # type: ignore[arg-type, call-arg]
    seen = Seen(wo=(none, none, one), is_outside=True, carried=(one, one, one), follow=one, tables=0)  # type: ignore[arg-type]
    assert found.sample(parameters, seen, (np.float32(0.5),) * 3).lobe == LOBE_NONE


def test_a_later_shader_of_the_same_name_replaces_the_earlier():
    replacement = replace(diffuse.BSDF, summary="black", pack=lambda material: diffuse.Diffuse(BLACK))
    register_shader(replacement)
    assert get_shader("diffuse") is replacement


class Long(NamedTuple):
    """Has 18 numbers."""

    a: Color
    b: Color
    c: Color
    d: Color
    e: Color
    transmission: Color


class Wordy(NamedTuple):
    """Has a word."""

    diffuse: Color
    ground: str


class Empty(NamedTuple):
    """Has nothing."""


@compiled
def by_one(parameters):
    return parameters.diffuse


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parameters": Long}, "its parameters have 18 numbers, expected 1 to 16"),
        ({"parameters": Empty}, "its parameters have 0 numbers, expected 1 to 16"),
        ({"parameters": Wordy}, "its parameter 'ground' must be a float or a Color, got <class 'str'>"),
        ({"parameters": dict}, "parameters must be a NamedTuple, got <class 'dict'>"),
        ({"pack": None}, r"pack must be a function of (material), got None"),
        ({"sample": None}, "sample must be a function of (parameters, seen, u), got None"),
        ({"sample": lambda numbers, seen, u: 1}, "sample must have the decorator `compiled` of shaders.compilation"),
        ({"reflectance": by_one}, "reflectance must be a function of (parameters, w), got one of (parameters)"),
        ({"albedo": by_one}, "albedo must be a function of (parameters, wo), got one of (parameters)"),
        ({"stores": None}, "stores must be a function of (parameters), got None"),
        ({"at_point": lambda point: point}, "at_point must be a function of (point, parameters), got one of (point)"),
        ({"maps": {"texture": (Use("paint"),)}}, "texture multiplies 'paint', expected one of diffuse, phong, mirror"),
        (
            {"reflectance": compiled(lambda nff, w: nff.phong)},
            "its `simpler` goes with the functions of shader 'mirror'; give it one of its own, as to None",
        ),
        (
            {"parameters": plastic.BSDF.parameters, "maps": {}},
            "with an eta its parameters must have `transmission`, a Color, and `ior`, a float",
        ),
    ],
)
def test_a_shader_that_loops_could_not_call_is_refused_at_once_in_one_line(changes, words):
    with pytest.raises(ShaderError) as raised:
        register_shader(replace(nff.BSDF, name="own", **changes))
    assert str(raised.value).startswith(f"shader 'own': {words}")
    assert "\n" not in str(raised.value)
    assert "own" not in shader_names()


@pytest.mark.parametrize("name", ["sample", "evaluate", "entering", "reflectance"])
def test_a_surface_that_is_not_lamberts_has_a_rest(name):
    """Loops take a base alone to be Lambert's surface, and do not draw its directions by `sample`."""
    other = replace(diffuse.BSDF, name="own", **{name: getattr(plastic.BSDF, name)})
    with pytest.raises(ShaderError, match="without a rest its functions must be those of shader 'diffuse'"):
        register_shader(other)
    register_shader(replace(other, has_rest=True))
