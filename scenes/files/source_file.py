"""This module reads the bytes of a file, packed or not, with errors that say what is wrong with it. It notes which
files are read, and sees to it that a scene reads no others than those of its own folder.

Limits of what is read, how large, how many, how deep, are far above what scenes have, and keep what is wrong with a
file, or meant to harm, from taking minutes or all memory before it is told. Numbers that a format alone knows, such as
the length of a name, stand where they are used.
"""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from scenes.errors import SceneFileError

#: The end of the names of packed files.
PACKED = ".gz"

#: What pictures and meshes end in, which a scene may read of a folder that it names. Files of other kinds are not
#: among them: their text would come back in messages, and secrets have other names.
ASSETS = frozenset(
    (".bmp", ".exr", ".hdr", ".jpeg", ".jpg", ".obj", ".pfm", ".ply", ".png", ".ppm", ".rgbe", ".serialized", ".tga")
)

#: What is said of a file that a scene may not read.
OUTSIDE = "lies outside of the folder of the scene; --allow-outside has it read"

#: Triangles that the shapes of a scene have, each shape counted once or in each place, as its reader says.
MAX_TRIANGLES = 20_000_000

#: Shapes in their places.
MAX_PARTS = 1_000_000

#: Corners of one polygon.
MAX_CORNERS = 100_000

#: Files that are included, those included again and again counted each time, and words of those read again.
MAX_INCLUDES, MAX_WORDS_AGAIN = 20_000, 20_000_000

#: Pixels of a picture, which are those of 16384 x 16384, and of all pictures of a scene together, or all textures that
#: are made of them.
MAX_PIXELS, MAX_ALL_PIXELS = 1 << 28, 1 << 30

#: Of these, all pictures of a scene may have so many whatever their files hold, and beyond them so many for each byte.
FREE_PIXELS, MAX_PIXELS_PER_BYTE = 1 << 27, 100

#: How many times larger than packed what is unpacked may be, from a size on, in bytes.
MAX_RATIO, FREE_OF_RATIO = 100, 1 << 25

#: Things that are wrong with a file until nothing more of it is read.
MAX_FAULTS = 1000

#: Names of which the way to a value consists, such as a.b.c.
MAX_NAMES = 100


class OutsideError(SceneFileError):
    """A scene names a file outside of its folder."""


class PixelsError(SceneFileError):
    """The pictures of a scene have too many pixels in all."""


@dataclass(eq=False)
class Opened:
    """Holds what is known of a scene while its files are read.

    scene: its own file.
    folders: in which, or below which, its other files have to be, without links; None where they may be anywhere.
    asset_folders: in which, or below which, it may read pictures and meshes too, by what their names end in.
    files: that have been read.
    pixels, picture_bytes: of the pictures that have been read, and of their files.
    """

    scene: Path
    folders: list[Path] | None
    asset_folders: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    pixels: int = 0
    picture_bytes: int = 0

    def has(self, path: Path) -> bool:
        """Returns whether a file may be read."""
        if self.folders is None or path == self.scene:
            return True
        try:
            real = path.resolve()
        except (OSError, ValueError, RuntimeError):  # a name that no file can have, links in a circle
            return False
        folders = self.folders + (self.asset_folders if real.suffix.lower() in ASSETS else [])
        return any(real.is_relative_to(folder) for folder in folders)


#: The scene that is being read.
_opened: ContextVar[Opened | None] = ContextVar("opened", default=None)


@contextmanager
def scene_opened(path: Path, *, allow_outside: bool = False) -> Iterator[list[Path]]:
    """Gives a list to which each file that is read within the block is added, so that nothing is written over it.

    path: of the scene's own file. All others have to be in its folder, or below it.
    allow_outside: they may be anywhere.
    """
    before = _opened.get()
    opened = Opened(path, None if allow_outside else [path.parent.resolve()])
    token = _opened.set(opened)
    try:
        yield opened.files
    finally:
        _opened.reset(token)
        if before is not None:
            before.files += opened.files


def allow_folder(folder: Path) -> None:
    """Lets the scene that is being read have files in one more folder."""
    opened = _opened.get()
    if opened is not None and opened.folders is not None:
        opened.folders.append(folder.resolve())


def allow_assets(folder: Path) -> None:
    """Lets the scene that is being read have pictures and meshes in one more folder, by what their names end in."""
    opened = _opened.get()
    if opened is not None:
        opened.asset_folders.append(folder.resolve())


def may_be_read(path: Path) -> bool:
    """Returns whether the scene that is being read may read a file."""
    opened = _opened.get()
    return opened is None or opened.has(path)


