"""What tests of BSDFs share: how a surface is looked at, and draws and values of a BSDF for many directions."""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
from single_precision import float32

from shaders.bsdfs.bsdf import LOBE_NONE, LOBE_SHARP, Seen
from shaders.compilation import compiled

NOTHING = (np.float32(0.0),) * 3
BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)


def material(own=None, **changes):
    """A material as scenes have it: white, smooth and clear, but for what is said."""
    numbers = {
        "diffuse": WHITE, "specular": WHITE, "transmittance": 1.0, "ior": 1.5, "roughness": 0.0, "eta": BLACK,
        "k": BLACK, "exponent": 0.0, "mirror_share": None,
    }  # fmt: skip
    return SimpleNamespace(**(numbers | changes), own=own or {})


def packed(bsdf, own=None, **changes):
    """The parameters, float32, of a material."""
    return float32(bsdf.pack(material(own, **changes)))


def slanted(cosine):
    """A unit direction off the axes."""
    sine = math.sqrt(1.0 - cosine * cosine)
    return (0.6 * sine, -0.8 * sine, cosine)


def seen_from(wo, follow=1.0, carried=WHITE, is_outside=True, tables=0):
    """How a surface is looked at."""
    return Seen(float32(wo), is_outside, float32(carried), np.float32(follow), tables)  # type: ignore[arg-type]


@cache
def loops(bsdf_sample, bsdf_evaluate):
    """Functions that draw a direction for each u, (n, 10) of wi, weight, lobe and what is kept of the light, and that
    evaluate directions, (n, 7) of base, rest and pdf; and one for the mean of what many draws keep."""

    @compiled
    def kept_of(parameters, seen, drawn):
        if drawn.lobe == LOBE_NONE or drawn.lobe == LOBE_SHARP:
            return drawn.weight if drawn.lobe == LOBE_SHARP else NOTHING
        value = bsdf_evaluate(parameters, drawn.wi, seen)
        factor, follow = abs(drawn.wi[2]) / value.pdf, seen.follow
        return (
            (value.base[0] * follow + value.rest[0]) * factor,
            (value.base[1] * follow + value.rest[1]) * factor,
            (value.base[2] * follow + value.rest[2]) * factor,
        )

    @compiled
    def draws(parameters, seen, u):
        found = np.empty((len(u), 10), np.float32)
        for i in range(len(u)):
            drawn = bsdf_sample(parameters, seen, (u[i, 0], u[i, 1], u[i, 2]))
            found[i, 0], found[i, 1], found[i, 2] = drawn.wi
            found[i, 3], found[i, 4], found[i, 5] = drawn.weight
            found[i, 6] = drawn.lobe
            found[i, 7], found[i, 8], found[i, 9] = kept_of(parameters, seen, drawn)
        return found

    @compiled
    def values(parameters, seen, wi):
        found = np.empty((len(wi), 7), np.float32)
        for i in range(len(wi)):
            value = bsdf_evaluate(parameters, (wi[i, 0], wi[i, 1], wi[i, 2]), seen)
            found[i, 0], found[i, 1], found[i, 2] = value.base
            found[i, 3], found[i, 4], found[i, 5] = value.rest
            found[i, 6] = value.pdf
        return found

    @compiled
    def mean(parameters, seen, u):
        red, green, blue = 0.0, 0.0, 0.0
        for i in range(len(u)):
            drawn = bsdf_sample(parameters, seen, (u[i, 0], u[i, 1], u[i, 2]))
            kept = kept_of(parameters, seen, drawn)
            red, green, blue = red + kept[0], green + kept[1], blue + kept[2]
        return red / len(u), green / len(u), blue / len(u)

    return draws, values, mean


@cache
def numbers(count):
    """(count, 3) float32 in 0..1, spread evenly: equal steps, and multiples of the powers of a root of x^3 = x + 1."""
    i, root = np.arange(count), 1.324717957244746
    points = np.stack([(i + 0.5) / count, (0.5 + i / root) % 1.0, (0.5 + i / root**2) % 1.0], axis=1)
    return np.clip(points, 2.0**-24, 1.0 - 2.0**-24).astype(np.float32)


def drawn(bsdf, parameters, seen, u):
    """Draws: wi (n, 3), lobe (n,), and what they keep of the light by channel, (n, 3)."""
    found = loops(bsdf.sample, bsdf.evaluate)[0](float32(parameters), seen, u)
    return found[:, :3], found[:, 6].astype(int), found[:, 7:]


def evaluated(bsdf, parameters, seen, wi):
    """Values, float64: base (n, 3), rest (n, 3), pdf (n,)."""
    wi = np.ascontiguousarray(wi, np.float32)
    found = loops(bsdf.sample, bsdf.evaluate)[1](float32(parameters), seen, wi).astype(float)
    return found[:, :3], found[:, 3:6], found[:, 6]


def kept(bsdf, parameters, seen):
    """What draws keep of light on average, by channel."""
    return loops(bsdf.sample, bsdf.evaluate)[2](float32(parameters), seen, numbers(1 << 16))


def hemisphere(count):
    """Points of quadrature over the hemisphere, dense at grazing angles: (n, 3) unit, and (n,) solid angles."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    root, azimuth = 0.5 + 0.5 * nodes[:, None], np.pi * (np.arange(2 * count)[None] + 0.5) / count
    z = root**2 + 0.0 * azimuth
    sine = np.sqrt(1.0 - z * z)
    directions = np.stack([sine * np.cos(azimuth), sine * np.sin(azimuth), z], axis=-1)
    return directions.reshape(-1, 3), (root * weights[:, None] * np.pi / count + 0.0 * azimuth).ravel()


def sphere(bsdf, count):
    """Points of quadrature over all directions that light leaves in: (n, 3) unit, and (n,) solid angles."""
    above, angles = hemisphere(count)
    if bsdf.eta is None:
        return above, angles
    return np.concatenate([above, above * (1.0, 1.0, -1.0)]), np.concatenate([angles, angles])


def reflected(bsdf, parameters, seen, count=96):
    """(3,) light that spread lobes reflect or let through, by quadrature."""
    wi, solid_angle = sphere(bsdf, count)
    base, rest, _ = evaluated(bsdf, parameters, seen, wi)
    return np.einsum("ik,i->k", base * seen.follow + rest, solid_angle * np.abs(wi[:, 2]))


def as_array(function, parameters, *arguments):
    """What a function of parameters and directions gives, float64."""
    return np.array(function(float32(parameters), *(float32(a) for a in arguments)), float)
