"""This module holds lights as loops read them, a row of numbers for each, and what they give a point or a photon."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled
from shaders.environment import EnvironmentArrays
from shaders.textures import TextureArrays
from shaders.vector import Color, Vec3

#: Columns of a packed light: kind; position (or first corner); two edges; radiance (or intensity); unit normal; area;
#: and ten that mean what the light's kind says.
LIGHT_KIND, LIGHT_POSITION, LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_STRENGTH, LIGHT_NORMAL, LIGHT_AREA, LIGHT_OWN = (
    0,
    1,
    4,
    7,
    10,
    13,
    16,
    17,
)
LIGHT_COLUMNS = LIGHT_OWN + 10

#: One of `LightArrays.rows`.
Row = npt.NDArray[np.float64]


class LightArrays(NamedTuple):
    """The lights of a scene as loops read them.

    rows: (n, LIGHT_COLUMNS) float64.
    probability: (n,) float64, share of the total power.
    cumulative: (n,) float64, its running sum, the last exactly 1.
    power: of all lights, W, mean over the channels.
    strongest_flux: the greatest in a channel of a photon that stands for all, W.
    outer: (k,) int64, the lights that a ray can meet that leaves the scene.
    environment: the image of the sky.
    textures: those of lights that are pictures.
    """

    rows: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64]
    cumulative: npt.NDArray[np.float64]
    power: float
    strongest_flux: float
    outer: npt.NDArray[np.int64]
    environment: EnvironmentArrays
    textures: TextureArrays


class Sphere(NamedTuple):
    """Encloses the scene: its middle and radius in world units."""

    middle: Vec3
    radius: float


class LightSample(NamedTuple):
    """Describes light that arrives at a point if nothing is in between.

    direction: unit, towards the light.
    distance: world units.
    irradiance: radiance / pdf, in W/m^2 per unit of cosine.
    pdf_solid_angle: of the direction, with the choice of the light in it; 0 for a light without size.
    """

    direction: Vec3
    distance: float
    irradiance: Color
    pdf_solid_angle: float


class Emission(NamedTuple):
    """Describes a photon as it leaves a light: its flux in W per channel, if this one photon stands for all."""

    origin: Vec3
    direction: Vec3
    flux: Color


class Emitter(NamedTuple):
    """This is a light as vector loops of photons read it, float32; see `renderer.scene.photon_scene.EMITTER`.

    corner, edge_1, edge_2, normal: those columns of its row.
    flux: of a photon that stands for all.
    size: of a light outside of the scene the radius of the sphere, else 1 of a parallelogram and 0 of others.
    """

    corner: Vec3
    edge_1: Vec3
    edge_2: Vec3
    normal: Vec3
    flux: Color
    size: float


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
    """This is a light as one photon leaves it.

    kind: its number.
    row: in `LightArrays`, of all but points and triangles.
    origin: where the photon starts, world units.
    axis: unit; the normal of a triangle, the axis of a spot, the direction of a photon of a light outside the scene.
    """

    kind: float
    row: int
    origin: Vec3
    axis: Vec3


def row_of(kind: float, position: Vec3, strength: Color) -> Row:
    """Returns the row of a light with zeros in all other columns."""
    row = np.zeros(LIGHT_COLUMNS)
    row[LIGHT_KIND] = kind
    row[LIGHT_POSITION : LIGHT_POSITION + 3] = position
    row[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] = strength
    return row


def outer_row(kind: float, strength: Color, sphere: Sphere) -> Row:
    """Returns the row of a light outside of the sphere around the scene, which is its position and area."""
    row = row_of(kind, sphere.middle, strength)
    row[LIGHT_AREA] = math.pi * sphere.radius**2
    return row


@compiled
def triple(lights: LightArrays, index: int, column: int) -> Vec3:
    """Returns three columns of a packed light's row."""
    rows = lights.rows
    return (rows[index, column], rows[index, column + 1], rows[index, column + 2])


@compiled
def outer_radius(lights: LightArrays, index: int) -> float:
    """Returns the radius of the sphere around the scene, of a light outside of it."""
    return math.sqrt(lights.rows[index, LIGHT_AREA] / math.pi)
