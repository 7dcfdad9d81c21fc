"""This shader is the surface of NFF and AFF files, made to conserve energy.

The files mean by `specular` two things at once: the strength of Phong's highlight and of the mirror image. A physical
surface has one budget for both, so `specular` is split: the share `mirror_share` is a perfect mirror, the rest a Phong
lobe of power s, the exponent. A material that does not say its share has s / (s + 100): dull plastics (s = 10) get a
broad highlight, polished metal (s = 97) half a mirror with a tight highlight, and lamps without size still show as
highlights. `transmittance` T is a clear dielectric. Where
diffuse + specular + T exceeds 1 in some channel, all of it is scaled down to 1. The ambient term stands for light
between surfaces, which photons bring: it is dropped.
"""

from shaders.bsdf import Bsdf
from shaders.shader import Parameters, Shader
from shaders.vector import Color

#: Exponent at which half of the specular reflectance is a mirror.
HALF_MIRROR_EXPONENT = 100.0


def mixture(material: Parameters) -> Bsdf:
    """Returns a diffuse, a Phong, a mirror and a dielectric lobe, no more than 1 together."""
    through = max(0.0, material.transmittance)
    total = max(d + s + through for d, s in zip(material.diffuse, material.specular, strict=True))
    keep = 1.0 / max(1.0, total)
    mirror_share = _mirror_share(material)
    return Bsdf(
        diffuse=_scaled(material.diffuse, keep),
        phong=_scaled(material.specular, keep * (1.0 - mirror_share)),
        mirror=_scaled(material.specular, keep * mirror_share),
        transmission=(through * keep, through * keep, through * keep),
        exponent=max(0.0, material.exponent),
        ior=material.ior if material.ior > 0.0 else 1.0,
    )


def _mirror_share(material: Parameters) -> float:
    """Returns which share of what is specular is a mirror."""
    if material.mirror_share is not None:
        return material.mirror_share
    return material.exponent / (material.exponent + HALF_MIRROR_EXPONENT) if material.exponent > 0.0 else 0.0


def _scaled(color: Color, factor: float) -> Color:
    return (color[0] * factor, color[1] * factor, color[2] * factor)


SHADER = Shader(name="nff", summary="NFF/AFF surface: diffuse, Phong, mirror and glass in one", mixture=mixture)
