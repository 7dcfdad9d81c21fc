"""Kernels compiled by NVIDIA's run-time compiler; needs its library but neither a driver nor a GPU.

CuPy's own compilation would add `-ftz=true`, which flushes denormals and so changes hits; hence this direct use.
"""

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracecore.compilation.private_folder import cache_folder
from tracecore.compilation.watching import making
from tracecore.errors import DeviceError, KernelError
from tracecore.kernels.program import Program
from tracecore.kernels.source import flatten
from tracecore.kernels.strategy import USUAL_STACK, KernelStrategy

#: IEEE arithmetic, as the triangle test wants it, and a report of resources.
NVRTC_OPTIONS = (
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ptxas-options=-v",
)

#: CuPy takes the machine code for a string and leaves out its last byte.
LAST_BYTE = b"\0"

#: What parts the compiler's report from machine code in a file.
END_OF_LOG = b"\0"

REMEDY = "pip install cupy-cuda13x nvidia-cuda-nvrtc nvidia-cuda-runtime"


@dataclass(frozen=True, kw_only=True)
class KernelResources:
    """What one entry point takes of a multiprocessor. Registers are per thread; the rest is in bytes, stack per thread,
    shared per block, spills per thread and compiled instruction."""

    entry: str
    registers: int
    stack_bytes: int
    spill_bytes: int
    shared_bytes: int


@dataclass(frozen=True, kw_only=True)
class CompiledKernel:
    """Machine code for one architecture, and its entry points' resources by name."""

    arch: str
    cubin: bytes
    resources: Mapping[str, KernelResources]


def compile_strategy(
    strategy: KernelStrategy,
    arch: str,
    stack_size: int = USUAL_STACK,
    *,
    resident: bool = False,
    has_cutouts: bool = False,
    counted: bool = False,
) -> CompiledKernel:
    """Compile a strategy for a dispatch mode, once on a machine.

    arch: such as "sm_90". stack_size: entries of a ray's traversal stack. has_cutouts: for triangles that are not all
    solid. counted: with marks of its steps (`steps`).

    Raises `KernelError` with the compiler's messages, `DeviceError` where there is no compiler.
    """
    constants = tuple(
        strategy.constants(stack_size, resident=resident, has_cutouts=has_cutouts, counted=counted).items()
    )
    return _compile_once(flatten(strategy.source), strategy.source.name, arch, constants)


def compile_program(program: Program, arch: str) -> CompiledKernel:
    """Compiles a program, once on a machine, and raises as `compile_strategy` does. arch: such as "sm_90"."""
    return _compile_once(flatten(program.source), program.source.name, arch, tuple(program.constants.items()))


@functools.lru_cache(maxsize=256)
def _compile_once(source: str, name: str, arch: str, constants: tuple[tuple[str, str], ...]) -> CompiledKernel:
    """Returns a kernel, from disk where it was compiled before."""
    wanted = repr((source, name, arch, constants, NVRTC_OPTIONS, _library().getVersion()))
    folder, file = cache_folder("tracecore"), f"{hashlib.sha256(wanted.encode()).hexdigest()[:32]}.cubin"

    def make() -> bytes:
        with making(f"{name} for {arch}"):
            cubin, log = compile_source(source, name, arch, dict(constants))
        return log.encode().replace(END_OF_LOG, b"") + END_OF_LOG + cubin

    log, _, cubin = folder.kept(file, make).partition(END_OF_LOG)
    return CompiledKernel(arch=arch, cubin=cubin, resources=parse_resources(log.decode()))


def compile_source(source: str, name: str, arch: str, constants: Mapping[str, str]) -> tuple[bytes, str]:
    """Machine code and the compiler's log of one source text; `name` stands in its messages."""
    nvrtc = _library()
    options = (f"--gpu-architecture={arch}", *NVRTC_OPTIONS, *(f"-D{key}={value}" for key, value in constants.items()))
    program = nvrtc.createProgram(source, name, (), ())
    try:
        nvrtc.compileProgram(program, options)
        return nvrtc.getCUBIN(program) + LAST_BYTE, nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program).strip()
        raise KernelError(f"kernel {name} does not compile for {arch}: {error}\n{log}") from error
    finally:
        nvrtc.destroyProgram(program)


def supported_architectures() -> tuple[str, ...]:
    """What the compiler found here can compile for, oldest first."""
    return tuple(f"sm_{number}" for number in _library().getSupportedArchs())


def _library() -> Any:
    try:
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    except ImportError as error:
        raise DeviceError(f"no CUDA compiler: {error}; {REMEDY}") from error
    except RuntimeError as error:  # CuPy is there, the compiler's library is not
        raise DeviceError(f"no CUDA compiler: {' '.join(str(error).split())}; {REMEDY}") from error
    return nvrtc


_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def parse_resources(log: str) -> dict[str, KernelResources]:
    """Resources of each entry point out of the assembler's log. Raises `KernelError` where it reads unlike expected."""
    _, *sections = _ENTRY.split(log)
    resources = {}
    for entry, section in zip(sections[::2], sections[1::2], strict=True):
        frame, used = _FRAME.search(section), _USED.search(section)
        if frame is None or used is None:
            raise KernelError(f"the compiler's report on {entry} cannot be read: {section.strip()!r}")
        resources[entry] = KernelResources(
            entry=entry,
            registers=int(used[1]),
            stack_bytes=int(frame[1]),
            spill_bytes=int(frame[2]) + int(frame[3]),
            shared_bytes=int(used[2] or 0),
        )
    return resources
