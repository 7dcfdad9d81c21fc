"""This module reads the XML of a scene: elements that know their lines, with values of `$name` filled in and includes
in their place."""

import math
import re
import xml.parsers.expat
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import OUTSIDE, OutsideError, allow_assets, is_folder, is_there, may_be_read, read_bytes

#: Bytes of all files, those included again and again counted each time, and of values that stand for `$name`.
MAX_BYTES = 1 << 26
MAX_ELEMENTS = 500_000
MAX_NESTING = 64
MAX_INCLUDES = 1000
MAX_INCLUDE_DEPTH = 16
MAX_QUOTE, MAX_LISTED = 40, 24
#: No number of a file is larger, so that products of two are finite.
MAX_NUMBER = 1e30
PARAMETER = re.compile(r"\$(\w+)")
#: Elements that no default stands for, should a `$name` in them have no value.
NEEDED = frozenset(("bsdf", "default", "emitter", "include", "path", "ref", "scene", "sensor", "shape", "texture"))


@dataclass(eq=False, slots=True)
class XmlElement:
    """Holds an element of a file and where it begins. line: None where there is no file."""

    tag: str
    attributes: dict[str, str]
    path: Path
    line: int | None
    children: list["XmlElement"] = field(default_factory=list)

    def error(self, message: str) -> SceneFileError:
        return SceneFileError(self.path, self.line, message)

    def need(self, attribute: str) -> str:
        """Returns an attribute that has to be there, and raises where it is not."""
        if attribute not in self.attributes:
            raise self.error(f"expected <{self.tag}> to have {attribute!r}; it has {listed(self.attributes)}")
        return self.attributes[attribute]

    @property
    def kind(self) -> str:
        """Returns the name of the plug-in that it asks for, in small letters, as all of them are."""
        return self.need("type").lower()

    @property
    def called(self) -> str:
        """Returns the element as messages name it."""
        return f'<{self.tag} type="{self.attributes["type"]}">' if "type" in self.attributes else f"<{self.tag}>"


def listed(names: object) -> str:
    """Returns names as messages list them."""
    words = sorted(str(name) for name in names) if hasattr(names, "__iter__") else []
    return ", ".join(words) or "none"


def some(names: Mapping[str, object]) -> str:
    """Returns the first of maybe very many names as messages list them."""
    more = ", ..." if len(names) > MAX_LISTED else ""
    return listed(islice(names, MAX_LISTED)) + more


