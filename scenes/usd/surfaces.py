"""This module turns materials into the kinds of surfaces that there are: those of UsdPreviewSurface (Pixar: UsdPreview
Surface Specification, 2.6, 2024). docs/usd.md has the table.

Reflectances above 1 become 1; emission may exceed it.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdShade

from scenes.gltf.pictures import CLAMP, COLOR, MIRROR, REPEAT, VECTORS, Lookup, Map, Role
from scenes.gltf.surfaces import HALF, GltfSurface, ior_of
from scenes.materials.mesh_materials import PLAIN
from scenes.materials.microfacets import (
    BLACK,
    DEFAULT_IOR,
    MIRROR_ALPHA,
    WHITE,
    at_most_one,
    coated,
    is_dull,
    metallic,
    multiplied,
    normal_reflectance,
    phong_power,
    scaled,
)
from scenes.model import Color, Material
from scenes.usd.file import UsdFile
from scenes.usd.pictures import ONES, ZEROS, Asked, Numbers4, UsdPictures, asset_of

PREVIEW, TEXTURE, TRANSFORM, READER = "UsdPreviewSurface", "UsdUVTexture", "UsdTransform2d", "UsdPrimvarReader_"
#: What is beyond a picture.
WRAPS = {"repeat": REPEAT, "mirror": MIRROR, "clamp": CLAMP, "black": CLAMP, "useMetadata": REPEAT}
#: Normals of a picture are its channels by the one and the other of these.
NORMAL_SCALE, NORMAL_BIAS = 2.0, -1.0
#: Channels of outputs of a texture.
CHANNELS = {"r": 0, "g": 1, "b": 2, "a": 3}
#: Nodes that may stand between a surface and texture coordinates.
MAX_NODES = 20
#: The map of texture coordinates to themselves, (3, 3).
UNMOVED = np.eye(3)
#: Sharpest lobe of a thin pane.
PANE_POWER = 10_000.0


@dataclass(frozen=True)
class Term:
    """Holds what an input of a surface says.

    number: its value, or what multiplies its picture.
    map: its picture, if it has one.
    channel: "" for the colours of that, or r, g, b or a.
    primvar: the name of what varies over the surface instead, or "".
    """

    number: Color
    map: Map | None = None
    channel: str = ""
    primvar: str = ""


@dataclass(eq=False)
class Look:
    """Holds the surface of a material, and the name of the primvar that multiplies its colour, or ""."""

    surface: GltfSurface
    primvar: str = ""


@dataclass(eq=False)
class UsdSurfaces:
    """Makes surfaces. names: of primvars that are texture coordinates; pictures refer to them by number."""

    file: UsdFile
    pictures: UsdPictures
    names: list[str] = field(default_factory=lambda: ["st"])

    def __post_init__(self) -> None:
        self.look = cache(self._look)

    def _look(self, path: Sdf.Path) -> Look | None:
        """Returns the look of a material at a path; None where it has none that is known, which is noted."""
        material = UsdShade.Material(self.file.stage.GetPrimAtPath(path))
        source = material.ComputeSurfaceSource() if material else None
        shader = UsdShade.Shader(source[0]) if source and source[0] else None
        kind = "" if shader is None else str(self.file.value(shader.GetIdAttr()) or "")
        if shader is None or kind != PREVIEW:
            found = f"a surface of {kind[:80]}" if kind else "no surface"
            self.file.note(f"material {path} has {found}, not of {PREVIEW}: colours for display are shown")
            return None
        return Preview(self, shader, material.GetPrim().GetName()).look()

    # --- inputs -------------------------------------------------------------------------------------------------------

    def producer(self, shader: UsdShade.Shader, name: str) -> Usd.Attribute | None:
        """Returns the attribute that gives an input its value: its own, or an output of another node."""
        given = shader.GetInput(name)
        attributes = UsdShade.Utils.GetValueProducingAttributes(given) if given else []
        return attributes[0] if attributes else None

    def given(self, shader: UsdShade.Shader, name: str) -> Any:
        """Returns the value of an input, or None where it has none."""
        attribute = self.producer(shader, name)
        if attribute is None or UsdShade.Output.IsOutput(attribute):
            return None
        return self.file.value(attribute)

    def node(self, attribute: Usd.Attribute) -> tuple[UsdShade.Shader, str]:
        """Returns the node that has an output, and the name of its kind."""
        shader = UsdShade.Shader(attribute.GetPrim())
        return shader, str(self.file.value(shader.GetIdAttr()) or "")

    def term(self, shader: UsdShade.Shader, name: str, default: Color, use: str = "color") -> Term:
        """Returns what an input says. use: color, light, number or normal."""
        attribute = self.producer(shader, name)
        if attribute is None:
            return Term(default)
        if not UsdShade.Output.IsOutput(attribute):
            return Term(self.color(attribute, self.file.value(attribute), default))
        node, kind = self.node(attribute)
        output = attribute.GetBaseName()
        if kind == TEXTURE:
            return self.texture(node, output, default, use)
        if kind.startswith(READER):
            fallback = self.color(attribute, self.given(node, "fallback"), default)
            return Term(fallback, primvar=str(self.given(node, "varname") or ""))
        self.file.note(f"{shader.GetPath()}: {name} is left out, as it comes from {kind[:80] or 'nothing'}")
        return Term(default)

    def color(self, attribute: Usd.Attribute, value: Any, default: Color) -> Color:
        """Returns a number or a colour as a colour."""
        if isinstance(value, int | float):
            return self.file.color_of(str(attribute.GetPath()), (value,) * 3, default)
        return self.file.color_of(str(attribute.GetPath()), value, default)

    def texture(self, node: UsdShade.Shader, output: str, default: Color, use: str) -> Term:
        """Returns what a picture says. use: as of `term`."""
        name = asset_of(self.file, self.producer(node, "file"))
        fallback = self.given(node, "fallback")
        other = default if fallback is None else self.file.color_of(str(node.GetPath()), list(fallback)[:3], default)
        if not name:
            self.file.lose(f"{node.GetPath()} names no picture: numbers alone are used")
            return Term(other)
        channel = output if output in CHANNELS else ""
        space, scale, bias = self.conversion(node, is_normal=use == "normal")
        factor: Color = WHITE
        own = scale[CHANNELS[channel]] if channel else 0.0
        is_factor = bias == ZEROS and channel != "a" and (use == "light" or max(scale[:3]) <= 1.0)
        if is_factor:  # what only multiplies does so without a picture of it
            factor = (own,) * 3 if channel else scale[:3]
            scale = ONES
        is_srgb = self.pictures.is_srgb(name, space)
        as_linear = use in ("number", "normal") or not is_srgb
        number = self.pictures.number(Asked(name, space, as_linear, scale, bias))
        if number is None:
            return Term(other)
        role = Role(None, True) if as_linear else COLOR
        if channel in ("r", "g", "b"):
            role = Role(CHANNELS[channel], True)
        return Term(factor, Map(self.lookup(node, number), role), channel)

    def conversion(self, node: UsdShade.Shader, *, is_normal: bool) -> tuple[str, Numbers4, Numbers4]:
        """Returns the colour space, the scale and the bias of a picture; those of normals as shares of 255 are."""
        space = str(self.given(node, "sourceColorSpace") or "auto")
        scale, bias = four(self.given(node, "scale"), ONES), four(self.given(node, "bias"), ZEROS)
        if not is_normal:
            return space, scale, bias
        if (scale, bias) == (ONES, ZEROS):
            self.file.note(
                f"{node.GetPath()}: its normals are taken for shares of 255, with a scale of 2 and bias of -1"
            )
            return "raw", ONES, ZEROS
        factors = four([number / NORMAL_SCALE for number in scale[:3]] + [1.0], ONES)
        shifts = four([(number - NORMAL_BIAS) / NORMAL_SCALE for number in bias[:3]] + [0.0], ZEROS)
        return "raw", factors, shifts

    def lookup(self, node: UsdShade.Shader, number: int) -> Lookup:
        """Returns how a picture is looked up: what is beyond it, by which texture coordinates, moved in which way."""
        wraps = [str(self.given(node, name) or "useMetadata") for name in ("wrapS", "wrapT")]
        if "black" in wraps:
            self.file.note("what is beyond a picture has the colours of its edge, and is not black")
        matrix, name = UNMOVED, "st"
        attribute = self.producer(node, "st")
        for _ in range(MAX_NODES):
            if attribute is None or not UsdShade.Output.IsOutput(attribute):
                break
            node, kind = self.node(attribute)
            if kind != TRANSFORM:
                name = str(self.given(node, "varname") or "st") if kind.startswith(READER) else name
                break
            matrix = matrix @ moved_uvs(*(self.given(node, each) for each in ("scale", "rotation", "translation")))
            attribute = self.producer(node, "in")
        if name not in self.names:
            self.names.append(name)
        s, t = (WRAPS.get(wrap, REPEAT) for wrap in wraps)
        return Lookup(number, (s, t), False, self.names.index(name), downward(matrix))


class Preview:
    """Makes the look of a UsdPreviewSurface."""

    def __init__(self, surfaces: UsdSurfaces, shader: UsdShade.Shader, name: str) -> None:
        self.surfaces, self.shader, self.name = surfaces, shader, name
        self.maps: dict[str, Map] = {}

    def note(self, text: str) -> None:
        """Notes what is not as the material has it."""
        self.surfaces.file.note(f"material {self.name!r}: {text}")

    def term(self, name: str, default: float | Color) -> Term:
        """Returns what an input says."""
        if isinstance(default, tuple):
            use = {"normal": "normal", "emissiveColor": "light"}.get(name, "color")
            return self.surfaces.term(self.shader, name, default, use)
        return self.surfaces.term(self.shader, name, (default,) * 3, "number")

    def number(self, name: str, default: float, most: float = 1.0) -> float:
        """Returns a number of an input, the mean of its picture if it has one, which is noted."""
        term = self.term(name, default)
        number = term.number[0]
        if term.map is not None:
            self.note(f"the mean of its {name} is taken")
            number *= self.surfaces.pictures.mean(term.map.lookup.image, term.map.role)[0]
        elif term.primvar:
            self.note(f"its {name} does not vary over it")
        return min(number, most)

    def look(self) -> Look:
        color = self.term("diffuseColor", (0.18, 0.18, 0.18))
        base = at_most_one(color.number)
        if color.primvar:
            base = WHITE
        if color.map is not None:
            self.maps["texture"] = color.map
        is_specular = self.number("useSpecularWorkflow", 0.0) > 0.0
        material = self.by_specular(base) if is_specular else self.by_metal(base)
        surface = GltfSurface(material, self.maps)
        self.add_emission(surface)
        normal = self.term("normal", (0.0, 0.0, 1.0))
        if normal.map is not None:
            surface.maps["normal_map"] = replace(normal.map, role=VECTORS)
        if self.surfaces.producer(self.shader, "displacement") is not None and self.number("displacement", 0.0, 1e9):
            self.note("its displacement is left out")
        self.add_opacity(surface)
        return Look(surface, color.primvar)

    def scalar_map(self, name: str, default: float, key: str) -> float:
        """Returns the number of an input, whose picture becomes a texture of the material."""
        term = self.term(name, default)
        if term.map is not None and term.channel != "a":
            self.maps[key] = term.map
            return min(term.number[0], 1.0)
        return self.number(name, default)

    def by_metal(self, base: Color) -> Material:
        """Returns a metal, or something diffuse under a coat, or what is between, with lacquer if it has some."""
        metal = self.scalar_map("metallic", 0.0, "metalness_map")
        roughness = self.scalar_map("roughness", 0.5, "roughness_map")
        own: dict[str, Any] = {"metalness": metal}
        coat = self.number("clearcoat", 0.0)
        if coat > 0.0:
            own |= {"coat": coat, "coat_roughness": self.number("clearcoatRoughness", 0.01)}
        ior = self.number("ior", DEFAULT_IOR, 1e9)
        made = metallic(self.name, base, metal, roughness, ior if ior > 1.0 else DEFAULT_IOR)
        return replace(made, own=own if ior > 1.0 else own | {"specular_weight": BLACK})

    def by_specular(self, base: Color) -> Material:
        """Returns the surface of a colour and of specular reflectance: a coat, a metal, or Phong's shine."""
        term, roughness = (
            self.term("specularColor", (0.0, 0.0, 0.0)),
            self.scalar_map("roughness", 0.5, "roughness_map"),
        )
        specular = at_most_one(term.number)
        if term.map is not None:
            specular = multiplied(specular, self.surfaces.pictures.mean(term.map.lookup.image, term.map.role))
            self.note("the mean of its specularColor is taken")
        is_black = base == BLACK and "texture" not in self.maps
        if is_black and any(specular) and roughness**2 > MIRROR_ALPHA:
            return Material(name=self.name, kind="metal", diffuse=BLACK, specular=specular, roughness=roughness)
        if max(specular) - min(specular) < 0.02:
            own: dict[str, Any] = {"metalness": 0.0} | ({} if any(specular) else {"specular_weight": BLACK})
            ior = ior_of(sum(specular) / 3.0) if any(specular) else DEFAULT_IOR
            return replace(metallic(self.name, base, 0.0, roughness, ior), own=own)
        self.maps.pop("roughness_map", None)
        return coated(self.name, base, specular, roughness**2)

    def add_emission(self, surface: GltfSurface) -> None:
        """Adds what it emits."""
        term = self.term("emissiveColor", BLACK)
        if term.map is not None:
            surface.maps["emission_map"] = term.map
        if term.primvar:
            self.note("its emission does not vary over it")
        surface.material = replace(surface.material, emission=term.number)

    def add_opacity(self, surface: GltfSurface) -> None:
        """Adds the holes of a surface, or what is seen through it."""
        term, threshold = self.term("opacity", 1.0), self.number("opacityThreshold", 0.0)
        if term.map is not None:
            if threshold == 0.0:
                self.note("blends by a picture of its opacity: it is cut out at one half")
            cut = self.surfaces.pictures.with_alpha(term.map, CHANNELS.get(term.channel, 0))
            if cut is not None:
                surface.maps["cutout"] = replace(cut, cutoff=threshold or HALF)
            return
        opacity = self.number("opacity", 1.0)
        if threshold > 0.0:
            opacity = 1.0 if opacity >= threshold else 0.0
        if opacity < 1.0 and surface.material.own.get("metalness", 1.0) != 1.0:
            self.note("is a thin pane, which bends no light, and lets pass what its opacity leaves")
            surface.material = thin(surface.material, opacity, 0.0 if threshold else None)
            surface.maps = {key: used for key, used in surface.maps.items() if key in ("texture", "emission_map")}


