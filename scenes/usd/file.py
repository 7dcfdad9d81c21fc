"""This module reads values of the attributes of an open stage, with notes of those that are not what they should be."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Usd

from scenes.errors import Notes
from scenes.meshes.geometry import bad_numbers
from scenes.model import Color, Doubles

#: Numbers of files are at most so large.
MAX_NUMBER = 1e9


@dataclass(eq=False)
class UsdFile:
    """Holds an open stage.

    path: of its file.
    notes: take in what is not as the file says.
    start: the time code at which what stands still is looked at.
    """

    path: Path
    stage: Usd.Stage
    notes: Notes
    start: Usd.TimeCode

    def note(self, text: str) -> None:
        """Notes what is left out, or only approximated."""
        self.notes.add(text, self.path)

    def lose(self, text: str) -> None:
        """Notes what could not be used, an error by --strict."""
        self.notes.add_loss(text, self.path)

    def value(self, attribute: Usd.Attribute, time: Usd.TimeCode | None = None) -> Any:
        """Returns the value of an attribute at a time, the start by default, or None without one."""
        if not attribute or not attribute.HasValue():
            return None
        try:
            return attribute.Get(self.start if time is None else time)
        except TypeError:  # of a kind that Python has no word for
            self.lose(f"{attribute.GetPath()} is left out: its value is of no kind that is known")
            return None

    def rows(self, attribute: Usd.Attribute, width: int, time: Usd.TimeCode | None = None) -> Doubles | None:
        """Returns the numbers of an array, (n, width), or None without any, and noted where they are of no use."""
        value = self.value(attribute, time)
        if value is None:
            return None
        return self.checked(str(attribute.GetPath()), value, width)

    def checked(self, name: str, value: Any, width: int) -> Doubles | None:
        """Returns numbers of an array as `rows` does."""
        try:
            numbers = np.array(value, np.float64)
        except (TypeError, ValueError):
            numbers = np.zeros((0, 0))
        if numbers.size == 0:
            numbers = numbers.reshape(0, width)
        if width == 1 and numbers.ndim == 1:
            numbers = numbers[:, None]
        if numbers.ndim != 2 or numbers.shape[1] != width:
            self.lose(f"{name} is left out: expected {width} number{'s' if width > 1 else ''} in each item")
            return None
        if wrong := bad_numbers("item", numbers):
            self.lose(f"{name} is left out: {wrong}")
            return None
        return numbers

    def wholes(self, attribute: Usd.Attribute) -> npt.NDArray[np.int64]:
        """Returns the whole numbers of an array, (n,); none where there are none."""
        value = self.value(attribute)
        try:
            numbers = np.array([] if value is None else value)
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        return numbers.astype(np.int64) if numbers.ndim == 1 and numbers.dtype.kind in "iuf" else np.zeros(0, np.int64)

    def number(self, attribute: Usd.Attribute, default: float, low: float = -MAX_NUMBER) -> float:
        """Returns a number, within `low` and MAX_NUMBER; noted and the default where it is none."""
        value = self.value(attribute)
        if value is None:
            return default
        if isinstance(value, int | float) and low <= value <= MAX_NUMBER:
            return float(value)
        self.note(f"{attribute.GetPath()} counts as {default:g}: expected a number from {low:g} to {MAX_NUMBER:g}")
        return default

    def color(self, attribute: Usd.Attribute, default: Color) -> Color:
        """Returns a linear colour; negative channels count as 0."""
        return self.color_of(str(attribute.GetPath()), self.value(attribute), default)

    def color_of(self, name: str, value: Any, default: Color) -> Color:
        """Returns a value as a colour. name: of what has it."""
        if value is None:
            return default
        try:
            red, green, blue = (min(max(float(channel), 0.0), MAX_NUMBER) for channel in value)
        except (TypeError, ValueError):
            self.note(f"{name} is left out: expected three numbers")
            return default
        return (red, green, blue)

    def text(self, attribute: Usd.Attribute, default: str = "") -> str:
        """Returns a word."""
        value = self.value(attribute)
        return value if isinstance(value, str) else default
