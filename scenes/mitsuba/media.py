"""This module reads what is inside of a shape: a medium that is the same everywhere and, in it, its phase function."""

from dataclasses import replace

from scenes.materials import microfacets
from scenes.materials.microfacets import multiplied, scaled
from scenes.mitsuba.properties import LEFT_OUT, Properties
from scenes.mitsuba.surface import MitsubaSurface

#: What a medium has that does not say it: the share of light that a collision scatters, and collisions a unit.
ALBEDO, EXTINCTION = (0.75, 0.75, 0.75), (1.0, 1.0, 1.0)
#: A medium is no denser than so many times what it says.
MAX_SCALE = 1e6
#: The mean cosine of a phase function that does not say it.
COSINE = 0.8


def filled(surface: MitsubaSurface, properties: Properties) -> MitsubaSurface:
    """Returns the surface of a shape with what its medium inside says. That outside of it is what the shapes around it
    have inside."""
    reading = properties.reading
    properties.within("medium")
    properties.take("exterior", "medium")
    interior = properties.take("interior", "medium")
    if interior is None:
        return surface
    if interior.kind != "homogeneous":
        reading.note_loss(interior, LEFT_OUT["medium"])
        return surface
    return reading.attempt(surface, homogeneous, surface, Properties(interior, reading))


def homogeneous(surface: MitsubaSurface, properties: Properties) -> MitsubaSurface:
    """Returns a surface with a medium inside: by 3 an albedo and an extinction, by 0.6 what is scattered and what is
    absorbed."""
    albedo, extinction = properties.color("albedo", ALBEDO), properties.light("sigma_t", EXTINCTION)
    scattering = multiplied(extinction, (min(albedo[0], 1.0), min(albedo[1], 1.0), min(albedo[2], 1.0)))
    absorption = (extinction[0] - scattering[0], extinction[1] - scattering[1], extinction[2] - scattering[2])
    if "sigma_s" in properties.named or "sigma_a" in properties.named:
        scattering, absorption = (properties.light(name, (0.0, 0.0, 0.0)) for name in ("sigma_s", "sigma_a"))
    scale, phases = properties.number("scale", 1.0), properties.within("phase")
    if not 0.0 <= scale <= MAX_SCALE:
        raise properties.element.error(f"expected a scale of a medium from 0 to {MAX_SCALE:g}, got {scale:g}")
    cosine = phase_cosine(Properties(phases[-1], properties.reading)) if phases else 0.0
    properties.left_out("material")
    properties.finish("sample_emitters", "has_spectral_extinction", "name")
    inside = microfacets.filled(surface.material, scaled(absorption, scale), scaled(scattering, scale), cosine)
    return replace(surface, material=inside)


def phase_cosine(properties: Properties) -> float:
    """Returns the mean cosine of a phase function, 0 of those that scatter evenly or are not known."""
    if properties.type not in ("hg", "isotropic"):
        properties.reading.note_loss(properties.element, f"{properties.element.called} scatters evenly")
        return 0.0
    cosine = properties.number("g", COSINE) if properties.type == "hg" else 0.0
    properties.finish("name")
    return cosine
