"""How shadow rays choose among the lights: by power, or by what lights may bring to a vertex where there are many.

The samples of a vertex have strata of the numbers that choose, so that they go to lights that differ.
"""

import math

import numpy as np

from renderer.camera_paths.paths import EyeChunk
from renderer.scene.light_tree import AXIS, COSINE, MIDDLE, NODE_WORDS, POWER, RADIUS, SINE, LightTree
from renderer.simd.columns import column, get, get_word, set_column
from renderer.simd.loops import each, whole
from shaders.elementary import greatest
from shaders.float32 import ONE, ZERO, Float32, Floats, Int
from shaders.random import unit32
from shaders.sampling import interval
from shaders.vector import Vec3, dot, scale, subtract
from tracecore.compilation.cached import inlined
from tracecore.compilation.vector import address

#: The greatest number below 1, which is also the greatest uniform number.
BELOW_ONE = Float32(1.0 - 2.0**-24)

#: Levels of the tree after which a new number chooses: each level takes what it tells from the number.
NUMBER_LASTS = 8

#: Squares of distances are raised to it.
LEAST_SQUARE = Float32(2.0**-80)

#: The chance that a half with lights has at least, so that those which others outshine are found where the others are
#: hidden.
LEAST_CHANCE = Float32(2.0**-10)

Stratum = tuple[float, float]


@inlined
def of_stratum(cumulative: Floats, stratum: Stratum) -> tuple[int, int]:
    """Returns the first light that a sample may choose by power, and how many they are.

    cumulative: (n,) float32, running sums of the lights' probabilities.
    stratum: which sample, of how many.
    """
    first = interval(cumulative, stratum_point(stratum, ZERO))
    return first, interval(cumulative, stratum_point(stratum, BELOW_ONE)) + 1 - first


@inlined
def choose_by_power(
    cumulative: Floats, lights: tuple[int, int], stratum: Stratum, vertices: tuple[EyeChunk, int]
) -> None:
    """Choose a light for each vertex. lights: of the stratum, see `of_stratum`. vertices: a chunk, and how many."""
    (first, left), (chunk, hits) = lights, vertices
    each(pick_stratum, whole(hits), (chunk, stratum, np.int32(first)))
    while left > 1:
        each(halve, whole(hits), (chunk, address(cumulative), np.int32(left >> 1)))
        left -= left >> 1


@inlined
def choose_by_tree(tree: LightTree, stratum: Stratum, chunk: EyeChunk, hits: int) -> None:
    """Choose a light for each of the first `hits` vertices, and write with which chance."""
    each(pick_stratum, whole(hits), (chunk, stratum, np.int32(1)))
    each(begin_choice, whole(hits), chunk)
    for level in range(tree.levels):
        if level == NUMBER_LASTS:
            each(pick_anew, whole(hits), chunk)
        each(descend, whole(hits), (chunk, address(tree.nodes)))
    each(take_light, whole(hits), (chunk, address(tree.lights), Int(len(tree.lights))))


@inlined
def stratum_point(stratum: Stratum, u: float) -> float:
    """Returns a number that chooses a light: each sample has a stratum of its own.
    stratum: which sample, of how many. u: 0..1, where in the stratum."""
    return min((stratum[0] + u) / stratum[1], BELOW_ONE)


@inlined
def pick_stratum(i: int, data: tuple[EyeChunk, Stratum, np.int32]) -> None:
    """Write the number that chooses a light, and the first light that it may be, or the node of all lights.
    data: also has the stratum."""
    chunk, stratum, first = data
    chunk.pick[i] = stratum_point(stratum, unit32(chunk.bits[2, i]))
    chunk.light[i] = first


@inlined
def halve(i: int, data: tuple[EyeChunk, int, np.int32]) -> None:
    """Go on to the upper half of the lights that are left, where the number is not below the sums of the lower one.
    data: also has the address of the running sums of the lights' probabilities, and how many lights a half has."""
    chunk, cumulative, half = data
    light = chunk.light[i]
    above = chunk.pick[i] >= get(cumulative, Int(light + half - Int(1)))
    chunk.light[i] = Int(light + half) if above else light


@inlined
def begin_choice(i: int, chunk: EyeChunk) -> None:
    """Write that the chance of what is chosen so far is 1."""
    chunk.chance[i] = ONE


@inlined
def pick_anew(i: int, chunk: EyeChunk) -> None:
    """Write a new number, as that of the stratum has been used up."""
    chunk.pick[i] = unit32(chunk.bits[3, i])


@inlined
def descend(i: int, data: tuple[EyeChunk, int]) -> None:
    """Go on to a half of a node. data: also has the address of the nodes."""
    chunk, nodes = data
    node, pick = chunk.light[i], chunk.pick[i]
    first = first_chance(nodes, node, column(chunk.position, i))
    is_first = pick < first
    chance, rest = (first if is_first else ONE - first), (pick if is_first else pick - first)
    chunk.light[i] = Int(node + node) if is_first else Int(node + node + Int(1))
    chunk.pick[i] = min(rest / chance, BELOW_ONE)
    chunk.chance[i] = chunk.chance[i] * chance


@inlined
def take_light(i: int, data: tuple[EyeChunk, int, np.int32]) -> None:
    """Write the light of a leaf. data: also has the address of the leaves' lights, and the number of leaves, which is
    that of the first leaf's node."""
    chunk, lights, leaves = data
    chunk.light[i] = Int(get_word(lights, Int(chunk.light[i] - leaves)))


@inlined
def weigh_choice(i: int, chunk: EyeChunk) -> None:
    """Have what a light brings stand for all lights, and its density be that of all."""
    chance = chunk.chance[i]
    set_column(chunk.irradiance, i, scale(column(chunk.irradiance, i), ONE / chance))
    chunk.light_pdf[i] = chunk.light_pdf[i] * chance


@inlined
def chance_at(tree: LightTree, light: int, point: Vec3) -> float:
    """Returns the chance with which the tree chooses a light at a point; 1 where there is no tree, as the densities of
    lights have it then."""
    chance, node = ONE, Int(1)
    for level in range(tree.levels):
        is_first = (tree.leaves[light] >> (tree.levels - 1 - level)) & 1 == 0
        first = first_chance(address(tree.nodes), node, point)
        chance = chance * (first if is_first else ONE - first)
        node = Int(node + node) if is_first else Int(node + node + Int(1))
    return chance


@inlined
def first_chance(nodes: int, node: int, point: Vec3) -> float:
    """Returns the chance of the first half of a node: by what both may bring, or else by power."""
    first, second = Int(node + node), Int(node + node + Int(1))
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
