"""This module holds what all readers of one scene share: its elements by id, its files, and what is wrong with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from scenes.errors import Notes, SceneFileError, SceneProblemsError
from scenes.files.source_file import MAX_FAULTS, OutsideError
from scenes.mitsuba.elements import AbsentError, LimitError, Loader, MitsubaFiles, XmlElement

T = TypeVar("T")


@dataclass(eq=False)
class Reading:
    """Holds a scene that is being read.

    scene: its outermost element.
    files: finds those that it names.
    ids: every element that has an id, by it.
    problems: what is wrong; reading goes on without it, so that all of it can be told in one go.
    notes: what is left out, or approximated.
    """

    scene: XmlElement
    files: MitsubaFiles
    problems: list[SceneFileError]
    ids: dict[str, XmlElement] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    @property
    def is_old(self) -> bool:
        """Returns whether the file is of Mitsuba 0.6 or before."""
        return self.scene.attributes.get("version", "").startswith("0.")

    def attempt(self, default: T, call: Callable[..., T], *arguments: Any) -> T:
        """Returns what a call returns, or the default where it raises SceneFileError, which becomes a problem."""
        try:
            return call(*arguments)
        except LimitError:
            raise
        except SceneFileError as problem:
            self.problems.append(problem)
            if len(self.problems) >= MAX_FAULTS:
                message = f"nothing more is read: {MAX_FAULTS} things are wrong"
                raise LimitError(problem.path, problem.line, message) from problem
            return default

    def note(self, element: XmlElement, message: str) -> None:
        """Takes in what is to be told about an element."""
        self.notes.add(message, element.path, element.line)

    def note_loss(self, element: XmlElement, message: str) -> None:
        """Takes in a note of what the picture lacks, which is an error where files are read strictly."""
        self.notes.add_loss(message, element.path, element.line)

    def check(self) -> None:
        """Raises SceneFileError where there are problems. What is not there is not told beside files that may not be
        read, from which it would come."""
        if any(isinstance(problem, OutsideError) for problem in self.problems):
            self.problems = [problem for problem in self.problems if not isinstance(problem, AbsentError)]
        if self.problems:
            found = sorted(self.problems, key=lambda problem: (problem.path, problem.line or 0))
            raise found[0] if len(set(map(str, found))) == 1 else SceneProblemsError(found)


def begin(path: Path, parameters: Mapping[str, str]) -> Reading:
    """Reads the elements of a file. parameters: values of `$name`. Raises SceneFileError for what is no XML."""
    files = MitsubaFiles(path)
    loader = Loader(files, {})
    scene = loader.scene(parameters)
    return begun(Reading(scene, files, loader.problems, notes=loader.notes))


def begun(reading: Reading) -> Reading:
    """Returns a reading, once it knows its elements by their ids."""
    collect_ids(reading)
    return reading


def collect_ids(reading: Reading) -> None:
    """Takes in every element that has an id, at any depth, and further names that an <alias> gives them."""
    aliases = []
    waiting = [reading.scene]
    while waiting:
        element = waiting.pop()
        if element.tag == "alias":
            aliases.append(element)
        elif "id" in element.attributes and element.tag != "ref":
            reading.ids[element.attributes["id"]] = element
        waiting += element.children
    for alias in reversed(aliases):
        reading.attempt(None, name_again, reading.ids, alias)


def name_again(ids: dict[str, XmlElement], alias: XmlElement) -> None:
    """Gives an element the further name that an <alias> has for it."""
    name = alias.need("id")
    if name not in ids:
        raise alias.error(f"no element has the id {name!r}")
    ids[alias.need("as")] = ids[name]
