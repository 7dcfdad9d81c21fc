"""This module makes the functions of lights that loops call: each calls that of a light's kind.

They are written out from the registry as chains of comparisons with the numbers of the kinds, and inlined in the loops,
so that they cost what a chain written by hand does.
"""

import inspect
from collections.abc import Callable
from typing import Any

from shaders.compilation import compiled
from shaders.lights.arrays import LIGHT_KIND, Emission, LightArrays, LightSample, Source
from shaders.lights.kind import Extent
from shaders.lights.registry import KINDS, numbers_of
from shaders.sampling import interval
from shaders.vector import Color, Vec3

OUTSIDE, SURFACE = numbers_of(Extent.OUTSIDE), numbers_of(Extent.SURFACE)


def by_kind(field: str) -> Callable[..., Any]:
    """Returns a compiled function that takes the number of a kind and the arguments of its function in a field of
    `LightKind`, and calls that; what two kinds share is there once."""
    numbers: dict[Any, list[float]] = {}
    for kind in KINDS:
        numbers.setdefault(getattr(kind, field), []).append(kind.number)
    names = {f"{field}_{place}": function for place, function in enumerate(numbers)}
    arguments = ", ".join(inspect.signature(next(iter(names.values())).py_func).parameters)
    lines = [f"def {field}_of_kind(kind, {arguments}):"]
    for name, function in names.items():
        condition = " or ".join(f"kind == {number}" for number in numbers[function])
        lines += [f"    if {condition}:", f"        return {name}({arguments})"]
    del lines[-2]  # the last ones are all that is left
    lines[-1] = lines[-1].replace("        ", "    ")
    namespace: dict[str, Any] = dict(names)
    exec("\n".join(lines), namespace)
    return compiled(namespace[f"{field}_of_kind"])


sample_of_kind, density_of_kind, radiance_of_kind = by_kind("sample"), by_kind("density"), by_kind("radiance")
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
def outer_radiance(lights: LightArrays, index: int, direction: Vec3) -> Color:
    """Returns the radiance that a light of `lights.outer` sends from a unit direction."""
    return radiance_of_kind(lights.rows[index, LIGHT_KIND], lights, index, direction)


@compiled
def emit(lights: LightArrays, pick: float, u: tuple[float, float, float, float]) -> Emission:
    """Emits a photon from a light chosen by pick, its origin and direction by u. Its mean flux is the lights' power."""
    return emit_from(lights, choose(lights, pick), u)


@compiled
def emit_from(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Returns a photon from one light, its direction by u[0] and u[1], its place by u[2] and u[3]."""
    return emit_of_kind(lights.rows[index, LIGHT_KIND], lights, index, u)


@compiled
def photon_density(lights: LightArrays, source: Source, direction: Vec3) -> float:
    """Returns the density with which photons leave a source in a unit direction, per unit of solid angle; of a light
    outside of the scene that of a point of its disc, per unit of area."""
    return photon_density_of_kind(source.kind, lights, source, direction)


@compiled
def light_reach(lights: LightArrays, source: Source) -> float:
    """Returns the angle from its axis up to which a source that is in the scene shines; infinite where that is
    everywhere."""
    return reach_of_kind(source.kind, lights, source)


@compiled
def is_outside(kind: float) -> bool:
    """Returns whether lights of this number are outside of the scene."""
    return kind in OUTSIDE


@compiled
def is_surface(kind: float) -> bool:
    """Returns whether photons leave lights of this number by the cosine."""
    return kind in SURFACE
