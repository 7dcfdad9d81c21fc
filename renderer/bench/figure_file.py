"""This module writes the files of figures of commands that measure, and says beforehand whether it can. It
describes the machine to those who read them.
"""

import importlib.util
import json
import os
import platform
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from renderer.atomic_file import write_each, write_whole
from renderer.bench.page import Circumstances
from renderer.errors import UsageError
from renderer.film.image_file import check_folder, make_default_folder
from renderer.scene.render_context import check_scene
from renderer.version import SOFTWARE, __version__, version_of

#: What files may end in, and the packages that make them, by the option that names them.
SUFFIXES = {"--plot": (".png", ".svg"), "--html": (".html",), "--heatmap": (".png",)}
PACKAGES = {"--plot": ("matplotlib",), "--html": ("matplotlib", "jinja2")}


def circumstances_of(command_line: Sequence[str], scene: str, triangles: int) -> Circumstances:
    """Returns what is measured, on which machine and when.

    command_line: the command line, without the program's name.
    scene, triangles: its name and how many triangles it has.
    """
    return Circumstances(
        command_line=tuple(command_line),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        scene=scene,
        triangles=triangles,
        machine=machine_facts(),
    )


def check_request(arguments: Namespace) -> None:
    """Checks the files of `check_files` and the scene, or scenes, before anything is measured, where a command has
    them, and makes the default folder.

    Raises `UsageError` if a file could not be written later, and the error of `scenes.load` if there is no such scene.
    """
    paths = check_files(arguments)
    for scene in getattr(arguments, "scenes", [arguments.scene] if hasattr(arguments, "scene") else []):
        check_scene(scene)
    make_default_folder(paths)


def check_files(arguments: Namespace) -> list[Path]:
    """Returns the files that --json, --markdown, --plot, --html and --heatmap ask for, where a command has them.

    Raises `UsageError` for one that could not be written later.
    """
    asked = {option: getattr(arguments, option[2:], None) for option in ("--json", "--markdown", *SUFFIXES)}
    files = {option: path for option, path in asked.items() if path}
    for option, path in files.items():
        if option in SUFFIXES:
            check_suffix(path, SUFFIXES[option])
        for package in PACKAGES.get(option, ()):
            if importlib.util.find_spec(package) is None:
                raise UsageError(f"{option} needs {package}; install it with: pip install {package}")
    for path in files.values():
        check_folder(path, arguments.replace)
    return list(files.values())


def check_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """Raises `UsageError` if the name of a file does not end as it should."""
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"cannot write '{path}': the name must end in {' or '.join(suffixes)}")


def write_results(
    arguments: Namespace,
    scene: str,
    triangles: int,
    figures: Mapping[str, Any],
    draw: Callable[[str], bytes] | None = None,
) -> None:
    """Writes the figures that --json asks for, with how they were measured, and the plot of --plot.

    scene, triangles: its name and how many triangles it has.
    draw: returns the plot's file, by its suffix; None where there is no --plot.
    """
    about = circumstances_of(arguments.command_line, scene, triangles)
    writes: list[Callable[[], object]] = [partial(write_figures, arguments.json, about, figures)]
    if draw is not None and arguments.plot:
        writes.append(lambda: write_whole(arguments.plot, draw(arguments.plot.suffix.lower())))
    write_each(*writes)


def write_figures(path: Path | None, about: Circumstances, figures: Mapping[str, Any]) -> None:
    """Writes how something was measured, and its figures; nothing if there is no path.

    figures: plain values by the keys that `renderer.bench.figure_keys` explains.
    """
    if path:
        text = json.dumps({"software": SOFTWARE, "circumstances": asdict(about)} | dict(figures), indent=1)
        write_whole(path, (text + "\n").encode())


#: Packages whose versions may matter to speed.
REPORTED_PACKAGES = ("numpy", "numba", "cupy-cuda13x", "nvidia-cuda-nvrtc")


def machine_facts() -> dict[str, str]:
    """Returns the facts of this machine by name: processor, cores, system, GPU if there is one, versions."""
    return {
        "processor": processor_name(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        **gpu_facts(),
        "tracecore": __version__,
        "Python": platform.python_version(),
        **{name: version for name in REPORTED_PACKAGES if (version := version_of(name))},
    }


def processor_name() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def gpu_facts() -> dict[str, str]:
    """Returns the facts of the GPU that would be used; an empty dictionary where there is none."""
    from tracecore.cuda.device import cuda_versions, device_architecture, gpu_name, gpu_unavailable_reason

    if gpu_unavailable_reason():
        return {}
    driver, runtime = cuda_versions()
    return {"GPU": f"{gpu_name()} ({device_architecture()})", "CUDA": f"{runtime}; driver for up to {driver}"}
