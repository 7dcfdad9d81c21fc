"""Photons are sent where they matter: to mirrors and glass, and in the open to what there is to light.

Jensen: Realistic Image Synthesis Using Photon Mapping, 2001, on projection maps; here cones over a few spheres replace
a map. A photon's direction is drawn from a mixture of the light's usual density f and of cones, one over each sphere,
chosen in proportion to solid angle. Its flux is weighted with f over the density of the mixture, so that the light of
every direction has the right mean (Veach, Guibas: Optimally Combining Sampling Techniques for Monte Carlo Rendering,
1995, the one-sample model).

A cone is used where the light shines in all of its directions, so that no photon has a flux of 0 and each is traced and
counted as any other. A sphere that has the light in it, or is cut by its horizon or the edge of its beam, is left to f.

A sun or the sky has no position: photons start on a disc across their direction, and the shadows of the spheres, and
of the box around the scene, on it are to that disc what cones are to all directions.

A surface shines by the cosine, which is even over the disc that the half sphere above it is seen as from straight above
(Malley's method). What is seen of a cone there is an ellipse, whose share of the disc is that of the cone in the light
(Nusselt's analogon, 1928), and f itself is narrowed to it.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.compilation import compiled as inlined
from shaders.elementary import fma, greatest, least, sine_cosine
from shaders.float32 import ONE, ZERO, Float32
from shaders.lights.kind import Extent, LightArrays, Source, outer_radius, triple
from shaders.lights.registry import is_outside, is_surface, light_reach, numbers_of, photon_density
from shaders.lights.row import LIGHT_AREA, LIGHT_KIND, LIGHT_POSITION
from shaders.sampling import uniform_cone
from shaders.vector import Vec3, add, along, dot, frame, normalize, scale, subtract, to_world

Doubles = npt.NDArray[np.float64]

#: Most of a light's photons that go to cones where f must take care of some sphere.
MOST_GUIDED = 0.5

#: Measures of a guide: no light goes there, or f alone has all light that does.
UNLIT, CROSSED = 0.0, -1.0

#: A smaller face of a box is taken for one of this area.
LEAST_AREA = Float32(2.0**-126)

#: Columns of guides, as they are kept while a photon is drawn.
GUIDE_COLUMNS = 6

#: Memory of guides for lanes of a warp: (LANES, targets, GUIDE_COLUMNS) float64.
Guides = npt.NDArray[np.float64]


#: Where photons of an emitter are sent: nowhere in particular; to the box around the scene, as those from outside where
#: there are no targets; or wherever `project` says, one by one, which may have aimed at a target or a box.
AS_EVER, TO_BOX, ONE_BY_ONE, AIMED = np.int32(0), np.int32(1), np.int32(2), np.int32(3)

#: The box of an emitter, as vector loops read it, which has a way of TO_BOX or another. low: corner; sides: their
#: lengths; middle, radius: of the sphere around the scene. All but the way mean nothing where it is not TO_BOX.
AIM = np.dtype(
    [
        ("low", "<f4", 3),
        ("sides", "<f4", 3),
        ("middle", "<f4", 3),
        ("radius", "<f4"),
        ("way", "<i4"),
        ("unused", "<i4"),
    ]
)


class Projection(NamedTuple):
    """Says where photons are sent.

    targets: (k, 5) float64, middle and radius of spheres around what photons are sent to, world units, and how dense
        they are to be there, beside the others.
    share: of the photons, 0..1, that go there.
    around: (emitters, 2, 3) float64, corners of the box around all that each emitter can light; one that is outside of
    it sends its other photons into a cone over it, or to its shadow. It is endless for those that are not outside.
    aims: (emitters,) AIM.
    """

    targets: Doubles
    share: float
    around: Doubles
    aims: npt.NDArray[np.void]


class Guide(NamedTuple):
    """A guide is a cone of directions in which photons are sent: unit axis, cosine of its angle, solid angle.

    Of a sun or sky it is a disc across the photon's direction: the middle and radius of its sphere, area; or the shadow
    of a box, of which it has the area alone. For the cone over the box around the scene, a surface has the cone's share
    of its light in place of the solid angle. A measure of UNLIT or CROSSED says why there is none.
    """

    axis: Vec3
    edge: float
    measure: float


class Mixture(NamedTuple):
    """This is the mixture of densities that photons are drawn from at a point of a light.

    share: of the photons, 0..1, that go to targets.
    guides: (k, GUIDE_COLUMNS) float64, of all targets.
    total: the sum of their measures, each times its density.
    around: where the other photons go; it is f where its measure is not above 0.
    """

    share: float
    guides: Doubles
    total: float
    around: Guide


class Departure(NamedTuple):
    """Says where a photon starts, in which direction, by what its flux is weighted, and whether a guide sent it."""

    origin: Vec3
    direction: Vec3
    weight: float
    is_aimed: bool


#: The box of an emitter that is not outside of what it can light.
ENDLESS = np.array([3 * (-np.inf,), 3 * (np.inf,)])

NO_PROJECTION = Projection(np.empty((0, 5)), 0.0, np.empty((0, 2, 3)), np.empty(0, AIM))

#: Photons that f is narrowed for leave their surface at least so steeply: the cosine.
LEAST_COSINE = 1e-6


@inlined
def is_projected(projection: Projection) -> bool:
    """Returns whether the projection changes anything."""
    return len(projection.around) > 0


def pack_aims(rows: Doubles, around: Doubles, has_targets: bool) -> npt.NDArray[np.void]:
    """Returns how emitters send their photons, (emitters,) AIM. rows: of their lights."""
    aims, is_bounded = np.zeros(len(rows), AIM), np.isfinite(around).any(axis=(1, 2))
    is_outer = np.isin(rows[:, LIGHT_KIND], numbers_of(Extent.OUTSIDE))
    aims["way"] = ONE_BY_ONE if has_targets else np.select([~is_bounded, is_outer], [AS_EVER, TO_BOX], ONE_BY_ONE)
    sent = aims["way"] == TO_BOX
    aims["low"][sent], aims["sides"][sent] = around[sent, 0], around[sent, 1] - around[sent, 0]
    aims["middle"][sent] = rows[sent, LIGHT_POSITION : LIGHT_POSITION + 3]
    aims["radius"][sent] = np.sqrt(rows[sent, LIGHT_AREA] / math.pi)
    return aims


@inlined
def project(
    lights: LightArrays, mixture: Mixture, usual: tuple[Source, Vec3, Doubles], u: tuple[float, float, float]
) -> Departure:
    """Draws a photon from the mixture at its place.

    usual: its light, the direction drawn from f, and the box around all that this light can light.
    u: uniform numbers, for the choice and the direction (2).
    """
    source, direction, box = usual
    guides = mixture.guides
    departure, chosen = Departure(source.origin, direction, 1.0, False), -1
    if u[0] < mixture.share:
        chosen = choose_guide(guides, u[0] / mixture.share * mixture.total)
        departure = depart(lights, source, guide_of(guides, chosen), u)
    elif mixture.around.measure > 0.0:
        departure = depart_around(lights, box, (source, direction, mixture.around), u)
    elif mixture.share == 0.0:
        return departure
    weight = flux_weight(lights, box, (source, mixture), (departure, chosen))
    return Departure(departure.origin, departure.direction, weight, departure.is_aimed)


@inlined
def no_mixture(guides: Doubles) -> Mixture:
    """Returns a mixture that sends nothing anywhere. guides: (k, GUIDE_COLUMNS) float64."""
    return Mixture(0.0, guides, 0.0, Guide((0.0, 0.0, 1.0), 1.0, CROSSED))


@inlined
def mixture_of(lights: LightArrays, projection: Projection, light: tuple[Source, Doubles], guides: Doubles) -> Mixture:
    """Returns the mixture at a point of a light, which comes with the box around all that it can light.

    guides: (k, GUIDE_COLUMNS) float64, overwritten.
    """
    source, box = light
    total, is_crossed = take_guides(lights, projection.targets, source, guides)
    share = least(projection.share, MOST_GUIDED) if is_crossed else projection.share
    return Mixture(share if total > 0.0 else 0.0, guides, total, guide_around(lights, box, source))


@inlined
def flux_weight(
    lights: LightArrays, box: Doubles, light: tuple[Source, Mixture], drawn: tuple[Departure, int]
) -> float:
    """Returns f over the density of the mixture.

    box: around all that the light can light.
    light: where the photon leaves it, and the mixture there.
    drawn: the photon, and the index of the guide that it was drawn from, or -1.
    """
    (source, mixture), (departure, chosen) = light, drawn
    density = photon_density(lights, source, departure.direction)
    rest, around = density, mixture.around
    if around.measure > 0.0:
        even = density if is_surface(source.kind) else 1.0
        rest = even / around.measure if chosen < 0 or goes_around(source.kind, box, around, departure) else 0.0
    guides, covering = mixture.guides, 0.0
    for k in range(len(guides)):
        if guides[k, 4] > 0.0 and (k == chosen or covers(source.kind, guide_of(guides, k), departure)):
            covering += guides[k, 5]
    to_targets = mixture.share * covering / mixture.total if mixture.share > 0.0 else 0.0
    return density / ((1.0 - mixture.share) * rest + to_targets)


@inlined
def take_guides(lights: LightArrays, targets: Doubles, source: Source, guides: Doubles) -> tuple[float, bool]:
    """Writes the guides to all targets into `guides`.

    Returns the sum of their measures, and whether some target is left to f.
    """
    total, is_crossed = 0.0, False
    for k in range(len(targets)):
        guide = guide_at(lights, source, (targets[k, 0], targets[k, 1], targets[k, 2]), targets[k, 3])
        guides[k, 0], guides[k, 1], guides[k, 2] = guide.axis
        guides[k, 3], guides[k, 4], guides[k, 5] = guide.edge, guide.measure, targets[k, 4]
        total += greatest(guide.measure, 0.0) * targets[k, 4]
        is_crossed |= guide.measure < 0.0
    return total, is_crossed


@inlined
def guide_of(guides: Doubles, k: int) -> Guide:
    """Returns guide k of those kept."""
    return Guide((guides[k, 0], guides[k, 1], guides[k, 2]), guides[k, 3], guides[k, 4])


@inlined
def choose_guide(guides: Doubles, offset: float) -> int:
    """Returns the index of a guide, in proportion to measure and density.

    offset: from 0 up to the sum of these, which must not be 0.
    """
    chosen = -1
    for k in range(len(guides)):
        if guides[k, 4] > 0.0:
            chosen, part = k, guides[k, 4] * guides[k, 5]
            if offset < part:
                break
            offset -= part
    return chosen


@inlined
def guide_at(lights: LightArrays, source: Source, middle: Vec3, radius: float) -> Guide:
    """Returns the guide to a sphere."""
    if is_outside(source.kind):
        offset = subtract(middle, triple(lights, source.row, LIGHT_POSITION))
        ahead = dot(offset, source.axis)
        beside = math.sqrt(greatest(dot(offset, offset) - ahead * ahead, 0.0))
        is_within = beside + radius <= outer_radius(lights, source.row)
        return Guide(middle, radius, math.pi * radius * radius if is_within else CROSSED)
    offset = subtract(middle, source.origin)
    distance2 = dot(offset, offset)
    if distance2 <= radius * radius:
        return Guide(source.axis, 1.0, CROSSED)
    sine2 = radius * radius / distance2
    cosine = math.sqrt(1.0 - sine2)
    return lit(lights, source, Guide(normalize(offset), cosine, 2.0 * math.pi * sine2 / (1.0 + cosine)))


@inlined
def lit(lights: LightArrays, source: Source, cone: Guide) -> Guide:
    """Returns a cone, or why it cannot be used, as not all of it lies where the light shines.

    All angles are compared by their cosines.
    """
    end, cosine, edge = light_reach(lights, source), dot(cone.axis, source.axis), cone.edge
    sine, rim = math.sqrt(greatest(1.0 - cosine * cosine, 0.0)), math.sqrt(greatest(1.0 - edge * edge, 0.0))
    # of the smallest and the largest angle between the axis of the light and a direction of the cone
    nearest = 1.0 if cosine >= edge else cosine * edge + sine * rim
    farthest = -1.0 if sine * edge + cosine * rim < 0.0 else cosine * edge - sine * rim
    if farthest >= end:
        return cone
    return Guide(cone.axis, edge, UNLIT if nearest <= end else CROSSED)


@inlined
def guide_around(lights: LightArrays, box: Doubles, source: Source) -> Guide:
    """Returns the guide to a box of a light outside of it: a cone through all of its corners, or its shadow."""
    if box[0, 0] == -np.inf:
        return Guide(source.axis, 1.0, CROSSED)
    if is_outside(source.kind):
        faces = shadows_of_faces(sides_of(box), source.axis)
        return Guide(source.axis, 1.0, faces[0] + faces[1] + faces[2])
    if is_in_box(box, source.origin):
        return Guide(source.axis, 1.0, CROSSED)
    axis = (0.0, 0.0, 0.0)
    for corner in range(8):
        axis = add(axis, towards_corner(box, corner, source.origin))
    axis = normalize(axis)
    edge = edge_around(box, axis, source.origin)
    for k in range(3):  # close to a face, the cone about its normal is narrower: it is half of all at most
        below, above = source.origin[k] < box[0, k], source.origin[k] > box[1, k]
        side = 1.0 if below else -1.0
        normal = (side if k == 0 else 0.0, side if k == 1 else 0.0, side if k == 2 else 0.0)
        if (below or above) and edge_around(box, normal, source.origin) > edge:
            axis, edge = normal, edge_around(box, normal, source.origin)
    if is_surface(source.kind):
        return lit(lights, source, Guide(axis, edge, (1.0 - edge * edge) * dot(axis, source.axis)))
    return lit(lights, source, Guide(axis, edge, 2.0 * math.pi * (1.0 - edge)))


@inlined
def edge_around(box: Doubles, axis: Vec3, origin: Vec3) -> float:
    """Returns the cosine of the angle of the cone about a unit axis that has all corners of a box in it."""
    edge = 1.0
    for corner in range(8):
        edge = least(dot(axis, towards_corner(box, corner, origin)), edge)
    return edge


@inlined
def sides_of(box: Doubles) -> Vec3:
    """Returns the lengths of the sides of a box."""
    return (box[1, 0] - box[0, 0], box[1, 1] - box[0, 1], box[1, 2] - box[0, 2])


@inlined
def shadows_of_faces(sides: Vec3, direction: Vec3) -> Vec3:
    """Returns the areas of the shadows that the lit faces of a box throw across parallel light of a unit direction; the
    first one is that of the face across x, and so on. sides: of the box, their lengths."""
    x, y, z = sides
    return (y * z * abs(direction[0]), z * x * abs(direction[1]), x * y * abs(direction[2]))


@inlined
def enter_box(low: Vec3, sides: Vec3, direction: Vec3, u: tuple[float, float]) -> Vec3:
    """Returns a point of the lit faces of a box that is drawn evenly over its shadow, in the precision of the arguments
    and without branches.

    low: corner of the box.
    sides: their lengths.
    direction: unit, of parallel light.
    u: uniform numbers.
    """
    faces = shadows_of_faces(sides, direction)
    two = faces[0] + faces[1]
    pick = u[0] * (two + faces[2])
    is_x, is_z = pick < faces[0], pick >= two
    before, face = faces[0] if not is_x else ZERO, faces[0] if is_x else faces[1]
    before, face = two if is_z else before, faces[2] if is_z else face
    s, t = least(greatest(pick - before, ZERO) / greatest(face, LEAST_AREA), ONE), u[1]
    # across x the numbers go along y and z, across y along z and x, across z along x and y
    x, y, z = s if is_z else t, t if is_z else s, t if is_x else s
    is_y = (not is_x) & (not is_z)
    x = (ONE if direction[0] < ZERO else ZERO) if is_x else x
    y = (ONE if direction[1] < ZERO else ZERO) if is_y else y
    z = (ONE if direction[2] < ZERO else ZERO) if is_z else z
    return (fma(x, sides[0], low[0]), fma(y, sides[1], low[1]), fma(z, sides[2], low[2]))


@inlined
def before_sphere(middle: Vec3, radius: float, direction: Vec3, point: Vec3) -> Vec3:
    """Returns where a photon that goes in a direction through a point starts: on the plane that touches the sphere
    around the scene."""
    return along(point, direction, -dot(subtract(point, middle), direction) - radius)


@inlined
def is_in_box(box: Doubles, point: Vec3) -> bool:
    """Returns whether a point is in a box or on its surface."""
    is_in = True
    for axis in range(3):
        is_in &= box[0, axis] <= point[axis] <= box[1, axis]
    return is_in


@inlined
def towards_corner(box: Doubles, corner: int, point: Vec3) -> Vec3:
    """Returns the unit direction from a point to one of the eight corners of a box."""
    position = (box[corner & 1, 0], box[corner >> 1 & 1, 1], box[corner >> 2 & 1, 2])
    return normalize(subtract(position, point))


@inlined
def depart(lights: LightArrays, source: Source, guide: Guide, u: tuple[float, float, float]) -> Departure:
    """Returns a photon that follows a guide, evenly over all of its directions, or over the points of its disc."""
    if not is_outside(source.kind):
        tangent, bitangent = frame(guide.axis)
        direction = to_world(uniform_cone(u[1], u[2], guide.edge), tangent, bitangent, guide.axis)
        return Departure(source.origin, direction, 1.0, True)
    tangent, bitangent = frame(source.axis)
    sine, cosine = sine_cosine(u[2])
    beside = guide.edge * math.sqrt(u[1])
    position = along(along(guide.axis, tangent, beside * cosine), bitangent, beside * sine)
    return Departure(before_light(lights, source, position), source.axis, 1.0, True)


@inlined
def before_light(lights: LightArrays, source: Source, point: Vec3) -> Vec3:
    """Returns where a photon of a light outside that goes through a point starts."""
    return before_sphere(
        triple(lights, source.row, LIGHT_POSITION), outer_radius(lights, source.row), source.axis, point
    )


@inlined
def depart_around(
    lights: LightArrays, box: Doubles, guided: tuple[Source, Vec3, Guide], u: tuple[float, float, float]
) -> Departure:
    """Returns a photon that follows the guide to the box around the scene.

    guided: where the photon leaves the light, the direction drawn from f, and the guide.
    u: uniform numbers, of which the last two say where it goes.
    """
    source, usual, guide = guided
    if is_surface(source.kind):
        return Departure(source.origin, narrowed(usual, source.axis, guide), 1.0, True)
    if not is_outside(source.kind):
        return depart(lights, source, guide, u)
    position = enter_box((box[0, 0], box[0, 1], box[0, 2]), sides_of(box), source.axis, (u[1], u[2]))
    return Departure(before_light(lights, source, position), source.axis, 1.0, True)


@inlined
def narrowed(usual: Vec3, normal: Vec3, cone: Guide) -> Vec3:
    """Returns a direction that was drawn by the cosine, moved into a cone above the surface so that it is one by the
    cosine among the directions of the cone.

    The disc that directions are seen as along the normal becomes the ellipse that the cone is seen as: its middle is
    that of the cone's rim, and it is as wide as the rim, and less deep by the cosine of its axis.

    usual: unit, by the cosine about `normal`.
    normal: unit.
    """
    cosine, sine = dot(cone.axis, normal), math.sqrt(1.0 - cone.edge * cone.edge)
    across, beside = along(cone.axis, normal, -cosine), along(usual, normal, -dot(usual, normal))
    flat = along(beside, across, -dot(beside, across) / (1.0 + cosine))
    seen = add(scale(across, cone.edge), scale(flat, sine))
    rise = math.sqrt(greatest(1.0 - dot(seen, seen), LEAST_COSINE * LEAST_COSINE))
    return along(seen, normal, rise)


@inlined
def goes_around(kind: float, box: Doubles, guide: Guide, departure: Departure) -> bool:
    """Returns whether a photon goes where the guide to the box might have sent it."""
    if not is_outside(kind):
        return covers(kind, guide, departure)
    first, last = -np.inf, np.inf
    for axis in range(3):  # Kay, Kajiya: Ray Tracing Complex Scenes, 1986
        start, step = departure.origin[axis], departure.direction[axis]
        if step == 0.0:
            if start < box[0, axis] or start > box[1, axis]:
                return False
        else:
            t0, t1 = (box[0, axis] - start) / step, (box[1, axis] - start) / step
            first, last = greatest(least(t0, t1), first), least(greatest(t0, t1), last)
    return first <= last


@inlined
def covers(kind: float, guide: Guide, departure: Departure) -> bool:
    """Returns whether a photon goes where the guide might have sent it."""
    if not is_outside(kind):
        return dot(departure.direction, guide.axis) >= guide.edge
    offset = subtract(guide.axis, departure.origin)
    ahead = dot(offset, departure.direction)
    return dot(offset, offset) - ahead * ahead <= guide.edge * guide.edge


@inlined
def reach(lights: LightArrays, projection: Projection, source: Source, guides: Doubles) -> float:
    """Returns the share of a light's flux, from one point of it, that goes to targets: all where one is left to f.

    The density at its axis stands for that of a cone, which is exact but for spots.
    """
    _, is_crossed = take_guides(lights, projection.targets, source, guides)
    if is_crossed:
        return 1.0
    found = 0.0
    for k in range(len(guides)):
        if guides[k, 4] > 0.0:
            guide = guide_of(guides, k)
            # over a cone the mean of the cosine is that along the axis times (1 + edge) / 2
            blunt = 0.5 * (1.0 + guide.edge) if is_surface(source.kind) else 1.0
            found += guide.measure * blunt * photon_density(lights, source, guide.axis)
    return least(found, 1.0)


@inlined
def reach_around(lights: LightArrays, box: Doubles, source: Source) -> float:
    """Returns the share of a surface's light, from one point of it, that goes into the cone over the box around what it
    can light: all where there is no cone."""
    guide = guide_around(lights, box, source)
    return 1.0 if guide.measure < 0.0 else guide.measure
