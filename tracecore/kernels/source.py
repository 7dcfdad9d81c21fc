"""Makes one text of CUDA source, local includes resolved, so that whoever caches by the text sees every change.

`#line` directives keep the compiler's messages at the file and line of the author.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tracecore.errors import KernelError

#: The project's own kernels and headers; found by every kernel, wherever it lies.
KERNELS = Path(__file__).resolve().parent

#: Texts by the path of their first file, each with the stamps of all that it is made of.
_KNOWN: dict[Path, tuple[dict[Path, tuple[int, int] | None], str]] = {}

_INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
_PRAGMA_ONCE = re.compile(r"\s*#\s*pragma\s+once\b")


def flatten(path: Path) -> str:
    """Returns the text of a `.cu` file with every `#include "..."` replaced by the file, each file once.

    A name is looked up beside the including file, then in `KERNELS`. `#include <...>` stays as it is.
    Raises `KernelError` for a file that cannot be read and for a file that includes itself.
    """
    path = path.resolve()
    stamps, text = _KNOWN.get(path, ({}, ""))
    if not stamps or any(_stamp(file) != stamp for file, stamp in stamps.items()):
        files: set[Path] = set()
        text = "\n".join(_lines(path, (), files)) + "\n"
        _KNOWN[path] = {file: _stamp(file) for file in files}, text
    return text


def _stamp(path: Path) -> tuple[int, int] | None:
    """Returns what changes where a file does, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _lines(path: Path, including: tuple[Path, ...], done: set[Path]) -> Iterator[str]:
    """Yields the lines of a file and of what it includes. `including` leads from the first file to this one."""
    yield f'#line 1 "{path.name}"'
    for number, line in enumerate(_read(path, including).splitlines(), start=1):
        if match := _INCLUDE.match(line):
            included = _find(match[1], path, number)
            if included in (*including, path):
                raise KernelError(f"{path.name}:{number}: include cycle: {_chain((*including, path, included))}")
            if included not in done:
                yield from _lines(included, (*including, path), done)
            yield f'#line {number + 1} "{path.name}"'
        else:
            yield "" if _PRAGMA_ONCE.match(line) else line
    done.add(path)


def _find(name: str, path: Path, number: int) -> Path:
    for folder in (path.parent, KERNELS):
        if (folder / name).is_file():
            return (folder / name).resolve()
    raise KernelError(f'{path.name}:{number}: #include "{name}": no such file in {path.parent} or {KERNELS}')


def _read(path: Path, including: tuple[Path, ...]) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KernelError(f"cannot read kernel source {_chain((*including, path))}: {error}") from error


def _chain(paths: tuple[Path, ...]) -> str:
    return " -> ".join(path.name for path in paths)
