"""This is what a particle of a medium does to light, as a BSDF: the loops of surfaces shade points in fog with it. No
material can name it; `renderer.scene.media` gives it to the media that scatter.

Henyey, Greenstein: Diffuse Radiation in the Galaxy, 1941:

    p(cos) = (1 - g^2) / (4 pi (1 + g^2 - 2 g cos)^(3/2))

cos is that of the angle between the directions before and after. The frame's z axis points to where the path came from,
so that it is -z of the next direction. A phase function has no cosine of a surface: its value is divided by it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from shaders.bsdfs.bsdf import LOBE_GLOSSY, Bsdf, Drawn, Seen, Value
from shaders.compilation import compiled
from shaders.elementary import sine_cosine
from shaders.float32 import ONE, TWO, ZERO, Float32
from shaders.vector import Color, Vec3, scale

#: For smaller magnitudes of g the direction is that of the first terms of its series.
SMALL = Float32(2.0**-6)

#: Smaller cosines count as this one where something is divided by them.
LEAST_COSINE = Float32(2.0**-80)

_PER_SPHERE, _1_5 = Float32(0.25 / np.pi), Float32(1.5)
_NOTHING, _ALL = (ZERO, ZERO, ZERO), (ONE, ONE, ONE)


class Phase(NamedTuple):
    """Says how particles scatter."""

    albedo: Color  # share of light that is scattered, and not absorbed, 0..1
    mean_cosine: float  # g, the mean cosine: above 0 light goes on, below 0 it turns back


def pack(material: Any) -> Phase:
    """Returns scattering over extinction, and the mean cosine."""
    shares = [s / (s + a) if s > 0.0 else 0.0 for s, a in zip(material.scattering, material.absorption, strict=True)]
    return Phase((shares[0], shares[1], shares[2]), material.mean_cosine)


@compiled
def cosine_of(g: float, u: float) -> float:
    """Returns a cosine that is drawn by p. u: a uniform number."""
    s = TWO * u - ONE
    near = s + (ONE - s * s) * g * (_1_5 - TWO * g * s)
    divisor = g if abs(g) >= SMALL else ONE
    root = (ONE - g * g) / (ONE + g * s)
    far = (ONE + g * g - root * root) / (TWO * divisor)
    return max(-ONE, min(ONE, far if abs(g) >= SMALL else near))


@compiled
def sample(phase: Phase, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction by p."""
    cosine = cosine_of(phase.mean_cosine, u[1])
    sine, (up, right) = math.sqrt(max(ZERO, ONE - cosine * cosine)), sine_cosine(u[2])
    return Drawn((sine * right, sine * up, -cosine), _ALL, LOBE_GLOSSY)


@compiled
def density(g: float, cosine: float) -> float:
    """Returns p, per steradian. g: the mean cosine. cosine: of the angle between the directions before and after."""
    base = ONE + g * g - TWO * g * cosine
    return _PER_SPHERE * (ONE - g * g) / (base * math.sqrt(base))


@compiled
def evaluate(phase: Phase, wi: Vec3, seen: Seen) -> Value:
    """Returns p, with the share that is scattered, over the cosine of the frame."""
    pdf = density(phase.mean_cosine, -wi[2])
    return Value(_NOTHING, scale(phase.albedo, pdf / max(abs(wi[2]), LEAST_COSINE)), pdf)


@compiled
def entering(phase: Phase, w: Vec3) -> Color:
    """Returns the share that is scattered, which photons keep."""
    return phase.albedo


@compiled
def reflectance(phase: Phase, w: Vec3) -> Color:
    """Returns that of no base."""
    return _NOTHING


@compiled
def albedo(phase: Phase, wo: Vec3) -> Color:
    """Returns the share that is scattered."""
    return phase.albedo


BSDF = Bsdf(
    name="phase",
    summary="particles in a medium",
    parameters=Phase,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=albedo,
    is_mirroring=False,
    is_of_media=True,
)
