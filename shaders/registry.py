"""This module lists the BSDFs that a material can name.

A new one is one file (`shaders.bsdfs.bsdf` says what is in it) and one row in `_shaders`, or outside this package a
call of `register_shader`. If a surface is to differ from point to point, a row of another BSDF is replaced in part: it
gets a function that is called at every hit (`shaders.custom`).
"""

from shaders.bsdfs import (
    anisotropic,
    dielectric,
    diffuse,
    measured,
    metal,
    mirror,
    nff,
    oren_nayar,
    plastic,
    principled,
    sheen,
)
from shaders.bsdfs.bsdf import Bsdf
from shaders.errors import ShaderError, UnknownShaderError

__all__ = ["Bsdf", "get_shader", "register_shader", "shader_names"]

_shaders: dict[str, Bsdf] = {
    module.BSDF.name: module.BSDF
    for module in (
        anisotropic,
        dielectric,
        diffuse,
        measured,
        metal,
        mirror,
        nff,
        oren_nayar,
        plastic,
        principled,
        sheen,
    )
}


def register_shader(bsdf: Bsdf) -> None:
    """Makes a BSDF known by its name; a later one of the same name replaces it.

    Raises `ShaderError` where the name is not a line of text, or where there is nothing to call.
    """
    if not isinstance(bsdf.name, str) or not bsdf.name.isprintable() or not bsdf.name.strip():
        raise ShaderError(f"expected a shader's name, a line of text, got {bsdf.name!r}")
    if not callable(bsdf.pack):
        raise ShaderError(f"shader {bsdf.name!r}: pack must be a function of a material")
    _shaders[bsdf.name] = bsdf


def shader_names() -> list[str]:
    """Returns the names of all registered shaders, sorted."""
    return sorted(_shaders)


def get_shader(name: str) -> Bsdf:
    """Returns the shader of this name. Raises `UnknownShaderError` where there is none."""
    try:
        return _shaders[name]
    except KeyError:
        raise UnknownShaderError(f"unknown shader {name!r}; registered: {', '.join(shader_names())}") from None
