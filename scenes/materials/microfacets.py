"""This module makes rough metals and coated surfaces, and what is most like them without microfacets.

Files give the roughness alpha of microfacets. Walter, Marschner, Li, Torrance: Microfacet Models for Refraction through
Rough Surfaces (2007) match it with the power 2 / alpha^2 - 2 of the cosine between the normals of facets and of the
surface. A direction mirrored at a facet turns by twice what the facet turns by, so that the power of the cosine to the
mirror direction, which is Phong's, is a quarter of it (Fisher, Woo: R.E versus N.H Specular Highlights, 1994).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from scenes.model import Color, Material

#: Below this a lobe is narrower than a degree: a mirror.
MIRROR_ALPHA = 0.01
#: Phong's power from which on a lobe is narrower than that of a diffuse surface, the cosine.
DIFFUSE_POWER = 1.0
BLACK: Color = (0.0, 0.0, 0.0)
GREY: Color = (0.5, 0.5, 0.5)
WHITE: Color = (1.0, 1.0, 1.0)
#: All of a pane's shine but a hundredth is a mirror, to kind nff.
PANE_EXPONENT = 10_000.0
#: Index of refraction of a coat, where a file says none.
DEFAULT_IOR = 1.5
#: Kinds of what is diffuse under a coat, and of what is about diffuse.
COATED, DULL = ("plastic", "principled"), ("oren_nayar", "sheen", "measured")


def phong_power(alpha: float) -> float:
    """Returns the power of Phong's lobe for microfacets of some roughness, at most that of MIRROR_ALPHA."""
    return (2.0 / max(alpha, MIRROR_ALPHA) ** 2 - 2.0) / 4.0


def is_dull(alpha: float) -> bool:
    """Returns whether a lobe is no narrower than a diffuse one."""
    return phong_power(alpha) <= DIFFUSE_POWER


def coated(name: str, diffuse: Color, specular: Color, alpha: float) -> Material:
    """Makes a surface with a rough shine from diffuse and specular reflectances in 0..1.

    Without anything diffuse and smooth it is a mirror. A lobe that is no narrower than a diffuse one is diffuse.
    """
    if alpha <= MIRROR_ALPHA and diffuse == BLACK:
        return Material(name=name, kind="mirror", diffuse=BLACK, specular=specular)
    if is_dull(alpha) or specular == BLACK:
        return Material(name=name, diffuse=added(diffuse, specular))
    return Material(name=name, kind="nff", diffuse=diffuse, specular=specular, exponent=phong_power(alpha))


def by_phong(material: Material) -> Material:
    """Returns the material that is most like a given one for programs that know neither microfacets nor solids that
    absorb."""
    alpha = material.roughness**2
    inside: dict[str, Any] = {"absorption": BLACK, "scattering": BLACK, "mean_cosine": 0.0, "priority": 0}
    plain = replace(material, roughness=0.0, eta=BLACK, k=BLACK, own={}, **inside)
    if material.kind in ("metal", "anisotropic"):
        like = coated(material.name, BLACK, metal_color(material), alpha)
    elif material.kind in COATED:
        metal = metalness(material)
        coat = scaled(coat_weight(material), (1.0 - metal) * normal_reflectance(material.ior))
        shine = added(scaled(material.diffuse, metal), coat)
        like = coated(material.name, scaled(material.diffuse, 1.0 - metal), shine, alpha)
    elif material.kind in DULL:
        like = Material(diffuse=material.diffuse)
    else:
        return plain
    return replace(plain, kind=like.kind, diffuse=like.diffuse, specular=like.specular, exponent=like.exponent, ior=1.0)


def phong_losses(material: Material) -> Iterator[str]:
    """Yields a line for each thing that `by_phong` changes."""
    if material.kind in ("metal", "anisotropic", *COATED):
        yield f"material {material.name!r} is no longer a {material.kind} but shines by Phong's numbers"
    elif material.kind in DULL:
        yield f"material {material.name!r} is no longer a {material.kind} but diffuse"
    elif material.kind == "dielectric" and material.roughness > 0.0:
        yield f"material {material.name!r} is no longer rough"
    if any(material.absorption):
        yield f"material {material.name!r} no longer absorbs light inside"
    if any(material.scattering):
        yield f"material {material.name!r} no longer scatters light inside"
    if material.priority:
        yield f"material {material.name!r} no longer has a priority where solids overlap"


