"""This module holds lights: points, spots, glowing triangles, suns and a sky; their share of the photons, and what they
send to a point.

One row per light in `LightArrays`. Photons choose a light in proportion to its power, and so do shadow rays. Suns and
the sky are outside of the scene; their power is what enters the sphere around it.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import called, compiled
from shaders.elementary import sine_cosine
from shaders.environment import (
    EnvironmentArrays,
    mean_radiance,
    pack_environment,
    sample_sky,
    sky_pdf,
    sky_radiance,
    strongest_tint,
)
from shaders.sampling import cosine_hemisphere, interval, uniform_cone, uniform_sphere, uniform_triangle
from shaders.surface import clearance
from shaders.textures import TEXTURE_HEIGHT, TEXTURE_WIDTH, TextureArrays, lookup, pack_textures
from shaders.vector import (
    BLACK,
    Color,
    Vec3,
    add,
    dot,
    frame,
    length,
    multiply,
    scale,
    subtract,
    to_local,
    to_world,
)

#: Columns of a packed light: kind; position (or first corner); two edges; radiance (or intensity); unit normal; area.
LIGHT_KIND, LIGHT_POSITION, LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_STRENGTH, LIGHT_NORMAL, LIGHT_AREA = (
    0,
    1,
    4,
    7,
    10,
    13,
    16,
)
POINT, TRIANGLE, SPOT, SUN, SKY, PICTURE = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

#: More columns of a picture, which is a triangle that glows as a texture says, with a mean for its strength: the
#: texture, texture coordinates of its first corner and along the edges, and what radiance the texture multiplies.
LIGHT_TEXTURE, LIGHT_UV, LIGHT_UV_1, LIGHT_UV_2, LIGHT_RADIANCE, LIGHT_COLUMNS = 17, 18, 20, 22, 24, 27

#: Strips of a triangle over which the mean of its picture is taken, at most.
MOST_STRIPS = 256

#: Columns of others. A spot has its axis for a normal, and so has a sun, both along the light; in place of an edge are
#: the cosines of the angles at which a spot begins to fade and ends, or of the one that a sun's disc ends at. A sky has
#: the axes of its image for edges and normal, and its mean radiance for a strength. Of a sun the strength is the
#: irradiance across it. Position and area of both are the middle of the sphere around the scene and its cross-section.
COS_INNER, COS_OUTER = LIGHT_EDGE_1, LIGHT_EDGE_1 + 1

#: A shadow ray to a sun or the sky goes this many radii of the sphere around the scene.
BEYOND = 3.0

#: Steps of Newton's method, which doubles the right digits, for the cosine of a photon of a spot.
NEWTON_STEPS = 5

#: Shadow rays to a light with size end after this share of the distance.
SHADOW_END = 1.0 - 1e-4


#: One of `LightArrays.rows`.
Row = npt.NDArray[np.float64]

#: The image of no sky.
NO_SKY = np.zeros((0, 0, 3), np.float32)

#: The textures of lights without pictures.
NO_TEXTURES = pack_textures([])


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


def point_row(position: Vec3, intensity: Color) -> Row:
    """A light without size. intensity: W/sr, the same all around."""
    row = np.zeros(LIGHT_COLUMNS)
    row[LIGHT_KIND] = POINT
    row[LIGHT_POSITION : LIGHT_POSITION + 3] = position
    row[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] = intensity
    return row


def triangle_row(corners: npt.NDArray[np.float64], radiance: Color) -> Row:
    """A triangle that glows on its front, corners (3, 3). radiance: W/(m^2 sr), the same in all directions."""
    row = np.zeros(LIGHT_COLUMNS)
    edge_1, edge_2 = corners[1] - corners[0], corners[2] - corners[0]
    normal = np.cross(edge_1, edge_2)
    twice_area = float(np.linalg.norm(normal))
    row[LIGHT_KIND] = TRIANGLE
    row[LIGHT_POSITION : LIGHT_POSITION + 3] = corners[0]
    row[LIGHT_EDGE_1 : LIGHT_EDGE_1 + 3] = edge_1
    row[LIGHT_EDGE_2 : LIGHT_EDGE_2 + 3] = edge_2
    row[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] = radiance
    row[LIGHT_NORMAL : LIGHT_NORMAL + 3] = normal / twice_area if twice_area > 0.0 else 0.0
    row[LIGHT_AREA] = 0.5 * twice_area
    return row


def picture_row(row: Row, textures: TextureArrays, texture: int, uvs: npt.NDArray[np.float32]) -> Row:
    """Returns the row of a `triangle_row` whose radiance a texture multiplies. uvs: (3, 2), of its corners."""
    picture = row.copy()
    picture[LIGHT_KIND], picture[LIGHT_TEXTURE] = PICTURE, texture
    picture[LIGHT_UV : LIGHT_UV + 6] = np.concatenate([uvs[0], uvs[1] - uvs[0], uvs[2] - uvs[0]])
    picture[LIGHT_RADIANCE : LIGHT_RADIANCE + 3] = row[LIGHT_STRENGTH : LIGHT_STRENGTH + 3]
    picture[LIGHT_STRENGTH : LIGHT_STRENGTH + 3] *= mean_of_picture(textures, picture)
    return picture


@called
def mean_of_picture(textures: TextureArrays, row: Row) -> Color:
    """Mean colour of a texture over a triangle: at the middle of equal parts about as large as texels."""
    texture, total = int(row[LIGHT_TEXTURE]), BLACK
    sides = max(np.abs(row[LIGHT_UV_1 : LIGHT_UV_1 + 4])) * max(
        textures.table[texture, TEXTURE_WIDTH], textures.table[texture, TEXTURE_HEIGHT]
    )
    strips = min(max(math.ceil(sides), 1), MOST_STRIPS)
    for i in range(strips):
        for j in range(2 * (strips - i) - 1):
            third = 2.0 / 3.0 if j % 2 else 1.0 / 3.0
            s, t = (i + third) / strips, (j // 2 + third) / strips
            total = add(total, color_of_picture(textures, row, s, t))
    return scale(total, 1.0 / (strips * strips))


@compiled
def color_of_picture(textures: TextureArrays, row: Row, s: float, t: float) -> Color:
    """Colour of the texture so far along both edges of a picture."""
    u, v = (
        row[LIGHT_UV] + s * row[LIGHT_UV_1] + t * row[LIGHT_UV_2],
        row[LIGHT_UV + 1] + s * row[LIGHT_UV_1 + 1] + t * row[LIGHT_UV_2 + 1],
    )
    return lookup(textures, int(row[LIGHT_TEXTURE]), u, v)


@called
def radiance_of_picture(lights: LightArrays, index: int, s: float, t: float) -> Color:
    """Radiance so far along both edges of a picture."""
    return multiply(triple(lights, index, LIGHT_RADIANCE), color_of_picture(lights.textures, lights.rows[index], s, t))


def spot_row(position: Vec3, direction: Vec3, intensity: Color, cosines: tuple[float, float]) -> Row:
    """Returns the row of a light without size that shines into a cone.

    direction: unit, along the axis.
    intensity: W/sr along the axis.
    cosines: of the angles from the axis at which it begins to fade and at which it ends.
    """
    row = point_row(position, intensity)
    row[LIGHT_KIND] = SPOT
    row[LIGHT_NORMAL : LIGHT_NORMAL + 3] = direction
    row[COS_INNER], row[COS_OUTER] = cosines
    return row


def sun_row(direction: Vec3, irradiance: Color, cosine: float, sphere: Sphere) -> Row:
    """Returns the row of a disc far away, whose power is E A 2 / (1 + cosine).

    direction: unit, along the light.
    irradiance: W/m^2 on a plane across it.
    cosine: of the angle that the radius of the disc fills; 1 of parallel light.
    """
    row = outer_row(SUN, irradiance, sphere)
    row[LIGHT_NORMAL : LIGHT_NORMAL + 3] = direction
    row[COS_OUTER] = cosine
    return row


def sky_row(radiance: npt.NDArray[np.float32], axes: npt.NDArray[np.float64], sphere: Sphere) -> Row:
    """Returns the row of light from all around.

    radiance: (h, w, 3), W/(m^2 sr).
    axes: (3, 3), rows that are x, y and z of the image.
    """
    red, green, blue = mean_radiance(radiance).tolist()
    row = outer_row(SKY, (red, green, blue), sphere)
    row[LIGHT_EDGE_1 : LIGHT_EDGE_1 + 3], row[LIGHT_EDGE_2 : LIGHT_EDGE_2 + 3], row[LIGHT_NORMAL : LIGHT_NORMAL + 3] = (
        axes
    )
    return row


def outer_row(kind: float, strength: Color, sphere: Sphere) -> Row:
    """Returns the row of a light outside of the sphere around the scene."""
    row = point_row(sphere.middle, strength)
    row[LIGHT_KIND] = kind
    row[LIGHT_AREA] = math.pi * sphere.radius**2
    return row


def powers(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n, 3) W per channel: 4 pi I of a point, pi A L of a triangle, 2 pi (1 - (inner + outer) / 2) I of a spot whose
    cosines these are, 2 / (1 + cosine) A E of a sun, 4 pi A L of a sky."""
    kinds, areas = rows[:, LIGHT_KIND], rows[:, LIGHT_AREA]
    of_triangle = np.where(kinds == POINT, 4.0 * math.pi, math.pi * areas)
    of_spot = 2.0 * math.pi * (1.0 - 0.5 * (rows[:, COS_INNER] + rows[:, COS_OUTER]))
    of_sun = 2.0 * areas / np.where(kinds == SUN, 1.0 + rows[:, COS_OUTER], 1.0)
    of_others = [of_spot, of_sun, 4.0 * math.pi * areas]
    per_strength = np.select([kinds == SPOT, kinds == SUN, kinds == SKY], of_others, of_triangle)
    power: npt.NDArray[np.float64] = per_strength[:, None] * rows[:, LIGHT_STRENGTH : LIGHT_STRENGTH + 3]
    return power


