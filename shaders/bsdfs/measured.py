"""This BSDF is a surface that was measured: reflection alike in all azimuths, as a file of the MERL database has it.

Matusik, Pfister, Brand, McMillan: A Data-Driven Reflectance Model, 2003. The three numbers are those of Rusinkiewicz (A
New Change of Variables for Efficient BRDF Representation, 1998): the angles of the half vector h to the normal, of h to
wi, and the azimuth of wi about h. A file has the integers 90, 90 and 180, int32, and then as many float64 of red, of
green and of blue, below 0 where nothing was measured. Numbers are read as they are, without any between them.

The base is the largest Lambert surface that the measured values leave room for: their least one. Directions of the rest
are drawn from a lobe of GGX facets and by the cosine, in shares that are fitted to the file.
"""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_GLOSSY, LOBE_NONE, Bsdf, BsdfKey, Drawn, Seen, Value
from shaders.bsdfs.diffuse import entering
from shaders.bsdfs.layers import in_proportion
from shaders.compilation import compiled, get
from shaders.elementary import turns_to
from shaders.errors import ShaderError
from shaders.float32 import HALF, ONE, PI, TWO, TWO_PI, ZERO, Doubles, Float32, Floats, Int
from shaders.ggx import halfway, mirrored_at, sample_seen, seen_density
from shaders.sampling import cosine_hemisphere
from shaders.vector import Color, Vec3, add, chosen, dot, scale, subtract

#: Bins: of the half vector's angle, by its root; of the difference's angle; and of half a turn of its azimuth.
HALF_ANGLES, DIFFERENCE_ANGLES, AZIMUTHS = SHAPE = (90, 90, 180)

#: What the numbers of a file are multiplied with, by channel.
UNITS = (1.0 / 1500.0, 1.15 / 1500.0, 1.66 / 1500.0)

#: A table holds three values to a bin.
TABLE_NUMBERS = 3 * math.prod(SHAPE)

#: Cosines at which it is known what the rest reflects.
_GRAZING, _SLANTED, _STRAIGHT = 0.05, 0.5, 1.0

#: Lobes to choose from: widths of GGX and the share that is drawn from them.
_ALPHAS, _GLOSSY_SHARES = np.geomspace(0.02, 1.0, 10), np.array([0.0, 0.25, 0.5, 0.75, 0.9])

_PER_HALF_ANGLE = Float32(2.0 / math.pi * HALF_ANGLES**2)
_PER_DIFFERENCE_ANGLE = Float32(2.0 / math.pi * DIFFERENCE_ANGLES)
_PER_AZIMUTH = Float32(AZIMUTHS / math.pi)


class Measured(NamedTuple):
    """Says where what was measured is, and how directions are drawn."""

    base: Color  # reflectance of the largest Lambert surface in it
    grazing: Color  # what the rest reflects at a cosine of 0
    slanted: Color  # of 1/2
    straight: Color  # and of 1
    alpha: float  # width of the lobe that directions are drawn from
    glossy_share: float  # of the rest that is drawn from that lobe and not by the cosine
    table: float  # index of the table


def read_merl(path: Path | str) -> Floats:
    """Returns the values (90, 90, 180, 3) of a file, 1/sr, which are 0 or below where nothing was measured. Raises
    `ShaderError` where it cannot be read, or is no such file."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ShaderError(f"cannot read {path}: {error.strerror}") from error
    count = math.prod(SHAPE)
    shape = tuple(np.frombuffer(content[:12], "<i4").tolist()) if len(content) >= 12 else ()
    if shape != SHAPE:
        found = " x ".join(map(str, shape)) or f"{len(content)} bytes"
        raise ShaderError(f"{path}: expected a BRDF of the MERL database, 90 x 90 x 180 numbers, got {found}")
    if len(content) != 12 + 24 * count:
        raise ShaderError(f"{path}: expected {12 + 24 * count} bytes, got {len(content)}; is the file whole?")
    values = np.frombuffer(content[12:], "<f8").reshape(3, *SHAPE)
    if not np.all(np.isfinite(values)):
        raise ShaderError(f"{path}: expected finite numbers")
    return np.ascontiguousarray(np.moveaxis(values, 0, -1) * UNITS, np.float32)


def pack(material: Any) -> Measured:
    """Returns what the file that a material's key `file` names is like, as table 0."""
    return read_table(_file(material))[0]


def table_of(material: Any) -> Floats:
    """Returns the table (TABLE_NUMBERS,) of the file that a material's key `file` names."""
    return read_table(_file(material))[1]


def _file(material: Any) -> str:
    if not (file := material.own.get("file", "")):
        raise ShaderError("a measured material needs the key file, the path of a file of the MERL database")
    return str(file)


@lru_cache(maxsize=8)
def read_table(path: str) -> tuple[Measured, Floats]:
    """Returns what a file is like, and its table (TABLE_NUMBERS,). It is read once."""
    return fitted(read_merl(path))


