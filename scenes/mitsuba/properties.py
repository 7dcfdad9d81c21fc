"""This module holds the parameters of an element by name, each of which has to be taken by whoever reads the
element."""

import math
from typing import NoReturn

import numpy as np

from scenes import srgb
from scenes.default_view import look_at
from scenes.mitsuba.elements import MAX_QUOTE, Element, listed, snake_case
from scenes.model import Color, Doubles
from scenes.transforms import quaternion, rotation, scaling, translation

#: No number of a file is larger, so that products of two are finite.
MAX_NUMBER = 1e30
#: No entry of a matrix is larger, so that its determinant is finite.
MAX_SCALE = 1e30
#: Radiance and intensity reach so far, so that float32 can square them.
MAX_LIGHT = 1e9
#: Elements that say how a picture is made rather than of what.
METHODS = frozenset(("film", "integrator", "rfilter", "sampler"))
OBJECTS = frozenset(("bsdf", "emitter", "ref", "sensor", "shape", "texture")) | METHODS
COLORS = ("rgb", "srgb", "spectrum", "float", "integer")
VALUES = frozenset(("boolean", "point", "string", "transform", "vector", *COLORS))


def numbers(element: Element, text: str, *counts: int) -> list[float]:
    """Reads as many finite numbers as one of the counts says, with blanks or commas between them."""
    words = text.replace(",", " ").split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = [math.nan]
    if len(values) not in counts or not all(abs(value) <= MAX_NUMBER for value in values):
        expected = " or ".join(str(count) for count in counts)
        raise element.error(f"expected {expected} finite numbers in {element.called}, got {text[:MAX_QUOTE]!r}")
    return values


class Properties:
    """Holds the parameters and the objects within an element.

    ids: elements that a <ref> can name.

    named: what has a name, by it. objects: all that is no value, in order.
    """

    def __init__(self, element: Element, ids: dict[str, Element]) -> None:
        self.element, self.ids = element, ids
        self.named: dict[str, Element] = {}
        self.objects: list[Element] = []
        self.asked: set[str] = set()
        for child in element.children:
            self.read_child(child)

    def read_child(self, child: Element) -> None:
        """Takes in an element, by its name if it has one. Objects need none."""
        if child.tag not in OBJECTS | VALUES:
            known = listed(OBJECTS | VALUES)
            raise child.error(f"unknown or unsupported {child.called} in {self.element.called}; there are: {known}")
        found = self.resolved(child)
        if child.tag in OBJECTS:
            self.objects.append(found)
        if child.tag in VALUES or "name" in child.attributes:
            name = snake_case(child.need("name"))
            if name in self.named:
                raise child.error(f"{self.element.called} has two parameters {name!r}")
            self.named[name] = found

    def within(self, tag: str) -> list[Element]:
        """Returns the objects of a kind, with and without names."""
        self.asked.update(name for name, element in self.named.items() if element.tag == tag)
        return [element for element in self.objects if element.tag == tag]

    @property
    def type(self) -> str:
        """Returns what kind of plug-in the element asks for."""
        return self.element.need("type")

    def resolved(self, child: Element) -> Element:
        """Returns the element, or what it refers to."""
        if child.tag != "ref":
            return child
        if child.need("id") not in self.ids:
            raise child.error(f"no element has the id {child.need('id')!r}; there are: {listed(self.ids)[:400]}")
        return self.ids[child.need("id")]

    def unknown_type(self, known: object) -> NoReturn:
        """Raises because there is no such plug-in."""
        raise self.element.error(f"unknown or unsupported {self.element.called}; there are: {listed(known)}")

    def finish(self, *ignored: str) -> None:
        """Raises where there is a parameter that nobody has asked for and that is not among those to ignore."""
        for name, element in self.named.items():
            if not (name in self.asked or name in ignored or element.tag in METHODS):
                known = listed(self.asked | set(ignored))
                raise element.error(f"unknown parameter {name!r} of {self.element.called}; there are: {known}")

    def take(self, name: str, *tags: str) -> Element | None:
        """Takes the parameter of a name, which is of one of some kinds; returns None where there is none."""
        self.asked.add(name)
        element = self.named.get(name)
        if element is not None and element.tag not in tags:
            raise element.error(f"expected {name!r} to be one of: {', '.join(tags)}; got <{element.tag}>")
        return element

    def number(self, name: str, default: float) -> float:
        """Takes a number."""
        element = self.take(name, "float", "integer")
        return default if element is None else numbers(element, element.need("value"), 1)[0]

    def text(self, name: str, default: str | None = None) -> str:
        """Takes a string. Raises where there is none and no default."""
        element = self.take(name, "string")
        if element is not None:
            return element.need("value")
        if default is None:
            raise self.element.error(f"expected {self.element.called} to have a {name!r}; it has {listed(self.named)}")
        return default

    def flag(self, name: str, default: bool = False) -> bool:
        """Takes a boolean."""
        element = self.take(name, "boolean")
        if element is None:
            return default
        value = element.need("value").lower()
        if value not in ("true", "false"):
            raise element.error(f"expected true or false, got {value[:MAX_QUOTE]!r}")
        return value == "true"

    def point(self, name: str, default: tuple[float, float, float]) -> Doubles:
        """Takes a point or vector, (3,)."""
        element = self.take(name, "point", "vector")
        return np.array(default) if element is None else vector(element, 0.0)

    def color(self, name: str, default: Color) -> Color:
        """Takes a colour, linear and not below 0."""
        element = self.take(name, *COLORS)
        return default if element is None else color(element)

    def light(self, name: str, default: Color) -> Color:
        """Takes a colour of radiance or intensity."""
        found = self.color(name, default)
        if max(found) > MAX_LIGHT:
            raise self.named[name].error(f"expected a {name} of at most {MAX_LIGHT:g}, got {max(found):g}")
        return found

    def matrix(self, name: str) -> Doubles | None:
        """Takes a transform, (4, 4); returns None where there is none."""
        element = self.take(name, "transform")
        return None if element is None else transform(element)


