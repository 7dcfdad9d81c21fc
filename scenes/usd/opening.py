"""This module opens a stage: first all layers that it names, each looked at before usd-core composes them, so that no
file is read that may not be, none waits, and none takes all memory. Layers that are no text are read by a process of
their own, `trial_process`, first, as bytes that are no USD may end the process that reads them."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from pxr import Ar, Sdf, Usd, UsdUtils

from scenes.errors import Notes, SceneFileError
from scenes.files.source_file import MAX_INCLUDES, OutsideError, check_file, note_file, reason
from scenes.usd import MAX_FILE_BYTES
from scenes.usd.prim_counts import ARCS, check_prims, place_of
from scenes.usd.trial_process import EDITS, UNREADABLE
from tracecore.child_process import start_python

#: What a layer of text begins with.
TEXT = b"#"
#: Brackets of text that may stand inside one another: usd-core's parser takes memory of the stack for each.
MAX_NESTING = 1000
#: What of text are no brackets: comments and quoted words, also of three quotes and of paths of files.
QUOTED = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    rb"|@@@.*?@@@|@[^@\n]*@|#[^\n]*|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)
#: The beginning of a value that edits an array, a word of which makes one of any length.
EDIT = re.compile(rb"\bedit\s*\[")
#: What usd-core tells of where it was called, and where that is in memory.
NOISE = re.compile(
    r"\s*\(instantiating stage.*|\s*<0x[0-9a-f]+>|\s*\(recomposing stage.*|@anon:0x[0-9a-f]+:|pxrInternal_\w+__(::)?",
    re.DOTALL,
)
#: Notes of usd-core that are taken in, and characters of one.
MAX_DIAGNOSTICS, MAX_LETTERS = 100, 200
#: Megabytes and seconds for each trial, and more of both for each megabyte of its files.
FREE_MEGABYTES, MEGABYTES_EACH = 2000, 40
FREE_SECONDS, SECONDS_EACH = 20, 1
#: The most bytes of the names of the layers of a trial, which are arguments of a command.
MAX_NAMES = 100_000
#: What usd-core prints of bytes that say they go on beyond the end of their file.
TOO_FAR = b"posix_madvise"
#: What is said of values that edit arrays.
EDITED = "edits arrays (edit [...]), which is not read"
#: What that process runs.
PROCESS = Path(__file__).with_name("trial_process.py")


@contextmanager
def opened_stage(path: Path, notes: Notes) -> Iterator[Usd.Stage]:
    """Opens the stage of a file; what usd-core tells within the block becomes notes. Raises SceneFileError where it
    cannot be opened."""
    listener = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        layers = Layers(path, notes)
        layers.open_all()
        stage = Usd.Stage.Open(layers.root)
        if stage is None:
            raise SceneFileError(path, None, "is no readable USD file")
        yield stage
        layers.check_used(stage)
    except UNREADABLE as error:
        raise SceneFileError(path, None, f"is no readable USD file: {message_of(error)}") from error
    finally:
        for text in list(dict.fromkeys(told_by(listener)))[:MAX_DIAGNOSTICS]:
            notes.add(f"usd-core: {text}", path)
        del listener


def told_by(listener: UsdUtils.CoalescingDiagnosticDelegate) -> Iterator[str]:
    """Yields what usd-core has told, on one line each, but for layers that are not there, which are noted already."""
    for item in listener.TakeUncoalescedDiagnostics():
        with suppress(UnicodeDecodeError):
            text = " ".join(NOISE.sub("", item.commentary).split())[:MAX_LETTERS]
            if "Could not open asset" not in text and "Could not load" not in text:
                yield text


def message_of(error: Exception) -> str:
    """Returns what usd-core says is wrong, on one line, without where in its own code it was found."""
    try:
        text = str(error)
    except UnicodeDecodeError as wrong:  # usd-core quotes bytes that are no text
        text = str(wrong)
    found = re.search(r": '(.*?)'\s*$", text.strip().partition("\n\tError in")[0], re.DOTALL)
    return " ".join(NOISE.sub("", found[1] if found else text).split())[:MAX_LETTERS]


class Layers:
    """Opens the layers of a stage, each once, and holds them open."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self.path, self.notes = path, notes
        self.opened: dict[str, Sdf.Layer] = {}

    @property
    def root(self) -> Sdf.Layer:
        """Returns the layer of the file itself."""
        return next(iter(self.opened.values()))

    def open_all(self) -> None:
        """Opens the layers that the file names, and those that these name. One that is missing is noted. Raises
        SceneFileError where one may not be read, or all of them make too much."""
        names = [str(self.path.absolute())]
        while names:
            there = [name for name in names if self.is_there(name)]
            self.try_out(there)
            for name in there:
                self.opened[name] = self.open(name)
            named = [near for name in there for near in self.named_by(self.opened[name])]
            names = list(dict.fromkeys(name for name in named if name not in self.opened))
            if len(self.opened) + len(names) > MAX_INCLUDES:
                raise SceneFileError(self.path, None, f"over {MAX_INCLUDES} layers")
        if any(has_arcs(layer) for layer in self.opened.values()):
            check_prims(self.path, self.root)

    def is_there(self, name: str) -> bool:
        """Returns whether a layer can be read; notes where it cannot, and raises for the file itself, and for one that
        may not be read."""
        file = self.file_of(name)
        try:
            check_file(file, MAX_FILE_BYTES)
        except SceneFileError as error:
            if not self.opened or isinstance(error, OutsideError):
                raise
            self.notes.add_loss(f"{file.name}: {error.message}; what is in it is left out", self.path)
            return False
        return True

    def file_of(self, name: str) -> Path:
        return Path(Ar.SplitPackageRelativePathOuter(name)[0]) if self.opened else self.path

    def try_out(self, names: Sequence[str]) -> None:
        """Has a process of its own read the layers that are no text. Raises where that fails, or text nests too
        deep."""
        sizes: dict[str, int] = {}
        for name in names:
            file = self.file_of(name)
            try:
                data = file.read_bytes()
            except OSError as error:
                raise SceneFileError(file, None, f"cannot be read: {reason(error)}") from error
            if data.startswith(TEXT):
                check_text(file, data)
            else:
                sizes[name] = len(data)
        if sizes:
            check_by_trial(self.path, list(sizes), sum(sizes.values()))

    def open(self, name: str) -> Sdf.Layer:
        """Opens a layer as it is now, even if one that was opened before is still there."""
        try:
            old = Sdf.Layer.Find(name)
            layer = Sdf.Layer.FindOrOpen(name) if old is None or not old.Reload(force=True) else old
        except UNREADABLE as error:
            message = f"is no readable USD file: {message_of(error)}"
            raise SceneFileError(self.file_of(name), None, message) from error
        if layer is None:
            raise SceneFileError(self.file_of(name), None, "is no readable USD file")
        return layer

    def named_by(self, layer: Sdf.Layer) -> list[str]:
        assets = layer.GetCompositionAssetDependencies()
        return [place_of(layer, asset) for asset in assets if asset]

    def check_used(self, stage: Usd.Stage) -> None:
        """Raises OutsideError where a stage has come to read a layer that may not be read, such as clips."""
        for layer in stage.GetUsedLayers(includeClipLayers=True):
            if layer.realPath and layer.identifier not in self.opened:
                note_file(Path(Ar.SplitPackageRelativePathOuter(layer.realPath)[0]))