def pack_lights(
    rows: list[Row], sky: npt.NDArray[np.float32] = NO_SKY, textures: TextureArrays = NO_TEXTURES
) -> LightArrays:
    """Lights with their probabilities. Rows of no power are kept and never chosen. sky: the image of a `sky_row`.
    textures: those of pictures."""
    table = np.array(rows, np.float64).reshape(-1, LIGHT_COLUMNS)
    watts = powers(table).mean(axis=1)
    total = float(watts.sum())
    probability = watts / total if total > 0.0 else np.zeros(len(table))
    chosen = probability > 0.0
    per_photon = powers(table)[chosen] / probability[chosen, None]
    brightest = math.pi * table[chosen, LIGHT_AREA, None] * table[chosen, LIGHT_RADIANCE : LIGHT_RADIANCE + 3]
    per_photon = np.maximum(per_photon, brightest / probability[chosen, None])
    cumulative = np.cumsum(probability)
    if total > 0.0:
        cumulative[np.flatnonzero(probability)[-1] :] = 1.0
    has_disc = (table[:, LIGHT_KIND] == SUN) & (table[:, COS_OUTER] < 1.0)
    return LightArrays(
        rows=table,
        probability=probability,
        cumulative=cumulative,
        power=total,
        strongest_flux=max(float(per_photon.max(initial=0.0)), strongest_tint(sky) * total),
        outer=np.flatnonzero(has_disc | (table[:, LIGHT_KIND] == SKY)),
        environment=pack_environment(sky),
        textures=textures,
    )


