"""This module calls functions of the user's own at every hit: loops call them by address, so that the loops are
compiled once.

A function of (`Point`, parameters) takes the parameters of a BSDF, after all maps, and returns those at the point. It
is compiled by Numba, computes in float64, runs without the interpreter lock, and may raise exceptions, which end the
run.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call, attr-defined"

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError

from shaders.bsdfs.bsdf import Bsdf, sizes_of
from shaders.compilation import emitting
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


#: A function from the parameters of a BSDF to those at a point.
AtPoint = Callable[[Point, Any], Any]

#: Three numbers, such as a colour.
THREE = types.UniTuple(types.float32, 3)
_POINT = types.BaseTuple.from_types([THREE, THREE, types.UniTuple(types.float32, 2)], Point)

#: What Numba begins with.
_FAILED = "Failed in nopython mode pipeline (step: nopython frontend)"

#: Compiled functions, which must stay as long as loops have their addresses.
_compiled: dict[tuple[AtPoint, type[Any]], Any] = {}


def tuple_of(parameters: type[Any]) -> Any:
    """Returns Numba's type of a BSDF's parameters, all float32."""
    sizes = sizes_of(parameters).values()
    return types.BaseTuple.from_types([types.float32 if size == 1 else THREE for size in sizes], parameters)


def shader_address(bsdf: Bsdf) -> int:
    """Returns the address of the machine code of `Bsdf.at_point`, for `call_shader`. Raises `ShaderError` where it does
    not compile or does not return the parameters of the BSDF."""
    assert bsdf.at_point is not None
    key = (bsdf.at_point, bsdf.parameters)
    if key not in _compiled:
        _compiled[key] = _compile(bsdf)
    result = _compiled[key]
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def _compile(bsdf: Bsdf) -> Any:
    """Compiles a function, and returns what Numba made of one that calls it and whose numbers are all float32. It takes
    float64 itself: what it passes on as it is has the type of what it writes down."""
    arguments = (_POINT, tuple_of(bsdf.parameters))
    doubles = tuple(_of_numbers(one, types.float64) for one in arguments)
    dispatcher = compiled_alone(f"shader {bsdf.name!r}", bsdf.at_point, doubles, arguments[1])

    def at_point(point: Point, parameters: Any) -> Any:
        return _in_single(dispatcher(_in_double(point), _in_double(parameters)))

    called = numba.njit(nogil=True, error_model="numpy")(at_point)
    called.compile(arguments)
    return called.overloads[arguments]


def compiled_alone(name: str, function: Any, arguments: tuple[Any, ...], returned: Any) -> Any:
    """Returns a function as Numba compiled it for arguments of these types.

    Raises `ShaderError`, one line that begins with its name, where it does not compile, or returns neither numbers nor
    tuples of them as the type `returned` has.
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy")(getattr(function, "py_func", function))
    try:
        dispatcher.compile(arguments)
    except NumbaError as error:
        raise ShaderError(f"{name} does not compile: {_line_of(error)}") from error
    found = dispatcher.overloads[arguments].signature.return_type
    if not _fits(found, returned):
        raise ShaderError(f"{name} must return {_words_of(returned)}, got {found}")
    return dispatcher


def _line_of(error: NumbaError) -> str:
    """Returns what Numba says of an error on one line, without colours, and what it did by the way."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    return " ".join(text.removeprefix(_FAILED).partition("During:")[0].split())


def _fits(found: Any, wanted: Any) -> bool:
    """Returns whether a type is that of numbers where another one has them, whatever their precision."""
    if not isinstance(wanted, types.BaseTuple):
        return isinstance(found, types.Integer | types.Float)
    is_same = isinstance(found, types.BaseTuple) and len(found) == len(wanted)
    is_same = is_same and getattr(found, "instance_class", None) is getattr(wanted, "instance_class", None)
    return is_same and all(map(_fits, found.types, wanted.types))


def _words_of(wanted: Any) -> str:
    """Returns what `_fits` asks for, in words."""
    if not isinstance(wanted, types.BaseTuple):
        return "a number"
    return f"{wanted.instance_class.__name__} of numbers" if hasattr(wanted, "instance_class") else "three numbers"


def _of_numbers(own: Any, number: Any) -> Any:
    """Returns the type of a tuple with all numbers of one type."""
    if not isinstance(own, types.BaseTuple):
        return number
    fields = [_of_numbers(one, number) for one in own.types]
    return types.BaseTuple.from_types(fields, getattr(own, "instance_class", None))


@emitting
def _in_single(typing: Any, numbers: Any) -> Any:
    """Returns tuples with all numbers in float32."""
    return _cast(numbers, types.float32)


@emitting
def _in_double(typing: Any, numbers: Any) -> Any:
    """Returns tuples with all numbers in float64."""
    return _cast(numbers, types.float64)


def _cast(own: Any, number: Any) -> Any:
    """Returns the type and the code of a cast of all numbers of a tuple."""
    wanted = _of_numbers(own, number)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cast(context, builder, (arguments[0], own, wanted))

    def cast(context: Any, builder: Any, part: tuple[Any, Any, Any]) -> Any:
        value, own, wanted = part
        if not isinstance(own, types.BaseTuple):
            return context.cast(builder, value, own, wanted)
        parts = zip(cgutils.unpack_tuple(builder, value), own.types, wanted.types, strict=True)
        return context.make_tuple(builder, wanted, [cast(context, builder, one) for one in parts])

    return wanted(own), emit


@emitting
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
