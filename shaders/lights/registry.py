"""This module lists the kinds of lights, packs their rows, and makes the functions that loops call: each calls that
of a light's kind. A new kind is a file with its `KIND`, and a row here.

The functions are chains of comparisons with the numbers of the kinds, as long as the registry, and inlined in the
loops, so that they cost what a chain written by hand does.
"""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="misc, no-untyped-call"

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from shaders.compilation import compiled
from shaders.environment import pack_environment, strongest_tint
from shaders.errors import UnknownLightError
from shaders.float32 import Bools, Doubles, Floats
from shaders.lights import distant, picture, point, sky, sphere, spot, triangle
from shaders.lights.kind import Emission, Extent, LightArrays, LightKind, LightSample, Source
from shaders.lights.row import LIGHT_COLUMNS, LIGHT_KIND, LIGHT_STRENGTH, Row, Sphere
from shaders.sampling import interval
from shaders.textures import NO_TEXTURES, TextureArrays
from shaders.vector import Vec3

MODULES = (point, triangle, spot, distant, sky, picture, sphere)

#: All kinds, in the order in which compiled loops compare the number of a light with theirs.
KINDS: tuple[LightKind, ...] = tuple(module.KIND for module in MODULES)


#: The numbers of those that shine to the side of their normal alone.
FRONTS = tuple(kind.number for kind in KINDS if kind.has_front)

#: The image of no sky, and that image packed.
NO_SKY = np.zeros((0, 0, 3), np.float32)
NO_ENVIRONMENT = pack_environment(NO_SKY)


@functools.cache
def numbers_of(extent: Extent) -> tuple[float, ...]:
    """Returns the numbers of the kinds that fill what `extent` says."""
    return tuple(kind.number for kind in KINDS if kind.extent is extent)


@functools.cache
def kinds_with(field: str) -> tuple[LightKind, ...]:
    """Returns the kinds that have a function in a field of `LightKind`, such as `leave`, `arrive` or `meet`."""
    return tuple(kind for kind in KINDS if getattr(kind, field) is not None)


def light_row(light: Any, sphere: Sphere) -> Row:
    """Returns the row of a light of the scene, by the name that it has for its `kind`.
    sphere: around the scene. Raises `UnknownLightError` where no kind has this name."""
    rows = {kind.name: kind.row for kind in KINDS if kind.row is not None}
    if light.kind in rows:
        return rows[light.kind](light, sphere)
    names = ", ".join(rows)
    raise UnknownLightError(f"unknown kind of light {light.kind!r}; registered: {names}")


def functions_of(rows: Doubles, field: str) -> Iterator[tuple[Callable[[Doubles], Any], Bools]]:
    """Yields what each kind of these lights has in a field of `LightKind`, unless that is None, and which rows, (n,)
    bool, are of the kind."""
    for kind in kinds_with(field):
        own = rows[:, LIGHT_KIND] == kind.number
        if own.any():
            yield getattr(kind, field), own


def boxes_of(rows: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the least and the greatest coordinates of what lights fill, (n, 3) each."""
    lower, upper = np.zeros((2, len(rows), 3))
    for box, own in functions_of(rows, "box"):
        lower[own], upper[own] = box(rows[own])
    return lower, upper


def powers_per_strength(rows: Doubles) -> Doubles:
    """Returns the power of lights over their strength, (n,)."""
    per_strength = np.zeros(len(rows))
    for power_per_strength, own in functions_of(rows, "power_per_strength"):
        per_strength[own] = power_per_strength(rows if own.all() else rows[own])  # a million is not copied
    return per_strength


def powers(rows: Doubles) -> Doubles:
    """Returns the power of lights, (n, 3) W per channel."""
    power: Doubles = powers_per_strength(rows)[:, None] * rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3]
    return power


def pack_lights(rows: Doubles | list[Row], sky: Floats = NO_SKY, textures: TextureArrays = NO_TEXTURES) -> LightArrays:
    """Packs lights with their probabilities. Rows of no power are kept and never chosen.
    sky: the image of a `sky_row`. textures: those of pictures."""
    table = np.asarray(rows, np.float64).reshape(-1, LIGHT_COLUMNS)
    power = powers(table)
    watts = power.mean(axis=1)
    total = float(watts.sum())
    probability = watts / total if total > 0.0 else np.zeros(len(table))
    chosen = probability > 0.0
    for brightest, own in functions_of(table, "brightest"):
        power[own] = np.maximum(power[own], brightest(table[own]))
    per_photon = power[chosen] / probability[chosen, None]
    are_met = np.zeros(len(table), np.bool_)  # by rays that leave the scene
    for is_met, own in functions_of(table, "is_met"):
        are_met[own] = is_met(table[own])
    cumulative = np.cumsum(probability)
    if total > 0.0:
        cumulative[np.flatnonzero(probability)[-1] :] = 1.0
    return LightArrays(
        rows=table,
        probability=probability,
        cumulative=cumulative,
        power=total,
        strongest_flux=max(float(per_photon.max(initial=0.0)), strongest_tint(sky) * total if len(sky) else 0.0),
        outer=np.flatnonzero(are_met),
        environment=pack_environment(sky) if len(sky) else NO_ENVIRONMENT,
        textures=textures,
    )


OUTSIDE, SURFACE, PLACE = (numbers_of(extent) for extent in (Extent.OUTSIDE, Extent.SURFACE, Extent.PLACE))


def by_kind(field: str) -> Any:
    """Returns a function for compiled code, which takes the number of a kind and the arguments of the kind's function
    in a field of `LightKind`, and calls that; what two kinds share is there once. Of kinds without one all that is
    returned is 0."""
    numbers: dict[Any, list[float]] = {}
    for kind in kinds_with(field):
        numbers.setdefault(getattr(kind, field), []).append(kind.number)

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
    return sample_one(lights, choose(lights, u[0]), point, (u[1], u[2]))


@compiled
def sample_one(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Samples the light of light `index` at a point."""
    return sample_of_kind(lights.rows[index, LIGHT_KIND], lights, index, point, u)


@compiled
def light_pdf(lights: LightArrays, index: int, point: Vec3, direction: Vec3, distance: float) -> float:
    """Returns the pdf_solid_angle with which `sample_light` draws, at a point, a direction that meets light `index` at
    a distance; 0 of a light that no ray meets."""
    return density_of_kind(lights.rows[index, LIGHT_KIND], lights, index, point, direction, distance)


@compiled
def emit_from(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Returns a photon from one light of a kind that has `emit`, its direction by u[0] and u[1], its place by u[2] and
    u[3]. Over lights by their probabilities, its mean flux is the lights' power."""
    return emit_of_kind(lights.rows[index, LIGHT_KIND], lights, index, u)


@compiled
def photon_density(lights: LightArrays, source: Source, direction: Vec3) -> float:
    """Returns the density with which photons leave a source in a unit direction, per unit of solid angle; of a light
    outside of the scene that of a point of its disc, per unit of area."""
    return photon_density_of_kind(source.kind, lights, source, direction)


@compiled
def light_reach(lights: LightArrays, source: Source) -> float:
    """Returns the cosine of the angle from its axis up to which a source in the scene shines; -inf where everywhere."""
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
