"""This module holds the parameters of an element by name, each of which has to be taken by whoever reads the
element."""

import math
from pathlib import Path
from typing import NoReturn

import numpy as np

from scenes.mitsuba.colors import COLORS, color, light
from scenes.mitsuba.elements import MAX_QUOTE, AbsentError, XmlElement, listed, numbers, snake_case, some
from scenes.mitsuba.reading import Reading
from scenes.model import Color, Doubles
from scenes.motion.transforms import quaternion, rotation, scaling, translation
from scenes.views.viewing import look_at

#: The axis of a rotation is of unit length up to this.
UNIT = 1e-3
#: No entry of a matrix is larger, so that its determinant is finite.
MAX_SCALE = 1e30
#: Radiance and intensity reach so far, so that float32 can square them.
MAX_LIGHT = 1e9
#: Elements that say how a picture is made rather than of what, and where they may be.
METHODS = frozenset(("film", "integrator", "rfilter", "sampler"))
WITH_METHODS = frozenset(("scene", "sensor", "film", "integrator", "sampler"))
OBJECTS = frozenset(("bsdf", "emitter", "ref", "sensor", "shape", "texture")) | METHODS
VALUES = frozenset(("animation", "boolean", "point", "string", "transform", "vector", *COLORS))
#: What is left out, by the element that asks for it.
LEFT_OUT = {
    **dict.fromkeys(("medium", "phase", "volume"), "a medium is left out: the space in it is clear"),
    "subsurface": "light that is scattered below a surface is left out",
}
#: Where such elements are read all the same.
READ_IN = {"medium": ("scene", "shape"), "phase": ("medium",)}


