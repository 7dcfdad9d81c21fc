"""Clear glass or water: a smooth border that reflects and refracts and absorbs nothing of its own."""

from shaders.bsdf import Bsdf
from shaders.registry import Parameters, Shader, register_shader
from shaders.vector import BLACK


def mixture(material: Parameters) -> Bsdf:
    """`transmittance` scales what is reflected and refracted together; `ior` bends the light."""
    through = material.transmittance
    return Bsdf(
        diffuse=BLACK,
        phong=BLACK,
        mirror=BLACK,
        transmission=(through, through, through),
        shine=0.0,
        ior=material.ior if material.ior > 0.0 else 1.0,
    )


register_shader(Shader(name="dielectric", summary="clear glass, reflecting and refracting", mixture=mixture))
