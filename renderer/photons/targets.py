"""What photons are sent to (`photon_projection`), and how many of them each light gets for it."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from renderer.photons.surroundings import boxes_around
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import join_triangles, pack_emitters
from renderer.scene.projection import ENDLESS, GUIDE_COLUMNS, NO_PROJECTION, Projection, pack_aims, reach, reach_around
from shaders.alias_table import pack_aliases
from shaders.float32 import Bools, Doubles, Floats, Longs
from shaders.lights.kind import Extent, LightArrays, Source, triple
from shaders.lights.point import POINT
from shaders.lights.registry import is_surface, numbers_of
from shaders.lights.row import LIGHT_EDGE_1, LIGHT_EDGE_2, LIGHT_KIND, LIGHT_NORMAL, LIGHT_POSITION
from shaders.lights.triangle import TRIANGLE
from shaders.vector import along
from tracecore.compilation.cached import compiled

#: Spheres around nothing.
NO_SPHERES = np.empty((0, 4))

#: Most spheres: each photon looks at all of them.
MOST_TARGETS = 12

#: Of photons that are sent where light is needed, so many are spread evenly, so that nothing is missed.
EVEN_SHARE = 0.1

#: Spheres are this much larger than they must be, for what rounding takes.
RADIUS_MARGIN = 1.0001

#: A light keeps this much of its share by power, however little of it goes to targets.
LEAST_SHARE = 1.0 / 16.0

#: The fewest slots, a power of two, of a table that finds corners: twice as many as there may be.
LEAST_SLOTS = 16

#: Places of a light at which it is asked what it sends to targets.
LIGHT_SAMPLES = 16

#: Odd numbers that make one word of the three of a corner.
WORD_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)


class Targets:
    """Knows what photons of a scene can be sent to, each part from when it is first asked for."""

    def __init__(self, scene: PackedScene) -> None:
        self.scene = scene

    @cached_property
    def sharp(self) -> Doubles:
        """Returns spheres around mirrors and glass, as `specular_spheres` does."""
        return specular_spheres(self.scene)

    @cached_property
    def joined(self) -> tuple[Doubles, Doubles, Bools]:
        """Returns the lights, as `join_triangles` does: rows, shares of the power, and whether each is a square."""
        return join_triangles(self.scene.lights)

    @cached_property
    def around(self) -> Doubles:
        """Returns the boxes around all that the lights can light, as `boxes_around` does."""
        rows, power, is_square = self.joined
        boxes = boxes_around(self.scene.surfaces, rows, power > 0.0, is_square)
        return narrower(self.scene.lights._replace(rows=rows), boxes, is_square)

    def projected(self, share: float, needed: Doubles = NO_SPHERES) -> PackedScene:
        """Returns the scene with a share of its photons sent to mirrors and glass, and the others to what there is.

        It is the scene itself where neither makes a difference. A share of 1 is for caustic maps: what goes elsewhere
        is left out.

        share: 0..1.
        needed: (k, 4) float64, spheres around what else light is needed for, which get all but a tenth of the others.
        """
        lights, photon_scene, around = self.scene.lights, self.scene.photon_scene, self.around
        spheres = NO_SPHERES if share <= 0.0 else self.sharp
        targets = np.column_stack([spheres, np.ones(len(spheres))])
        if len(needed):
            targets, share = with_needed(spheres, share, needed)
        if lights.power <= 0.0 or (len(targets) == 0 and np.isinf(around).all()):
            return self.scene
        rows, power, is_square = self.joined
        aims = pack_aims(rows, around, len(targets) > 0)
        projection = Projection(targets, share if len(targets) else 0.0, around, aims)
        budgets = light_budgets(lights._replace(rows=rows), power, is_square, projection)
        shared = lights._replace(
            probability=budgets_of_rows(lights, rows, budgets),
            strongest_flux=lights.strongest_flux * float((power[power > 0.0] / budgets[power > 0.0]).max()),
        )
        return self.scene._replace(
            photon_scene=photon_scene._replace(
                emitters=pack_emitters(rows, budgets, is_square),
                aliases=pack_aliases(budgets),
                lights=shared,
                projection=projection,
            )
        )


def with_needed(sharp: Doubles, share: float, needed: Doubles) -> tuple[Doubles, float]:
    """Returns the targets of spheres around mirrors and glass, which have a share of the photons, and of those around
    what is needed, with as many for each; and the share of both. sharp, needed: (k, 4) float64.
    """
    own = (1.0 - EVEN_SHARE) * (1.0 - share)
    needed = np.column_stack([needed, own / len(needed) / np.square(needed[:, 3])])
    if len(sharp) == 0:
        return needed, own
    density = share / float(np.cumsum(np.square(sharp[:, 3]))[-1])
    return np.concatenate([np.column_stack([sharp, np.full(len(sharp), density)]), needed]), own + share


def narrower(lights: LightArrays, around: Doubles, is_square: Bools) -> Doubles:
    """Returns the boxes around what lights can light without those that no cone above a surface has in it."""
    is_bounded = np.isfinite(around).any(axis=(1, 2))
    is_in_doubt = is_bounded & np.isin(lights.rows[:, LIGHT_KIND], numbers_of(Extent.SURFACE))
    if not is_in_doubt.any():  # as where all lights are in a room: then `reaches` need not even be compiled
        return around
    sent = reaches(lights, NO_PROJECTION._replace(around=around), is_square)[:, 1]
    return np.where((is_in_doubt & (sent >= 1.0))[:, None, None], ENDLESS, around)


def budgets_of_rows(lights: LightArrays, rows: Doubles, budgets: Doubles) -> Doubles:
    """Returns budgets of joined lights as those of rows, for the kinds that are never joined."""
    probability = lights.probability.copy()
    is_other = (~np.isin(table[:, LIGHT_KIND], (POINT, TRIANGLE)) for table in (lights.rows, rows))
    single, joined = map(np.flatnonzero, is_other)
    probability[single] = budgets[joined]
    return probability


def light_budgets(lights: LightArrays, power: Doubles, is_square: Bools, to: Projection) -> Doubles:
    """Returns the probabilities with which photons choose lights: (n,) float64.

    In part they follow the power that is sent out, in part that which goes to targets, so that a lamp beside glass is
    not left out among stronger ones.

    power: (n,) float64, the lights' shares of it.
    """
    to_targets, around = reaches(lights, to, is_square).T
    useful, sent = power * to_targets, power * np.maximum(around, LEAST_SHARE)
    if (around < 1.0).any():
        power = sent / sent.sum()
    if useful.sum() <= 0.0:
        return power
    part = min(to.share, 1.0 - LEAST_SHARE)
    return (1.0 - part) * power + part * useful / useful.sum()


@compiled
def reaches(lights: LightArrays, to: Projection, is_square: Bools) -> Doubles:
    """Returns the share of each light's flux that goes to targets, and that which is sent out if none does: (n, 2)
    float64. The second is 1 but of surfaces that are outside of what they can light.

    They are means over some points of the light.
    (Roberts: The Unreasonable Effectiveness of Quasirandom Sequences, 2018.)
    """
    shares, guides = np.zeros((len(lights.rows), 2)), np.empty((len(to.targets), GUIDE_COLUMNS))
    for light in range(len(lights.rows)):
        kind = lights.rows[light, LIGHT_KIND]
        samples = LIGHT_SAMPLES if is_surface(kind) else 1
        for sample in range(samples):
            origin = triple(lights, light, LIGHT_POSITION)
            if is_surface(kind):
                s, t = 0.7548776662466927 * (sample + 0.5) % 1.0, 0.5698402909980532 * (sample + 0.5) % 1.0
                is_beyond = s + t > 1.0 and not is_square[light]
                s, t = 1.0 - s if is_beyond else s, 1.0 - t if is_beyond else t
                origin = along(
                    along(origin, triple(lights, light, LIGHT_EDGE_1), s), triple(lights, light, LIGHT_EDGE_2), t
                )
            source = Source(kind, light, origin, triple(lights, light, LIGHT_NORMAL))
            shares[light, 0] += reach(lights, to, source, guides) / samples
            shares[light, 1] += reach_around(lights, to.around[light], source) / samples if is_surface(kind) else 1.0
    return shares


def specular_spheres(scene: PackedScene) -> Doubles:
    """Returns middle and radius, (k, 4) float64, of no more than MOST_TARGETS spheres around all mirrors and glass.

    Objects are what hangs together. All are split in two along the longest side of the box around their middles, the
    largest sphere first, as long as there may be more.
    """
    triangles = np.ascontiguousarray(scene.surfaces.positions[scene.are_sharp[scene.surfaces.material_ids]])
    if len(triangles) == 0:
        return NO_SPHERES
    places, middles = places_of_objects(triangles)
    parts = [(sphere_around(places, every := np.arange(len(places))), every)]
    whole: list[Doubles] = []
    while parts and len(parts) + len(whole) < MOST_TARGETS:
        sphere, own = parts.pop(int(np.argmax([part[0][3] for part in parts])))
        is_far = are_far(middles, own)
        if not is_far.any():
            whole.append(sphere)
        else:
            parts += [(sphere_around(places, half), half) for half in (own[~is_far], own[is_far])]
    return np.array([sphere for sphere, _ in parts] + whole)


@compiled
def places_of_objects(triangles: Floats) -> tuple[Floats, Doubles]:
    """Returns the corners of triangles (n, 3, 3), each of them once, and the middles of the boxes around the objects
    that they are of: (m, 3) float32 and float64. Triangles that share corners, also through others, are one object.
    """
    count, places = len(triangles), np.empty((3 * len(triangles), 3), np.float32)
    objects, owners = np.arange(count), np.empty(3 * count, np.int32)
    found = find_places(triangles.view(np.uint32), places.view(np.uint32), owners, objects)
    boxes, middles = np.full((count, 2, 3), -np.inf), np.empty((found, 3))
    for k in range(found):
        box = boxes[first_of(objects, owners[k])]
        for axis in range(3):
            place = np.float64(places[k, axis])
            box[0, axis], box[1, axis] = max(box[0, axis], place), max(box[1, axis], -place)
    for k in range(found):
        box = boxes[first_of(objects, owners[k])]
        for axis in range(3):
            middles[k, axis] = 0.5 * (box[0, axis] - box[1, axis])
    return places[:found].copy(), middles


@compiled
def find_places(
    words: npt.NDArray[np.uint32], places: npt.NDArray[np.uint32], owners: npt.NDArray[np.int32], objects: Longs
) -> int:
    """Writes the corners of triangles, each of them once. Returns how many there are.

    words: (n, 3, 3), those of the corners.
    places: (3 * n, 3), their words.
    owners: (3 * n,), a triangle of each.
    objects: (n,), the numbers of all triangles: gets for each a triangle that `first_of` leads on from to the first one
        of its object.
    """
    found, count = 0, LEAST_SLOTS
    while count < 6 * len(words):
        count *= 2
    slots = np.full(count, -1, np.int32)
    for i in range(len(words)):
        for corner in range(3):
            own = words[i, corner]
            word = own[0] * WORD_FACTORS[0] + own[1] * WORD_FACTORS[1] + own[2] * WORD_FACTORS[2]
            slot = np.int64(word >> np.uint64(20)) & (len(slots) - 1)
            while slots[slot] >= 0 and not are_same(places[slots[slot]], own):
                slot = (slot + 1) & (len(slots) - 1)
            if slots[slot] < 0:
                slots[slot], owners[found] = found, i
                for axis in range(3):
                    places[found, axis] = own[axis]
                found += 1
            one, other = first_of(objects, i), first_of(objects, owners[slots[slot]])
            objects[max(one, other)] = min(one, other)
    return found


@compiled
def are_same(one: npt.NDArray[np.uint32], other: npt.NDArray[np.uint32]) -> bool:
    """Returns whether corners have the same words."""
    return one[0] == other[0] and one[1] == other[1] and one[2] == other[2]


@compiled
def first_of(firsts: Longs, one: int) -> int:
    """Returns the first triangle that is known to be of the same object as one."""
    while firsts[one] != one:
        firsts[one] = firsts[firsts[one]]
        one = firsts[one]
    return one


@compiled
def are_far(middles: Doubles, own: Longs) -> Bools:
    """Returns which of the corners `own` lie in the far half, by the middles of the objects that they belong to, of the
    box around these along its longest side."""
    longest, width, middle = 0, -1.0, 0.0
    for axis in range(3):
        low, high = np.inf, -np.inf
        for i in own:
            low, high = min(low, middles[i, axis]), max(high, middles[i, axis])
        if high - low > width:
            longest, width, middle = axis, high - low, 0.5 * (low + high)
    far = np.empty(len(own), np.bool_)
    for k in range(len(own)):
        far[k] = middles[own[k], longest] > middle
    return far


@compiled
def sphere_around(places: Floats, own: Longs) -> Doubles:
    """Returns a sphere around some corners, the middle of their box and its radius: (4,) float64.

    places: (n, 3). own: which of them.
    """
    sphere, farthest = np.empty(4), 0.0
    for axis in range(3):
        low, high = np.inf, -np.inf
        for i in own:
            place = np.float64(places[i, axis])
            low, high = min(low, place), max(high, place)
        sphere[axis] = 0.5 * (low + high)
    for i in own:
        squared = 0.0
        for axis in range(3):
            squared += (places[i, axis] - sphere[axis]) ** 2
        farthest = max(farthest, squared)
    sphere[3] = RADIUS_MARGIN * np.sqrt(farthest)
    return sphere
