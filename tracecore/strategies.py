"""The kernel strategies: one row and one `.cu` file each. Anyone can register more (`README.md`)."""

from tracecore.cuda_source import KERNELS
from tracecore.errors import KernelError
from tracecore.layout import bvh2
from tracecore.strategy import KernelStrategy

_strategies: dict[str, KernelStrategy] = {}

#: What is used when none is named: the fastest measured (NOTES.md).
DEFAULT_KERNEL = "while-while"


def register_strategy(strategy: KernelStrategy) -> KernelStrategy:
    """Make a strategy known by its name. Raises `KernelError` where the name is taken."""
    if strategy.name in _strategies:
        raise KernelError(f"kernel {strategy.name!r} is registered already; choose another name")
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


# ------------------------------------------------------------------------------ one ray per thread on a binary tree

_AILA_2009 = "Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009"
_AILA_2012 = (
    "Aila, Laine, Karras: Understanding the Efficiency of Ray Traversal on GPUs, Kepler and Fermi Addendum, 2012"
)

#: Lanes of a warp that still walk, below which the others get new rays.
_REPLACE_BELOW = 20


def _register_walks(name: str, source: str, speculative: bool) -> None:
    """A loop's three ways to give rays to lanes: once, a warp at a time, or lane by lane."""
    for prefix, persistent, replace_below in (
        ("", False, 0),
        ("persistent-", True, 0),
        ("replacing-", True, _REPLACE_BELOW),
    ):
        register_strategy(
            KernelStrategy(
                name=prefix + name,
                source=KERNELS / source,
                layout=bvh2.LAYOUT,
                citation=_AILA_2012 if replace_below else _AILA_2009,
                persistent=persistent,
                defines={"SPECULATIVE": int(speculative), "REPLACE_BELOW": replace_below},
            )
        )


_register_walks("while-while", "while_while.cu", speculative=False)
_register_walks("speculative-while-while", "while_while.cu", speculative=True)
_register_walks("if-if", "if_if.cu", speculative=False)
_register_walks("speculative-if-if", "if_if.cu", speculative=True)
