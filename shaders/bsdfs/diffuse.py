"""This BSDF is Lambert's surface: it has the same radiance in all directions. Photons are stored on it."""

from dataclasses import replace
from typing import Any

from shaders.bsdfs import nff
from shaders.bsdfs.bsdf import Use
from shaders.vector import BLACK


def pack(material: Any) -> nff.Nff:
    """Returns a lobe that scatters `diffuse` evenly; the rest is absorbed."""
    return nff.Nff(diffuse=material.diffuse, phong=BLACK, mirror=BLACK, transmission=BLACK, exponent=0.0, ior=1.0)


BSDF = replace(
    nff.BSDF,
    name="diffuse",
    summary="Lambert's surface",
    pack=pack,
    maps={"texture": (Use("diffuse"),)},
    is_mirroring=False,
)
