"""This module lists the BSDFs that a material can name.

A new one is one file (`shaders.bsdfs.bsdf` says what is in it) and one row of `ROWS`, or outside this package a
call of `register_shader`. If a surface is to differ from point to point, a row of another BSDF is replaced in part: it
gets a function that is called at every hit (`shaders.custom`).
"""

import inspect
from collections.abc import Iterator
from typing import Any, get_type_hints

from shaders.bsdfs import diffuse
from shaders.bsdfs.bsdf import MOST_NUMBERS, Bsdf, sizes_of
from shaders.errors import ShaderError, UnknownShaderError
from shaders.vector import Color
from tracecore.on_demand import OnDemand

__all__ = ["Bsdf", "get_shader", "register_shader", "shader_names"]

#: The files of this package that have a BSDF.
ROWS = (
    "anisotropic",
    "dielectric",
    "diffuse",
    "measured",
    "metal",
    "mirror",
    "nff",
    "oren_nayar",
    "plastic",
    "principled",
    "sheen",
)

_shaders: OnDemand[Bsdf] = OnDemand({row: f"shaders.bsdfs.{row}:BSDF" for row in ROWS})


def register_shader(bsdf: Bsdf) -> None:
    """Makes a BSDF known by its name; a later one of the same name replaces it. Raises `ShaderError`, one line, where
    its name is not a line of text, or where a part of it is not as `Bsdf` says."""
    if not isinstance(bsdf, Bsdf):
        raise ShaderError(f"expected a shaders.bsdfs.bsdf.Bsdf, got {bsdf!r}")
    if not isinstance(bsdf.name, str) or not bsdf.name.isprintable() or not bsdf.name.strip():
        raise ShaderError(f"expected a shader's name, a line of text, got {bsdf.name!r}")
    for fault in _faults(bsdf):
        raise ShaderError(f"shader {bsdf.name!r}: {fault}")
    _shaders[bsdf.name] = bsdf


#: What functions of a BSDF take: those that loops call, and those that Python calls, or Numba by itself.
_COMPILED = {
    "sample": "parameters, seen, u",
    "evaluate": "parameters, wi, seen",
    "entering": "parameters, w",
    "reflectance": "parameters, w",
    "albedo": "parameters, wo",
    "eta": "parameters, is_outside",
}
_CALLED = {
    "pack": "material",
    "stores": "parameters",
    "is_sharp": "parameters",
    "is_clear": "parameters",
    "simpler": "parameters",
    "at_point": "point, parameters",
}
_MAY_BE_NONE = ("eta", "at_point")

#: What says that no BSDF is simpler.
_NEVER = Bsdf.__dataclass_fields__["simpler"].default


def _faults(bsdf: Bsdf) -> Iterator[str]:
    """Yields what of a BSDF is not as it is to be; what follows on a fault means nothing."""
    yield from _faults_of_parameters(bsdf.parameters)
    for name, takes in (_COMPILED | _CALLED).items():
        function = getattr(bsdf, name)
        if function is None and name in _MAY_BE_NONE:
            continue
        if not callable(function):
            yield f"{name} must be a function of ({takes}), got {function!r}"
        if name in _COMPILED and not hasattr(function, "py_func"):
            yield f"{name} must have the decorator `compiled` of shaders.compilation, as loops call it"
        if not _takes(function, takes.count(",") + 1):
            yield f"{name} must be a function of ({takes}), got one of {inspect.signature(function)}"
    sizes = sizes_of(bsdf.parameters)
    if bsdf.eta is not None and (sizes.get("transmission"), sizes.get("ior")) != (3, 1):
        yield "with an eta its parameters must have `transmission`, a Color, and `ior`, a float"
    for other in _shaders.values():
        is_same = all(getattr(bsdf, name) is getattr(other, name) for name in _COMPILED)
        if bsdf.simpler is other.simpler and bsdf.simpler is not _NEVER and not is_same:
            yield f"its `simpler` goes with the functions of shader {other.name!r}; give it one of its own, as to None"
    if not bsdf.has_rest and any(getattr(bsdf, name) is not getattr(diffuse.BSDF, name) for name in _COMPILED):
        yield "without a rest its functions must be those of shader 'diffuse'; say has_rest=True"
    for picture, uses in bsdf.maps.items():
        for use in uses:
            if use.parameter not in sizes:
                yield f"{picture} multiplies {use.parameter!r}, expected one of {', '.join(sizes)}"


def _faults_of_parameters(parameters: Any) -> Iterator[str]:
    """Yields what is wrong with the type of a BSDF's parameters."""
    if not isinstance(parameters, type) or not issubclass(parameters, tuple) or not hasattr(parameters, "_fields"):
        yield f"parameters must be a NamedTuple, got {parameters!r}"
    for name, kind in get_type_hints(parameters).items():
        if kind not in (float, Color):
            yield f"its parameter {name!r} must be a float or a Color, got {kind}"
    count = sum(sizes_of(parameters).values())
    if not 1 <= count <= MOST_NUMBERS:
        yield f"its parameters have {count} numbers, expected 1 to {MOST_NUMBERS}"


def _takes(function: Any, count: int) -> bool:
    """Returns whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def shader_names() -> list[str]:
    """Returns the names of all registered shaders, sorted."""
    return sorted(_shaders)


def get_shader(name: str) -> Bsdf:
    """Returns the shader of this name. Raises `UnknownShaderError` where there is none."""
    try:
        return _shaders[name]
    except KeyError:
        raise UnknownShaderError(f"unknown shader {name!r}; registered: {', '.join(shader_names())}") from None
