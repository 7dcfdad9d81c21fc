"""This module says what somebody may have meant who names a scene that there is not."""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from scenes.files.source_file import is_folder

#: Entries of a folder that are looked at, and names that are told.
MAX_ENTRIES = 10_000
MAX_TOLD = 5
#: How alike a name must be, 0 to 1.
ALIKE = 0.6
#: Formats that are not read, and what most programs that write them can write too.
FOREIGN = (
    ".blend",
    ".fbx",
    ".dae",
    ".3ds",
    ".max",
    ".ma",
    ".mb",
    ".c4d",
    ".skp",
    ".abc",
    ".json",
    ".x3d",
    ".lwo",
    ".pov",
    ".lxs",
    ".vtp",
)


def unknown_scene(text: str, shipped: Sequence[str], suffixes: Iterable[str]) -> str:
    """Returns what to say of a text that is neither the name of a shipped scene nor of a file of a known format.

    shipped: names of scenes.
    suffixes: what names of files end in.
    """
    path, known = Path(text), list(suffixes)
    if text and is_folder(path):
        return of_folder(path, known)
    suffix = path.suffix.lower()
    meant = [] if suffix in known else near(text.partition(":")[0], shipped)
    meant += [name for name in near_files(path, known) if name not in meant]
    hint = f"; did you mean {' or '.join(meant[:MAX_TOLD])}?" if meant else ""
    if suffix in FOREIGN:
        hint = f"; {suffix} files are not read: export the scene as .glb{hint}"
    return f"unknown scene {text!r}{hint}; shipped: {', '.join(shipped)}; files end in {' '.join(known)}"


def missing_file(path: Path, suffixes: Iterable[str]) -> str:
    """Returns what to say of a file that there is not."""
    meant = near_files(path, list(suffixes))
    return "no such file" + (f"; did you mean {' or '.join(meant)}?" if meant else "")


def of_folder(path: Path, suffixes: Sequence[str]) -> str:
    """Returns what to say of a folder: which of its files are scenes."""
    found = [str(path / name) for name in scene_files(path, suffixes)]
    if not found:
        return f"'{path}' is a folder, and no file in it is a scene; files end in {' '.join(suffixes)}"
    more = f" and {len(found) - MAX_TOLD} more" if len(found) > MAX_TOLD else ""
    return f"'{path}' is a folder; name a file in it: {', '.join(found[:MAX_TOLD])}{more}"


def near_files(path: Path, suffixes: Sequence[str]) -> list[str]:
    """Returns the paths of scenes beside a file that there is not, whose names are like its own."""
    names = near(path.name, scene_files(path.parent, suffixes))
    same_stem = [name for name in scene_files(path.parent, suffixes) if Path(name).stem == (path.stem or path.name)]
    return [str(path.parent / name) for name in dict.fromkeys([*same_stem, *names])][:MAX_TOLD]


def near(name: str, names: Iterable[str]) -> list[str]:
    """Returns those of some names that are like a name, the most alike first; capitals do not matter."""
    by_small = {other.lower(): other for other in names}
    return [by_small[other] for other in get_close_matches(name.lower()[:200], by_small, MAX_TOLD, ALIKE)]


def scene_files(folder: Path, suffixes: Sequence[str]) -> list[str]:
    """Returns the names of the files in a folder that end as scenes do, sorted; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MAX_ENTRIES)]
    except (OSError, ValueError):
        return []
    return sorted(name for name in names if name.lower().endswith(tuple(suffixes)))
