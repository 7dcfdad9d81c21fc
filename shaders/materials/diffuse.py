"""This shader is Lambert's surface: it has the same radiance in all directions. Photons are stored on it."""

from shaders.bsdf import Bsdf
from shaders.shader import Parameters, Shader
from shaders.vector import BLACK


def mixture(material: Parameters) -> Bsdf:
    """Returns a lobe that scatters `diffuse`, times the texture, evenly; the rest is absorbed."""
    return Bsdf(diffuse=material.diffuse, phong=BLACK, mirror=BLACK, transmission=BLACK, exponent=0.0, ior=1.0)


SHADER = Shader(name="diffuse", summary="Lambert's surface", mixture=mixture)
