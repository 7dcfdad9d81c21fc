"""This module holds the kinds of values: what each expects, and how it is read. Keys of scene files, options of the
command line and keywords in Python have the same kinds; those of tables and lists in files are in `tables`.

Types of TOML, JSON and Python say little. A kind narrows them to what the program can use, so that no other code has to
check. Nothing heavy is imported here, so that help of the command line comes at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from scenes.keys.place import KindError, Place, shown, unknown

MAX_TEXT = 4096
NUMERALS = {2: "two", 3: "three", 4: "four"}


class Kind:
    """Says what a key, an option or a keyword may hold. Values of the same kind are read alike wherever they stand."""

    #: Stands for the value in the help of the command line.
    metavar: ClassVar[str | None] = None

    @property
    def expected(self) -> str:
        """Returns what a value has to be, in words that follow 'expected' in a message."""
        raise NotImplementedError

    @property
    def expected_word(self) -> str:
        """Returns the same of a word of the command line."""
        return self.expected

    @property
    def unit(self) -> str:
        """Returns the unit of numbers, as it follows a comma, or an empty text."""
        return ""

    def read(self, value: Any) -> Any:
        """Turns a value of a file or of Python into what the program calculates with. Raises `KindError`."""
        raise NotImplementedError

    def read_at(self, place: Place, value: Any) -> Any:
        """Reads the value at a place of a file. Raises SceneFileError with the place of the part that is wrong."""
        try:
            return self.read(value)
        except KindError as error:
            raise place.error_of(error) from None

    def parse(self, text: str) -> Any:
        """Returns the value that a word of the command line means, which `read` checks. Raises ValueError."""
        return text

    def wrong(self, value: Any) -> KindError:
        """Returns the error about a value that is not of this kind."""
        return KindError(f"expected {self.expected}, got {shown(value)}")

    def items(self, value: Any) -> Sequence[Any]:
        """Returns the items of a list, a tuple or an array. Raises `KindError` for what has none."""
        if isinstance(value, (list, tuple)):
            return value
        if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__") or not hasattr(value, "__len__"):
            raise self.wrong(value)
        return list(value)


def each(kinds: Sequence[Kind], items: Sequence[Any]) -> list[Any]:
    """Reads the items of a list, each as its kind does. The error of one has its index."""
    found = []
    for index, (kind, item) in enumerate(zip(kinds, items, strict=True)):
        try:
            found.append(kind.read(item))
        except KindError as error:
            raise error.inside(index) from None
    return found


def is_number(value: Any) -> bool:
    """Returns whether a value is a real number; true and false are not."""
    return isinstance(value, (int, float, Real)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Returns whether a value is of a type of whole numbers; true and false are not."""
    return isinstance(value, (int, Integral)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Text(Kind):
    """Accepts any text that is not empty."""

    metavar = "NAME"
    expected: str = "a text"

    def read(self, value: Any) -> str:
        """Returns the text."""
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or "\0" in value:
            raise self.wrong(value)
        return value


@dataclass(frozen=True)
class Choice(Kind):
    """Accepts one of several words."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        """Returns the words that are accepted, for messages."""
        return "one of " + ", ".join(f'"{word}"' for word in self.words)

    @property
    def expected_word(self) -> str:
        """Returns the same of a word of the command line."""
        return f"one of {', '.join(self.words)}"

    def read(self, value: Any) -> str:
        """Returns the word."""
        if not isinstance(value, str):
            raise self.wrong(value)
        if value not in self.words:
            raise KindError(unknown("word", value, self.words))
        return value


class Flag(Kind):
    """Accepts true or false; on the command line it is an option without a value."""

    expected = "true or false"

    def read(self, value: Any) -> bool:
        """Returns the truth value."""
        if not isinstance(value, bool):
            raise self.wrong(value)
        return value


@dataclass(frozen=True)
class Number(Kind):
    """Accepts a number in least..most, or strictly between them if `inside`."""

    metavar = "X"
    least: float
    most: float
    inside: bool = False
    unit: str = ""

    @property
    def expected(self) -> str:
        """Returns the range that is accepted, for messages."""
        return f"a number {range_words(self.least, self.most, self.inside)}"

    def fits(self, value: Any) -> bool:
        """Returns whether a value is such a number."""
        if not is_number(value) or not self.least <= value <= self.most:
            return False
        return not self.inside or self.least < value < self.most

    def read(self, value: Any) -> float:
        """Returns the number as a float."""
        if not self.fits(value):
            raise self.wrong(value)
        return float(value)

    def parse(self, text: str) -> float:
        """Returns the number that a word means."""
        return float(text)


def range_words(least: float, most: float, inside: bool = False) -> str:
    """Writes a range in words."""
    return f"between {least:g} and {most:g}" if inside else f"from {least:g} to {most:g}"


@dataclass(frozen=True)
class Whole(Kind):
    """Accepts a whole number in least..most, which may be written as 1e5; or the even ones or powers of two of them."""

    metavar = "N"
    least: int
    most: int
    even: bool = False
    is_power_of_two: bool = False

    @property
    def expected(self) -> str:
        """Returns the range that is accepted, for messages."""
        noun = "a power of two" if self.is_power_of_two else f"{'an even' if self.even else 'a whole'} number"
        return f"{noun} from {self.least} to {self.most}"

    def fits(self, value: Any) -> bool:
        """Returns whether a value is such a number, and of a type of whole numbers."""
        if not is_whole(value) or not self.least <= value <= self.most:
            return False
        number = int(value)
        return not (self.even and number % 2) and not (self.is_power_of_two and number & (number - 1))

    def read(self, value: Any) -> int:
        """Returns the number as an int."""
        is_like_whole = not is_whole(value) and is_number(value) and float(value).is_integer()
        whole = int(value) if is_like_whole else value
        if not self.fits(whole):
            raise self.wrong(value)
        return int(whole)

    def parse(self, text: str) -> int:
        """Returns the number that a word means."""
        return int(text)


@dataclass(frozen=True)
class Vector(Kind):
    """Accepts a list of so many numbers in least..most."""

    metavar = "X,Y,Z"
    length: int
    least: float
    most: float
    unit: str = ""

    @property
    def expected(self) -> str:
        """Returns the length and the range that are accepted, for messages."""
        return f"a list of {self.length} numbers {range_words(self.least, self.most)}"

    @property
    def expected_word(self) -> str:
        """Returns the same of numbers with commas between them."""
        example = ",".join(("1.5", "0", "-2", "1")[: self.length])
        return f"{NUMERALS[self.length]} numbers such as {example}, each {range_words(self.least, self.most)}"

    def read(self, value: Any) -> tuple[float, ...]:
        """Returns the numbers."""
        items = self.items(value)
        if len(items) != self.length:
            raise self.wrong(value)
        return tuple(each([Number(self.least, self.most)] * self.length, items))

    def parse(self, text: str) -> tuple[float, ...]:
        """Returns the numbers of a word such as 1.5,0,-2."""
        return tuple(float(word) for word in text.split(","))


@dataclass(frozen=True)
class Size(Kind):
    """Accepts a width and a height in pixels, or a text such as 800x600."""

    metavar = "WxH"
    most_side: int
    most_pixels: int

    @property
    def expected(self) -> str:
        """Returns the bounds that are accepted, for messages."""
        return (
            f'[width, height] or "WIDTHxHEIGHT", whole numbers from 1 to {self.most_side}, and at most '
            f"{self.most_pixels} pixels in all"
        )

    @property
    def expected_word(self) -> str:
        """Returns the same of a word such as 800x600."""
        return (
            f"WIDTHxHEIGHT such as 800x600, sides from 1 to {self.most_side} pixels and at most {self.most_pixels} "
            "pixels in all"
        )

    def read(self, value: Any) -> tuple[int, int]:
        """Returns (width, height)."""
        try:
            items = self.parse(value) if isinstance(value, str) else self.items(value)
        except ValueError:
            raise self.wrong(value) from None
        if len(items) != 2:
            raise self.wrong(value)
        width, height = each([Whole(1, self.most_side)] * 2, items)
        if width * height > self.most_pixels:
            raise KindError(f"expected {self.expected}, got {width} by {height}")
        return width, height

    def parse(self, text: str) -> tuple[int, ...]:
        """Returns the numbers of a word such as 800x600."""
        return tuple(int(side) for side in text.lower().split("x"))


@dataclass(frozen=True)
class Key:
    """Describes a key of a table in a file, or a setting.

    about: what it does, with the unit unless the kind has it.
    example: a value as the file says it.
    default: where it is left out, as TOML has it; None leaves it open, and then `fallback` says in words what happens.
    """

    name: str
    kind: Kind
    about: str
    example: str = ""
    default: Any = None
    fallback: str = "none"
    required: bool = False


#: The longest side of a picture, and the most pixels of one that is rendered.
MAX_SIDE, MAX_PIXELS = 16384, 1 << 26

RADIUS = Number(1e-12, 1e12)

ROWS = (
    Key(
        "driver",
        Text("a name"),
        "name of a driver, the algorithm that makes the picture, or auto: by the light of the scene",
        '"path"',
    ),
    Key("size", Size(MAX_SIDE, MAX_PIXELS), "width and height in pixels", "[400, 300]"),
    Key("passes", Whole(1, 10**6), "passes, which are samples per pixel", "64"),
    Key("photons", Whole(1, 2 * 10**9), "photons that are emitted in each pass", "300000"),
    Key("radius", RADIUS, "initial radius of the photon search", "0.02"),
    Key("max_bounces", Whole(1, 1024), "longest path, in surface interactions", "16"),
    Key("exposure", Number(-64.0, 64.0), "exposure in stops, +1 is twice as bright", "0.5"),
    Key("tone_map", Choice(("reinhard", "linear")), "tone curve for bright parts", '"linear"'),
    Key("seed", Whole(0, 2**64 - 1), "seed of the random numbers", "7"),
)

#: The same by their names.
PROPOSALS = {key.name: key for key in ROWS}
