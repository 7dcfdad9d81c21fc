"""The kernel that tracecore's README shows: brute force, the judge of a million hits on a GPU."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import tracecore
from tracecore.kernels.strategy import KernelStrategy

README = Path(tracecore.__file__).parent / "README.md"


def example(language: str, first: str) -> str:
    """The block of code in the README that begins so."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(first)]
    return str(found)


def kernel_source() -> str:
    return example("cuda", "// brute_force.cu")


def registration() -> str:
    """The Python that registers it, with `brute_force.cu` in the current folder."""
    return example("python", "from pathlib import Path")


def register_example(folder: Path) -> KernelStrategy:
    (folder / "brute_force.cu").write_text(kernel_source())
    names: dict[str, Any] = {}
    exec(registration(), names)
    strategy: KernelStrategy = names["BRUTE_FORCE"]
    return replace(strategy, source=folder / strategy.source)
