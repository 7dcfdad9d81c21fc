"""This module describes a machine to those who read what was measured on it."""

import importlib.metadata
import os
import platform
from pathlib import Path

from renderer.version import __version__

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
        **{name: version for name in REPORTED_PACKAGES if (version := package_version(name))},
    }


def processor_name() -> str:
    """Returns the name of the processor as the system gives it."""
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


def package_version(name: str) -> str | None:
    """Returns the version of a package, or None where it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