def fitted(values: Floats) -> tuple[Measured, Floats]:
    """Returns what values (90, 90, 180, 3) are like, and their table (TABLE_NUMBERS,). What was not measured has the
    least value that was."""
    was_measured = np.all(values > 0.0, axis=-1)
    least = np.min(values[was_measured], axis=0) if np.any(was_measured) else np.zeros(3, np.float32)
    table = np.where(was_measured[..., None], values, least).astype(np.float32).ravel()
    lights = [_Light(table, cosine, least) for cosine in (_GRAZING, _SLANTED, _STRAIGHT)]
    grazing, slanted, straight = (_color(light.rest.T @ (light.cosine_i * light.solid_angle)) for light in lights)
    alpha, glossy_share = _best_lobe(lights)
    return Measured(_color(np.pi * least), grazing, slanted, straight, alpha, glossy_share, 0.0), table


def _color(numbers: Any) -> Color:
    red, green, blue = (min(max(float(x), 0.0), 1.0) for x in numbers)
    return (red, green, blue)


class _Light:
    """Holds what light from one side does: for n half vectors h (n, 3), which make directions above the surface, the
    values (n, 3) of the rest, the cosines (n,) and the solid angles (n,) of these."""

    def __init__(self, table: Floats, cosine: float, least: Floats) -> None:
        h, solid_angle = _half_vectors()
        self.wo = np.array([math.sqrt(1.0 - cosine * cosine), 0.0, cosine])
        at_facet = h @ self.wo
        wi = 2.0 * at_facet[:, None] * h - self.wo
        is_above = (wi[:, 2] > 0.0) & (at_facet > 0.0)
        tables, up = np.append(np.float32(1.0), table), wi[is_above].astype(np.float32)
        values = values_of(tables.ctypes.data, up, self.wo.astype(np.float32))
        self.h, self.cosine_i = h[is_above], wi[is_above, 2]
        self.rest, self.solid_angle = (values - least).astype(np.float64), (4.0 * at_facet * solid_angle)[is_above]


def _half_vectors() -> tuple[Doubles, Doubles]:
    """Returns the middles (n, 3) of bins of half vectors, in half a turn of azimuths, and twice their solid angles."""
    edges = (np.arange(2 * HALF_ANGLES + 1) / (2 * HALF_ANGLES)) ** 2 * (np.pi / 2.0)
    angle = 0.5 * (edges[1:] + edges[:-1])
    azimuth = (np.arange(48) + 0.5) * (np.pi / 48)
    solid_angle = (np.cos(edges[:-1]) - np.cos(edges[1:]))[:, None] * np.full(48, 2.0 * np.pi / 48)
    sine = np.sin(angle)[:, None]
    h = np.stack([sine * np.cos(azimuth), sine * np.sin(azimuth), np.cos(angle)[:, None] + 0.0 * azimuth], axis=-1)
    return h.reshape(-1, 3), solid_angle.ravel()


def _best_lobe(lights: list[_Light]) -> tuple[float, float]:
    """Returns the alpha and the share of the lobe with which the rest is drawn with the least variance."""
    variance = np.zeros((len(_ALPHAS), len(_GLOSSY_SHARES)))
    for light in lights[1:]:
        (x, y, z), cosine = light.h.T, light.wo[2]
        carried = np.sum(light.rest, axis=1) * light.cosine_i
        mean = np.sum(carried * light.solid_angle)
        for row, alpha in enumerate(_ALPHAS):
            density = alpha**2 / (np.pi * (alpha**2 * z * z + x * x + y * y) ** 2)
            glossy = density / (2.0 * (cosine + math.sqrt(cosine**2 + alpha**2 * (1.0 - cosine**2))))
            for column, share in enumerate(_GLOSSY_SHARES):
                pdf = share * glossy + (1.0 - share) * light.cosine_i / np.pi
                variance[row, column] += np.sum(carried**2 / pdf * light.solid_angle) / max(mean**2, 1e-12)
    best = np.unravel_index(np.argmin(variance), variance.shape)
    return float(_ALPHAS[best[0]]), float(_GLOSSY_SHARES[best[1]])


@compiled
def values_of(where: int, wi: Floats, wo: Floats) -> Floats:
    """Returns the values (n, 3) of the first table of those at an address, for directions (n, 3) and one (3,)."""
    found = np.empty((len(wi), 3), np.float32)
    for i in range(len(wi)):
        value = value_at(where, ZERO, (wi[i, 0], wi[i, 1], wi[i, 2]), (wo[0], wo[1], wo[2]))
        found[i, 0], found[i, 1], found[i, 2] = value
    return found


@compiled
def _within(index: int, count: int) -> int:
    """Returns an int32 index, or the nearest that there is: columns behind a list of hits hold anything."""
    return max(min(index, Int(count - Int(1))), Int(0))


