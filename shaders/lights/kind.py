"""This module holds lights as loops read them, what they give a point or a photon, and what a kind of light is: all
that loops must know of it, in the functions of one object."""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from shaders.compilation import compiled
from shaders.elementary import greatest
from shaders.environment import EnvironmentArrays, Sky
from shaders.float32 import Bools, Doubles, Longs
from shaders.lights.row import LIGHT_AREA, LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_NORMAL, LIGHT_POSITION, Row, Sphere
from shaders.random import Bits2, Bits4
from shaders.textures import TextureArrays
from shaders.vector import Color, Vec3, dot


class LightArrays(NamedTuple):
    """The lights of a scene as loops read them."""

    rows: Doubles  # (n, LIGHT_COLUMNS) float64
    probability: Doubles  # (n,) float64, share of the total power
    cumulative: Doubles  # (n,) float64, its running sum, the last exactly 1
    power: float  # of all lights, W, mean over the channels
    strongest_flux: float  # the greatest in a channel of a photon that stands for all, W
    outer: Longs  # (k,) int64, the lights that a ray can meet that leaves the scene
    environment: EnvironmentArrays  # the image of the sky
    textures: TextureArrays  # those of lights that are pictures


class LightSample(NamedTuple):
    """Describes light that arrives at a point if nothing is in between."""

    direction: Vec3  # unit, towards the light
    distance: float  # world units
    irradiance: Color  # radiance / pdf, in W/m^2 per unit of cosine
    pdf_solid_angle: float  # of the direction, with the choice of the light in it; 0 for a light without size


class Emission(NamedTuple):
    """Describes a photon as it leaves a light: its flux in W per channel, if this one photon stands for all."""

    origin: Vec3
    direction: Vec3
    flux: Color


class Emitter(NamedTuple):
    """This is a light as vector loops of photons read it, float32; see `renderer.scene.photon_scene.EMITTER`."""

    # corner, edge_1, edge_2, normal: those columns of its row
    corner: Vec3
    edge_1: Vec3
    edge_2: Vec3
    normal: Vec3
    flux: Color  # of a photon that stands for all
    size: float  # of a light outside of the scene the radius of the sphere, else 1 of a parallelogram and 0 of others


class Light(NamedTuple):
    """This is a light as vector loops of shadow rays read it, float32; see `renderer.scene.light_records.LIGHT_RECORD`.

    What the fields hold, the light's kind says.
    """

    position: Vec3
    edge_1: Vec3
    edge_2: Vec3
    normal: Vec3
    flux: Color
    density: float


class Source(NamedTuple):
    """This is a light as one photon leaves it."""

    kind: float  # its number
    row: int  # in `LightArrays`, of all but points and triangles
    origin: Vec3  # where the photon starts, world units
    # unit; the normal of a triangle, the axis of a spot, the direction of a photon of a light outside the scene
    axis: Vec3


@compiled
def triple(lights: LightArrays, index: int, column: int) -> Vec3:
    """Returns three columns of a packed light's row."""
    rows = lights.rows
    return (rows[index, column], rows[index, column + 1], rows[index, column + 2])


@compiled
def edges_and_normal(lights: LightArrays, index: int) -> tuple[Vec3, Vec3, Vec3]:
    """Returns both edges of a packed light and its normal, which are the axes of a sky."""
    return triple(lights, index, LIGHT_EDGE_1), triple(lights, index, LIGHT_EDGE_2), triple(lights, index, LIGHT_NORMAL)


@compiled
def outer_radius(lights: LightArrays, index: int) -> float:
    """Returns the radius of the sphere around the scene, of a light outside of it."""
    return math.sqrt(lights.rows[index, LIGHT_AREA] / math.pi)


class Extent(enum.Enum):
    """Says what a light fills: a place of no size, a surface that photons leave by the cosine, or all that is outside
    of the sphere around the scene."""

    PLACE = enum.auto()
    SURFACE = enum.auto()
    OUTSIDE = enum.auto()


@compiled
def cosine_density(_lights: LightArrays, source: Source, direction: Vec3) -> float:
    """Returns the density of a surface's photons, which leave it by the cosine, per unit of solid angle."""
    return greatest(dot(direction, source.axis), 0.0) / math.pi


def box_of_place(rows: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the box of a light that has a position and no size."""
    positions = rows[:, LIGHT_POSITION : LIGHT_POSITION + 3]
    return positions, positions


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
    row: from a light of the scene and the sphere around it to its row; None of triangles and the environment, which
        are lights too, but none that a scene lists.
    density: (lights, index, point, direction, distance), the pdf_solid_angle with which `sample` draws, at a point, a
        direction that meets the light; None where no ray meets it.
    photon_density: (lights, source, direction), that of `emit`: per unit of solid angle, or of area of a light outside.
    reach: (lights, source), the cosine of the angle from the axis up to which it shines; -inf where that is everywhere,
        None of a surface, which shines up to its plane.
    is_met: whether a ray that leaves the scene can meet lights, (n,) bool of their rows; None where none can.
    box: from rows to the least and the greatest coordinates of what each fills, (n, 3) each; of a light outside of the
        scene anything.
    has_front: whether it shines to the side of its normal alone.
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
    record: Callable[[Doubles, Doubles], dict[str, Doubles]] = lambda rows, probability: {}
    row: Callable[[Any, Sphere], Row] | None = None
    density: Callable[[LightArrays, int, Vec3, Vec3, float], float] | None = None
    photon_density: Callable[[LightArrays, Source, Vec3], float] = cosine_density
    reach: Callable[[LightArrays, Source], float] | None = None
    is_met: Callable[[Doubles], Bools] | None = None
    box: Callable[[Doubles], tuple[Doubles, Doubles]] = box_of_place
    has_front: bool = False
    brightest: Callable[[Doubles], Doubles] | None = None
