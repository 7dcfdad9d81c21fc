"""The kernel strategies: one row and one `.cu` file each. Anyone can register more.

A strategy's source defines the device function `trace`, then includes the entry points (`kernels/streamed.cuh`, which
states the contract).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracecore import launch
from tracecore.bvh.tree import MAX_DEPTH
from tracecore.cuda_source import KERNELS
from tracecore.errors import KernelError
from tracecore.layout import bvh2
from tracecore.layout.device_layout import DeviceLayout


@dataclass(frozen=True, kw_only=True)
class KernelStrategy:
    """A way to traverse on the GPU.

    name: as on the command line. source: the `.cu` file. layout: of the tree in memory. citation: author, title, year.
    block_size: threads. stack_size: entries of a ray's traversal stack. defines: its own named constants.
    """

    name: str
    source: Path
    layout: DeviceLayout
    citation: str
    block_size: int = 128
    stack_size: int = MAX_DEPTH + 1
    defines: Mapping[str, int] = field(default_factory=dict)

    @property
    def constants(self) -> dict[str, str]:
        """All named constants that its source is compiled with."""
        own = {"BLOCK_SIZE": self.block_size, "STACK_SIZE": self.stack_size, **self.defines}
        return {**launch.DEFINES, **self.layout.defines, **{name: str(value) for name, value in own.items()}}


_strategies: dict[str, KernelStrategy] = {}


def register_strategy(strategy: KernelStrategy) -> KernelStrategy:
    """Make a strategy known by its name. Raises `KernelError` where the name is taken or the row is wrong."""
    if strategy.name in _strategies:
        raise KernelError(f"kernel {strategy.name!r} is registered already; choose another name")
    if strategy.block_size % 32 != 0 or not 32 <= strategy.block_size <= 1024:
        raise KernelError(f"kernel {strategy.name!r}: block_size {strategy.block_size} is no multiple of 32 up to 1024")
    _strategies[strategy.name] = strategy
    return strategy


def strategy_names() -> tuple[str, ...]:
    """Names of all registered strategies, in order of registration."""
    return tuple(_strategies)


def find_strategy(kernel: str | KernelStrategy | None) -> KernelStrategy:
    """The strategy of a name; a strategy is itself; None is the default. Raises `KernelError` for an unknown name."""
    if isinstance(kernel, KernelStrategy):
        return kernel
    name = kernel or DEFAULT_KERNEL
    if name not in _strategies:
        raise KernelError(f"unknown kernel {name!r}; registered: {', '.join(_strategies)}")
    return _strategies[name]


_AILA_LAINE = "Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009"

register_strategy(
    KernelStrategy(
        name="while-while",
        source=KERNELS / "while_while.cu",
        layout=bvh2.LAYOUT,
        citation=_AILA_LAINE,
        defines={"SPECULATIVE": 0},
    )
)
register_strategy(
    KernelStrategy(
        name="speculative-while-while",
        source=KERNELS / "while_while.cu",
        layout=bvh2.LAYOUT,
        citation=_AILA_LAINE,
        defines={"SPECULATIVE": 1},
    )
)

#: What is used when none is named: the fastest measured (NOTES.md).
DEFAULT_KERNEL = "while-while"