def snake_case(name: str) -> str:
    """Returns a name as Mitsuba 3 spells it, which puts `_` where 0.6 has a capital."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def numbers(element: XmlElement, text: str, *counts: int) -> list[float]:
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


class AbsentError(SceneFileError):
    """A file or an element that another one names is not there; it may be in a file that may not be read."""


class NoValueError(SceneFileError):
    """A `$name` has no value.

    name: without the `$`.
    """

    def __init__(self, element: XmlElement, name: str, known: object) -> None:
        self.name = name
        message = f"expected a <default> of ${name} before this, or -D {name}=...; there are: {listed(known)}"
        super().__init__(element.path, element.line, message)


class LimitError(SceneFileError):
    """A file is too large or too deep for anything more of it to be read."""


@dataclass(eq=False)
class MitsubaFiles:
    """Finds the files that a scene names.

    scene: the file of the scene itself, beside which they are sought first.
    folders: of each <path> element; they are sought there next, and at last beside the file that names them.
    """

    scene: Path
    folders: list[Path] = field(default_factory=list)

    def add(self, element: XmlElement) -> None:
        """Takes in a <path>, from which pictures and meshes may be read wherever it leads. Raises where it is none, or
        leads to what holds everything."""
        name = element.need("value")
        folder = self.scene.parent / name.replace("\\", "/")
        if "\0" in name or not is_folder(folder):
            raise element.error(f"expected a <path> to a folder, got {name[:MAX_QUOTE]!r}")
        if not may_be_read(folder):
            if is_wide(folder, name):
                raise OutsideError(element.path, element.line, f"<path> {name[:MAX_QUOTE]!r} {OUTSIDE}")
            allow_assets(folder)
        self.folders.append(folder)

    def find(self, element: XmlElement, name: str) -> Path:
        """Returns the path of a file that an element names. Raises where there is none."""
        for text in dict.fromkeys((name, name.replace("\\", "/"))):
            for folder in (self.scene.parent, *self.folders, element.path.parent):
                if "\0" not in text and is_there(folder / text):
                    if not may_be_read(folder / text):
                        raise OutsideError(element.path, element.line, f"{name[:MAX_QUOTE]!r} {OUTSIDE}")
                    return folder / text
        raise AbsentError(element.path, element.line, f"no such file: {name[:MAX_QUOTE]!r}")


def is_wide(folder: Path, name: str) -> bool:
    """Returns whether a folder is named from the root, or holds the user's own folder, or the root's whole tree."""
    real = folder.resolve()
    return Path(name).is_absolute() or real.parent == real or Path("~").expanduser().is_relative_to(real)


@dataclass(eq=False)
class Loader:
    """Reads a file and those that it includes.

    files: finds those.
    values: of `$name`, by name; those that are here at first are from outside, and no <default> changes them.
    notes: what is left out.
    problems: what is wrong, as far as one can read on.
    """

    files: MitsubaFiles
    values: dict[str, str]
    notes: Notes = field(default_factory=Notes)
    problems: list[SceneFileError] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    room: int = field(default_factory=lambda: MAX_BYTES)
    elements: int = 0
    count: int = 0

    def scene(self, given: Mapping[str, str]) -> XmlElement:
        """Reads the <scene> of the file. given: values of `$name` from outside.

        Raises SceneFileError with the line of what is no XML, or too much of it, and where nothing has the name of a
        value that is given.
        """
        self.values.update(given)
        scene = self.load(self.files.scene, 0)
        for name in given:
            if name not in self.used:
                there = listed(f"${each}" for each in self.values.keys() - given.keys() | self.used)
                message = f"nothing in the file is called ${name}, which was given a value; there are: {there}"
                self.problems.append(SceneFileError(self.files.scene, None, message))
        return scene

    def load(self, path: Path, depth: int) -> XmlElement:
        """Reads the <scene> of a file."""
        data = read_bytes(path, MAX_BYTES)
        self.room -= len(data)
        self.count += 1
        if self.room < 0 or self.count > MAX_INCLUDES:
            message = f"with all includes over {MAX_BYTES} bytes or {MAX_INCLUDES} files are read"
            raise LimitError(path, None, message)
        scene = FileParser(path).parse(data)
        if scene.tag != "scene":
            raise scene.error(f"expected <scene>, got <{scene.tag}>")
        scene.attributes = {key: self.filled(scene, value) for key, value in scene.attributes.items()}
        self.expand(scene, depth)
        return scene

    def expand(self, element: XmlElement, depth: int) -> None:
        """Fills in values and includes in all that is within an element."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise LimitError(element.path, element.line, f"with all includes there are over {MAX_ELEMENTS} elements")
        children, element.children = element.children, []
        for child in children:
            try:
                element.children += self.expanded(child, depth)
            except LimitError:
                raise
            except SceneFileError as problem:
                self.problems.append(problem)

    def expanded(self, child: XmlElement, depth: int) -> list[XmlElement]:
        """Returns what stands for an element: itself, nothing, or what it includes."""
        try:
            child.attributes = {key: self.filled(child, value) for key, value in child.attributes.items()}
        except NoValueError as problem:
            if child.tag in NEEDED or child.attributes.get("name") == "filename":
                raise
            what = child.attributes.get("name", child.tag)[:MAX_QUOTE]
            message = f"{what!r} has its default: ${problem.name} has no value, which -D {problem.name}=... gives"
            self.notes.add_loss(message, child.path, child.line)
            return []
        if child.tag == "default":
            name, value = child.need("name"), child.need("value")
            self.used.add(name)
            self.values.setdefault(name, value)
        elif child.tag == "path":
            self.files.add(child)
        elif child.tag == "include":
            if depth >= MAX_INCLUDE_DEPTH:
                raise child.error(f"files include files deeper than {MAX_INCLUDE_DEPTH}")
            return self.load(self.files.find(child, child.need("filename")), depth + 1).children
        else:
            self.expand(child, depth)
            return [child]
        return []

    def filled(self, element: XmlElement, text: str) -> str:
        """Returns an attribute with `$name` replaced by its value."""

        def value(match: re.Match[str]) -> str:
            name = match[1]
            self.used.add(name)
            if name not in self.values:
                raise NoValueError(element, name, self.values)
            self.room -= len(self.values[name])
            if self.room < 0:
                raise LimitError(element.path, element.line, f"the values of $names have over {MAX_BYTES} characters")
            return self.values[name]

        return PARAMETER.sub(value, text) if "$" in text else text


class FileParser:
    """Reads the elements of one file, through expat."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.expat = xml.parsers.expat.ParserCreate()
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.StartDoctypeDeclHandler = self.refuse
        self.open: list[XmlElement] = [XmlElement("", {}, path, 0)]
        self.count = 0

    def parse(self, data: bytes) -> XmlElement:
        """Reads the file and returns its outermost element."""
        try:
            self.expat.Parse(data, True)
        except SceneFileError:
            raise
        except xml.parsers.expat.ExpatError as error:
            reason = xml.parsers.expat.ErrorString(error.code)
            raise SceneFileError(self.path, error.lineno, f"expected XML: {reason}") from error
        except (ValueError, LookupError) as error:
            raise SceneFileError(self.path, None, "expected XML in an encoding that is known") from error
        return self.open[0].children[0]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Opens an element."""
        element = XmlElement(tag, attributes, self.path, self.expat.CurrentLineNumber)
        self.count += 1
        if len(self.open) > MAX_NESTING or self.count > MAX_ELEMENTS:
            message = f"elements are nested deeper than {MAX_NESTING}, or there are over {MAX_ELEMENTS}"
            raise LimitError(self.path, element.line, message)
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, _: str) -> None:
        """Closes an element."""
        self.open.pop()

    def refuse(self, *_: object) -> None:
        """Raises for a document type, which could declare entities that grow without end."""
        raise SceneFileError(self.path, self.expat.CurrentLineNumber, "expected no document type (<!DOCTYPE ...>)")