def color(element: Element) -> Color:
    """Returns a colour: three numbers, one number, or #rrggbb, which <srgb> alone takes for encoded."""
    text = element.need("value").strip()
    if text.startswith("#"):
        red, green, blue = hexadecimal(element, text)
    elif ":" in text:
        raise element.error(f"expected a colour without wavelengths in {element.called}, got {text[:MAX_QUOTE]!r}")
    else:
        values = numbers(element, text, 1, 3)
        red, green, blue = values if len(values) == 3 else values * 3
    if min(red, green, blue) < 0.0:
        raise element.error(f"expected a colour not below 0, got {text[:MAX_QUOTE]!r}")
    return decoded((red, green, blue)) if element.tag == "srgb" else (red, green, blue)


def hexadecimal(element: Element, text: str) -> Color:
    """Returns the channels of a colour written as #rrggbb, in 0..1."""
    try:
        red, green, blue = bytes.fromhex(text[1:])
    except ValueError as error:
        raise element.error(f"expected #rrggbb, got {text[:MAX_QUOTE]!r}") from error
    return (red / 255.0, green / 255.0, blue / 255.0)


def decoded(encoded: Color) -> Color:
    """Returns sRGB values in 0..1 as linear ones, to 8 bits."""
    levels = np.rint(np.clip(encoded, 0.0, 1.0) * 255.0).astype(np.uint8)
    red, green, blue = srgb.decoded(levels).tolist()
    return (red, green, blue)


def vector(element: Element, default: float) -> Doubles:
    """Returns the three numbers of `value`, where one stands for three, or else of x, y and z, each with a default."""
    if "value" in element.attributes:
        values = numbers(element, element.attributes["value"], 1, 3)
        return np.array(values if len(values) == 3 else values * 3)
    return np.array([numbers(element, element.attributes.get(axis, str(default)), 1)[0] for axis in "xyz"])


def transform(element: Element) -> Doubles:
    """Returns the map (4, 4) of all steps of a <transform>, one after the other."""
    matrix = np.eye(4)
    for step in element.children:
        matrix = step_matrix(step) @ matrix
        if not np.abs(matrix).max() <= MAX_SCALE:
            raise step.error(f"expected a transform by at most {MAX_SCALE:g}")
    if np.any(matrix[3] != (0.0, 0.0, 0.0, 1.0)):
        raise element.error(f"expected a transform whose last row is 0 0 0 1, got {matrix[3].tolist()}")
    return matrix


def step_matrix(step: Element) -> Doubles:
    """Returns the map (4, 4) of one step of a <transform>."""
    tag = snake_case(step.tag).replace("look_at", "lookat")
    if tag not in TRANSFORM_STEPS:
        raise step.error(f"unknown {step.called} in a transform; there are: {listed(TRANSFORM_STEPS)}")
    if tag == "translate":
        return translation(vector(step, 0.0))
    if tag == "scale":
        return scaling(vector(step, 1.0))
    if tag == "rotate":
        return rotation(quaternion(vector(step, 0.0), numbers(step, step.need("angle"), 1)[0]))
    return matrix_of(step) if tag == "matrix" else lookat(step)


#: Steps of a <transform>.
TRANSFORM_STEPS = ("lookat", "matrix", "rotate", "scale", "translate")


def matrix_of(step: Element) -> Doubles:
    """Returns the map (4, 4) of sixteen numbers row by row, or of the nine of a linear map."""
    values = numbers(step, step.need("value"), 9, 16)
    matrix = np.eye(4)
    size = 3 if len(values) == 9 else 4
    matrix[:size, :size] = np.array(values).reshape(size, size)
    return matrix


def lookat(step: Element) -> Doubles:
    """Returns the map (4, 4) that takes +z to what is looked at, +y up and +x to the left."""
    origin, target, upward = (np.array(numbers(step, step.need(key), 3)) for key in ("origin", "target", "up"))
    forward, up = look_at(origin, target, upward)
    if not up.any():
        raise step.error("origin, target and up leave the orientation open")
    matrix = np.eye(4)
    matrix[:3, :] = np.stack([np.cross(up, forward), up, forward, origin], axis=-1)
    return matrix
