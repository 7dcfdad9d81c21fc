"""Compiles a strategy's `.cu` file for the CPU by g++: a shared library, kept on disk, loaded once for each thread."""

import ctypes
import functools
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self

import numpy as np
import numpy.typing as npt

from tracecore.compilation.private_folder import PrivateFolder, cache_folder
from tracecore.compilation.watching import making
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.program import Program
from tracecore.kernels.source import flatten
from tracecore.kernels.strategy import KernelStrategy

HEADERS = Path(__file__).resolve().parent

#: Whether this process runs under the address sanitizer (`sanitizer_environment`): kernels are then compiled for it.
IS_SANITIZED = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "__asan_init")

#: Memory for a lane's stack, and the largest frame of a function: what an overflow cannot jump over (`grid.hpp`).
LANE_BYTES = 1 << (18 if IS_SANITIZED else 16)
FRAME_BYTES = 1 << (15 if IS_SANITIZED else 13)

#: Ends the process at the first access that is not of its variable, and the first operation that C++ does not define.
#: Reports name lines, for which there are unwind tables again.
SANITIZERS = (
    *("-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=undefined"),
    *("-fno-omit-frame-pointer", "-fasynchronous-unwind-tables", "-g1"),
)

#: The machine's own instructions, but IEEE arithmetic as written; loads through pointers of other types, as in CUDA.
FLAGS = (
    *("-std=c++17", "-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing"),
    *("-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-fPIC", "-shared", "-fvisibility=hidden", "-x", "c++", f"-I{HEADERS}"),
    *(f"-DEMULATOR_LANE_BYTES={LANE_BYTES}", f"-DEMULATOR_FRAME_BYTES={FRAME_BYTES}"),
    f"-Werror=frame-larger-than={FRAME_BYTES}",
    *(SANITIZERS if IS_SANITIZED else ()),
)

REMEDY = "install GCC's g++, version 9 or newer (such as: apt install g++)"

#: Seconds after which g++ is given up.
COMPILE_TIMEOUT = 300.0

#: Lines of g++'s messages in an error.
MESSAGE_LINES = 20


#: What the host does while a launch with weak memory runs.
Host = ctypes.CFUNCTYPE(None)


