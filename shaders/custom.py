"""This module calls functions of the user's own at every hit: loops call them by address, so that the loops are
compiled once.

A function of (`Point`, parameters) takes the parameters of a BSDF, after all maps, and returns those at the point. It
is compiled by Numba, runs without the interpreter lock, and may raise exceptions, which end the run.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from shaders.bsdfs.bsdf import Bsdf
from shaders.errors import ShaderError
from shaders.vector import Vec3


class Point(NamedTuple):
    """Describes where a ray hit. All numbers are float32.

    position: world units.
    normal: the triangle's, unit, on the side of the ray's origin.
    uv: texture coordinates.
    """

    position: Vec3
    normal: Vec3
    uv: tuple[float, float]


#: A function from the parameters of a BSDF to those at a point.
AtPoint = Callable[[Point, Any], Any]

_THREE = types.UniTuple(types.float32, 3)
_POINT = types.BaseTuple.from_types([_THREE, _THREE, types.UniTuple(types.float32, 2)], Point)

#: Compiled functions, which must stay as long as loops have their addresses.
_compiled: dict[tuple[AtPoint, type[Any]], Any] = {}


def tuple_of(parameters: type[Any]) -> Any:
    """Returns Numba's type of a BSDF's parameters, all float32."""
    hints = inspect.get_annotations(parameters, eval_str=True).values()
    return types.BaseTuple.from_types([types.float32 if hint is float else _THREE for hint in hints], parameters)


def shader_address(bsdf: Bsdf) -> int:
    """Returns the address of the machine code of `Bsdf.at_point`, for `call_shader`.

    Raises `ShaderError` where it does not compile or does not return the parameters of the BSDF.
    """
    assert bsdf.at_point is not None
    key = (bsdf.at_point, bsdf.parameters)
    if key not in _compiled:
        _compiled[key] = _compile(bsdf)
    result = _compiled[key]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def _compile(bsdf: Bsdf) -> Any:
    """Compiles a function, and returns what Numba made of one that calls it and returns float32."""
    arguments = (_POINT, tuple_of(bsdf.parameters))
    dispatcher = numba.njit(nogil=True, error_model="numpy")(bsdf.at_point)
    try:
        dispatcher.compile(arguments)
    except NumbaError as error:
        raise ShaderError(f"shader {bsdf.name!r} does not compile: {' '.join(str(error).split())}") from error
    returned = dispatcher.overloads[arguments].signature.return_type
    if getattr(returned, "instance_class", None) is not bsdf.parameters or not _are_numbers(returned):
        raise ShaderError(f"shader {bsdf.name!r} must return {bsdf.parameters.__name__} of numbers, got {returned}")

    def at_point(point: Point, parameters: Any) -> Any:
        return _in_single(dispatcher(point, parameters))

    called = numba.njit(nogil=True, error_model="numpy")(at_point)
    called.compile(arguments)
    return called.overloads[arguments]


def _are_numbers(returned: Any) -> bool:
    """Returns whether all that a tuple holds are numbers or three of them."""
    numbers = (own.types if isinstance(own, types.BaseTuple) else (own,) for own in returned.types)
    expected = (own.types if isinstance(own, types.BaseTuple) else (own,) for own in tuple_of(returned.instance_class))
    return all(
        len(found) == len(wanted) and all(isinstance(one, types.Number) for one in found)
        for found, wanted in zip(numbers, expected, strict=True)
    )


def _emitting(emitter: Callable[..., Any]) -> Any:
    """Returns Numba's decorator without a type, since what is called is not what is written here."""
    return intrinsic(emitter)


@_emitting
def _in_single(typing: Any, parameters: Any) -> Any:
    """Returns parameters with all numbers in float32."""
    wanted = tuple_of(parameters.instance_class)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        fields = []
        for value, own, kind in zip(
            cgutils.unpack_tuple(builder, arguments[0]), parameters.types, wanted.types, strict=True
        ):
            if isinstance(own, types.Number):
                fields.append(context.cast(builder, value, own, types.float32))
            else:
                parts = zip(cgutils.unpack_tuple(builder, value), own.types, strict=True)
                cast = [context.cast(builder, part, part_kind, types.float32) for part, part_kind in parts]
                fields.append(context.make_tuple(builder, kind, cast))
        return context.make_tuple(builder, wanted, fields)

    return wanted(parameters), emit


@_emitting
def call_shader(typing: Any, place: Any, point: Any, parameters: Any) -> Any:
    """Returns the parameters at a point, from the function at an address that `shader_address` gave."""
    wanted = (_POINT, tuple_of(parameters.instance_class))

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(wanted[1], wanted)
        function = builder.inttoptr(arguments[0], ir.PointerType(kind))
        status, result = convention.call_function(builder, function, wanted[1], wanted, arguments[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return result

    return wanted[1](types.int64, *wanted), emit
