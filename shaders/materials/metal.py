"""This shader is a metal, polished or rough."""

from shaders.bsdf import Bsdf
from shaders.shader import Parameters, Shader
from shaders.vector import BLACK


def mixture(material: Parameters) -> Bsdf:
    """Returns the lobes of a metal that reflects by `eta` and `k`, times `specular`; without them `specular` is
    reflected at normal incidence, more of it at grazing angles. `roughness` spreads it."""
    return Bsdf(
        diffuse=BLACK,
        phong=BLACK,
        mirror=BLACK,
        transmission=BLACK,
        exponent=0.0,
        ior=1.0,
        specular_lobe=material.specular,
        # Squared, roughness looks even: Burley, Physically-Based Shading at Disney, 2012.
        alpha=material.roughness**2,
        eta=material.eta,
        k=material.k,
    )


SHADER = Shader(name="metal", summary="metal, polished or rough", mixture=mixture)
