"""This module mixes materials: those that are mixtures of what the kind nff has, exactly, and others about. And it puts
the mean of a picture into the numbers of a material."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from scenes.materials.microfacets import BLACK, PANE_EXPONENT, WHITE, added, by_phong, multiplied, phong_power, scaled
from scenes.model import Color, Material

#: Kinds of materials whose numbers can be blended as they are.
NUMBERED = ("metal", "plastic", "principled", "dielectric")
#: What pictures of specular reflectance multiply where that is no `specular`, by the kind of the material.
SHINE_KEYS = {"plastic": "specular_weight", "principled": "specular_weight", "sheen": "sheen"}


def mixed_material(first: Material, second: Material, share: float) -> tuple[Material, bool]:
    """Returns a mixture of two materials, and whether it is theirs. share: of the second."""
    is_exact = is_nff(first) and is_nff(second)
    if not is_exact and first.kind == second.kind and first.kind in NUMBERED:
        return intermediate(first, second, share), first == second
    a, b = as_nff(first), as_nff(second)
    exponent = min((part.exponent for part in (a, b) if any(part.specular)), default=0.0)
    material = Material(
        name="blend",
        kind="nff",
        specular=added(scaled(a.specular, 1.0 - share), scaled(b.specular, share)),
        exponent=exponent,
        transmittance=(1.0 - share) * a.transmittance + share * b.transmittance,
        ior=b.ior if b.transmittance > 0.0 else a.ior,
    )
    clear = {part.ior for part in (a, b) if part.transmittance > 0.0}
    shine = {part.exponent for part in (a, b) if any(part.specular)}
    return material, is_exact and len(clear) < 2 and len(shine) < 2


def is_nff(material: Material) -> bool:
    """Returns whether a material is a mixture of kind nff: diffuse, an even mirror, or smooth glass."""
    if material.kind == "metal":
        return not any(material.eta)
    return material.kind in ("diffuse", "mirror", "nff") or (material.kind == "dielectric" and not material.roughness)


def as_nff(material: Material) -> Material:
    """Returns a material as the mixture of kind nff that it is, or that is most like it."""
    if material.kind == "metal" and not any(material.eta):
        power = phong_power(material.roughness**2) if material.roughness else PANE_EXPONENT
        return replace(material, diffuse=BLACK, exponent=power)
    like = by_phong(material)
    if like.kind == "mirror":
        return replace(like, exponent=PANE_EXPONENT)
    return like if like.kind == "nff" else replace(like, specular=BLACK)


def intermediate(first: Material, second: Material, share: float) -> Material:
    """Returns a material of the same kind with the numbers between those of two."""

    def number(name: str) -> float:
        return (1.0 - share) * float(getattr(first, name)) + share * float(getattr(second, name))

    def triple(name: str) -> Color:
        return between(getattr(first, name), getattr(second, name), share)

    def own(key: str) -> float | Color | str:
        default = WHITE if key == "specular_weight" else 0.0
        a, b = (material.own.get(key, default) for material in (first, second))
        if isinstance(a, tuple) and isinstance(b, tuple):
            return between(a, b, share)
        return (1.0 - share) * a + share * b if isinstance(a, float) and isinstance(b, float) else a

    return replace(
        first,
        name="blend",
        diffuse=triple("diffuse"),
        specular=triple("specular"),
        eta=triple("eta"),
        k=triple("k"),
        roughness=number("roughness"),
        ior=number("ior"),
        transmittance=number("transmittance"),
        own={key: own(key) for key in {**first.own, **second.own}},
    )


def between(first: Color, second: Color, share: float) -> Color:
    """Returns the colour between two. share: of the second."""
    red, green, blue = ((1.0 - share) * a + share * b for a, b in zip(first, second, strict=True))
    return (red, green, blue)


def folded(material: Material, name: str, mean: Color) -> Material:
    """Returns a material in which the mean of a picture stands for it. name: of the field that the picture was for."""
    number, own = sum(mean) / 3.0, dict(material.own)
    key = SHINE_KEYS.get(material.kind)
    shine = {} if key is None else {key: multiplied(cast("Color", own.get(key, WHITE)), mean)}
    changed: dict[str, Callable[[], Material]] = {
        "texture": lambda: replace(
            material, diffuse=multiplied(material.diffuse, mean), backdrop=multiplied(material.backdrop, mean)
        ),
        "specular_map": lambda: replace(material, specular=multiplied(material.specular, mean), own=own | shine),
        "roughness_map": lambda: replace(material, roughness=material.roughness * number),
        "metalness_map": lambda: replace(material, own={**own, "metalness": cast("float", own["metalness"]) * number}),
        "transmission_map": lambda: replace(material, transmittance=material.transmittance * number),
        "emission_map": lambda: replace(material, emission=multiplied(material.emission, mean)),
    }
    return changed[name]() if name in changed else material
