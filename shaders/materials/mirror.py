"""This shader is a perfect mirror: light leaves in the mirror direction alone."""

from shaders.bsdf import Bsdf
from shaders.shader import Parameters, Shader
from shaders.vector import BLACK


def mixture(material: Parameters) -> Bsdf:
    """Returns a lobe that mirrors `specular`; the rest is absorbed."""
    return Bsdf(diffuse=BLACK, phong=BLACK, mirror=material.specular, transmission=BLACK, exponent=0.0, ior=1.0)


SHADER = Shader(name="mirror", summary="perfect mirror", mixture=mixture)
