"""This module makes the functions of lights that loops call: each calls that of a light's kind.

They are chains of comparisons with the numbers of the kinds, as long as the registry, and inlined in the loops, so that
they cost what a chain written by hand does.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import functools
import inspect
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from shaders.compilation import compiled
from shaders.lights.arrays import LIGHT_KIND, Emission, LightArrays, LightSample, Source
from shaders.lights.kind import Extent
from shaders.lights.registry import KINDS, numbers_of
from shaders.sampling import interval
from shaders.vector import Vec3

OUTSIDE, SURFACE, PLACE = (numbers_of(extent) for extent in (Extent.OUTSIDE, Extent.SURFACE, Extent.PLACE))


def by_kind(field: str) -> Any:
    """Returns a function for compiled code, which takes the number of a kind and the arguments of the kind's function
    in a field of `LightKind`, and calls that; what two kinds share is there once. Kinds without one are left out."""
    numbers: dict[Any, list[float]] = {}
    for kind in KINDS:
        numbers.setdefault(getattr(kind, field), []).append(kind.number)
    numbers.pop(None, None)

    def of_kind(typing: Any, number: Any, *arguments: Any) -> Any:
        functions = [function._numba_type_ for function in numbers]
        calls = [typing.resolve_function_type(function, arguments, {}) for function in functions]
        returned = typing.unify_types(*(call.return_type for call in calls))

        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            nothing = ir.Constant(context.get_value_type(returned), None)
            result = cgutils.alloca_once_value(builder, nothing)  # of a number of no kind
            done = builder.append_basic_block("done")
            for function, call, own in zip(functions, calls, numbers.values(), strict=True):
                is_own = [builder.fcmp_ordered("==", values[0], values[0].type(one)) for one in own]
                chosen, others = builder.append_basic_block("chosen"), builder.append_basic_block("others")
                builder.cbranch(functools.reduce(builder.or_, is_own), chosen, others)
                builder.position_at_end(chosen)
                light = context.get_function(function, call)(builder, values[1:])
                builder.store(context.cast(builder, light, call.return_type, returned), result)
                builder.branch(done)
                builder.position_at_end(others)
            builder.branch(done)
            builder.position_at_end(done)
            return builder.load(result)

        return returned(number, *arguments), emit

    names = inspect.signature(next(iter(numbers)).py_func).parameters
    positional = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(name, positional) for name in ("typing", "number", *names)]
    vars(of_kind)["__signature__"] = inspect.Signature(parameters)
    return intrinsic(of_kind)


sample_of_kind, density_of_kind = by_kind("sample"), by_kind("density")
emit_of_kind, photon_density_of_kind, reach_of_kind = by_kind("emit"), by_kind("photon_density"), by_kind("reach")


@compiled
def choose(lights: LightArrays, u: float) -> int:
    """Returns the index of a light, chosen by u in proportion to power; there must be a light with power."""
    return interval(lights.cumulative, u)


@compiled
def sample_light(lights: LightArrays, point: Vec3, u: tuple[float, float, float]) -> LightSample:
    """Samples the light of one light, chosen by u[0], at a point."""
    index = choose(lights, u[0])
    return sample_of_kind(lights.rows[index, LIGHT_KIND], lights, index, point, (u[1], u[2]))


@compiled
def light_pdf(lights: LightArrays, index: int, direction: Vec3, distance: float) -> float:
    """Returns the pdf_solid_angle with which `sample_light` draws a direction that meets light `index` at a distance;
    0 of a light that no ray meets."""
    return density_of_kind(lights.rows[index, LIGHT_KIND], lights, index, direction, distance)


@compiled
def emit(lights: LightArrays, pick: float, u: tuple[float, float, float, float]) -> Emission:
    """Emits a photon from a light chosen by pick, its origin and direction by u. Its mean flux is the lights' power.
    All lights must be of kinds that have `emit`."""
    return emit_from(lights, choose(lights, pick), u)


@compiled
def emit_from(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Returns a photon from one light of a kind that has `emit`, its direction by u[0] and u[1], its place by u[2] and
    u[3]."""
    return emit_of_kind(lights.rows[index, LIGHT_KIND], lights, index, u)


@compiled
def photon_density(lights: LightArrays, source: Source, direction: Vec3) -> float:
    """Returns the density with which photons leave a source in a unit direction, per unit of solid angle; of a light
    outside of the scene that of a point of its disc, per unit of area."""
    return photon_density_of_kind(source.kind, lights, source, direction)


@compiled
def light_reach(lights: LightArrays, source: Source) -> float:
    """Returns the cosine of the angle from its axis up to which a source that is in the scene shines; -inf where that
    is everywhere."""
    return reach_of_kind(source.kind, lights, source)


@compiled
def is_outside(kind: float) -> bool:
    """Returns whether lights of this number are outside of the scene."""
    return kind in OUTSIDE


@compiled
def is_surface(kind: float) -> bool:
    """Returns whether photons leave lights of this number by the cosine."""
    return kind in SURFACE


@compiled
def is_place(kind: float) -> bool:
    """Returns whether lights of this number have a place and no size."""
    return kind in PLACE
