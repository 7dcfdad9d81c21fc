"""A setting is described by a field of a dataclass with its kind of value, its effect and its group."""

from __future__ import annotations

import dataclasses
import numbers
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

from renderer.errors import UsageError

MAX_SIDE = 16384
MAX_PIXELS = 1 << 26


class Kind(Protocol):
    """Describes a kind of value. Both methods raise `ValueError` or `TypeError` for what is none.

    metavar: stands for the value in the help of the command line, or None.
    expected: what is valid, in words.
    """

    @property
    def metavar(self) -> str | None:
        """Returns the word that stands for a value in help."""

    @property
    def expected(self) -> str:
        """Returns what is valid, in words that follow `expected`."""

    def read(self, text: str) -> Any:
        """Return the value that a word of the command line means, its bounds not checked."""

    def clean(self, value: Any) -> Any:
        """Return a value as the type that the program calculates with, its bounds checked."""


#: Sizes of memory: their form, what units stand for, and the smallest one.
BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])?B?")
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LEAST_BYTES = 10**8


@dataclass(frozen=True)
class Whole:
    """This kind of value is a whole number from `least` to `most`, or only the powers of two among them."""

    least: int
    most: int
    is_power_of_two: bool = False
    metavar: str | None = "N"

    @property
    def expected(self) -> str:
        """Returns the bounds in words."""
        noun = "power of two" if self.is_power_of_two else "whole number"
        return f"a {noun} from {self.least} to {self.most}"

    def read(self, text: str) -> int:
        """Return the number that a text means."""
        return int(text)

    def clean(self, value: Any) -> int:
        """Return an `int` within the bounds; booleans are no numbers, and 1e5 is a whole one."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise TypeError
        if not isinstance(value, numbers.Integral):
            value = float(value)
            if not value.is_integer():
                raise ValueError
        number = int(value)
        if not self.least <= number <= self.most or (self.is_power_of_two and number & (number - 1)):
            raise ValueError
        return number


@dataclass(frozen=True)
class Number:
    """This kind of value is a number from `least` to `most`; what is not a number is out of bounds."""

    least: float
    most: float
    metavar: str | None = "X"

    @property
    def expected(self) -> str:
        """Returns the bounds in words."""
        return f"a number from {self.least:g} to {self.most:g}"

    def read(self, text: str) -> float:
        """Return the number that a text means."""
        return float(text)

    def clean(self, value: Any) -> float:
        """Return a `float` within the bounds."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise TypeError
        number = float(value)
        if not self.least <= number <= self.most:
            raise ValueError
        return number


@dataclass(frozen=True)
class NumberOrWord(Number):
    """This kind of value is a number from `least` to `most`, or a word that leaves it to the program."""

    word: str = "auto"

    @property
    def expected(self) -> str:
        """Returns the bounds in words, and the word."""
        return f"{super().expected}, or {self.word}"

    def read(self, text: str) -> float | str:  # type: ignore[override]
        """Return the number that a text means, or the word."""
        return text if text == self.word else super().read(text)

    def clean(self, value: Any) -> float | str:  # type: ignore[override]
        """Return a `float` within the bounds, or the word."""
        return self.word if value == self.word else super().clean(value)


@dataclass(frozen=True)
class WholeOrWord(Whole):
    """This kind of value is a whole number from `least` to `most`, or a word that leaves it to the program."""

    word: str = "all"

    @property
    def expected(self) -> str:
        """Returns the bounds in words, and the word."""
        return f"{super().expected}, or {self.word}"

    def read(self, text: str) -> int | str:  # type: ignore[override]
        """Return the number that a text means, or the word."""
        return text if text == self.word else super().read(text)

    def clean(self, value: Any) -> int | str:  # type: ignore[override]
        """Return an `int` within the bounds, or the word."""
        return self.word if value == self.word else super().clean(value)


@dataclass(frozen=True)
class Vector:
    """This kind of value is three numbers, each at most `most` in size."""

    most: float
    metavar: str | None = "X,Y,Z"

    @property
    def expected(self) -> str:
        """Returns the bounds in words."""
        return f"three numbers such as 1.5,0,-2, each at most {self.most:g} in size"

    def read(self, text: str) -> tuple[float, ...]:
        """Return the numbers of a text such as 1.5,0,-2."""
        return tuple(float(word) for word in text.split(","))

    def clean(self, value: Any) -> tuple[float, float, float]:
        """Return three `float` within the bounds."""
        number = Number(-self.most, self.most)
        x, y, z = (number.clean(part) for part in value)
        return x, y, z