class Properties:
    """Holds the parameters and the objects within an element.

    named: what has a name, by it. objects: all that is no value, in order.

    What is wrong with one of them becomes a problem of the reading, and the parameter has its default.
    """

    def __init__(self, element: XmlElement, reading: Reading) -> None:
        self.element, self.reading = element, reading
        self.named: dict[str, XmlElement] = {}
        self.objects: list[XmlElement] = []
        self.asked: set[str] = set()
        self._taken: set[XmlElement] = set()
        for child in element.children:
            reading.attempt(None, self.read_child, child)

    def read_child(self, child: XmlElement) -> None:
        """Takes in an element, by its name if it has one. Objects need none."""
        if child.tag == "alias":
            return
        if self.leaves_out(child):
            self.reading.note_loss(child, LEFT_OUT[child.tag])
            return
        if child.tag not in OBJECTS | VALUES | READ_IN.keys():
            raise self.misplaced(child)
        found = self.resolved(child)
        if self.leaves_out(found):
            return  # where it stands it is noted, or read for a shape
        if child.tag in OBJECTS | READ_IN.keys():
            self.objects.append(found)
        if child.tag in VALUES or "name" in child.attributes:
            name = snake_case(child.need("name"))
            if name in self.named:
                raise child.error(f"{self.element.called} has two parameters {name!r}")
            self.named[name] = found

    def leaves_out(self, child: XmlElement) -> bool:
        """Returns whether an element says nothing here."""
        return child.tag in LEFT_OUT and self.element.tag not in READ_IN.get(child.tag, ())

    def misplaced(self, child: XmlElement) -> Exception:
        """Returns the error to raise about an element that cannot be here."""
        if snake_case(child.tag).replace("look_at", "lookat") in TRANSFORM_STEPS:
            return child.error(f"{child.called} does not belong in {self.element.called}, but in a <transform>")
        there = listed(OBJECTS | VALUES)
        return child.error(f"unknown or unsupported {child.called} in {self.element.called}; there are: {there}")

    def within(self, tag: str) -> list[XmlElement]:
        """Returns the objects of a kind, with and without names."""
        self.asked.update(name for name, element in self.named.items() if element.tag == tag)
        found = [element for element in self.objects if element.tag == tag]
        self._taken.update(found)
        return found

    @property
    def type(self) -> str:
        """Returns what kind of plug-in the element asks for."""
        return self.element.kind

    def resolved(self, child: XmlElement) -> XmlElement:
        """Returns the element, or what it refers to."""
        if child.tag != "ref":
            return child
        ids = self.reading.ids
        if child.need("id") not in ids:
            message = f"no element has the id {child.need('id')!r}; there are: {some(ids)}"
            raise AbsentError(child.path, child.line, message)
        return ids[child.need("id")]

    def unknown_type(self, known: object) -> NoReturn:
        """Raises because there is no such plug-in."""
        raise self.element.error(f"unknown or unsupported {self.element.called}; there are: {listed(known)}")

    def note(self, message: str) -> None:
        """Takes in what is to be told about the element."""
        self.reading.note(self.element, message)

    def left_out(self, *names: str) -> None:
        """Takes parameters that are in Mitsuba and not here, and notes those that are given."""
        for name in names:
            self.asked.add(name)
            if name in self.named:
                element = self.named[name]
                self._taken.add(element)
                self.reading.note(element, f"{name!r} of {self.element.called} is left out")

    def finish(self, *ignored: str) -> None:
        """Tells of parameters that nobody has asked for and that are not among those to ignore, and of objects that
        do not belong here."""
        for name, element in self.named.items():
            if not (name in self.asked or name in ignored or element.tag in METHODS):
                known = listed(self.asked | set(ignored))
                problem = element.error(f"unknown parameter {name!r} of {self.element.called}; there are: {known}")
                self.reading.problems.append(problem)
        spoken_for = self._taken.union(self.named.values())
        for element in self.objects:
            allowed = element.tag in METHODS and self.element.tag in WITH_METHODS
            if not (allowed or element in spoken_for):
                self.reading.problems.append(
                    element.error(f"{element.called} does not belong in {self.element.called}")
                )

    def take(self, name: str, *tags: str) -> XmlElement | None:
        """Takes the parameter of a name, which is of one of some kinds; returns None where there is none."""
        self.asked.add(name)
        element = self.named.get(name)
        if element is not None and element.tag not in tags:
            problem = element.error(f"expected {name!r} to be one of: {', '.join(tags)}; got <{element.tag}>")
            self.reading.problems.append(problem)
            return None
        return element

    def number(self, name: str, default: float) -> float:
        element = self.take(name, "float", "integer")
        return default if element is None else self.reading.attempt(default, one_number, element)

    def text(self, name: str, default: str | None = None) -> str:
        """Takes a string. Raises where there is none and no default."""
        element = self.take(name, "string")
        if element is not None:
            return element.need("value")
        if default is None:
            raise self.element.error(f"expected {self.element.called} to have a {name!r}; it has {listed(self.named)}")
        return default

    def file(self) -> Path:
        """Takes the name of a file, and returns its path. Raises where there is none."""
        return self.reading.files.find(self.named.get("filename", self.element), self.text("filename"))

    def flag(self, name: str, default: bool = False) -> bool:
        element = self.take(name, "boolean")
        return default if element is None else self.reading.attempt(default, truth, element)

    def point(self, name: str, default: tuple[float, float, float]) -> Doubles:
        """Takes a point or vector, (3,)."""
        element = self.take(name, "point", "vector")
        return np.array(default) if element is None else self.reading.attempt(np.array(default), vector, element, 0.0)

    def color(self, name: str, default: Color) -> Color:
        """Takes a colour, linear and not below 0."""
        element = self.take(name, *COLORS)
        return default if element is None else self.reading.attempt(default, color, element, self.reading)

    def light(self, name: str, default: Color) -> Color:
        """Takes a colour of radiance or intensity."""
        element = self.take(name, *COLORS)
        return default if element is None else self.reading.attempt(default, self.light_of, element)

    def light_of(self, element: XmlElement) -> Color:
        """Returns the colour of radiance or intensity that an element says."""
        found = light(element, self.reading)
        if max(found) > MAX_LIGHT:
            name = element.attributes.get("name", "light")
            raise element.error(f"expected a {name} of at most {MAX_LIGHT:g}, got {max(found):g}")
        return found

    def matrix(self, name: str) -> Doubles | None:
        """Takes a transform, (4, 4); returns None where there is none. Of an animated one it is the first."""
        element = self.take(name, "transform", "animation")
        if element is None:
            element = self.take("animation", "animation")
        if element is not None and element.tag == "animation":
            self.reading.note(element, "an <animation> stands still as it begins")
            element = element.children[0] if element.children else None
        return None if element is None else self.reading.attempt(None, transform, element, self.reading)


