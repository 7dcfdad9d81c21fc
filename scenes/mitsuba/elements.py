"""This module reads the XML of a scene: elements that know their lines, with defaults filled in and includes in their
place."""

import re
import xml.parsers.expat
from dataclasses import dataclass, field
from pathlib import Path

from scenes.errors import SceneFileError
from scenes.source_file import read_bytes

#: Bytes of all files, those included again and again counted each time, and of values that stand for `$name`.
MAX_BYTES = 1 << 26
MAX_ELEMENTS = 500_000
MAX_NESTING = 64
MAX_INCLUDES = 1000
MAX_INCLUDE_DEPTH = 16
MAX_QUOTE = 40
PARAMETER = re.compile(r"\$(\w+)")


@dataclass(eq=False, slots=True)
class Element:
    """Holds an element of a file and where it begins."""

    tag: str
    attributes: dict[str, str]
    path: Path
    line: int
    children: list["Element"] = field(default_factory=list)

    def error(self, message: str) -> SceneFileError:
        """Returns the error to raise about the element."""
        return SceneFileError(self.path, self.line, message)

    def need(self, attribute: str) -> str:
        """Returns an attribute that has to be there, and raises where it is not."""
        if attribute not in self.attributes:
            raise self.error(f"expected <{self.tag}> to have {attribute!r}; it has {listed(self.attributes)}")
        return self.attributes[attribute]

    @property
    def called(self) -> str:
        """Returns the element as messages name it."""
        return f'<{self.tag} type="{self.attributes["type"]}">' if "type" in self.attributes else f"<{self.tag}>"


def listed(names: object) -> str:
    """Returns names as messages list them."""
    words = sorted(str(name) for name in names) if hasattr(names, "__iter__") else []
    return ", ".join(words) or "none"


def snake_case(name: str) -> str:
    """Returns a name as Mitsuba 3 spells it, which puts `_` where 0.6 has a capital."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def read_elements(path: Path) -> Element:
    """Reads the <scene> of a file. Raises SceneFileError with the line of what is no XML, or is too much of it."""
    return Loader().load(path, 0)


class Loader:
    """Reads a file and those that it includes."""

    def __init__(self) -> None:
        self.defaults: dict[str, str] = {}
        self.room = MAX_BYTES
        self.elements = 0
        self.files = 0

    def load(self, path: Path, depth: int) -> Element:
        """Reads the <scene> of a file."""
        data = read_bytes(path, MAX_BYTES)
        self.room -= len(data)
        self.files += 1
        if self.room < 0 or self.files > MAX_INCLUDES:
            message = f"with all includes over {MAX_BYTES} bytes or {MAX_INCLUDES} files are read"
            raise SceneFileError(path, None, message)
        scene = FileParser(path).parse(data)
        if scene.tag != "scene":
            raise scene.error(f"expected <scene>, got <{scene.tag}>")
        self.expand(scene, depth)
        return scene

    def expand(self, element: Element, depth: int) -> None:
        """Fills in defaults and includes in all that is within an element."""
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise element.error(f"with all includes there are over {MAX_ELEMENTS} elements")
        children, element.children = element.children, []
        for child in children:
            child.attributes = {key: self.filled(child, value) for key, value in child.attributes.items()}
            if child.tag == "default":
                self.defaults.setdefault(child.need("name"), child.need("value"))
            elif child.tag == "include":
                element.children += self.included(child, depth + 1)
            else:
                self.expand(child, depth)
                element.children.append(child)

    def included(self, element: Element, depth: int) -> list[Element]:
        """Returns the children of the scene of an <include>."""
        if depth > MAX_INCLUDE_DEPTH:
            raise element.error(f"files include files deeper than {MAX_INCLUDE_DEPTH}")
        return self.load(element.path.parent / element.need("filename"), depth).children

    def filled(self, element: Element, text: str) -> str:
        """Returns an attribute with `$name` replaced by what <default> says."""

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name not in self.defaults:
                raise element.error(f"expected a <default> of ${name} before this; there are: {listed(self.defaults)}")
            self.room -= len(self.defaults[name])
            if self.room < 0:
                raise element.error(f"the values of $names have over {MAX_BYTES} characters")
            return self.defaults[name]

        return PARAMETER.sub(value, text) if "$" in text else text


class FileParser:
    """Reads the elements of one file, through expat."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.expat = xml.parsers.expat.ParserCreate()
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end
        self.expat.StartDoctypeDeclHandler = self.refuse
        self.open: list[Element] = [Element("", {}, path, 0)]
        self.count = 0

    def parse(self, data: bytes) -> Element:
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
        element = Element(tag, attributes, self.path, self.expat.CurrentLineNumber)
        self.count += 1
        if len(self.open) > MAX_NESTING or self.count > MAX_ELEMENTS:
            raise element.error(f"elements are nested deeper than {MAX_NESTING}, or there are over {MAX_ELEMENTS}")
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, _: str) -> None:
        """Closes an element."""
        self.open.pop()

    def refuse(self, *_: object) -> None:
        """Raises for a document type, which could declare entities that grow without end."""
        raise SceneFileError(self.path, self.expat.CurrentLineNumber, "expected no document type (<!DOCTYPE ...>)")