@dataclass(frozen=True)
class Size:
    """This kind of value is the width and height of a picture in pixels."""

    metavar: str | None = "WxH"
    expected: str = (
        f"WIDTHxHEIGHT such as 800x600, sides from 1 to {MAX_SIDE} pixels and at most {MAX_PIXELS} pixels in all"
    )

    def read(self, text: str) -> tuple[int, int]:
        """Return (width, height) of a text such as 800x600."""
        width, height = (int(side) for side in text.lower().split("x"))
        return width, height

    def clean(self, value: Any) -> tuple[int, int]:
        """Return (width, height) of any two numbers within the bounds, or of a text such as 800x600."""
        if isinstance(value, str):
            value = self.read(value)
        side = Whole(1, MAX_SIDE)
        width, height = (side.clean(number) for number in value)
        if width * height > MAX_PIXELS:
            raise ValueError
        return width, height


@dataclass(frozen=True)
class Rectangle:
    """This kind of value is a part of a picture: its left column, its upper row, its width and its height, pixels."""

    metavar: str | None = "X,Y,W,H"
    expected: str = f"X,Y,WIDTH,HEIGHT such as 200,150,64,48, pixels from 0 to {MAX_SIDE}, sides of at least 1"

    def read(self, text: str) -> tuple[int, ...]:
        """Return the numbers of a text such as 200,150,64,48."""
        return tuple(int(word) for word in text.split(","))

    def clean(self, value: Any) -> tuple[int, int, int, int]:
        """Return four `int` within the bounds."""
        place, side = Whole(0, MAX_SIDE), Whole(1, MAX_SIDE)
        x, y, width, height = (kind.clean(part) for kind, part in zip((place, place, side, side), value, strict=True))
        return x, y, width, height


@dataclass(frozen=True)
class White:
    """This kind of value is what is taken for white: a chromaticity, x and y, or the temperature of a black body."""

    metavar: str | None = "X,Y|KELVIN"
    expected: str = (
        "a chromaticity such as 0.4476,0.4074, x and y from 0.1 to 0.8 and x + y below 1, or kelvin from 1667 to 25000"
    )

    def read(self, text: str) -> float | tuple[float, ...]:
        """Return the numbers of a text such as 0.4476,0.4074, or the number of one such as 2856."""
        return tuple(float(word) for word in text.split(",")) if "," in text else float(text)

    def clean(self, value: Any) -> float | tuple[float, float]:
        """Return two `float`, or one, within the bounds."""
        if isinstance(value, numbers.Real):
            return Number(1667.0, 25000.0).clean(value)
        x, y = (Number(0.1, 0.8).clean(part) for part in value)
        if x + y >= 1.0:
            raise ValueError
        return x, y


@dataclass(frozen=True)
class Bytes:
    """This kind of value is a number of bytes, or a text such as 4GB."""

    metavar: str | None = "SIZE"
    expected: str = f"a size of at least {LEAST_BYTES} bytes, such as 800MB or 4.5GB"

    def read(self, text: str) -> str:
        """Returns the text, of which `clean` makes a number."""
        return text

    def clean(self, value: Any) -> int:
        """Returns the number of bytes."""
        if isinstance(value, str):
            match = BYTES.fullmatch(value.strip().upper())
            if match is None:
                raise ValueError
            value = int(float(match[1]) * UNITS[match[2] or ""])
        return Whole(LEAST_BYTES, 1 << 50).clean(value)


@dataclass(frozen=True)
class Choice:
    """This kind of value is one of a few names."""

    names: tuple[str, ...]
    metavar: ClassVar[str | None] = None

    @property
    def expected(self) -> str:
        """Returns the names in words."""
        return f"one of {', '.join(self.names)}"

    def read(self, text: str) -> str:
        """Return the text itself."""
        return text

    def clean(self, value: Any) -> str:
        """Return the name, if it is one of them."""
        if value not in self.names:
            raise ValueError
        return str(value)


@dataclass(frozen=True)
class DeviceName:
    """Names what traces rays: auto, gpu, cpu, emulator, or a GPU by its index as in gpu:1."""

    metavar: str | None = "NAME"
    expected: str = "auto, gpu, gpu:INDEX such as gpu:1, cpu or emulator"

    def read(self, text: str) -> str:
        """Return the text itself."""
        return text

    def clean(self, value: Any) -> str:
        """Return the name, if it is one of these."""
        if not re.fullmatch(r"auto|gpu(:[0-9]{1,4})?|cpu|emulator", value):
            raise ValueError
        return str(value)


@dataclass(frozen=True)
class Name:
    """This kind of value is a name that is looked up later, when what it may name has been loaded."""

    metavar: str | None = "NAME"
    expected: str = "a name"

    def read(self, text: str) -> str:
        """Return the text itself."""
        return text

    def clean(self, value: Any) -> str:
        """Return the name, which must be a text."""
        if not isinstance(value, str):
            raise TypeError
        return value


#: How the address of a cluster of this host begins, whose number of workers follows; and most of them.
LOCAL, MOST_LOCAL = "local:", 64


