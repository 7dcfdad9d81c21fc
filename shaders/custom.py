"""This module calls custom shaders at every hit: loops call the functions by address, so that the loops are compiled
once.

A function of (`Point`, `Bsdf`) takes the lobes that the material's parameters mean and returns those at the point. It
is compiled by Numba, runs without the interpreter lock, and may raise exceptions, which end the run.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from shaders.bsdf import Bsdf
from shaders.errors import ShaderError
from shaders.vector import Vec3


class Point(NamedTuple):
    """Describes where a ray hit.

    position: world units.
    normal: the triangle's, unit, on the side of the ray's origin.
    uv: texture coordinates.
    """

    position: Vec3
    normal: Vec3
    uv: tuple[float, float]


#: A function from the lobes of a material's parameters to those at a point.
AtPoint = Callable[[Point, Bsdf], Bsdf]

_THREE = (0.0, 0.0, 0.0)
_BSDF = numba.typeof(Bsdf(_THREE, _THREE, _THREE, _THREE, 0.0, 1.0))
_ARGUMENTS = (numba.typeof(Point(_THREE, _THREE, (0.0, 0.0))), _BSDF)

#: Compiled functions, which must stay as long as loops have their addresses.
_compiled: dict[AtPoint, Any] = {}


def shader_address(name: str, function: AtPoint) -> int:
    """Returns the address of a shader's machine code, for `call_shader`.

    name: of the shader, for messages.

    Raises `ShaderError` where it does not compile or does not return a `Bsdf` of floats.
    """
    if function not in _compiled:
        _compiled[function] = _compile(name, function)
    result = _compiled[function]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def _compile(name: str, function: AtPoint) -> Any:
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    try:
        dispatcher.compile(_ARGUMENTS)
    except NumbaError as error:
        raise ShaderError(f"shader {name!r} does not compile: {' '.join(str(error).split())}") from error
    result: Any = dispatcher.overloads[_ARGUMENTS]
    if result.signature.return_type != _BSDF:
        raise ShaderError(f"shader {name!r} must return a Bsdf of floats, got {result.signature.return_type}")
    return result


def _emitting(emitter: Callable[..., Any]) -> Any:
    """Returns Numba's decorator without a type, since what is called is not what is written here."""
    return intrinsic(emitter)


@_emitting
def call_shader(typing: Any, place: Any, point: Any, lobes: Any) -> Any:
    """Returns the lobes at a point, from the shader at an address that `shader_address` gave."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(_BSDF, _ARGUMENTS)
        function = builder.inttoptr(arguments[0], ir.PointerType(kind))
        status, result = convention.call_function(builder, function, _BSDF, _ARGUMENTS, arguments[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return _BSDF(types.int64, *_ARGUMENTS), emit
