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

#: Places of a light at which it is asked what it sends to targets.
LIGHT_SAMPLES = 16

#: Odd numbers that make one word of the three of a corner. Two corners in one word would join two objects, no more.
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
    middles = middles_of_objects(triangles)
    parts = [(sphere_around(triangles, every := np.arange(len(triangles))), every)]
    whole: list[Doubles] = []
    while parts and len(parts) + len(whole) < MOST_TARGETS:
        sphere, own = parts.pop(int(np.argmax([part[0][3] for part in parts])))
        is_far = are_far(middles, own)
        if not is_far.any():
            whole.append(sphere)
        else:
            parts += [(sphere_around(triangles, half), half) for half in (own[~is_far], own[is_far])]
    return np.array([sphere for sphere, _ in parts] + whole)


def middles_of_objects(triangles: Floats) -> Doubles:
    """Returns the middle of the box around the object that each triangle (n, 3, 3) is of: (n, 3) float64. Triangles
    that share corners, also through others, are one object."""
    slots = np.full(1 << (8 * len(triangles) - 1).bit_length(), -1)
    corners, firsts = np.empty((len(triangles), 3), np.uint64), np.arange(len(triangles))
    find_objects(triangles.view(np.uint32), slots, corners, firsts)
    boxes = np.full((2, 3, len(triangles)), -np.inf)
    widen_boxes(triangles, firsts, boxes)
    upper, lower = boxes[:, :, firsts]
    return np.ascontiguousarray((0.5 * (upper - lower)).T)


@compiled
def find_objects(words: npt.NDArray[np.uint32], slots: Longs, corners: npt.NDArray[np.uint64], firsts: Longs) -> None:
    """Writes for each triangle the first one of its object to `firsts`, which holds the numbers of all.

    words: (n, 3, 3), of their corners.
    slots: -1 each, a power of two of them and more than there are corners.
    corners: (n, 3), for a word of each corner.
    """
    for i in range(len(words)):
        for corner in range(3):
            word = np.uint64(0)
            for axis in range(3):
                word += np.uint64(words[i, corner, axis]) * WORD_FACTORS[axis]
            corners[i, corner] = word
            slot = np.int64(word >> np.uint64(20)) & (len(slots) - 1)
            while slots[slot] >= 0 and corners[slots[slot] // 3, slots[slot] % 3] != word:
                slot = (slot + 1) & (len(slots) - 1)
            if slots[slot] < 0:
                slots[slot] = 3 * i + corner
            one, other = first_of(firsts, i), first_of(firsts, slots[slot] // 3)
            firsts[max(one, other)] = min(one, other)
    for i in range(len(words)):
        firsts[i] = first_of(firsts, i)


@compiled
def first_of(firsts: Longs, one: int) -> int:
    """Returns the first triangle that is known to be of the same object as one."""
    while firsts[one] != one:
        firsts[one] = firsts[firsts[one]]
        one = firsts[one]
    return one


@compiled
def widen_boxes(triangles: Floats, firsts: Longs, boxes: Doubles) -> None:
    """Widens the box of each object, (2, 3, n) at its first triangle, by its triangles: upper ends, and lower ones with
    their signs turned."""
    for i in range(len(triangles)):
        for corner in range(3):
            for axis in range(3):
                place = np.float64(triangles[i, corner, axis])
                boxes[0, axis, firsts[i]] = max(boxes[0, axis, firsts[i]], place)
                boxes[1, axis, firsts[i]] = max(boxes[1, axis, firsts[i]], -place)


@compiled
def are_far(middles: Doubles, own: Longs) -> Bools:
    """Returns which of the triangles `own` lie in the far half, by the middles of the objects that they belong to, of
    the box around these along its longest side."""
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
def sphere_around(triangles: Floats, own: Longs) -> Doubles:
    """Returns a sphere around some triangles, the middle of their box and its radius: (4,) float64.

    triangles: (n, 3, 3). own: which of them.
    """
    sphere, farthest = np.empty(4), 0.0
    for axis in range(3):
        low, high = np.inf, -np.inf
        for i in own:
            for corner in range(3):
                place = np.float64(triangles[i, corner, axis])
                low, high = min(low, place), max(high, place)
        sphere[axis] = 0.5 * (low + high)
    for i in own:
        for corner in range(3):
            squared = 0.0
            for axis in range(3):
                squared += (triangles[i, corner, axis] - sphere[axis]) ** 2
            farthest = max(farthest, squared)
    sphere[3] = RADIUS_MARGIN * np.sqrt(farthest)
    return sphere
