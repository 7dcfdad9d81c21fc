"""This BSDF is a perfect mirror: light leaves in the mirror direction alone."""

from dataclasses import replace
from typing import Any

from shaders.bsdfs import nff
from shaders.bsdfs.bsdf import Use
from shaders.vector import BLACK


def pack(material: Any) -> nff.Nff:
    """Returns a lobe that mirrors `specular`; the rest is absorbed."""
    return nff.Nff(diffuse=BLACK, phong=BLACK, mirror=material.specular, transmission=BLACK, exponent=0.0, ior=1.0)


BSDF = replace(nff.BSDF, name="mirror", summary="perfect mirror", pack=pack, maps={"specular_map": (Use("mirror"),)})