def one_number(element: XmlElement) -> float:
    return numbers(element, element.need("value"), 1)[0]


def truth(element: XmlElement) -> bool:
    value = element.need("value").strip().lower()
    if value not in ("true", "false"):
        raise element.error(f"expected true or false, got {value[:MAX_QUOTE]!r}")
    return value == "true"


def vector(element: XmlElement, default: float) -> Doubles:
    """Returns the three numbers of `value`, where one stands for three, or else of x, y and z, each with a default."""
    if "value" in element.attributes:
        values = numbers(element, element.attributes["value"], 1, 3)
        return np.array(values if len(values) == 3 else values * 3)
    return np.array([numbers(element, element.attributes.get(axis, str(default)), 1)[0] for axis in "xyz"])


def transform(element: XmlElement, reading: Reading) -> Doubles:
    """Returns the map (4, 4) of all steps of a <transform>, one after the other."""
    matrix = np.eye(4)
    for step in element.children:
        matrix = step_matrix(step, reading) @ matrix
        if not np.abs(matrix).max() <= MAX_SCALE:
            raise step.error(f"expected a transform by at most {MAX_SCALE:g}")
    if np.any(matrix[3] != (0.0, 0.0, 0.0, 1.0)):
        raise element.error(f"expected a transform whose last row is 0 0 0 1, got {matrix[3].tolist()}")
    return matrix


def step_matrix(step: XmlElement, reading: Reading) -> Doubles:
    """Returns the map (4, 4) of one step of a <transform>."""
    tag = snake_case(step.tag).replace("look_at", "lookat")
    if tag not in TRANSFORM_STEPS:
        raise step.error(f"unknown {step.called} in a transform; there are: {listed(TRANSFORM_STEPS)}")
    if tag == "translate":
        return translation(vector(step, 0.0))
    if tag == "scale":
        return scaling(vector(step, 1.0))
    if tag == "rotate":
        return turn(step, reading)
    return matrix_of(step) if tag == "matrix" else lookat(step)


def turn(step: XmlElement, reading: Reading) -> Doubles:
    """Returns the map (4, 4) of a <rotate>. About an axis that is not of unit length it is the sum of Rodrigues with
    that axis, as Mitsuba has it since 2, which stretches too."""
    axis, angle = vector(step, 0.0), numbers(step, step.need("angle"), 1)[0]
    length = float(np.linalg.norm(axis))
    if reading.is_old or abs(length - 1.0) < UNIT:
        return rotation(quaternion(axis, angle))
    reading.note(step, f"the axis of a <rotate> is {length:g} long and not 1, so it stretches, as Mitsuba has it")
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    matrix = np.eye(4)
    matrix[:3, :3] = cosine * np.eye(3) + sine * np.cross(np.eye(3), axis) + (1.0 - cosine) * np.outer(axis, axis)
    return matrix


#: Steps of a <transform>.
TRANSFORM_STEPS = ("lookat", "matrix", "rotate", "scale", "translate")


def matrix_of(step: XmlElement) -> Doubles:
    """Returns the map (4, 4) of sixteen numbers row by row, or of the nine of a linear map."""
    values = numbers(step, step.need("value"), 9, 16)
    matrix = np.eye(4)
    size = 3 if len(values) == 9 else 4
    matrix[:size, :size] = np.array(values).reshape(size, size)
    return matrix


def lookat(step: XmlElement) -> Doubles:
    """Returns the map (4, 4) that takes +z to what is looked at, +y up and +x to the left."""
    origin, target, upward = (np.array(numbers(step, step.need(key), 3)) for key in ("origin", "target", "up"))
    forward, up = look_at(origin, target, upward)
    if not up.any():
        raise step.error("origin, target and up leave the orientation open")
    matrix = np.eye(4)
    matrix[:3, :] = np.stack([np.cross(up, forward), up, forward, origin], axis=-1)
    return matrix