def is_there(path: Path) -> bool:
    """Returns whether there is something of this name; False where the name can be none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Returns whether there is a file of this name; False where the name can be none."""
    return is_there(path) and path.is_file()


def is_folder(path: Path) -> bool:
    """Returns whether there is a folder of this name; False where the name can be none."""
    return is_there(path) and path.is_dir()


def note_file(path: Path) -> None:
    """Notes that a file is read, which `check_file` does by itself. Raises OutsideError where it may not be."""
    opened = _opened.get()
    if opened is not None:
        if not opened.has(path):
            raise OutsideError(path, None, OUTSIDE)
        opened.files.append(path)


def count_pixels(path: Path, pixels: int, size: int) -> None:
    """Counts a picture of the scene that is being read, before it is decoded.

    path: of the file that has it.
    pixels: that its header says.
    size: bytes of the picture as it is packed.

    Raises PixelsError where all pictures have more pixels than are read.
    """
    opened = _opened.get()
    if opened is None:
        return
    opened.pixels += pixels
    opened.picture_bytes += size
    if opened.pixels > min(MAX_ALL_PIXELS, FREE_PIXELS + MAX_PIXELS_PER_BYTE * opened.picture_bytes):
        raise PixelsError(
            path,
            None,
            f"with it the pictures of the scene have {opened.pixels} pixels in {opened.picture_bytes} bytes; at most "
            f"{FREE_PIXELS} are read, and {MAX_PIXELS_PER_BYTE} more for each byte, up to {MAX_ALL_PIXELS}",
        )


def check_file(path: Path, max_bytes: int) -> None:
    """Raises SceneFileError unless the path is an ordinary file that is neither empty nor larger than max_bytes, and is
    where the scene's files may be."""
    note_file(path)
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise SceneFileError(path, None, "no such file") from error
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error
    if not stat.S_ISREG(status.st_mode):
        raise SceneFileError(path, None, "expected an ordinary file")
    if status.st_size == 0:
        raise SceneFileError(path, None, "the file is empty")
    if status.st_size > max_bytes:
        raise SceneFileError(path, None, f"the file has {status.st_size} bytes, at most {max_bytes} are read")


def suffix_of(path: Path) -> str:
    """Returns what the name of a file ends in, in small letters; of a packed one with what it ends in before that."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() + suffix if suffix == PACKED else suffix


def read_bytes(path: Path, max_bytes: int, look: Callable[[BinaryIO], None] | None = None) -> bytes:
    """Reads all bytes of a file, at most max_bytes; what ends in .gz is unpacked, to at most so many too.

    look: looks at the file before memory is taken for all of it, and raises what is wrong with it; None for nothing.

    Raises SceneFileError as `check_file` does, or where it fails.
    """
    check_file(path, max_bytes)
    try:
        # without waiting, should it be a pipe by now, and on Windows without changing ends of lines
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags), "rb") as file:
            if look is not None:
                look(file)
                file.seek(0)
            data = file.read()
    except OSError as error:
        raise SceneFileError(path, None, f"cannot be read: {reason(error)}") from error
    return unpacked(path, data, max_bytes) if path.suffix.lower() == PACKED else data


def unpacked(path: Path, data: bytes, max_bytes: int) -> bytes:
    """Returns the bytes that a file of gzip holds (Deutsch: GZIP file format specification, RFC 1952, 1996). Raises
    SceneFileError where there are more, or more than a hundred times as many as are packed, which no scene has."""
    max_bytes = min(max_bytes, most_unpacked(len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SceneFileError(path, None, f"cannot be unpacked: {reason(error)}") from error
    if len(found) > max_bytes:
        raise SceneFileError(path, None, f"its {len(data)} bytes unpack to more than the {max_bytes} that are read")
    if not found:
        raise SceneFileError(path, None, "the file is empty")
    return found


def most_unpacked(packed: int) -> int:
    """Returns how many bytes may be unpacked from so many."""
    return FREE_OF_RATIO + MAX_RATIO * packed


def check_unpacked(path: Path, packed: int, needed: int) -> None:
    """Raises SceneFileError where a file promises more bytes than it may hold packed."""
    if needed > most_unpacked(packed):
        raise SceneFileError(path, None, f"its {packed} bytes promise {needed}: more than can be packed into them")


def as_utf8(text: bytes) -> bytes:
    """Returns a text in UTF-8: unchanged where it is UTF-8, or else decoded as Latin-1 (which any bytes are)."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1").encode("utf-8")
    return text


def reason(error: BaseException) -> str:
    """Returns the message of an exception on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
