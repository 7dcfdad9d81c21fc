"""The command `tracecore doctor` says what runs on this machine, what is missing, and the remedy: one small examination
per thing.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from renderer.commands.arguments import add_plugin
from renderer.version import __version__, version_of

OLDEST_PYTHON = (3, 11)
REQUIRED = ("numpy", "numba", "llvmlite", "pillow", "tqdm", "trimesh")

#: Extra -> what it is for, and the packages that it installs, as pyproject.toml has them.
EXTRAS = {
    "gpu": (
        "tracing on an NVIDIA GPU",
        ("cupy-cuda13x", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-nvdisasm", "cuda-pathfinder"),
    ),
    "exr": ("linear pictures as .exr, and skies from such", ("OpenEXR",)),
    "denoise": ("render --denoise", ("pyoidn",)),
    "film": ("films of frames as .mp4 and .webm", ("av",)),
    "draco": ("glTF files whose meshes are packed by Draco", ("DracoPy",)),
    "usd": ("scenes of USD", ("usd-core",)),
    "plot": ("bench --plot and --html", ("matplotlib", "jinja2")),
    "cluster": ("render and photons --cluster", ("distributed", "cryptography")),
    "completion": ("tracecore --print-completion", ("shtab",)),
    "peers": ("bench --peers warp,optix,embree", ("warp-lang", "mitsuba", "embreex")),
}

#: Where packages are not made for: pyproject.toml asks for none of them there. By what `platform` calls it.
NOT_MADE_FOR = {"aarch64": ("embreex",), "Darwin": EXTRAS["gpu"][1]}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Holds what an examination found.

    name, text: of what was examined, and what was found.
    fine: whether it is there and works.
    needed: whether the CPU cannot render without it.
    remedy: what to do where it is not fine.
    """

    name: str
    text: str
    fine: bool = True
    needed: bool = False
    remedy: str = ""

    @property
    def mark(self) -> str:
        """Returns ok, absent (can be done without) or BROKEN."""
        return "ok" if self.fine else "BROKEN" if self.needed else "absent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: plugins, whose kernels are listed too."""
    add_plugin(parser)
    parser.epilog = "exit status: 0 if pictures can be made on the CPU, else 1"


def run(_arguments: argparse.Namespace) -> int:
    """Examines and reports; returns the exit status."""
    findings = examine()
    print(report(findings))
    return 0 if healthy(findings) else 1


def examine() -> list[Finding]:
    """Runs all examinations in order, and returns their findings. An examination that fails to run
    is itself a finding.
    """
    return [finding for examination in EXAMINATIONS for finding in _safely(examination)]


def healthy(findings: Iterable[Finding]) -> bool:
    """Returns whether pictures can be made on the CPU."""
    return all(finding.fine or not finding.needed for finding in findings)


def report(findings: Iterable[Finding]) -> str:
    """Returns the findings as text, one a line, each remedy below."""
    lines = [f"tracecore {__version__}"]
    for finding in findings:
        lines.append(f"{finding.mark:<7} {finding.name:<14} {finding.text}")
        if not finding.fine and finding.remedy:
            lines.append(f"{'':<7} {'':<14} -> {finding.remedy}")
    return "\n".join(lines)