@dataclass(frozen=True)
class ClusterAddress(Name):
    """This kind of value is the address of a cluster, which may be one of this host."""

    metavar: str | None = "ADDRESS"
    expected: str = f"the address of a scheduler, or {LOCAL}N with N from 1 to {MOST_LOCAL}"

    def clean(self, value: Any) -> str:
        """Return the address, whose number of workers must be within the bounds."""
        address = super().clean(value)
        if address.startswith(LOCAL) and not 1 <= int(address.removeprefix(LOCAL)) <= MOST_LOCAL:
            raise ValueError
        return address


@dataclass(frozen=True)
class File:
    """This kind of value is a path of a file."""

    metavar: str | None = "FILE"
    expected: str = "the path of a file"

    def read(self, text: str) -> Path:
        """Return the path that a text means."""
        return Path(text)

    def clean(self, value: Any) -> Path:
        """Return a path."""
        return Path(value)


@dataclass(frozen=True)
class Definitions:
    """This kind of value is what parameters of a scene file are: texts by their names, or several such."""

    metavar: str | None = "NAME=VALUE"
    expected: str = "NAME=VALUE such as width=640, with a NAME of letters, digits and _"

    def read(self, text: str) -> dict[str, str]:
        """Return the value of a text NAME=VALUE by its name."""
        name, equals, value = text.partition("=")
        return {name: value if equals else None}  # type: ignore[dict-item]

    def clean(self, value: Any) -> dict[str, str]:
        """Return all values by their names, of which the last of the same name counts."""
        parts = [value] if isinstance(value, Mapping) else list(value)
        if not all(isinstance(part, Mapping) for part in parts):
            raise TypeError
        given = {name: text for part in parts for name, text in part.items()}
        if not all(re.fullmatch(r"\w+", name) and isinstance(text, str) for name, text in given.items()):
            raise ValueError
        return given


@dataclass(frozen=True)
class FlagOrNames:
    """This kind of value is yes or no, or some of a few names: an option whose value may be left out.

    names: all that there are.
    """

    names: tuple[str, ...]
    metavar: str | None = "NAME,..."

    @property
    def expected(self) -> str:
        """Returns the names in words."""
        return f"nothing, or names with commas between them, of {', '.join(self.names)}"

    def read(self, text: str) -> tuple[str, ...]:
        """Return the names of a text such as depth,normal."""
        return tuple(text.split(","))

    def clean(self, value: Any) -> bool | tuple[str, ...]:
        """Return a `bool`, or names of which each is known, each once."""
        if isinstance(value, bool):
            return value
        if isinstance(value, str) or not value or not set(value) <= set(self.names):
            raise ValueError
        return tuple(dict.fromkeys(value))


@dataclass(frozen=True)
class Flag:
    """This kind of value is yes or no: an option without a value."""

    metavar: ClassVar[str | None] = None
    expected: str = "True or False"

    def read(self, text: str) -> bool:
        """Raise, since a flag has no value on the command line."""
        raise ValueError

    def clean(self, value: Any) -> bool:
        """Return a `bool`."""
        if not isinstance(value, bool):
            raise TypeError
        return value


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Holds what is known of a setting.

    name: of the field.
    default: of the field; None leaves it open.
    kind: of its values.
    about: its effect and its unit.
    otherwise: what holds where it is left open, in words.
    group: heading of the help it stands under, or none.
    aliases: more options for it on the command line.
    """

    name: str
    default: Any
    kind: Kind
    about: str
    otherwise: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """Returns the option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    def clean(self, value: Any) -> Any:
        """Return a value as the type that the program calculates with; None stays None where the default is None.

        Raises `UsageError` for a value that is out of bounds or of another type.
        """
        if value is None and self.default is None:
            return None
        try:
            return self.kind.clean(value)
        except (TypeError, ValueError):
            raise UsageError(f"{self.name}: expected {self.kind.expected}, got {value!r}") from None


def setting(kind: Kind, about: str, *, default: Any = None, **more: Any) -> Any:
    """Return a field of a dataclass that is a setting. about, more: as `Setting` has them."""
    return dataclasses.field(default=default, metadata={"kind": kind, "about": about, **more})


def settings_of(owner: type) -> dict[str, Setting]:
    """Returns the settings of a dataclass by their names, in the order of its fields."""
    return _found_settings(owner)


@cache
def _found_settings(owner: type) -> dict[str, Setting]:
    fields = dataclasses.fields(owner)
    return {field.name: Setting(name=field.name, default=field.default, **field.metadata) for field in fields}


class Checked:
    """Checks the values of a frozen dataclass of settings, and makes them plain Python values, when it is made."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for a value that is out of bounds or of another type."""
        for name, one in settings_of(type(self)).items():
            object.__setattr__(self, name, one.clean(getattr(self, name)))