def has_arcs(layer: Sdf.Layer) -> bool:
    """Returns whether a prim of a layer brings in another."""
    found: list[Sdf.Path] = []

    def look(path: Sdf.Path) -> None:
        if not found and (path.IsPrimPath() or path.IsPrimVariantSelectionPath()):
            spec = layer.GetPrimAtPath(path)
            if spec is not None and any(spec.HasInfo(field) for field in ARCS):
                found.append(path)

    layer.Traverse(Sdf.Path.absoluteRootPath, look)
    return bool(found)


def check_text(path: Path, data: bytes) -> None:
    """Raises SceneFileError where text has brackets too deep inside one another, or edits arrays."""
    bare = QUOTED.sub(b"", data)
    if EDIT.search(bare):
        raise SceneFileError(path, None, EDITED)
    letters = np.frombuffer(bare, np.uint8)
    steps = np.zeros(256, np.int8)
    steps[list(b"{[(")], steps[list(b"}])")] = 1, -1
    if np.cumsum(steps[letters], dtype=np.int32).max(initial=0) > MAX_NESTING:
        raise SceneFileError(path, None, f"its brackets stand over {MAX_NESTING} deep inside one another")


def check_by_trial(path: Path, names: Sequence[str], size: int) -> None:
    """Raises SceneFileError where layers end the process that reads them, or take too much.

    path: of the scene.
    names: of the layers, as usd-core opens them.
    size: bytes of their files.
    """
    if sum(map(len, names)) > MAX_NAMES and len(names) > 1:
        middle = len(names) // 2
        check_by_trial(path, names[:middle], size)
        return check_by_trial(path, names[middle:], size)
    megabytes = int(FREE_MEGABYTES + MEGABYTES_EACH * size / 1e6)
    seconds = int(FREE_SECONDS + SECONDS_EACH * size / 1e6)
    words = [str(PROCESS), str(megabytes), str(seconds), *names]
    with start_python(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as trial:
        try:
            said, errors = trial.communicate(timeout=2 * seconds)
        except subprocess.TimeoutExpired as error:
            trial.kill()
            raise SceneFileError(path, None, f"takes over {seconds} seconds to be read") from error
    if trial.returncode == EDITS:
        raise SceneFileError(path, None, EDITED)
    if trial.returncode or TOO_FAR in errors:
        last = Path(said.decode(errors="replace").strip().rpartition("\n")[2]).name
        message = f"is no readable USD file: usd-core ended with status {trial.returncode} at {last}"
        raise SceneFileError(path, None, f"{message} (within {megabytes} MB and {seconds} s)")
    return None