@compiled
def bin_of(wi: Vec3, wo: Vec3) -> int:
    """Returns the int32 index of the bin of two directions above the surface.

    Their sum t is along the half vector, and their difference d across it. In the plane of t and the normal d rises by
    d_z, which t . d = 0 says better than a difference of cosines close to 1; (t x d)_z is across that plane.
    """
    t, d = add(wi, wo), subtract(wi, wo)
    length = math.sqrt(dot(t, t))
    half_angle = TWO_PI * turns_to(t[2], math.sqrt(t[0] * t[0] + t[1] * t[1]))
    difference_angle = TWO_PI * turns_to(length, math.sqrt(dot(d, d)))
    along, across = (t[0] * d[0] + t[1] * d[1]) * length, (t[0] * d[1] - t[1] * d[0]) * t[2]
    azimuth = TWO_PI * turns_to(along if across >= ZERO else -along, abs(across))
    row = _within(Int(math.sqrt(half_angle * _PER_HALF_ANGLE)), Int(HALF_ANGLES))
    column = _within(Int(difference_angle * _PER_DIFFERENCE_ANGLE), Int(DIFFERENCE_ANGLES))
    place = _within(Int(azimuth * _PER_AZIMUTH), Int(AZIMUTHS))
    return Int((row * Int(DIFFERENCE_ANGLES) + column) * Int(AZIMUTHS) + place)


@compiled
def value_at(tables: int, table: float, wi: Vec3, wo: Vec3) -> Color:
    """Returns what was measured, in 1/sr, for two directions above the surface.
    tables: see `shaders.bsdfs.bsdf.Seen`."""
    own = _within(Int(table), Int(get(tables, Int(0))))
    first = Int(Int(1) + own * Int(TABLE_NUMBERS) + Int(3) * bin_of(wi, wo))
    return (get(tables, first), get(tables, Int(first + Int(1))), get(tables, Int(first + Int(2))))


@compiled
def rest_albedo(measured: Measured, cosine: float) -> Color:
    """Returns what the rest reflects at a cosine, between the three that are known."""
    is_steep = cosine >= HALF
    share = cosine * TWO - (ONE if is_steep else ZERO)
    low = chosen(is_steep, measured.slanted, measured.grazing)
    high = chosen(is_steep, measured.straight, measured.slanted)
    return add(scale(low, ONE - share), scale(high, share))


@compiled
def probabilities(measured: Measured, seen: Seen) -> tuple[float, float]:
    """Returns the probabilities of the base and of the rest."""
    base = seen.follow * dot(seen.carried, measured.base)
    rest = dot(seen.carried, rest_albedo(measured, seen.wo[2]))
    return in_proportion(base, rest)


@compiled
def sample(measured: Measured, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction, by the cosine, or from the lobe that was fitted."""
    base, rest = probabilities(measured, seen)
    facet = sample_seen(seen.wo, measured.alpha, u[1], u[2])
    is_glossy = u[0] >= base + rest * (ONE - measured.glossy_share)
    wi = chosen(is_glossy, mirrored_at(seen.wo, facet), cosine_hemisphere(u[1], u[2]))
    is_lost = (wi[2] <= ZERO) | (base + rest <= ZERO)
    lobe = LOBE_BASE if u[0] < base else LOBE_GLOSSY
    return Drawn(wi, (ZERO, ZERO, ZERO), LOBE_NONE if is_lost else lobe)


@compiled
def evaluate(measured: Measured, wi: Vec3, seen: Seen) -> Value:
    """Returns the value of the base, and what was measured beside it."""
    is_above = ONE if wi[2] > ZERO else ZERO
    above = (wi[0], wi[1], max(wi[2], ZERO))
    red, green, blue = value_at(seen.tables, measured.table, above, seen.wo)
    even = scale(measured.base, ONE / PI)
    rest = (max(ZERO, red - even[0]), max(ZERO, green - even[1]), max(ZERO, blue - even[2]))
    base_probability, rest_probability = probabilities(measured, seen)
    h = halfway(above, seen.wo)
    glossy = seen_density(seen.wo, h, measured.alpha) / (Float32(4.0) * max(dot(seen.wo, h), Float32(1e-6)))
    from_lobe = rest_probability * measured.glossy_share
    pdf = (base_probability + rest_probability - from_lobe) * above[2] / PI + from_lobe * glossy
    return Value(scale(even, is_above), scale(rest, is_above), is_above * pdf)


@compiled
def reflectance(measured: Measured, w: Vec3) -> Color:
    """Returns that of the base."""
    return measured.base


@compiled
def albedo(measured: Measured, wo: Vec3) -> Color:
    """Returns what base and rest reflect, between the cosines at which it is known."""
    return add(measured.base, rest_albedo(measured, wo[2]))


KEYS = {"file": BsdfKey(default="", summary="file of the MERL database (.binary)")}

BSDF = Bsdf(
    name="measured",
    summary="a surface that was measured, from a file of the MERL database",
    parameters=Measured,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=albedo,
    keys=KEYS,
    table=table_of,
    stores=lambda measured: max(measured.base) > 0.0,
)
