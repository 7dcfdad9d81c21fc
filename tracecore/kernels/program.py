"""Says what a program for the GPU is that traces nothing, such as one that builds a tree."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Is a `.cu` file of kernels that take one argument each.

    source: the file.
    entries: the kernels, by name the dtype of the struct that each takes.
    defines: named constants that the source is compiled with.
    block_size: threads of a block; the source has it as BLOCK_SIZE.
    """

    source: Path
    entries: Mapping[str, np.dtype[np.void]]
    defines: Mapping[str, str]
    block_size: int

    @property
    def constants(self) -> dict[str, str]:
        """Returns all named constants that the source is compiled with."""
        return {**self.defines, "BLOCK_SIZE": str(self.block_size)}
