"""This module holds a sky, radiance from all around as an image of rows from pole to pole, and draws directions in
proportion to it.

Texels are not blended: within one the radiance is constant, and so is the density of the directions that are drawn.
The density is a row's share of the power, times a texel's share of its row, over the solid angle of the texel. Pharr,
Jakob, Humphreys: Physically Based Rendering, 4th edition, 2023, section 12.5.

The frame of the image: y is up, to the first row. The middle of a row lies along -z, and from there it runs to +x.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shaders.alias_table import ALIAS, draw_alias, pack_aliases
from shaders.compilation import address, compiled, get
from shaders.elementary import cosine, greatest, least, sine_cosine, turns_to
from shaders.float32 import HALF, ONE, TWO, ZERO, Doubles, Float32, Floats, Int
from shaders.sampling import interval
from shaders.vector import Color, Vec3, in_single

#: Row and column.
Texel = tuple[int, int]

#: A row as photons draw it: an ALIAS, y of its upper edge, and how far down the lower one is.
SKY_ROW = np.dtype([*((name, ALIAS[name]) for name in ("share", "alias")), ("top", "<f4"), ("depth", "<f4")])
ROW_WORDS, TEXEL_WORDS = Int(SKY_ROW.itemsize // 4), Int(ALIAS.itemsize // 4)


class EnvironmentArrays(NamedTuple):
    """Holds the image of a sky, and running sums by which directions are drawn."""

    radiance: Floats  # (h, w, 3) float32, W/(m^2 sr)
    edges: Doubles  # (h + 1,) float64, y of the edges between the rows, from 1 to -1
    rows: Doubles  # (h,) float64, running sum of the rows' shares of the power, the last exactly 1
    # (h, w) float64, running sum of the texels' shares of their row, the last exactly 1; zeros in a black row
    columns: Doubles
    # sky_rows, sky_texels: (h,) SKY_ROW and (h, w) ALIAS, by which photons draw rows, and texels of a row
    sky_rows: npt.NDArray[np.void]
    sky_texels: npt.NDArray[np.void]


class Sky(NamedTuple):
    """Is the image of a sky as vector loops read it: addresses, and its height and width."""

    rows: int
    texels: int
    radiance: int
    height: np.uint64
    width: np.uint64


def edges_of(height: int) -> Doubles:
    """Returns y (h + 1,) of the edges between rows."""
    edges: Doubles = cosine(np.arange(height + 1) / (2.0 * max(height, 1)))
    return edges


def solid_angles(height: int, width: int) -> Doubles:
    """Returns the solid angle (h,) in sr of a texel of each row."""
    edges = edges_of(height)
    angles: Doubles = (2.0 * math.pi / width) * (edges[:-1] - edges[1:])
    return angles


def pack_environment(radiance: Floats) -> EnvironmentArrays:
    """Packs an image (h, w, 3) with the shares of its texels, by the mean of channels; one of no rows is no sky."""
    height, width, _ = radiance.shape
    edges, columns = edges_of(height), radiance.mean(axis=2, dtype=np.float64)
    rows = columns.sum(axis=1) * solid_angles(height, width) if height else np.zeros(0)
    columns /= np.where(columns.any(axis=1), columns.sum(axis=1), 1.0)[:, None]
    rows /= rows.sum() if rows.any() else 1.0
    sky_rows, sky_texels, of_rows = np.zeros(height, SKY_ROW), pack_aliases(columns), pack_aliases(rows)
    if height:
        sky_rows["top"], sky_rows["depth"] = edges[:-1], edges[:-1] - edges[1:]
        sky_rows["share"], sky_rows["alias"] = of_rows["share"], of_rows["alias"]
    image = np.ascontiguousarray(radiance, np.float32)
    return EnvironmentArrays(image, edges, running_sums(rows), running_sums(columns), sky_rows, sky_texels)


def running_sums(shares: Doubles) -> Doubles:
    """Returns the running sums of shares (..., n) of one each; the last are exactly 1 but where all shares are 0."""
    sums: Doubles = np.cumsum(shares, axis=-1)
    return sums / np.where(sums[..., -1:] > 0.0, sums[..., -1:], 1.0)


def mean_radiance(radiance: Floats) -> Doubles:
    """Returns the mean radiance (3,) over the sphere of directions."""
    height, width, _ = radiance.shape
    by_row = radiance.sum(axis=1, dtype=np.float64)
    mean: Doubles = (solid_angles(height, width)[:, None] * by_row).sum(axis=0) / (4.0 * math.pi)
    return mean


def strongest_tint(radiance: Floats) -> float:
    """Returns the greatest value of a channel over the mean of the channels; 0 of an image that is black."""
    means = radiance.mean(axis=2, dtype=np.float64)
    bright = means > 0.0
    return float((radiance.max(axis=2)[bright] / means[bright]).max(initial=0.0))


@compiled
def sky_of(environment: EnvironmentArrays) -> Sky:
    """Returns the image as vector loops read it."""
    height, width, _ = environment.radiance.shape
    rows, texels = address(environment.sky_rows), address(environment.sky_texels)
    return Sky(rows, texels, address(environment.radiance), np.uint64(height), np.uint64(width))


@compiled
def draw_texel(sky: Sky, bits: tuple[np.uint32, np.uint32]) -> tuple[Vec3, Color]:
    """Draws a texel in proportion to its power, for vector loops. Returns a unit direction to it in the frame of the
    image, and its radiance; float32."""
    row, down = draw_alias((sky.rows, Int(0), ROW_WORDS), sky.height, bits[0])
    first = Int(row * Int(sky.width))
    column, across = draw_alias((sky.texels, Int(first * TEXEL_WORDS), TEXEL_WORDS), sky.width, bits[1])
    start = Int(row * ROW_WORDS)
    y = get(sky.rows, Int(start + Int(2))) - get(sky.rows, Int(start + Int(3))) * down
    radius = math.sqrt(greatest(ONE - y * y, ZERO))
    sine, away = sine_cosine((Float32(column) + across) / Float32(Int(sky.width)))  # from +z, the edge, on
    return (-radius * sine, y, radius * away), radiance_at(sky, Int(first + column))


@compiled
def texel_of(environment: EnvironmentArrays, direction: Vec3) -> Texel:
    """Returns the texel that a unit direction, in the frame of the image, points to."""
    height, width, _ = environment.radiance.shape
    x, y, z = in_single(direction)
    down, right = TWO * turns_to(y, math.sqrt(x * x + z * z)), HALF + turns_to(-z, x)
    return min(int(down * height), height - 1), min(int(right * width), width - 1)


@compiled
def seen_texel(sky: Sky, direction: Vec3) -> Color:
    """Returns the radiance of the texel of `texel_of`, for vector loops. The direction may have any length."""
    x, y, z = direction
    down, right = TWO * turns_to(y, math.sqrt(x * x + z * z)), HALF + turns_to(-z, x)
    row, column = step_of(down, Int(sky.height)), step_of(right, Int(sky.width))
    return radiance_at(sky, Int(Int(row * Int(sky.width)) + column))


@compiled
def step_of(part: float, steps: int) -> int:
    """Returns in which of some equal steps of 0..1 a number is, float32; one of them where it is none of these."""
    last = Float32(Int(steps - Int(1)))
    return Int(greatest(least(part * Float32(steps), last), ZERO))


@compiled
def radiance_at(sky: Sky, texel: int) -> Color:
    """Returns the radiance of a texel, by its number."""
    channel = Int(texel * Int(3))
    return (
        get(sky.radiance, channel),
        get(sky.radiance, Int(channel + Int(1))),
        get(sky.radiance, Int(channel + Int(2))),
    )


@compiled
def texel_radiance(environment: EnvironmentArrays, texel: Texel) -> Color:
    """Returns the radiance that comes from a texel."""
    color = environment.radiance[texel]
    return (np.float64(color[0]), np.float64(color[1]), np.float64(color[2]))


@compiled
def texel_pdf(environment: EnvironmentArrays, texel: Texel) -> float:
    """Returns the pdf_solid_angle with which `sample_sky` draws a direction to a texel."""
    row, column = texel
    width, edges = environment.radiance.shape[1], environment.edges
    of_row, of_column = share(environment.rows, row), share(environment.columns[row], column)
    return of_row * of_column * width / (2.0 * math.pi * (edges[row] - edges[row + 1]))


@compiled
def share(cumulative: Doubles, index: int) -> float:
    """Returns the increment of a running sum at an index."""
    return cumulative[index] - (cumulative[index - 1] if index > 0 else 0.0)


@compiled
def sample_sky(environment: EnvironmentArrays, u1: float, u2: float) -> tuple[Vec3, Texel]:
    """Draws a texel and a unit direction to it in the frame of the image, with pdf_solid_angle = `texel_pdf`."""
    edges = environment.edges
    row = interval(environment.rows, u1)
    columns = environment.columns[row]
    column = interval(columns, u2)
    y = edges[row] + (edges[row + 1] - edges[row]) * within(environment.rows, row, u1)
    radius = math.sqrt(greatest(1.0 - y * y, 0.0))
    sine, away = sine_cosine((column + within(columns, column, u2)) / len(columns))  # from +z, the edge, on
    return (-radius * sine, y, radius * away), (row, column)


@compiled
def within(cumulative: Doubles, index: int, u: float) -> float:
    """Returns how far a number is through the increment of a running sum that it chose, 0..1."""
    start = cumulative[index - 1] if index > 0 else 0.0
    return (u - start) / (cumulative[index] - start)