def normal_reflectance(ior: float) -> float:
    """Returns the share of light that a dielectric of some index reflects at normal incidence."""
    return ((ior - 1.0) / (ior + 1.0)) ** 2 if ior > 0.0 else 0.0


def metalness(material: Material) -> float:
    """Returns the share of a surface that is metal, below lacquer."""
    return cast("float", material.own.get("metalness", 0.0))


def coat_weight(material: Material) -> Color:
    """Returns what multiplies the reflectance of a coat."""
    return cast("Color", material.own.get("specular_weight", (1.0, 1.0, 1.0)))


def metal_normal_reflectance(eta: Color, k: Color) -> Color:
    """Returns the share of light that a metal of index eta + i k reflects at normal incidence, per channel."""
    red, green, blue = (((n - 1) ** 2 + a * a) / ((n + 1) ** 2 + a * a) for n, a in zip(eta, k, strict=True))
    return (red, green, blue)


def metal_color(material: Material) -> Color:
    """Returns what a metal reflects at normal incidence; for other surfaces, which have no index, it is `specular`."""
    if not any(material.eta):
        return material.specular
    return multiplied(material.specular, metal_normal_reflectance(material.eta, material.k))


def added(first: Color, second: Color) -> Color:
    """Returns the sum of two reflectances, each channel at most 1."""
    red, green, blue = (min(a + b, 1.0) for a, b in zip(first, second, strict=True))
    return (red, green, blue)


def at_most_one(color: Color) -> Color:
    """Returns a reflectance with channels of at most 1, so that no more light leaves than comes in."""
    red, green, blue = (min(channel, 1.0) for channel in color)
    return (red, green, blue)


#: The mean cosine of what scatters is no nearer to -1 and 1, where all light would go one way.
MOST_COSINE = 0.99


def filled(material: Material, absorption: Color, scattering: Color, mean_cosine: float) -> Material:
    """Returns a material that has a medium inside. absorption, scattering: 1/m."""
    cosine = min(max(mean_cosine, -MOST_COSINE), MOST_COSINE)
    return replace(material, absorption=absorption, scattering=scattering, mean_cosine=cosine)


def scaled(color: Color, factor: float) -> Color:
    """Returns a colour times a number."""
    return (color[0] * factor, color[1] * factor, color[2] * factor)


def multiplied(first: Color, second: Color) -> Color:
    """Returns the product of two colours, channel by channel."""
    return (first[0] * second[0], first[1] * second[1], first[2] * second[2])


def glass(name: str, ior: float, transmittance: float = 1.0, roughness: float = 0.0) -> Material:
    """Makes glass; the normals of its closed surface point outward."""
    return Material(
        name=name,
        kind="dielectric",
        diffuse=BLACK,
        specular=(1.0, 1.0, 1.0),
        transmittance=transmittance,
        ior=ior,
        roughness=roughness,
    )


def pane(name: str, ior: float) -> Material:
    """Makes a thin pane, which bends no light and reflects at all angles, at both its faces, what it does at normal
    incidence."""
    once = normal_reflectance(ior)
    both = 2.0 * once / (1.0 + once)
    return Material(
        name=name,
        kind="nff",
        diffuse=BLACK,
        specular=(both, both, both),
        exponent=PANE_EXPONENT,
        transmittance=1.0 - both,
        ior=1.0,
    )


def metallic(name: str, base: Color, metal: float, roughness: float, ior: float = DEFAULT_IOR) -> Material:
    """Makes a metal, or something diffuse under a coat, or what is between.

    metal: share of metal, 0..1.
    roughness: the root of alpha, 0..1.
    ior: of the coat.
    """
    return Material(name=name, kind="principled", diffuse=base, roughness=roughness, ior=ior, own={"metalness": metal})
