"""This shader is glass or water: a smooth or rough border that reflects and refracts. The inside may absorb
(`renderer.scene.media`)."""

from shaders.bsdf import Bsdf
from shaders.shader import Parameters, Shader
from shaders.vector import BLACK


def mixture(material: Parameters) -> Bsdf:
    """Returns the lobes of a border: `transmittance` scales what is reflected and refracted together, `ior` bends
    light, and `roughness` spreads it."""
    through = material.transmittance
    return Bsdf(
        diffuse=BLACK,
        phong=BLACK,
        mirror=BLACK,
        transmission=(through, through, through),
        exponent=0.0,
        ior=material.ior if material.ior > 0.0 else 1.0,
        alpha=material.roughness**2,
    )


SHADER = Shader(name="dielectric", summary="glass, clear or rough, reflecting and refracting", mixture=mixture)