@compiled
def triple(lights: LightArrays, index: int, column: int) -> Vec3:
    """Returns three columns of a packed light's row."""
    rows = lights.rows
    return (rows[index, column], rows[index, column + 1], rows[index, column + 2])


@compiled
def choose(lights: LightArrays, u: float) -> int:
    """Returns the index of a light, chosen by u in proportion to power; there must be a light with power."""
    return interval(lights.cumulative, u)


@compiled
def sample_light(lights: LightArrays, point: Vec3, u: tuple[float, float, float]) -> LightSample:
    """Samples the light of one light, chosen by u[0], at a point."""
    index = choose(lights, u[0])
    kind = lights.rows[index, LIGHT_KIND]
    if kind in (POINT, SPOT):
        return light_of_point(lights, index, point)
    if kind in (TRIANGLE, PICTURE):
        return light_of_triangle(lights, index, point, (u[1], u[2]))
    return outer_light(lights, index, u[1], u[2])


@compiled
def light_of_point(lights: LightArrays, index: int, point: Vec3) -> LightSample:
    """Light from a light that is a point or a spot."""
    offset = subtract(triple(lights, index, LIGHT_POSITION), point)
    distance = length(offset)
    if distance <= 0.0:
        return LightSample((0.0, 0.0, 1.0), 0.0, BLACK, 0.0)
    direction = scale(offset, 1.0 / distance)
    irradiance = scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / (distance * distance * lights.probability[index]))
    if lights.rows[index, LIGHT_KIND] == SPOT:
        irradiance = scale(irradiance, spot_share(lights, index, -dot(direction, triple(lights, index, LIGHT_NORMAL))))
    return LightSample(direction, distance, irradiance, 0.0)


