"""This module says what things in the kitchen are made of, by name."""

from scenes.model import Color, Material
from scenes.shipped.scripts.kitchen.textures import PAINTERS

WHITE: Color = (1.0, 1.0, 1.0)


def matt(name: str, diffuse: Color) -> Material:
    """Returns a surface that scatters evenly."""
    return Material(name=name, diffuse=diffuse)


def glossy(name: str, diffuse: Color, specular: float, exponent: float) -> Material:
    """Returns a surface with a clear coat."""
    return Material(name=name, kind="nff", diffuse=diffuse, specular=(specular, specular, specular), exponent=exponent)


def metal(name: str, specular: Color, exponent: float) -> Material:
    """Returns a surface that reflects nearly all that it does not absorb."""
    diffuse = tuple(0.15 * channel for channel in specular)
    return Material(
        name=name, kind="nff", diffuse=(diffuse[0], diffuse[1], diffuse[2]), specular=specular, exponent=exponent
    )


def printed(name: str, specular: float = 0.0, exponent: float = 0.0) -> Material:
    """Returns a surface with the texture of the same name, under a clear coat if it has any specular reflectance."""
    texture = list(PAINTERS).index(name)
    gloss = (specular, specular, specular)
    kind = "nff" if specular else "diffuse"
    return Material(name=name, kind=kind, diffuse=WHITE, specular=gloss, exponent=exponent, texture=texture)


def glowing(name: str, emission: Color) -> Material:
    """Returns a surface that shines. emission: W/(m^2 sr)."""
    return Material(name=name, diffuse=(0.0, 0.0, 0.0), emission=emission)


MATERIALS = (
    matt("plaster", (0.76, 0.73, 0.67)),
    matt("ceiling", (0.80, 0.79, 0.76)),
    matt("white wood", (0.75, 0.74, 0.70)),
    glossy("sage", (0.30, 0.42, 0.34), 0.03, 60.0),
    glossy("enamel", (0.72, 0.70, 0.64), 0.05, 150.0),
    glossy("mint", (0.36, 0.60, 0.54), 0.06, 200.0),
    glossy("black glass", (0.015, 0.015, 0.017), 0.08, 900.0),
    glossy("iron", (0.06, 0.06, 0.065), 0.06, 25.0),
    metal("steel", (0.60, 0.60, 0.59), 120.0),
    metal("brass", (0.66, 0.48, 0.22), 90.0),
    metal("copper", (0.68, 0.36, 0.24), 160.0),
    Material(name="chrome", kind="mirror", diffuse=(0.0, 0.0, 0.0), specular=(0.72, 0.73, 0.74)),
    Material(
        name="glass",
        kind="dielectric",
        diffuse=(0.0, 0.0, 0.0),
        specular=WHITE,
        transmittance=1.0,
        ior=1.5,
    ),
    glossy("porcelain", (0.74, 0.73, 0.70), 0.05, 300.0),
    glossy("blue glaze", (0.06, 0.13, 0.36), 0.06, 300.0),
    glossy("ochre glaze", (0.60, 0.34, 0.08), 0.05, 200.0),
    matt("terracotta", (0.46, 0.20, 0.11)),
    matt("soil", (0.07, 0.05, 0.04)),
    matt("leaf", (0.09, 0.27, 0.06)),
    matt("straw", (0.58, 0.44, 0.22)),
    glossy("red apple", (0.55, 0.05, 0.04), 0.04, 80.0),
    glossy("green apple", (0.36, 0.50, 0.08), 0.04, 80.0),
    matt("orange", (0.76, 0.32, 0.03)),
    matt("lemon", (0.78, 0.62, 0.06)),
    matt("banana", (0.76, 0.56, 0.10)),
    matt("crust", (0.50, 0.27, 0.10)),
    matt("stalk", (0.16, 0.09, 0.04)),
    glossy("red lacquer", (0.58, 0.03, 0.025), 0.06, 400.0),
    glossy("cream lacquer", (0.74, 0.66, 0.48), 0.06, 400.0),
    matt("rubber", (0.05, 0.05, 0.05)),
    matt("beech", (0.68, 0.47, 0.28)),
    matt("blue paint", (0.08, 0.22, 0.50)),
    printed("floor tiles", 0.03, 300.0),
    printed("wall tiles", 0.04, 300.0),
    printed("oak"),
    printed("walnut"),
    printed("gingham"),
    printed("linen"),
    glowing("blue sky", (3.1, 3.9, 5.2)),
    glowing("bright sky", (11.5, 10.6, 9.4)),
    glowing("far hill", (0.75, 1.05, 1.0)),
    glowing("near hill", (0.40, 0.62, 0.22)),
    glowing("lamp", (15.0, 12.0, 8.0)),
)

INDICES = {material.name: index for index, material in enumerate(MATERIALS)}


def of(name: str) -> int:
    """Returns the index of a material by its name. Raises KeyError for a name that does not exist."""
    return INDICES[name]