def _safely(examination: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return examination()
    except Exception as error:
        name = examination.__name__.removeprefix("_").replace("_", " ")
        text = f"{type(error).__name__}: {error}"
        return [Finding(name=name, text=text, fine=False, needed=True, remedy="reinstall the program")]


def python() -> list[Finding]:
    """Examines the interpreter."""
    return [
        Finding(
            name="Python",
            text=f"{platform.python_version()} ({sys.executable})",
            fine=sys.version_info[:2] >= OLDEST_PYTHON,
            needed=True,
            remedy=f"use Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer",
        )
    ]


def machine() -> list[Finding]:
    """Examines the operating system and the cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        Finding(name="machine", text=f"{platform.system()} {platform.release()}, {platform.machine()}"),
        Finding(name="cores", text=f"{cores} to be used, of {os.cpu_count()}"),
    ]


def packages() -> list[Finding]:
    """Examines the packages that every install has."""
    found = {name: version_of(name) for name in REQUIRED}
    return [
        Finding(
            name=name,
            text=version or "not installed",
            fine=version is not None,
            needed=True,
            remedy=f"install it with: pip install {name}",
        )
        for name, version in found.items()
    ]


def compile_cache() -> list[Finding]:
    """Examines the folder where machine code is kept between runs."""
    from tracecore.compilation.private_folder import cache_folder, cache_root, has_cached_code

    folder, wanted = cache_folder("renderer").path, cache_root().resolve()
    state = "filled" if has_cached_code("renderer") else "empty: the first run compiles"
    return [
        Finding(
            name="compile cache",
            text=f"{folder} ({state})",
            fine=folder.is_relative_to(wanted),
            remedy=f"{wanted} cannot be written to, or by others too; set TRACECORE_CACHE to a folder of your own",
        )
    ]


def cpu_tracing() -> list[Finding]:
    """Traces one ray at one triangle on the CPU, and examines the hit."""
    import numpy as np

    import tracecore
    from tracecore.rays import make_rays

    triangle = np.array([[[-1, -1, 2], [1, -1, 2], [0, 1, 2]]], np.float32)
    with tracecore.open_tracer(triangle, device="cpu") as tracer:
        t = float(tracer.closest_hit(make_rays([0, 0, 0], [0, 0, 1]))[0, 0])
        text = f"kernel {tracer.name}, {tracer.threads} threads: a ray hit at t = {t:g}, expected 2"
    return [Finding(name="CPU tracing", text=text, fine=t == 2.0, needed=True, remedy="please report this machine")]


def gpu() -> list[Finding]:
    """Examines all GPUs, as --device names them; of the current one what its kernels take, and which are chosen."""
    from tracecore.cuda.device import device_architecture, gpu_count, gpu_name
    from tracecore.tracers import gpu as device

    reason = device.gpu_unavailable_reason()
    if reason is not None:
        return [Finding(name="GPU", text=reason, fine=False, remedy="the CPU makes the same pictures without one")]
    count = gpu_count()
    found = [
        Finding(name="GPU" if count == 1 else f"gpu:{index}", text=f"{gpu_name(index)} ({device_architecture(index)})")
        for index in range(count)
    ]
    return [*found, _kernel(device_architecture()), _chosen_kernels()]


def _kernel(arch: str) -> Finding:
    from tracecore.cuda import nvrtc
    from tracecore.kernels.strategies import find_strategy

    default = find_strategy(None)
    entries = nvrtc.compile_strategy(default, arch).resources.values()
    needs = "; ".join(f"{row.entry} {row.registers} registers, {row.spill_bytes} bytes spilled" for row in entries)
    return Finding(name="kernel", text=f"{default.name}: {needs or 'compiles; this compiler tells no registers'}")


def _chosen_kernels() -> Finding:
    """Returns what --kernel auto has traced by which kernel on the current GPU, and by what that was chosen."""
    from renderer.scene.render_context import kernel_of_gpu
    from tracecore.kernels.choice import AUTO, RayClass

    chosen = [kernel_of_gpu(None, rays) for rays in RayClass]
    words = "; ".join(f"{one.name} ({one.reason.removeprefix(f'{AUTO}: ')})" for one in chosen)
    return Finding(name=f"--kernel {AUTO}", text=words)


def kernels() -> list[Finding]:
    """Returns what --kernel may name, on each device."""
    from tracecore.kernels.choice import AUTO
    from tracecore.kernels.strategies import strategy_names
    from tracecore.tracers.cpu import CpuTracer

    names = f"cpu: {CpuTracer.name}; gpu and emulator: {', '.join(strategy_names())}"
    return [Finding(name="--kernel", text=f"{names}; all: {AUTO}")]


def extras() -> list[Finding]:
    """Returns a finding for each extra: whether its packages are there."""
    not_made = {*NOT_MADE_FOR.get(platform.machine(), ()), *NOT_MADE_FOR.get(platform.system(), ())}
    found = []
    for name, (purpose, packages) in EXTRAS.items():
        missing = [package for package in packages if package not in not_made and version_of(package) is None]
        text = f"{purpose}: {', '.join(missing)} not installed" if missing else purpose
        remedy = f"install it with: pip install {' '.join(missing)}"
        found.append(Finding(name=f"[{name}]", text=text, fine=not missing, remedy=remedy))
    return found


EXAMINATIONS: tuple[Callable[[], list[Finding]], ...] = (
    python,
    machine,
    packages,
    compile_cache,
    cpu_tracing,
    kernels,
    gpu,
    extras,
)