@compiled
def spot_share(lights: LightArrays, index: int, cosine: float) -> float:
    """Returns the share of a spot's intensity along its axis: between the cosines it is the smooth step 3 t^2 - 2
    t^3."""
    inner, outer = lights.rows[index, COS_INNER], lights.rows[index, COS_OUTER]
    if cosine >= inner:
        return 1.0
    if cosine <= outer:
        return 0.0
    t = (cosine - outer) / (inner - outer)
    return t * t * (3.0 - 2.0 * t)


@compiled
def light_of_triangle(lights: LightArrays, index: int, point: Vec3, u: tuple[float, float]) -> LightSample:
    """Returns the light from a point of a triangle that u chooses."""
    s, t = uniform_triangle(u[0], u[1])
    on_light = add(
        triple(lights, index, LIGHT_POSITION),
        add(scale(triple(lights, index, LIGHT_EDGE_1), s), scale(triple(lights, index, LIGHT_EDGE_2), t)),
    )
    offset = subtract(on_light, point)
    distance = length(offset)
    if distance <= 0.0:
        return LightSample((0.0, 0.0, 1.0), 0.0, BLACK, 0.0)
    direction = scale(offset, 1.0 / distance)
    pdf = light_pdf(lights, index, direction, distance)
    if pdf <= 0.0:
        return LightSample(direction, distance, BLACK, 0.0)
    radiance = triple(lights, index, LIGHT_STRENGTH)
    if lights.rows[index, LIGHT_KIND] == PICTURE:
        radiance = radiance_of_picture(lights, index, s, t)
    return LightSample(direction, distance * SHADOW_END, scale(radiance, 1.0 / pdf), pdf)


@compiled
def outer_light(lights: LightArrays, index: int, u1: float, u2: float) -> LightSample:
    """Returns the light from a sun or the sky, which is the same at every point of the scene."""
    distance = BEYOND * outer_radius(lights, index)
    axis = triple(lights, index, LIGHT_NORMAL)
    if lights.rows[index, LIGHT_KIND] == SKY:
        own = sample_sky(lights.environment, u1, u2)
        direction = to_world(own, triple(lights, index, LIGHT_EDGE_1), triple(lights, index, LIGHT_EDGE_2), axis)
    else:
        towards = scale(axis, -1.0)
        if lights.rows[index, COS_OUTER] >= 1.0:
            irradiance = scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / lights.probability[index])
            return LightSample(towards, distance, irradiance, 0.0)
        tangent, bitangent = frame(towards)
        direction = to_world(uniform_cone(u1, u2, lights.rows[index, COS_OUTER]), tangent, bitangent, towards)
    pdf = light_pdf(lights, index, direction, distance)
    if pdf <= 0.0:
        return LightSample(direction, distance, BLACK, 0.0)
    return LightSample(direction, distance, scale(outer_radiance(lights, index, direction), 1.0 / pdf), pdf)


@compiled
def outer_radius(lights: LightArrays, index: int) -> float:
    """Radius of the sphere around the scene, of a light outside of it."""
    return math.sqrt(lights.rows[index, LIGHT_AREA] / math.pi)


@compiled
def outer_radiance(lights: LightArrays, index: int, direction: Vec3) -> Color:
    """Radiance that a light of `lights.outer` sends from a unit direction."""
    if lights.rows[index, LIGHT_KIND] == SKY:
        return sky_radiance(lights.environment, in_sky(lights, index, direction))
    cosine = lights.rows[index, COS_OUTER]
    if -dot(direction, triple(lights, index, LIGHT_NORMAL)) < cosine:
        return BLACK
    return scale(triple(lights, index, LIGHT_STRENGTH), 1.0 / (math.pi * (1.0 - cosine) * (1.0 + cosine)))


@compiled
def in_sky(lights: LightArrays, index: int, direction: Vec3) -> Vec3:
    """Returns a direction in the frame of the image of the sky."""
    return to_local(
        direction,
        triple(lights, index, LIGHT_EDGE_1),
        triple(lights, index, LIGHT_EDGE_2),
        triple(lights, index, LIGHT_NORMAL),
    )


@compiled
def light_pdf(lights: LightArrays, index: int, direction: Vec3, distance: float) -> float:
    """pdf_solid_angle with which `sample_light` draws a direction that meets light `index` at a distance: a triangle,
    a picture, or one of `lights.outer`."""
    kind, probability = lights.rows[index, LIGHT_KIND], lights.probability[index]
    if kind == SKY:
        return probability * sky_pdf(lights.environment, in_sky(lights, index, direction))
    cosine = -dot(direction, triple(lights, index, LIGHT_NORMAL))
    if kind == SUN:
        edge = lights.rows[index, COS_OUTER]
        return probability / (2.0 * math.pi * (1.0 - edge)) if cosine >= edge else 0.0
    if cosine <= 0.0 or lights.rows[index, LIGHT_AREA] <= 0.0:
        return 0.0
    return probability * distance * distance / (cosine * lights.rows[index, LIGHT_AREA])