class Request(ctypes.Structure):
    """Describes a launch, as `entry.hpp` reads it.

    scene, arguments: addresses of what the kernel is called with; a program's kernel takes no scene.
    entry: index of the entry point, of streamed dispatch a `Query`, of a program its place among the entries.
    stacks: address, set by `Library`.
    threads: threads of a block.
    order: the order of lanes, an index in `tracer.Order`.
    time_limit: nanoseconds.
    memories: address of pairs of addresses, uint64, between which the kernel may load and store.
    seed: of the shuffled order, and of weak memory.
    log: address of room for steps, uint64 each, where they are counted.
    log_capacity: how many steps there is room for.
    log_length: how many steps there were, also those for which there was no room; set by the launch.
    is_weak: 1 for weak memory (`memory.hpp`), where lanes see late and in any order what is not handed over to them,
    and a clock that goes by how often it is looked at: such a launch is the same for each seed.
    host: what the host does when something is released to it, and now and then, while a launch with weak memory runs.
    """

    _fields_ = (
        ("scene", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        ("stacks", ctypes.c_uint64),
        ("entry", ctypes.c_uint32),
        ("blocks", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("order", ctypes.c_uint32),
        ("time_limit", ctypes.c_uint64),
        ("memories", ctypes.c_uint64),
        ("memories_count", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
        ("log", ctypes.c_uint64),
        ("log_capacity", ctypes.c_uint64),
        ("log_length", ctypes.c_uint64),
        ("host", Host),
        ("is_weak", ctypes.c_uint32),
    )


def emulator_unavailable_reason() -> str | None:
    """Returns None where kernels can be emulated, else one line: why not, and the remedy. Never raises."""
    try:
        _compiler()
    except DeviceError as error:
        return str(error)
    return None


@functools.cache
def _compiler() -> str:
    """Returns what g++ here makes code with: its version, and what it knows of this CPU."""
    if sys.platform != "linux":
        raise DeviceError(f"the emulator runs on Linux, this is {sys.platform}; use a Linux machine or container")
    native = _run(("g++", "-march=native", "-Q", "--help=target"))
    version = _run(("g++", "--version"))
    if native.returncode or version.returncode:
        raise DeviceError(f"the emulator needs g++, and here it fails ({_first_lines(native.stderr)}); {REMEDY}")
    return version.stdout + native.stdout


def sanitizer_environment() -> dict[str, str] | None:
    """Returns what the environment of a process says so that kernels are compiled with sanitizers there, or None where
    GCC's libraries for that are not installed.
    """
    paths = [Path(_run(("g++", f"-print-file-name={name}.so")).stdout.strip()) for name in ("libasan", "libubsan")]
    if not all(path.is_absolute() and path.is_file() for path in paths):
        return None
    options = "detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1"
    return {"LD_PRELOAD": str(paths[0]), "ASAN_OPTIONS": options, "UBSAN_OPTIONS": "print_stacktrace=0"}


def forbid(memory: npt.NDArray[np.uint8]) -> None:
    """Has the address sanitizer, where there is one, end the process when a kernel looks at some memory."""
    if IS_SANITIZED:
        ctypes.CDLL(None).__asan_poison_memory_region(ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.size))


def _run(command: Sequence[str], text: str = "", folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs g++ in a folder, where it also keeps what it makes on its way; nobody else may write to its files."""
    no_preload = {"LD_PRELOAD": ""} if IS_SANITIZED else {}  # g++ needs no sanitizer
    environment = {**os.environ, "LC_ALL": "C", **no_preload} | ({} if folder is None else {"TMPDIR": "."})
    try:
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            env=environment,
            cwd=folder,
            umask=0o077,
            timeout=COMPILE_TIMEOUT,
        )
    except OSError as error:
        raise DeviceError(f"the emulator needs g++, which cannot be started ({error}); {REMEDY}") from error
    except subprocess.TimeoutExpired as error:
        raise DeviceError(f"g++ has not ended after {COMPILE_TIMEOUT:g} s; is the machine overloaded?") from error


def _first_lines(messages: str) -> str:
    return "\n".join(messages.strip().splitlines()[:MESSAGE_LINES])


def compile_library(
    strategy: KernelStrategy,
    stack_size: int,
    *,
    resident: bool = False,
    has_cutouts: bool = False,
    counted: bool = False,
) -> Path:
    """Returns the path of a strategy's shared library for a dispatch mode, compiled unless it is there already.

    strategy: the kernel.
    stack_size: entries of a ray's stack.
    resident: whether the kernel stays and answers a ring, rather than one launch a batch.
    has_cutouts: whether there are triangles that are not solid.
    counted: whether steps are marked, and logged.
    Raises `KernelError` with g++'s messages where the source does not compile, `DeviceError` where there is no g++.
    """
    constants = strategy.constants(stack_size, resident=resident, has_cutouts=has_cutouts, counted=counted)
    return _compiled(strategy.source, strategy.name, constants)


def compile_program(program: Program) -> Path:
    """Returns the path of a program's shared library, and raises, as `compile_library` does."""
    entries = " ".join(f"EMULATOR_ENTRY({name})" for name in program.entries)
    return _compiled(program.source, program.source.stem, {**program.constants, "PROGRAM_ENTRIES": entries})


def _compiled(source: Path, name: str, constants: Mapping[str, str]) -> Path:
    text = _whole_source(source, constants)
    file = f"{source.stem}-{_key(text)}.so"
    if not _is_whole(file) and (messages := _compile(text, file)):
        raise KernelError(f"kernel {name!r} does not compile for the emulator:\n{messages}")
    return _folder().path / file


def _is_whole(file: str) -> bool:
    with suppress(OSError):
        _folder().read_checked(file)
        return True
    return False


def _whole_source(source: Path, constants: Mapping[str, str]) -> str:
    """Returns the text to compile. The constants come after the emulator's headers, whose own names they could hit."""
    defines = "".join(f"#define {name} {value}\n" for name, value in constants.items())
    headers = '#include "grid.hpp"\n#include "cuda.hpp"\n'
    return f'{headers}{defines}{flatten(source)}#include "entry.hpp"\n'


def _folder() -> PrivateFolder:
    return cache_folder("tracecore")


def _key(text: str) -> str:
    headers = [path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("*.hpp"))]
    return hashlib.sha256("\0".join((_compiler(), *FLAGS, *headers, text)).encode()).hexdigest()[:16]


def _compile(text: str, file: str) -> str:
    """Makes a library, while other processes may do the same. Returns g++'s errors, or nothing.

    g++ runs in the folder, as it looks for headers where it runs first.
    """
    folder = _folder()
    with making(f"{Path(file).stem} by g++"), folder.unfinished() as made:
        result = _run(("g++", *FLAGS, "-o", made, "-"), text, folder.working_path)
        if result.returncode:
            return _first_lines(result.stderr)
        with folder.open(made) as library:
            folder.write_checked(file, library.read())
        return ""


class _Scratch(threading.local):
    """Holds memory for the stacks of a thread's launches."""

    def __init__(self) -> None:
        self._stacks = np.zeros(0, np.uint8)

    def stacks(self, threads: int) -> int:
        """Returns the address of that memory: `LANE_BYTES` for each thread of a block."""
        if len(self._stacks) < threads * LANE_BYTES:
            self._stacks = np.zeros(threads * LANE_BYTES, np.uint8)
        return self._stacks.ctypes.data


_scratch = _Scratch()


class Library:
    """Holds a compiled strategy in memory, with variables of its own: it does one launch at a time."""

    def __init__(self, path: Path) -> None:
        folder = _folder()
        try:
            content = folder.read_checked(path.name)
            if IS_SANITIZED:  # which looks for lines in the file later
                self._emulate = ctypes.CDLL(str(path)).tracecore_emulate
            else:
                with folder.unfinished() as copy:  # the loader would give the same variables for the same file
                    folder.write(copy, (content,))
                    self._emulate = ctypes.CDLL(f"{folder.working_path}/{copy}").tracecore_emulate
        except OSError as error:
            raise DeviceError(
                f"cannot load {path}: {error}; set TRACECORE_CACHE to a folder from which programs may be run"
            ) from error
        self._emulate.restype = ctypes.c_char_p

    def emulate(self, request: Request) -> str | None:
        """Runs a launch. Returns what is wrong with the kernel, or None."""
        request.stacks = _scratch.stacks(request.threads)
        error = self._emulate(ctypes.byref(request))
        return None if error is None else error.decode()


class LibraryPool:
    """Holds copies of one library: as many as are in use at a time, which is one under a sanitizer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: SimpleQueue[Library] = SimpleQueue()
        self._idle.put(Library(path))

    @classmethod
    @functools.cache
    def of(cls, path: Path) -> Self:
        """Returns the pool of all tracers with the same library; what is loaded stays loaded."""
        return cls(path)

    @contextmanager
    def borrow(self) -> Iterator[Library]:
        """Lends a library for one launch."""
        try:
            library = self._idle.get_nowait()
        except Empty:
            library = Library(self._path)
        try:
            yield library
        finally:
            self._idle.put(library)
