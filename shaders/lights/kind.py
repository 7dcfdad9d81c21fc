"""This module says what a kind of light is: all that loops must know of it, in the functions of one object."""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled
from shaders.elementary import greatest
from shaders.environment import Sky
from shaders.lights.arrays import Emission, Emitter, Light, LightArrays, LightSample, Row, Source, Sphere
from shaders.random import Bits2, Bits4
from shaders.vector import Color, Vec3, dot

Doubles = npt.NDArray[np.float64]


class Extent(enum.Enum):
    """Says what a light fills: a place of no size, a surface that photons leave by the cosine, or all that is outside
    of the sphere around the scene."""

    PLACE = enum.auto()
    SURFACE = enum.auto()
    OUTSIDE = enum.auto()


@compiled
def no_density(_lights: LightArrays, _index: int, _direction: Vec3, _distance: float) -> float:
    """Returns the density of a light that no ray meets."""
    return 0.0


@compiled
def cosine_density(_lights: LightArrays, source: Source, direction: Vec3) -> float:
    """Returns the density of a surface's photons, which leave it by the cosine, per unit of solid angle."""
    return greatest(dot(direction, source.axis), 0.0) / math.pi


@compiled
def half_space(_lights: LightArrays, _source: Source) -> float:
    """Returns the cosine of the angle that a surface shines up to."""
    return 0.0


def no_row(_light: Any, _sphere: Sphere) -> Row:
    """Raises TypeError: triangles and the environment are lights too, but none that a scene lists."""
    raise TypeError("a light of this kind comes from a surface or the environment")


def no_record(_rows: Doubles, _probability: Doubles) -> dict[str, Doubles]:
    """Returns that nothing more is read of lights than their rows."""
    return {}


def never_met(rows: Doubles) -> npt.NDArray[np.bool_]:
    """Returns (n,) bool for lights that no ray meets which leaves the scene."""
    return np.zeros(len(rows), np.bool_)


@dataclass(frozen=True, kw_only=True)
class LightKind:
    """This is a row of the registry. Functions that loops call are `compiled`; index is that of a light's row.

    name: as lights of a scene have it for their `kind`.
    number: which marks the rows of this kind, like that of no other.
    extent: what it fills.
    power_per_strength: from rows (n, LIGHT_COLUMNS) to (n,), the power in W over the strength.
    sample: (lights, index, point, (u1, u2)), from two uniform numbers to the light that a point gets, a `LightSample`.
    emit: (lights, index, u), from four uniform numbers to a photon, an `Emission`; None where there is `leave`.
    leave: (emitter, sky, bits), from four times 32 random bits to a photon: for vector loops, float32 and without
        branches. Photons of kinds without it are emitted one by one.
    arrive: (light, sky, point, bits), from twice 32 random bits to the light that a point gets: for vector loops, as
        `leave`. Kinds without it are sampled one by one, but for triangles and points.
    record: from rows and the probabilities of their choice to what a `Light` has for `arrive` that the row has not: the
        names of its fields, and an array for each.
    meet: (light, sky, direction), what a ray meets that leaves the scene in a unit direction, and the pdf_solid_angle
        with which `arrive` draws it: for vector loops, as `arrive`. Kinds that rays meet so have one.
    row: from a light of the scene and the sphere around it to its row.
    density: (lights, index, direction, distance), the pdf_solid_angle with which `sample` draws a direction that meets
        the light.
    photon_density: (lights, source, direction), that of `emit`: per unit of solid angle, or of area of a light outside.
    reach: (lights, source), the cosine of the angle from the axis up to which it shines; -inf where that is everywhere.
    is_met: whether a ray that leaves the scene can meet lights, (n,) bool of their rows.
    brightest: from rows to the power (n, 3) in W of lights that were everywhere as bright as they are at most; None
        where that is their power.
    """

    name: str
    number: float
    extent: Extent
    power_per_strength: Callable[[Doubles], Doubles]
    sample: Callable[[LightArrays, int, Vec3, tuple[float, float]], LightSample]
    emit: Callable[[LightArrays, int, tuple[float, float, float, float]], Emission] | None = None
    leave: Callable[[Emitter, Sky, Bits4], Emission] | None = None
    arrive: Callable[[Light, Sky, Vec3, Bits2], LightSample] | None = None
    meet: Callable[[Light, Sky, Vec3], tuple[Color, float]] | None = None
    record: Callable[[Doubles, Doubles], dict[str, Doubles]] = no_record
    row: Callable[[Any, Sphere], Row] = no_row
    density: Callable[[LightArrays, int, Vec3, float], float] = no_density
    photon_density: Callable[[LightArrays, Source, Vec3], float] = cosine_density
    reach: Callable[[LightArrays, Source], float] = half_space
    is_met: Callable[[Doubles], npt.NDArray[np.bool_]] = never_met
    brightest: Callable[[Doubles], Doubles] | None = None