@compiled
def emit(lights: LightArrays, pick: float, u: tuple[float, float, float, float]) -> Emission:
    """Emits a photon from a light chosen by pick, its origin and direction by u. Its mean flux is the lights' power."""
    return emit_from(lights, choose(lights, pick), u)


@compiled
def emit_from(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """A photon from one light, its direction by u[0] and u[1], its place by u[2] and u[3]."""
    kind = lights.rows[index, LIGHT_KIND]
    if kind == SPOT:
        return emit_from_spot(lights, index, u[0], u[1])
    if kind in (SUN, SKY):
        return emit_from_outside(lights, index, u)
    strength = triple(lights, index, LIGHT_STRENGTH)
    probability = lights.probability[index]
    origin = triple(lights, index, LIGHT_POSITION)
    if kind == POINT:
        return Emission(origin, uniform_sphere(u[0], u[1]), scale(strength, 4.0 * math.pi / probability))
    edge_1, edge_2, normal = (
        triple(lights, index, LIGHT_EDGE_1),
        triple(lights, index, LIGHT_EDGE_2),
        triple(lights, index, LIGHT_NORMAL),
    )
    s, t = uniform_triangle(u[2], u[3])
    if kind == PICTURE:
        strength = radiance_of_picture(lights, index, s, t)
    on_light = add(origin, add(scale(edge_1, s), scale(edge_2, t)))
    off_light = scale(normal, clearance(origin, add(origin, edge_1), add(origin, edge_2)))
    tangent, bitangent = frame(normal)
    direction = to_world(cosine_hemisphere(u[0], u[1]), tangent, bitangent, normal)
    flux = scale(strength, math.pi * lights.rows[index, LIGHT_AREA] / probability)
    return Emission(add(on_light, off_light), direction, flux)


@compiled
def emit_from_spot(lights: LightArrays, index: int, u1: float, u2: float) -> Emission:
    """Emits a photon from a spot by its intensity: within the inner angle evenly, beyond it by the smooth step."""
    inner, outer = lights.rows[index, COS_INNER], lights.rows[index, COS_OUTER]
    extent = 1.0 - 0.5 * (inner + outer)
    even = (1.0 - inner) / extent
    if u1 < even:
        cosine = 1.0 - u1 / even * (1.0 - inner)
    else:
        cosine = outer + smooth_step_place((u1 - even) / (1.0 - even)) * (inner - outer)
    radius = math.sqrt(max(0.0, 1.0 - cosine * cosine))
    sine, cosine_of_turn = sine_cosine(u2)
    axis = triple(lights, index, LIGHT_NORMAL)
    tangent, bitangent = frame(axis)
    direction = to_world((radius * cosine_of_turn, radius * sine, cosine), tangent, bitangent, axis)
    flux = scale(triple(lights, index, LIGHT_STRENGTH), 2.0 * math.pi * extent / lights.probability[index])
    return Emission(triple(lights, index, LIGHT_POSITION), direction, flux)


@compiled
def smooth_step_place(u: float) -> float:
    """Returns t in 0..1 with the density 6 t^2 - 4 t^3 of a smooth step: where the integral, 2 t^3 - t^4, is u.

    The integral is convex and the start above the root, so that Newton's method comes down to it.
    """
    if u <= 0.0:
        return 0.0
    t = u ** (1.0 / 3.0)
    for _ in range(NEWTON_STEPS):
        t -= (t * t * t * (2.0 - t) - u) / (t * t * (6.0 - 4.0 * t))
    return min(t, 1.0)


@compiled
def emit_from_outside(lights: LightArrays, index: int, u: tuple[float, float, float, float]) -> Emission:
    """Emits a photon of a sun or the sky, from the disc that touches the sphere around the scene and is perpendicular
    to its direction."""
    light = outer_light(lights, index, u[0], u[1])
    tangent, bitangent = frame(light.direction)
    reach = outer_radius(lights, index)
    sine, cosine = sine_cosine(u[3])
    beside = reach * math.sqrt(u[2])
    offset = to_world((beside * cosine, beside * sine, reach), tangent, bitangent, light.direction)
    origin = add(triple(lights, index, LIGHT_POSITION), offset)
    return Emission(origin, scale(light.direction, -1.0), scale(light.irradiance, lights.rows[index, LIGHT_AREA]))
