"""Packs the tree by which shadow rays choose among many lights: by what these may bring to a point.

Its leaves, all at one depth, are the lights. Each half of a node has as many of them as the other, within one, and lies
apart from it along the longest side of the box around them. On its way down, a choice takes a half as often as that may
bring light to the point: by its power, its distance, and the directions that its lights shine to.

Conty Estevez, Kulla: Importance Sampling of Many Lights with Adaptive Tree Splitting, 2018.

Lights outside of the scene are as near to one point as to another. They have a half of the tree for themselves, in
which power decides alone, as it does between the two halves.
"""

from typing import NamedTuple

import numpy as np

from shaders.float32 import Doubles, Floats, Ints, Longs
from shaders.lights.kind import Extent, LightArrays
from shaders.lights.registry import FRONTS, boxes_of, numbers_of
from shaders.lights.row import LIGHT_KIND, LIGHT_NORMAL

#: So many lights of the same power vary as much as those of a scene, at least, where a tree is worth its time.
LEAST_LIGHTS = 16.0

#: Words of a node. middle, radius: of the sphere around the box of its lights, whose radius is infinite where power
#: decides alone. axis, cosine, sine: of the cone around their normals; the cone is all directions where a light has
#: none. power: as a share of that of all lights; 0 of a node without lights.
MIDDLE, RADIUS, AXIS, COSINE, SINE, POWER, NODE_WORDS = 0, 3, 4, 7, 8, 9, 10


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


def pack_light_tree(lights: LightArrays) -> LightTree:
    """Returns the tree of lights, or `NO_TREE` where these are few, or a few of them have most of the power."""
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
    return LightTree(levels, nodes, np.maximum(leaves, 0).astype(np.int32), numbers)


def levels_of(count: int) -> int:
    """Returns how often `count` lights are halved until each is alone."""
    return max(count - 1, 0).bit_length()


def in_halves(middles: Doubles, levels: int) -> Longs:
    """Returns the order (n,) of points (n, 3) in which the halves of each node lie apart along its longest side."""
    order = np.arange(len(middles))
    for level in range(levels):
        begins = (np.arange(1 << level) * len(middles)) >> level
        points, node = middles[order], np.repeat(np.arange(1 << level), np.diff(begins, append=len(middles)))
        sides = np.maximum.reduceat(points, begins) - np.minimum.reduceat(points, begins)
        along = np.take_along_axis(points, sides.argmax(axis=1)[node, None], axis=1)[:, 0]
        order = order[np.lexsort((along, node))]
    return order


def leaves_of(order: Longs, levels: int) -> Longs:
    """Returns the light of each of 1 << levels leaves, or -1 of those without one."""
    borders = (np.arange((1 << levels) + 1) * len(order)) >> levels
    padded = np.append(order, -1)
    return np.where(np.diff(borders) > 0, padded[borders[:-1]], -1)


def nodes_of(lights: LightArrays, leaves: Longs) -> Floats:
    """Returns the nodes (2 k, NODE_WORDS) over leaves (k,), k a power of 2, of which those below 0 have no light."""
    has_light, lit = leaves >= 0, leaves[leaves >= 0]
    power, normals, cosines = np.zeros(len(leaves)), np.zeros((len(leaves), 3)), np.ones(len(leaves))
    lower, upper = np.full((len(leaves), 3), np.inf), np.full((len(leaves), 3), -np.inf)
    power[has_light] = lights.probability[lit]
    lower[has_light], upper[has_light] = boxes_of(lights.rows[lit])
    has_front = np.isin(lights.rows[lit, LIGHT_KIND], FRONTS)
    normals[has_light] = lights.rows[lit, LIGHT_NORMAL : LIGHT_NORMAL + 3] * has_front[:, None]
    cosines[has_light] = np.where(has_front, 1.0, -1.0)  # at most
    nodes, weighted, first = np.zeros((2 * len(leaves), NODE_WORDS), np.float32), normals * power[:, None], len(leaves)
    while first > 0:
        own = nodes[first : 2 * first]
        own[:, POWER] = power
        put_spheres(own, lower, upper)
        put_cones(own, weighted, (normals, cosines))
        lower, upper = np.minimum(lower[::2], lower[1::2]), np.maximum(upper[::2], upper[1::2])
        power, weighted, first = power[::2] + power[1::2], weighted[::2] + weighted[1::2], first // 2
    return nodes


def put_spheres(nodes: Floats, lower: Doubles, upper: Doubles) -> None:
    """Writes the spheres of nodes with lights from their boxes, (k, 3) each."""
    some = nodes[:, POWER] > 0.0
    half = 0.5 * (upper[some] - lower[some])
    nodes[some, MIDDLE : MIDDLE + 3] = lower[some] + half
    nodes[some, RADIUS] = np.sqrt(dots(half, half))


def put_cones(nodes: Floats, weighted: Doubles, of_leaves: tuple[Doubles, Doubles]) -> None:
    """Writes the cones of nodes.

    weighted: (k, 3), the sums of their lights' normals by power.
    of_leaves: the normals of all leaves, and the cosine that the cone of a leaf has at most.
    """
    normals, most = of_leaves
    length = np.sqrt(dots(weighted, weighted))
    axes = weighted / np.where(length > 0.0, length, 1.0)[:, None]
    along = dots(np.repeat(axes, len(normals) // len(nodes), axis=0), normals)
    cosines = np.where((normals != 0.0).any(axis=1), along, most).reshape(len(nodes), -1).min(axis=1)
    cosines = np.clip(cosines - ROUNDING, -1.0, 1.0)
    nodes[:, AXIS : AXIS + 3] = axes
    nodes[:, COSINE], nodes[:, SINE] = cosines, np.sqrt(1.0 - cosines * cosines)


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