def thin(material: Material, opacity: float, shine: float | None = None) -> Material:
    """Returns a surface that lets light pass straight, as far as it is not there, and reflects as a pane does.

    shine: its reflectance, or None for what follows from its index.
    """
    once = normal_reflectance(material.ior) if "specular_weight" not in material.own else 0.0
    both = 2.0 * once / (1.0 + once) if shine is None and not is_dull(material.roughness**2) else 0.0
    return Material(
        name=material.name,
        kind="nff",
        diffuse=scaled(material.diffuse, opacity * (1.0 - both)),
        specular=(both, both, both),
        exponent=min(phong_power(material.roughness**2), PANE_POWER) if material.roughness > 0.1 else PANE_POWER,
        transmittance=(1.0 - opacity) * (1.0 - both),
        emission=material.emission,
    )


def displayed(color: Color | None, opacity: float) -> Material:
    """Returns the material of what has none but a colour for display, or none of that either."""
    material = PLAIN if color is None else Material(name="display", diffuse=at_most_one(color))
    return thin(material, opacity, 0.0) if opacity < 1.0 else material


def four(value: Any, default: Numbers4) -> Numbers4:
    """Returns four numbers, or others where a value is not that."""
    try:
        red, green, blue, alpha = (float(number) for number in value)
    except (TypeError, ValueError):
        return default
    numbers = (red, green, blue, alpha)
    return numbers if np.isfinite(numbers).all() else default


def moved_uvs(scale: Any, rotation: Any, translation: Any) -> np.ndarray:
    """Returns the map (3, 3) of texture coordinates, with t upward, that are scaled, turned counterclockwise by so many
    degrees, and shifted."""
    first, second = scale if scale is not None else (1.0, 1.0)
    angle = np.radians(rotation if rotation is not None else 0.0)
    right, up = translation if translation is not None else (0.0, 0.0)
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine * first, -sine * second, right], [sine * first, cosine * second, up], [0.0, 0.0, 1.0]])


def downward(matrix: np.ndarray) -> tuple[float, ...]:
    """Returns the six numbers of `Lookup` for a map (3, 3) of coordinates with t upward: v runs down."""
    (a, b, c), (d, e, f) = matrix[:2].tolist()
    return (a, -b, b + c, -d, e, 1.0 - e - f)
