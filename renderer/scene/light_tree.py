"""Packs the tree by which shadow rays choose among many lights: by what these may bring to a point.

Its leaves, all at one depth, are the lights. Each half of a node has as many of them as the other, within one, and lies
apart from it along the longest side of the box around them. On its way down, a choice takes a half as often as that may
bring light to the point: by its power, its distance, and the directions that its lights shine to.

Conty Estevez, Kulla: Importance Sampling of Many Lights with Adaptive Tree Splitting, 2018.

Lights outside of the scene are as near to one point as to another. They have a half of the tree for themselves, in
which power decides alone, as it does between the two halves.
"""

import math
from typing import NamedTuple

import numpy as np

from scenes.meshes.geometry import areas
from shaders.elementary import greatest
from shaders.float32 import ONE, ZERO, Doubles, Float32, Floats, Int, Ints, Longs
from shaders.lights.kind import Extent, LightArrays
from shaders.lights.registry import FRONTS, boxes_of, numbers_of
from shaders.lights.row import LIGHT_KIND, LIGHT_NORMAL
from shaders.vector import Vec3, dot, subtract
from tracecore.arrays import pieces
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.unit_calls import need
from tracecore.compilation.vector import address, get

#: So many lights of the same power vary as much as those of a scene, at least, where a tree is thought of.
LEAST_LIGHTS = 16.0

#: What units are for that choose by it (`tracecore.compilation.unit_calls.need`).
LIGHTS_BY_TREE = "lights that a tree chooses among"

#: What a level of the tree takes, over what a shadow ray does that light is chosen for by power.
LEVEL_COST = 0.4

#: Points of surfaces at which it is found out whether the tree is worth that, and choices at each.
POINTS, CHOICES = 64, 64

#: Words of a node. middle, radius: of the sphere around the box of its lights, whose radius is infinite where power
#: decides alone. axis, cosine, sine: of the cone around their normals; the cone is all directions where a light has
#: none. power: as a share of that of all lights; 0 of a node without lights.
MIDDLE, RADIUS, AXIS, COSINE, SINE, POWER, NODE_WORDS = 0, 3, 4, 7, 8, 9, 10

#: The greatest number below 1, which is also the greatest uniform number.
BELOW_ONE = Float32(1.0 - 2.0**-24)

#: Squares of distances are raised to it.
LEAST_SQUARE = Float32(2.0**-80)

#: The chance that a half with lights has at least, so that those which others outshine are found where the others are
#: hidden.
LEAST_CHANCE = Float32(2.0**-10)

#: Cosines of cones are made smaller by this, as axes are rounded to float32.
ROUNDING = 1e-6


class LightTree(NamedTuple):
    """Holds the tree of the lights, of which node k has the halves 2 k and 2 k + 1; node 1 is the whole.

    levels: of choices from the whole to a light; 0 where there is no tree, as power alone decides.
    nodes: (2 << levels, NODE_WORDS) float32.
    lights: (1 << levels,) int32, the light of each leaf; 0 of a leaf without one, which is never chosen.
    leaves: (n,) int32, the leaf of each light that has power.
    """

    levels: int
    nodes: Floats
    lights: Ints
    leaves: Ints


#: Is there where power alone decides.
NO_TREE = LightTree(0, np.zeros((2, NODE_WORDS), np.float32), np.zeros(1, np.int32), np.zeros(1, np.int32))


