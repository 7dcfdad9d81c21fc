"""This BSDF is Lambert's surface: it has the same radiance in all directions. Photons are stored on it."""

from typing import Any, NamedTuple

from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_NONE, Bsdf, Drawn, Seen, Use, Value
from shaders.compilation import compiled
from shaders.float32 import ONE, PI, ZERO
from shaders.sampling import cosine_hemisphere
from shaders.vector import Color, Vec3, dot, scale


class Diffuse(NamedTuple):
    """Holds the number of Lambert's law: the reflectance, 0..1; the rest is absorbed."""

    diffuse: Color


def pack(material: Any) -> Diffuse:
    """Returns the reflectance of a material."""
    return Diffuse(material.diffuse)


@compiled
def sample(surface: Diffuse, seen: Seen, u: Vec3) -> Drawn:
    """Draws a direction by the cosine."""
    wi = cosine_hemisphere(u[1], u[2])
    is_lost = (wi[2] <= ZERO) | (seen.follow * dot(seen.carried, surface.diffuse) <= ZERO)
    return Drawn(wi, (ONE, ONE, ONE), LOBE_NONE if is_lost else LOBE_BASE)


@compiled
def evaluate(surface: Diffuse, wi: Vec3, seen: Seen) -> Value:
    """Returns the same for all directions above the surface."""
    even = ONE / PI if wi[2] > ZERO else ZERO
    is_drawn = seen.follow * dot(seen.carried, surface.diffuse) > ZERO
    return Value(scale(surface.diffuse, even), (ZERO, ZERO, ZERO), even * wi[2] if is_drawn else ZERO)


@compiled
def entering(surface: Any, w: Vec3) -> Color:
    """Returns white: nothing lies above the base."""
    return (ONE, ONE, ONE)


@compiled
def reflectance(surface: Any, w: Vec3) -> Color:
    """Returns that of Lambert's law, in whatever has it as `diffuse`."""
    color: Color = surface.diffuse
    return color


BSDF = Bsdf(
    name="diffuse",
    summary="Lambert's surface",
    parameters=Diffuse,
    pack=pack,
    sample=sample,
    evaluate=evaluate,
    entering=entering,
    reflectance=reflectance,
    albedo=reflectance,
    stores=lambda surface: max(surface.diffuse) > 0.0,
    maps={"texture": (Use("diffuse"),)},
    has_rest=False,
    is_linear=True,
    is_mirroring=False,
)
