"""This module makes elements of dictionaries, as Mitsuba's `load_dict` takes them: they are read as those of a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scenes.mitsuba.colors import COLORS
from scenes.mitsuba.elements import MAX_ELEMENTS, MAX_NESTING, LimitError, XmlElement, listed
from scenes.mitsuba.emitters import EMITTERS
from scenes.mitsuba.emitters import LEFT_OUT as LEFT_OUT_LIGHTS
from scenes.mitsuba.reader import LEFT_OUT as LEFT_OUT_SHAPES
from scenes.mitsuba.reader import OTHER_SENSORS, SENSORS
from scenes.mitsuba.shapes import SHAPES
from scenes.mitsuba.surfaces import BSDFS
from scenes.mitsuba.surfaces import LEFT_OUT as LEFT_OUT_SURFACES
from scenes.mitsuba.textures import TEXTURES

#: Plug-ins by the element that asks for one in a file. A dictionary says its plug-in alone.
PLUGINS = {
    "sensor": (*SENSORS, *OTHER_SENSORS, "batch"),
    "shape": (*SHAPES, *LEFT_OUT_SHAPES, "instance", "merge", "shapegroup"),
    "emitter": (*EMITTERS, *LEFT_OUT_LIGHTS, "area"),
    "bsdf": (*BSDFS, *LEFT_OUT_SURFACES),
    "texture": tuple(TEXTURES),
    "film": ("hdrfilm", "mfilm", "ldrfilm", "specfilm", "tiledhdrfilm"),
    "sampler": ("independent", "halton", "hammersley", "ldsampler", "multijitter", "orthogonal", "sobol", "stratified"),
    "rfilter": ("box", "catmullrom", "gaussian", "lanczos", "mitchell", "tent"),
    "integrator": ("aov", "depth", "direct", "moment", "path", "ptracer", "stokes", "volpath", "volpathmis"),
    "medium": ("heterogeneous", "homogeneous"),
    "phase": ("blendphase", "hg", "isotropic", "rayleigh", "sggx", "tabphase"),
    "volume": ("constvolume", "gridvolume"),
    "spectrum": ("d65", "irregular", "regular", "uniform"),
}
TAGS = {plugin: tag for tag, plugins in PLUGINS.items() for plugin in plugins} | {"ref": "ref"}

#: What stands for a parameter.
EXPECTED = "a dictionary, text, a number, a list of numbers or a transform of 3 x 3 or 4 x 4"


def scene_element(dictionary: Mapping[str, Any], folder: Path) -> XmlElement:
    """Returns the <scene> of a dictionary.

    folder: where the files are that it names.

    Raises `SceneFileError` with the keys that lead to what is wrong.
    """
    return Elements(folder).scene(dictionary)


class Elements:
    """Makes elements, and counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def scene(self, dictionary: Mapping[str, Any]) -> XmlElement:
        """Returns the <scene>, whose objects have their keys as ids."""
        scene = self._element("scene", {}, ())
        self._fill(scene, dictionary, ())
        for child in scene.children:
            if child.tag != "ref":
                child.attributes.setdefault("id", child.attributes["name"])
        return scene

    def _element(self, tag: str, attributes: dict[str, str], keys: tuple[str, ...]) -> XmlElement:
        path = self._folder / ".".join(("scene", *(key.replace("/", "_") for key in keys)))
        self._count += 1
        if len(keys) > MAX_NESTING or self._count > MAX_ELEMENTS:
            message = f"dictionaries are nested deeper than {MAX_NESTING}, or hold over {MAX_ELEMENTS} values"
            raise LimitError(path, None, message)
        return XmlElement(tag, attributes, path, None)

    def _fill(self, element: XmlElement, dictionary: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        """Gives an element what a dictionary has."""
        for key, value in dictionary.items():
            if key == "id":
                element.attributes["id"] = str(value)
            elif key != "type":
                element.children.append(self._child(str(key), value, (*keys, str(key))))

    def _child(self, name: str, value: Any, keys: tuple[str, ...]) -> XmlElement:
        """Returns the element of a value. keys: that lead to it."""
        if isinstance(value, Mapping):
            return self._object(name, value, keys)
        made = self._element("string", {"name": name}, keys)
        if isinstance(value, str | Path):
            made.attributes["value"] = str(value)
            return made
        numbers = numbers_of(getattr(value, "matrix", value), made)
        if numbers.shape in ((3, 3), (4, 4)):
            made.tag = "transform"
            made.children.append(self._element("matrix", {"value": joined(numbers)}, keys))
        elif numbers.ndim == 1:
            made.tag, made.attributes["value"] = "vector" if len(numbers) == 3 else "string", joined(numbers)
        elif numbers.ndim == 0:
            made.tag = {"b": "boolean", "i": "integer", "f": "float"}[numbers.dtype.kind]
            made.attributes["value"] = str(numbers.item()).lower()
        else:
            raise made.error(f"expected {EXPECTED}, got an array of shape {numbers.shape}")
        return made

    def _object(self, name: str, value: Mapping[str, Any], keys: tuple[str, ...]) -> XmlElement:
        """Returns the element of a dictionary: a colour, what refers to an object, or an object."""
        made = self._element("", {"name": name}, keys)
        plugin = value.get("type")
        if not isinstance(plugin, str):
            raise made.error(f"expected a dictionary with a 'type', got one with {listed(value)}")
        if plugin in COLORS:
            made.tag = plugin
            made.attributes |= {key: color_text(one, made) for key, one in value.items() if key != "type"}
            return made
        tag = TAGS.get(plugin, name if name in PLUGINS else None)  # where its name does not say what it is
        if tag is None:
            raise made.error(f"unknown or unsupported type {plugin!r}; there are: {listed(TAGS)}")
        made.tag = tag
        if tag != "ref":
            made.attributes["type"] = plugin
        self._fill(made, value, keys)
        return made


def numbers_of(value: Any, element: XmlElement) -> npt.NDArray[Any]:
    """Returns a flag, numbers or an array of them. element: for which they are."""
    try:
        numbers = np.asarray(value)
    except ValueError:  # rows of several lengths
        numbers = np.empty(0, object)
    if numbers.dtype.kind not in "bif":
        raise element.error(f"expected {EXPECTED}, got {type(value).__name__}")
    return numbers


def color_text(value: Any, element: XmlElement) -> str:
    """Returns a value of a colour as a file has it: text, numbers, or pairs of a wavelength and a number."""
    if isinstance(value, str | Path):
        return str(value)
    numbers = numbers_of(value, element)
    if numbers.ndim == 2 and numbers.shape[1] == 2:
        return ", ".join(f"{wavelength!r}:{number!r}" for wavelength, number in numbers.tolist())
    return joined(numbers)


def joined(numbers: npt.NDArray[Any]) -> str:
    """Returns numbers as a file has them, with all their digits."""
    return ", ".join(map(repr, numbers.astype(np.float64).ravel().tolist()))
