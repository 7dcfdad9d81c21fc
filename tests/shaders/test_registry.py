"""Shaders by name, and a new one."""

import pytest
from shaders.bsdf import LOBE_ABSORBED, Bsdf, sample

from shaders import registry
from shaders.errors import ShaderError, UnknownShaderError
from shaders.registry import Shader, get_shader, register_shader, shader_names
from shaders.vector import BLACK


@pytest.fixture
def _own_registry(monkeypatch):
    """Registrations are forgotten after the test."""
    monkeypatch.setattr(registry, "_shaders", dict(registry._shaders))


def soot(material):
    """Nothing comes back."""
    return Bsdf(BLACK, BLACK, BLACK, BLACK, 0.0, 1.0)


def test_the_built_in_shaders_are_there():
    assert {"dielectric", "diffuse", "mirror", "nff"} <= set(shader_names())
    assert shader_names() == sorted(shader_names())
    for name in shader_names():
        assert get_shader(name).name == name
        assert get_shader(name).summary


def test_an_unknown_name_is_an_error_that_lists_those_there_are():
    with pytest.raises(UnknownShaderError) as raised:
        get_shader("velvet")
    assert str(raised.value) == f"unknown shader 'velvet'; registered: {', '.join(shader_names())}"
    assert isinstance(raised.value, ShaderError)
    assert isinstance(raised.value, ValueError)


@pytest.mark.usefixtures("_own_registry")
def test_a_new_shader_is_used_by_its_name():
    register_shader(Shader(name="soot", summary="black", mixture=soot))
    assert "soot" in shader_names()
    scattered = sample(get_shader("soot").mixture(None), (0.0, 0.0, 1.0), True, True, True, (0.5, 0.5, 0.5))
    assert scattered.lobe == LOBE_ABSORBED


@pytest.mark.usefixtures("_own_registry")
def test_a_later_shader_of_the_same_name_replaces_the_earlier():
    replacement = Shader(name="diffuse", summary="black", mixture=soot)
    register_shader(replacement)
    assert get_shader("diffuse") is replacement