def pack_light_tree(lights: LightArrays, positions: Floats) -> LightTree:
    """Returns the tree of lights, or `NO_TREE` where these are few, a few of them have most of the power, or it is not
    worth its time. positions: (n, 3, 3), triangles of the surfaces."""
    power = lights.probability
    is_outer = np.isin(lights.rows[:, LIGHT_KIND], numbers_of(Extent.OUTSIDE))
    outer, inner = np.flatnonzero((power > 0.0) & is_outer), np.flatnonzero((power > 0.0) & ~is_outer)
    inner_power = power[inner]
    if len(inner) == 0 or inner_power.sum() ** 2 < LEAST_LIGHTS * np.square(inner_power).sum():
        return NO_TREE
    lower, upper = boxes_of(lights.rows[inner])
    levels = max(levels_of(len(inner)), levels_of(len(outer)))
    order = inner[in_halves(0.5 * (lower + upper), levels_of(len(inner)))]
    leaves = leaves_of(order, levels)
    nodes = nodes_of(lights, leaves)
    if len(outer):
        others = leaves_of(outer, levels)
        nodes = side_by_side(nodes_of(lights, others), nodes)
        leaves, levels = np.concatenate([others, leaves]), levels + 1
    found = np.flatnonzero(leaves >= 0)
    numbers = np.zeros(len(power), np.int32)
    numbers[leaves[found]] = found
    tree = LightTree(levels, nodes, np.maximum(leaves, 0).astype(np.int32), numbers)
    gains = gains_of(tree, some_points(positions), CHOICES)
    if len(gains) == 0 or np.median(gains) <= 1.0 + LEVEL_COST * levels:
        return NO_TREE
    need(LIGHTS_BY_TREE)
    return tree


def some_points(positions: Floats) -> Floats:
    """Returns points (POINTS, 3) of triangles (n, 3, 3), spread over their area; none where there is no area."""
    sums = np.cumsum(np.concatenate([areas(positions[piece]) for piece in pieces(len(positions))]))
    if len(sums) == 0 or not 0.0 < sums[-1] < np.inf:
        return np.zeros((0, 3), np.float32)
    u, v, w = np.random.default_rng(0).random((3, POINTS))
    a, b, c = positions[np.searchsorted(sums, (np.arange(POINTS) + u) / POINTS * sums[-1])].transpose(1, 0, 2)
    along, across = np.sqrt(v)[:, None], w[:, None]
    return (a + along * ((b - a) + across * (c - b))).astype(np.float32)


@compiled
def gains_of(tree: LightTree, points: Floats, choices: int) -> Doubles:
    """Returns for each point (n, 3) the mean square of what a sample brings by power over that by the tree, if nothing
    hides lights. choices: of lights, at each point."""
    tree, gains = borrowed(tree), np.ones(len(points))
    nodes = address(tree.nodes)
    for k in range(len(points)):
        point, by_power, by_tree = (points[k, 0], points[k, 1], points[k, 2]), 0.0, 0.0
        for choice in range(choices):
            node, chance, pick = Int(1), ONE, Float32((choice + 0.5) / choices)
            for _ in range(tree.levels):
                first = first_chance(nodes, node, point)
                is_first = pick < first
                own = first if is_first else ONE - first
                pick = min((pick if is_first else pick - first) / own, BELOW_ONE)
                node, chance = half_of(node, is_first), chance * own
            brought = np.float64(importance(nodes, node, point) / chance)
            by_power += brought * importance(nodes, node, point) / word_of(nodes, node, POWER)
            by_tree += brought * brought
        if by_tree > 0.0:
            gains[k] = by_power / by_tree
    return gains


def levels_of(count: int) -> int:
    """Returns how often `count` lights are halved until each is alone."""
    return max(count - 1, 0).bit_length()


def in_halves(middles: Doubles, levels: int) -> Longs:
    """Returns the order (n,) of points (n, 3) in which the halves of each node lie apart along its longest side."""
    count = len(middles)
    order, ranks = np.arange(count), np.empty((3, count), np.int64)
    points = np.ascontiguousarray(middles.T)
    for side, rank in zip(points, ranks, strict=True):
        rank[np.argsort(side, kind="stable")] = order
    for level in range(levels):
        begins = (np.arange(1 << level) * count) >> level
        sizes = np.diff(begins, append=count)
        spans = np.maximum.reduceat(points, begins, axis=1) - np.minimum.reduceat(points, begins, axis=1)
        numbers = np.choose(np.repeat(spans.argmax(axis=0), sizes), ranks)
        moves = np.argsort(numbers + np.repeat(np.arange(1 << level) * count, sizes))
        order, points, ranks = order[moves], points[:, moves], ranks[:, moves]
    return order


