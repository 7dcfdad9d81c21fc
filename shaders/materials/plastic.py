"""This shader is plastic, lacquer or glaze: a diffuse base under a clear coat, polished or rough. Photons are stored on
the base."""

from shaders.bsdf import Bsdf
from shaders.shader import Parameters, Shader
from shaders.vector import BLACK


def mixture(material: Parameters) -> Bsdf:
    """Returns the lobes of a coat of index `ior`, which `roughness` spreads, over a base of `diffuse` times the
    texture."""
    ior = material.ior if material.ior > 0.0 else 1.0
    at_normal_incidence = ((ior - 1.0) / (ior + 1.0)) ** 2
    return Bsdf(
        diffuse=material.diffuse,
        phong=BLACK,
        mirror=BLACK,
        transmission=BLACK,
        exponent=0.0,
        ior=1.0,
        specular_lobe=(at_normal_incidence, at_normal_incidence, at_normal_incidence),
        alpha=material.roughness**2,
    )


SHADER = Shader(name="plastic", summary="diffuse under a clear coat, polished or rough", mixture=mixture)
