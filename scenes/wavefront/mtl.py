"""This module reads MTL files: the numbers and pictures of each material, with the lines that they are on."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import is_file, may_be_read, read_bytes
from scenes.wavefront.lines import MAX_QUOTE, ObjLines, plain_text

MAX_FILE_BYTES = 1 << 26
#: The longest line in which options are looked for.
MAX_LINE = 10_000
#: A comment behind a name: with a blank after its sign, since names have such signs too.
COMMENT = re.compile(r"(^|\s)#(\s.*)?$")
#: Options of pictures, and how many words may follow: at least, and at most as long as they are numbers.
OPTIONS = {
    **dict.fromkeys(("-blendu", "-blendv", "-bm", "-boost", "-cc", "-clamp", "-imfchan", "-texres", "-type"), (1, 1)),
    **dict.fromkeys(("-o", "-s", "-t"), (1, 3)),
    "-mm": (2, 2),
    "-colorspace": (1, 1),
}
#: Words of lines that name pictures, and the same by one name.
PICTURES = {
    "bump": "bump",
    "map_bump": "bump",
    "norm": "norm",
    "map_norm": "norm",
    "map_kn": "norm",
    "disp": "disp",
    "map_disp": "disp",
    "decal": "decal",
    "refl": "refl",
    "map_refl": "refl",
    "map_opacity": "map_d",
}


@dataclass(frozen=True)
class MtlPicture:
    """Names a picture as a line does. options: their words, by their names."""

    name: str
    line: int
    word: str
    options: dict[str, list[str]]


@dataclass(frozen=True)
class Entry:
    """Holds what an MTL file says of a material, by the first words of its lines in small letters.

    words: the numbers, as text, and the line.
    pictures: see `PICTURES`.
    given: the first words as the file has them.
    """

    name: str
    path: Path
    line: int
    words: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    pictures: dict[str, MtlPicture] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def error(self, line: int, message: str) -> SceneFileError:
        return SceneFileError(self.path, line, message)


def read_libraries(path: Path, named: list[tuple[int, str]], notes: Notes) -> dict[str, Entry]:
    """Reads the MTL files that an OBJ file names; the first that has a material counts.

    named: numbers of lines and what they name: a file, or several with blanks between.
    """
    entries: dict[str, Entry] = {}
    seen: set[Path] = set()
    missing: set[str] = set()
    for line, text in named:
        whole = found_file(path.parent, text) or found_file(path.parent, without_comment(text))
        for name in [text] if whole else without_comment(text).split():
            if name in missing:
                continue
            found = whole or found_file(path.parent, name)
            if found is None:
                notes.add_loss(f"there is no file {name[:MAX_QUOTE]!r}: its materials are plain", path, line)
                missing.add(name)
            elif found not in seen:
                seen.add(found)
                entries = {**read_mtl(found, notes), **entries}
    return entries


def without_comment(name: str) -> str:
    return COMMENT.sub("", name).strip()


def found_file(folder: Path, name: str) -> Path | None:
    """Returns the file of a name, as systems of any kind write it, in or from a folder: where the name says, or else
    the one of the same last name in the folder, one that may be read before one that may not. None where there is
    neither."""
    clean = name.strip().strip('"').replace("\\", "/")
    found = [path for path in (folder / clean, folder / clean.rpartition("/")[2]) if is_file(path)]
    return min(found, key=lambda path: not may_be_read(path), default=None)


def read_mtl(path: Path, notes: Notes) -> dict[str, Entry]:
    """Reads the materials of an MTL file by their names; of two of a name the last counts."""
    lines = ObjLines(path, plain_text(path, read_bytes(path, MAX_FILE_BYTES), notes))
    entries: dict[str, Entry] = {}
    entry = Entry("", path, 1)
    for line in range(len(lines.first)):
        word, rest = lines.content(line)
        key, number = word.lower(), lines.number(line)
        if key == "newmtl":
            name = without_comment(rest)
            entry = entries[name] = Entry(name, path, number)
        elif key in PICTURES or key.startswith("map_"):
            options, name = options_and_name(without_comment(rest))
            entry.pictures[PICTURES.get(key, key)] = MtlPicture(name, number, word, options)
        else:
            entry.words[key] = (without_comment(rest).split(), number)
            entry.given[key] = word
    return entries


def options_and_name(text: str) -> tuple[dict[str, list[str]], str]:
    """Returns the options before a name, and the name, which may have blanks in it."""
    options: dict[str, list[str]] = {}
    while text and len(text) <= MAX_LINE:
        word, _, rest = text.partition(" ") if " " in text else (text, "", "")
        if word.lower() not in OPTIONS:
            break
        least, most = OPTIONS[word.lower()]
        values: list[str] = []
        rest = rest.strip()
        while rest and (len(values) < least or (len(values) < most and is_number(rest.split(None, 1)[0]))):
            value, _, rest = rest.partition(" ")
            values.append(value)
            rest = rest.strip()
        options[word.lower()], text = values, rest
    return options, text


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