def leaves_of(order: Longs, levels: int) -> Longs:
    """Returns the light of each of 1 << levels leaves, or -1 of those without one."""
    borders = (np.arange((1 << levels) + 1) * len(order)) >> levels
    padded = np.append(order, -1)
    return np.where(np.diff(borders) > 0, padded[borders[:-1]], -1)


def nodes_of(lights: LightArrays, leaves: Longs) -> Floats:
    """Returns the nodes (2 k, NODE_WORDS) over leaves (k,), k a power of 2, of which those below 0 have no light."""
    nodes, own = np.zeros((2 * len(leaves), NODE_WORDS), np.float32), ends_of(lights, leaves)
    while True:
        first, is_lit, half = len(own.power), own.power > 0.0, 0.5 * (own.upper - own.lower)
        words = nodes[first : 2 * first]
        words[is_lit, MIDDLE : MIDDLE + 3] = own.lower[is_lit] + half[is_lit]
        words[is_lit, RADIUS] = np.sqrt(dots(half, half))[is_lit]
        words[:, AXIS : AXIS + 3], words[:, POWER] = own.axis, own.power
        words[:, COSINE], words[:, SINE] = own.cosine, np.sqrt(1.0 - own.cosine * own.cosine)
        if first == 1:
            return nodes
        own = joined(own)


class Bounds(NamedTuple):
    """Bounds the lights of nodes: power (n,), box (n, 3), sums (n, 3) of their normals by power, and the cone around
    these, of a unit axis (n, 3) and a cosine (n,), which is 1 where there is no light."""

    power: Doubles
    lower: Doubles
    upper: Doubles
    normal: Doubles
    axis: Doubles
    cosine: Doubles


def ends_of(lights: LightArrays, leaves: Longs) -> Bounds:
    """Returns the bounds of leaves."""
    is_lit, lit = leaves >= 0, leaves[leaves >= 0]
    power, normals, cosine = np.zeros(len(leaves)), np.zeros((len(leaves), 3)), np.ones(len(leaves))
    lower, upper = np.full((len(leaves), 3), np.inf), np.full((len(leaves), 3), -np.inf)
    power[is_lit] = lights.probability[lit]
    lower[is_lit], upper[is_lit] = boxes_of(lights.rows[lit])
    has_front = np.isin(lights.rows[lit, LIGHT_KIND], FRONTS)
    normals[is_lit] = lights.rows[lit, LIGHT_NORMAL : LIGHT_NORMAL + 3] * has_front[:, None]
    cosine[is_lit] = np.where(has_front, 1.0 - ROUNDING, -1.0)
    return Bounds(power, lower, upper, normals * power[:, None], normals, cosine)


def joined(halves: Bounds) -> Bounds:
    """Returns the bounds of nodes of which every two of these are the halves."""
    power, normal = halves.power[::2] + halves.power[1::2], halves.normal[::2] + halves.normal[1::2]
    length = np.sqrt(dots(normal, normal))
    axis = normal / np.where(length > 0.0, length, 1.0)[:, None]
    along = np.clip(dots(np.repeat(axis, 2, axis=0), halves.axis), -1.0, 1.0)
    sines = np.sqrt(1.0 - along * along), np.sqrt(1.0 - halves.cosine * halves.cosine)
    farthest = np.where(along > -halves.cosine, along * halves.cosine - sines[0] * sines[1], -1.0)
    cosine = np.where(halves.power > 0.0, farthest, 1.0).reshape(-1, 2).min(axis=1)
    lower, upper = (
        np.minimum(halves.lower[::2], halves.lower[1::2]),
        np.maximum(halves.upper[::2], halves.upper[1::2]),
    )
    return Bounds(power, lower, upper, normal, axis, cosine)


def dots(a: Doubles, b: Doubles) -> Doubles:
    """Returns the dot products of vectors (k, 3), their sums in order."""
    products = a * b
    return products[:, 0] + products[:, 1] + products[:, 2]


