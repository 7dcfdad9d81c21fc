"""Counts which scene files below a folder are read, and prints a table of each format in Markdown.

python docs/count_files.py FOLDER                  each file as it would be rendered
python docs/count_files.py FOLDER --allow-outside  with files that scenes name outside of their folders
python docs/count_files.py FOLDER --list           a line for each file before the table

Each file is read by a process of its own, with bounded memory and time, two at once. What a scene includes is a part of
it: files of pbrt without a WorldBegin and of XML without a <scene> are no scenes and are not counted.
"""

import argparse
import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

#: What each file may take, and how many are read at once.
SECONDS, BYTES, AT_ONCE = 120, 6 << 30, 2
#: Suffixes of one format, and what is in files that are scenes.
NAMES = {".pbrt.gz": ".pbrt", ".obj.gz": ".obj", ".ply.gz": ".ply", ".glb": ".gltf", ".nff": ".aff"}
SIGNS = {".pbrt": b"WorldBegin", ".xml": b"<scene"}
#: Reasons of a format that are told.
MOST_REASONS = 6
TEXT, NUMBER = re.compile(r"'[^']*'|\"[^\"]*\""), re.compile(r"\b\d[\d.e+-]*")


@dataclass(frozen=True)
class Outcome:
    """Says what became of a file.

    error: why it was not read, or "".
    notes, losses: how many there are else, and how many of them say what the picture lacks.
    """

    path: Path
    suffix: str
    error: str = ""
    notes: int = 0
    losses: int = 0

    @property
    def reason(self) -> str:
        """Returns the error without what is of this file alone."""
        first = self.error.splitlines()[0] if self.error else ""
        return NUMBER.sub("n", TEXT.sub("…", first))


def main() -> None:
    """Reads the files below a folder and prints the table; with --one reads one of them and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--allow-outside", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(read(arguments.folder, arguments.allow_outside)))
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        more = ["--allow-outside"] if arguments.allow_outside else []
        found = list(pool.map(lambda path: outcome(path, more), scene_paths(arguments.folder)))
    if arguments.list:
        for own in found:
            print(f"{own.path}: {own.error.splitlines()[0] if own.error else f'{own.notes} notes'}")
    print("\n".join(table(found)))


def suffix_of(path: Path) -> str:
    """Returns what the files of a format end in mostly."""
    from scenes.files.source_file import suffix_of as full_suffix

    return NAMES.get(full_suffix(path), full_suffix(path))


def scene_paths(folder: Path) -> Iterator[Path]:
    """Yields the paths of all scene files below a folder, in order."""
    from scenes import READERS

    for path in sorted(folder.rglob("*")):
        suffix = suffix_of(path)
        if path.is_file() and suffix in READERS and (suffix not in SIGNS or SIGNS[suffix] in content(path)):
            yield path


def content(path: Path) -> bytes:
    """Returns the bytes of a file, unpacked."""
    return gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()


def read(path: Path, allow_outside: bool) -> dict[str, object]:
    """Returns what came of reading a scene and placing its first frame: an error, or a number of notes."""
    import resource

    from scenes import SceneError, load

    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    try:
        scene = load(path, allow_outside=allow_outside)
        scene.at_frame(0)
    except SceneError as error:
        return {"error": str(error).replace(f"{path}: ", "").replace(f"{path}:", "line ")}
    except MemoryError:
        return {"error": f"takes more than {BYTES >> 30} GB"}
    return {"notes": len(scene.document.notes.lines), "losses": len(scene.document.notes.losses)}


def outcome(path: Path, more: list[str]) -> Outcome:
    """Reads a file in a process of its own."""
    command = [sys.executable, __file__, str(path), "--one", *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Outcome(path, suffix_of(path), f"takes more than {SECONDS} seconds")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        return Outcome(path, suffix_of(path), f"ends with status {done.returncode}: {' '.join(last)}")
    return Outcome(path, suffix_of(path), **json.loads(done.stdout.splitlines()[-1]))


def table(outcomes: list[Outcome]) -> Iterator[str]:
    """Yields the lines of a table of formats."""
    yield "| format | files | read | with notes | lacking something | refused | why |"
    yield "|---|---|---|---|---|---|---|"
    for suffix in sorted({own.suffix for own in outcomes}):
        rows = [own for own in outcomes if own.suffix == suffix]
        good = [own for own in rows if not own.error]
        reasons = Counter(own.reason for own in rows if own.error)
        why = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common(MOST_REASONS))
        noted, lacking = sum(own.notes > 0 for own in good), sum(own.losses > 0 for own in good)
        cells = (f"`{suffix}`", len(rows), len(good), noted, lacking, len(rows) - len(good), why.replace("|", "/"))
        yield f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
