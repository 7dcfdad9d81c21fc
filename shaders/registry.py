"""This module lists the shaders that a material can name.

A new shader is one file with a function from a material's parameters to a `Bsdf`, and if the surface is to differ from
point to point one that is called at every hit (`shaders.custom`); and one row in `_shaders`, or outside this package a
call of `register_shader`.
"""

from shaders.errors import ShaderError, UnknownShaderError
from shaders.materials import dielectric, diffuse, metal, mirror, nff, plastic
from shaders.shader import Parameters, Shader

__all__ = ["Parameters", "Shader", "get_shader", "register_shader", "shader_names"]

_shaders: dict[str, Shader] = {
    material.SHADER.name: material.SHADER for material in (dielectric, diffuse, metal, mirror, nff, plastic)
}


def register_shader(shader: Shader) -> None:
    """Makes a shader known by its name; a later one of the same name replaces it.

    Raises `ShaderError` where the name is not a line of text, or where there is nothing to call.
    """
    if not isinstance(shader.name, str) or not shader.name.isprintable() or not shader.name.strip():
        raise ShaderError(f"expected a shader's name, a line of text, got {shader.name!r}")
    if not callable(shader.mixture):
        raise ShaderError(f"shader {shader.name!r}: mixture must be a function of a material's parameters")
    _shaders[shader.name] = shader


def shader_names() -> list[str]:
    """Returns the names of all registered shaders, sorted."""
    return sorted(_shaders)


def get_shader(name: str) -> Shader:
    """Returns the shader of this name. Raises `UnknownShaderError` where there is none."""
    try:
        return _shaders[name]
    except KeyError:
        raise UnknownShaderError(f"unknown shader {name!r}; registered: {', '.join(shader_names())}") from None