def side_by_side(outer: Floats, inner: Floats) -> Floats:
    """Returns the nodes of a tree whose halves are lights outside of the scene, and those in it."""
    outer[:, RADIUS], inner[1, RADIUS] = np.inf, np.inf
    nodes, first = np.zeros((2 * len(outer), NODE_WORDS), np.float32), 1
    while first < len(outer):
        own = slice(first, 2 * first)
        nodes[2 * first : 4 * first] = np.concatenate([outer[own], inner[own]])
        first *= 2
    return nodes


@inlined
def chance_at(tree: LightTree, light: int, point: Vec3) -> float:
    """Returns the chance with which the tree chooses a light at a point; 1 where there is no tree, as the densities of
    lights have it then."""
    chance, node = ONE, Int(1)
    for level in range(tree.levels):
        is_first = (tree.leaves[light] >> (tree.levels - 1 - level)) & 1 == 0
        first = first_chance(address(tree.nodes), node, point)
        chance = chance * (first if is_first else ONE - first)
        node = half_of(node, is_first)
    return chance


@inlined
def half_of(node: int, is_first: bool) -> int:
    """Returns the node of the first or the second half of a node."""
    return Int(node + node + (Int(0) if is_first else Int(1)))


@inlined
def first_chance(nodes: int, node: int, point: Vec3) -> float:
    """Returns the chance of the first half of a node: by what both may bring, or else by power."""
    first, second = half_of(node, True), half_of(node, False)
    brought, other = importance(nodes, first, point), importance(nodes, second, point)
    power, other_power = word_of(nodes, first, POWER), word_of(nodes, second, POWER)
    is_told = brought + other > ZERO
    chance = (brought if is_told else power) / (brought + other if is_told else power + other_power)
    is_open = (power > ZERO) & (other_power > ZERO)
    return min(max(chance, LEAST_CHANCE), ONE - LEAST_CHANCE) if is_open else chance


@inlined
def importance(nodes: int, node: int, point: Vec3) -> float:
    """Returns what the lights of a node may bring to a point at most: power over the square of the distance, times
    the cosine at the light that is turned towards the point as far as any of them may be."""
    offset = subtract(point, vector_of(nodes, node, MIDDLE))
    square, radius = dot(offset, offset), word_of(nodes, node, RADIUS)
    is_outside = square > radius * radius
    nearest = greatest(greatest(square, radius * radius), LEAST_SQUARE)
    per_length = ONE / math.sqrt(nearest)
    ahead = min(max(dot(vector_of(nodes, node, AXIS), offset) * per_length, -ONE), ONE)
    angle = (ahead, math.sqrt(ONE - ahead * ahead))
    normals = (word_of(nodes, node, COSINE), word_of(nodes, node, SINE))
    across = min(radius * per_length, ONE)  # the sine of the angle that the sphere fills
    sphere = (math.sqrt(ONE - across * across), across)
    cosine, _ = less(less(angle, normals), sphere)
    facing = greatest(cosine, ZERO) if is_outside else ONE
    return word_of(nodes, node, POWER) * facing / nearest


@inlined
def less(angle: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Returns the cosine and sine of the difference of two angles in 0..pi, or of 0 where the other is greater."""
    (cosine, sine), (other_cosine, other_sine) = angle, other
    is_within = cosine >= other_cosine
    difference = cosine * other_cosine + sine * other_sine
    return ONE if is_within else difference, ZERO if is_within else sine * other_cosine - cosine * other_sine


@inlined
def word_of(nodes: int, node: int, word: int) -> float:
    """Returns a word of a node."""
    return get(nodes, Int(node * Int(NODE_WORDS) + Int(word)))


@inlined
def vector_of(nodes: int, node: int, word: int) -> Vec3:
    """Returns three words of a node."""
    return (word_of(nodes, node, word), word_of(nodes, node, word + 1), word_of(nodes, node, word + 2))
