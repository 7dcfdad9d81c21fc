"""A setting is described by a field of a dataclass with its kind of value, its effect and its group; here are the kinds
that settings alone have, and what else a command line names: a part of the passes, and one path of a picture.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from renderer.errors import UsageError
from scenes.keys.place import KindError, did_you_mean
from scenes.keys.values import MAX_SIDE, PROPOSALS, Choice, Key, Kind, Number, Text, Whole, each, is_number

#: Sizes of memory: their form, what units stand for, and the bounds.
BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])?B?")
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
LEAST_BYTES, MOST_BYTES = 10**8, 1 << 50

#: How the address of a cluster of this host begins, whose number of workers follows; and most of them.
LOCAL, MOST_LOCAL = "local:", 64

#: The largest number of a frame.
MAX_FRAME = 10**9

#: Random numbers of frames: the same in all, or own ones.
FRAME_SEEDS = ("same", "own")

#: K/N, and most parts.
PART, MOST_PARTS = re.compile(r"(\d{1,7})/(\d{1,7})", re.ASCII), 1_000_000

#: Seed, pass, and pixel as X:Y or as one number. Longer numbers are out of bounds.
PATH_NAME = re.compile(r"(\d{1,20}),(\d{1,7}),(\d{1,9})(?::(\d{1,9}))?", re.ASCII)
MOST_SEED, MOST_PASS = 2**64 - 1, 10**6 - 1


@dataclass(frozen=True)
class OrWord(Kind):
    """Accepts what another kind does, or a word that leaves it to the program."""

    kind: Kind
    word: str

    @property
    def expected(self) -> str:
        """Returns what the kind expects, and the word."""
        return f"{self.kind.expected}, or {self.word}"

    def read(self, value: Any) -> Any:
        """Returns the word, or what the kind reads."""
        if isinstance(value, str) and value == self.word:
            return value
        return self.kind.read(value)

    def parse(self, text: str) -> Any:
        """Returns the word, or what the kind means by it."""
        return text if text == self.word else self.kind.parse(text)


class Rectangle(Kind):
    """Accepts a part of a picture: its left column, its upper row, its width and its height, pixels."""

    metavar = "X,Y,W,H"
    expected = f"X,Y,WIDTH,HEIGHT such as 200,150,64,48, pixels from 0 to {MAX_SIDE}, sides of at least 1"

    def read(self, value: Any) -> tuple[int, ...]:
        """Returns the four numbers."""
        items, corner, side = self.items(value), Whole(0, MAX_SIDE), Whole(1, MAX_SIDE)
        if len(items) != 4:
            raise self.wrong(value)
        return tuple(each((corner, corner, side, side), items))

    def parse(self, text: str) -> tuple[int, ...]:
        """Returns the numbers of a word such as 200,150,64,48."""
        return tuple(int(word) for word in text.split(","))


class White(Kind):
    """Accepts what is taken for white: a chromaticity, x and y, or the temperature of a black body."""

    metavar = "X,Y|KELVIN"
    expected = (
        "a chromaticity such as 0.4476,0.4074, x and y from 0.1 to 0.8 and x + y below 1, or kelvin from 1667 to 25000"
    )

    def read(self, value: Any) -> float | tuple[float, ...]:
        """Returns two numbers, or one."""
        if is_number(value):
            return Number(1667.0, 25000.0).read(value)
        items = self.items(value)
        if len(items) != 2:
            raise self.wrong(value)
        x, y = each([Number(0.1, 0.8)] * 2, items)
        if x + y >= 1.0:
            raise self.wrong(value)
        return x, y

    def parse(self, text: str) -> float | tuple[float, ...]:
        """Returns the numbers of a word such as 0.4476,0.4074, or the number of one such as 2856."""
        return tuple(float(word) for word in text.split(",")) if "," in text else float(text)


class Bytes(Kind):
    """Accepts a number of bytes, or a text such as 4GB."""

    metavar = "SIZE"
    expected = f"a size of at least {LEAST_BYTES} bytes, such as 800MB or 4.5GB"

    def read(self, value: Any) -> int:
        """Returns the number of bytes."""
        if isinstance(value, str):
            found = BYTES.fullmatch(value.strip().upper())
            if found is None:
                raise self.wrong(value)
            value = int(float(found[1]) * UNITS[found[2] or ""])
        return Whole(LEAST_BYTES, MOST_BYTES).read(value)


class DeviceName(Kind):
    """Accepts the name of what traces rays: auto, gpu, cpu, emulator, or a GPU by its index as in gpu:1."""

    metavar = "NAME"
    expected = "auto, gpu, gpu:INDEX such as gpu:1, cpu or emulator"

    def read(self, value: Any) -> str:
        """Returns the name."""
        if not isinstance(value, str) or not re.fullmatch(r"auto|gpu(:[0-9]{1,4})?|cpu|emulator", value):
            raise self.wrong(value)
        return value


@dataclass(frozen=True)
class ClusterAddress(Text):
    """Accepts the address of a cluster, which may be one of this host."""

    metavar = "ADDRESS"
    expected: str = f"the address of a scheduler, or {LOCAL}N with N from 1 to {MOST_LOCAL}"

    def read(self, value: Any) -> str:
        """Returns the address, whose number of workers is within the bounds."""
        address = super().read(value)
        if address.startswith(LOCAL):
            count = address.removeprefix(LOCAL)
            if not count.isdecimal() or not 1 <= int(count) <= MOST_LOCAL:
                raise self.wrong(value)
        return address


class File(Kind):
    """Accepts the path of a file."""

    metavar = "FILE"
    expected = "the path of a file"

    def read(self, value: Any) -> Path:
        """Returns a path."""
        try:
            return Path(value)
        except TypeError:
            raise self.wrong(value) from None


class Files(Kind):
    """Accepts paths of files."""

    metavar = "FILE"
    expected = "a list of paths of files"

    def read(self, value: Any) -> list[Path]:
        """Returns the paths."""
        items = self.items(value)
        return each([File()] * len(items), items)


@dataclass(frozen=True)
class FrameRange(Kind):
    """Accepts frames that count up, as A:B or A:B:STEP, both ends included."""

    metavar = "A:B[:STEP]"
    most: int

    @property
    def expected(self) -> str:
        """Returns the form and the bounds."""
        return f"FIRST:LAST or FIRST:LAST:STEP, frames that count up from at least 0 to at most {self.most}"

    def read(self, value: Any) -> range:
        """Returns the frames."""
        try:
            first, last, *step = (int(part) for part in value.split(":"))
            found = range(first, last + 1, *step)
        except (AttributeError, ValueError, TypeError):
            raise self.wrong(value) from None
        if not (found and found[0] >= 0 and last <= self.most and found.step > 0):
            raise self.wrong(value)
        return found


#: Kinds of options that sequences have beside the settings of a picture.
FRAME_KINDS: dict[str, Kind] = {
    "frames": FrameRange(MAX_FRAME),
    "frame_seeds": Choice(FRAME_SEEDS),
    "fps": Number(0.1, 1000),
    "film_noise": Number(1e-6, 10),
}


class Definitions(Kind):
    """Accepts what parameters of a scene file are: texts by their names, or several such."""

    metavar = "NAME=VALUE"
    expected = "NAME=VALUE such as width=640, with a NAME of letters, digits and _"

    def read(self, value: Any) -> dict[str, str]:
        """Returns all values by their names, of which the last of the same name counts."""
        parts = [value] if isinstance(value, Mapping) else self.items(value)
        if not all(isinstance(part, Mapping) for part in parts):
            raise self.wrong(value)
        given = {name: text for part in parts for name, text in part.items()}
        if not all(re.fullmatch(r"\w+", str(name)) and isinstance(text, str) for name, text in given.items()):
            raise self.wrong(value)
        return given

    def parse(self, text: str) -> dict[str, str | None]:
        """Returns the value of a word NAME=VALUE by its name."""
        name, equals, value = text.partition("=")
        return {name: value if equals else None}


@dataclass(frozen=True)
class FlagOrNames(Kind):
    """Accepts yes or no, or some of a few names: an option whose value may be left out."""

    metavar = "NAME,..."
    names: tuple[str, ...]

    @property
    def expected(self) -> str:
        """Returns the names in words."""
        return f"nothing, or names with commas between them, of {', '.join(self.names)}"

    def read(self, value: Any) -> bool | tuple[str, ...]:
        """Returns a `bool`, or names of which each is known, each once."""
        if isinstance(value, bool):
            return value
        names = tuple(dict.fromkeys(self.items(value)))
        if not names or not set(names) <= set(self.names):
            raise self.wrong(value)
        return names

    def parse(self, text: str) -> tuple[str, ...]:
        """Returns the names of a word such as depth,normal."""
        return tuple(text.split(","))


class PartOf(NamedTuple):
    """Says which part of a picture's passes, or of a run's photons, is made: part `number`, from 1 on, of `parts` that
    are as large.
    """

    number: int
    parts: int

    def __str__(self) -> str:
        """Returns the part as `read_part_of` reads it."""
        return f"{self.number}/{self.parts}"

    def range_of(self, count: int) -> range:
        """Returns the indices of the passes or photons of the part. count: of all of them."""
        return range(count * (self.number - 1) // self.parts, count * self.number // self.parts)


def read_part_of(text: str) -> PartOf:
    """Reads K/N. Raises `ValueError` where it says something else."""
    found = PART.fullmatch(text)
    part = found and PartOf(*map(int, found.groups()))
    if not part or not 1 <= part.number <= part.parts <= MOST_PARTS:
        raise ValueError(f"expected K/N with K from 1 to N, such as 3/64, and N at most {MOST_PARTS}")
    return part


@dataclass(frozen=True, kw_only=True)
class PathName:
    """Says which path is meant.

    seed: of the picture.
    pass_index: 0-based.
    pixel: column and row from the top left, or row * width + column.
    """

    seed: int
    pass_index: int
    pixel: tuple[int, int] | int

    def pixel_index(self, width: int, height: int) -> int:
        """Returns row * width + column. Raises `UsageError` for a pixel that is not in the picture."""
        x, y = self.pixel if isinstance(self.pixel, tuple) else (self.pixel % width, self.pixel // width)
        if not (x < width and y < height):
            raise UsageError(f"pixel {x}:{y} is not in a picture of {width}x{height} pixels, which count from 0:0")
        return y * width + x


def read_path_name(text: str) -> PathName:
    """Returns the path that SEED,PASS,X:Y or SEED,PASS,NUMBER names. Raises `ValueError` for other texts."""
    words = PATH_NAME.fullmatch(text)
    if words is None:
        raise ValueError("expected SEED,PASS,X:Y or SEED,PASS,NUMBER")
    seed, index, first = (int(word) for word in words.groups()[:3])
    if seed > MOST_SEED or index > MOST_PASS:
        raise ValueError(f"expected a seed up to {MOST_SEED} and a pass up to {MOST_PASS}")
    return PathName(seed=seed, pass_index=index, pixel=first if words[4] is None else (first, int(words[4])))


@dataclass(frozen=True, kw_only=True)
class Setting(Key):
    """Holds what is known of a setting: the key, of a dataclass and of the command line.

    name: of the field.
    default: of the field; None leaves it open.
    kind: of its values.
    about: its effect and its unit.
    fallback: what holds where it is left open, in words.
    group: heading of the help it stands under, or none.
    aliases: more options for it on the command line.
    metavar: what stands for the value in help, or an empty text for what its kind says.
    """

    fallback: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()
    metavar: str = ""

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
            return self.kind.read(value)
        except KindError:
            words = self.kind.words if isinstance(self.kind, Choice) else ()
            near = did_you_mean(str(value), words)
            raise UsageError(f"{self.name}: expected {self.kind.expected}, got {value!r}{near}") from None


def setting(kind: Kind, about: str, *, default: Any = None, **more: Any) -> Any:
    """Return a field of a dataclass that is a setting. about, more: as `Setting` has them."""
    return dataclasses.field(default=default, metadata={"kind": kind, "about": about, **more})


def proposed(name: str, **more: Any) -> Any:
    """Return the field of a setting that a scene file may propose, in the words of its key there."""
    return setting(PROPOSALS[name].kind, PROPOSALS[name].about, **more)


def settings_of(owner: type) -> dict[str, Setting]:
    """Returns the settings of a dataclass by their names, in the order of its fields."""
    return _found_settings(owner)


@cache
def _found_settings(owner: type) -> dict[str, Setting]:
    fields = dataclasses.fields(owner)
    return {field.name: Setting(name=field.name, default=field.default, **field.metadata) for field in fields}


def taken(owner: type, source: Any, *apart: str) -> dict[str, Any]:
    """Returns values for the fields of a dataclass: what something else has by their names, unless it is left open.

    source: settings, or arguments of a command.
    apart: names of fields whose values come from elsewhere.
    """
    named = {field.name: getattr(source, field.name, None) for field in dataclasses.fields(owner)}
    return {name: value for name, value in named.items() if value is not None and name not in apart}


class Checked:
    """Checks the values of a frozen dataclass of settings, and makes them plain Python values, when it is made."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for a value that is out of bounds or of another type."""
        for name, one in settings_of(type(self)).items():
            object.__setattr__(self, name, one.clean(getattr(self, name)))
