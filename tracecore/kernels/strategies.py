"""Registers the kernel strategies: one row and one `.cu` file each. Anyone can register more (`README.md`)."""

from dataclasses import replace
from difflib import get_close_matches

from tracecore.errors import KernelError
from tracecore.kernels.choice import AUTO, DEFAULT_KERNEL
from tracecore.kernels.loop import IF_IF, NODE_THEN_LEAF, WHILE_WHILE, Loop
from tracecore.kernels.source import KERNELS
from tracecore.kernels.step_records import WARP_LANES
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh2, bvh4, compressed8, wide
from tracecore.on_demand import check_new_name

_strategies: dict[str, KernelStrategy] = {}


def register_strategy(strategy: KernelStrategy) -> KernelStrategy:
    """Makes a strategy known by its name, and returns it.

    Raises `KernelError` where the name is taken or "auto", or is not letters, digits and - _ . alone, as lists of names
    have commas between them.
    """
    check_new_name("kernel", strategy.name, (*_strategies, AUTO))
    _strategies[strategy.name] = strategy
    return strategy


def strategy_names() -> tuple[str, ...]:
    """Returns the names of all registered strategies, in order of registration."""
    return tuple(_strategies)


def find_strategy(kernel: str | KernelStrategy | None) -> KernelStrategy:
    """Returns the strategy of a name. A strategy is itself. None and "auto" are the default, as nothing is known of the
    rays here (`choice.choose_kernel`). Raises `KernelError` for an unknown name.
    """
    if isinstance(kernel, KernelStrategy):
        return kernel
    name = DEFAULT_KERNEL if kernel is None or kernel == AUTO else kernel
    if name not in _strategies:
        near = "".join(f"; did you mean {one}?" for one in get_close_matches(name[:200], _strategies, 1))
        raise KernelError(f"unknown kernel {name!r}; registered: {', '.join(_strategies)}{near}")
    return _strategies[name]


# ------------------------------------------------------------------------------------------------ one ray per thread

_AILA_2009 = "Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009"
_AILA_2012 = (
    "Aila, Laine, Karras: Understanding the Efficiency of Ray Traversal on GPUs, Kepler and Fermi Addendum, 2012"
)

#: Lanes of a warp that still walk, below which the others get new rays; of a compressed tree, whose steps cost more.
REPLACE_BELOW, REPLACE_BELOW_COMPRESSED = 20, 24


def _register_walks(plain: KernelStrategy, replace_below: int = REPLACE_BELOW) -> None:
    """Registers a kernel in the three ways to give rays to lanes: once, a warp at a time, or lane by lane."""
    for prefix, persistent, below in (("", False, 0), ("persistent-", True, 0), ("replacing-", True, replace_below)):
        register_strategy(
            replace(
                plain,
                name=prefix + plain.name,
                citation=f"{plain.citation}; {_AILA_2012}" if below else plain.citation,
                persistent=persistent,
                defines={**plain.defines, "REPLACE_BELOW": below},
            )
        )


def _register_aila_laine(name: str, source: str, loop: Loop, speculative: bool) -> None:
    """Registers a loop on a binary tree."""
    _register_walks(
        KernelStrategy(
            name=name,
            source=KERNELS / source,
            layout=bvh2.LAYOUT,
            citation=_AILA_2009,
            loop=loop,
            defines={"SPECULATIVE": int(speculative)},
        )
    )


_register_aila_laine("while-while", "while_while.cu", WHILE_WHILE, speculative=False)
_register_aila_laine("speculative-while-while", "while_while.cu", WHILE_WHILE, speculative=True)
_register_aila_laine("if-if", "if_if.cu", IF_IF, speculative=False)
_register_aila_laine("speculative-if-if", "if_if.cu", IF_IF, speculative=True)


_GUTHE = "Guthe: Latency Considerations of Depth-first GPU Ray Tracing, 2014"

_register_walks(
    KernelStrategy(
        name="bvh4",
        source=KERNELS / "bvh4.cu",
        layout=bvh4.LAYOUT,
        citation=_GUTHE,
    )
)

#: Triangles that a lane tests before the others go on.
_TESTS_PER_ITERATION = 2

_register_walks(
    KernelStrategy(
        name="compressed-bvh8",
        source=KERNELS / "compressed8.cu",
        layout=compressed8.LAYOUT,
        citation="Ylitie, Karras, Laine: Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide BVHs, 2017",
        loop=Loop(nodes=1, leaves=1, tests=_TESTS_PER_ITERATION),
        max_leaf=1,
        least_threads=0,
        defines={"TESTS_PER_ITERATION": _TESTS_PER_ITERATION},
    ),
    REPLACE_BELOW_COMPRESSED,
)


# ------------------------------------------------------------------------- lanes that work together, on a binary tree


_GUNTHER = "Günther, Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007"
_BARCZAK = "Barczak: GPU Ray Tracing the Wrong Way, 2016"


def _packet(lanes: int) -> KernelStrategy:
    """Returns the kernel for packets of so many rays side by side."""
    return KernelStrategy(
        name=f"packet-{lanes}",
        source=KERNELS / "packet.cu",
        layout=bvh2.LAYOUT,
        citation=_GUNTHER,
        packet_rays=lanes,
        defines={"PACKET": lanes, "KEEP_NODES": 0},
    )


def _keeping_nodes(packet: KernelStrategy) -> KernelStrategy:
    """Returns the kernel for the same packets that has whole nodes on its stacks, which fill shared memory."""
    defines = {**packet.defines, "KEEP_NODES": 1}
    return replace(packet, name=f"{packet.name}-keep-nodes", citation=_BARCZAK, block_size=64, defines=defines)


def _register_warp(name: str, triangles_at_once: int = 1, keep_nodes: bool = False) -> None:
    """Registers a kernel that traces a ray per warp. More triangles at once want larger leaves."""
    register_strategy(
        KernelStrategy(
            name=name,
            source=KERNELS / "warp_bvh2.cu",
            layout=bvh2.LAYOUT,
            citation=_BARCZAK,
            lanes_per_ray=32,
            least_threads=1152,
            max_leaf=max(4, triangles_at_once),
            triangle_block=triangles_at_once,
            defines={"TRIANGLES_AT_ONCE": triangles_at_once, "KEEP_NODES": int(keep_nodes)},
        )
    )


def _packet_bvh4() -> KernelStrategy:
    """Returns the kernel for a warp's rays on a tree of four children a node."""
    return replace(
        _packet(WARP_LANES),
        name=f"packet-{WARP_LANES}-bvh4",
        source=KERNELS / "packet_bvh4.cu",
        layout=bvh4.LAYOUT,
        citation=f"{_GUNTHER}; {_GUTHE}",
        defines={},
    )


for _lanes in (8, WARP_LANES):
    register_strategy(_packet(_lanes))
    register_strategy(replace(_packet(_lanes), name=f"persistent-packet-{_lanes}", persistent=True))
register_strategy(_keeping_nodes(_packet(8)))
register_strategy(_packet_bvh4())
_register_warp("warp")
_register_warp("warp-triangles-8", triangles_at_once=8)
_register_warp("warp-triangles-32", triangles_at_once=32)
_register_warp("warp-keep-nodes", keep_nodes=True)


# ------------------------------------------------------------------------------ lanes that work together, on wide trees


def _register_grouped(name: str, width: int, lanes: int, citation: str) -> None:
    """Registers a kernel in which each lane has a child of a node, or a triangle of a leaf.

    Blocks are small, since each ray of a deep tree may want much shared memory for its stack.
    """
    register_strategy(
        KernelStrategy(
            name=name,
            source=KERNELS / "grouped.cu",
            layout=wide.LAYOUTS[width],
            citation=citation,
            lanes_per_ray=lanes,
            loop=NODE_THEN_LEAF,
            persistent=True,
            block_size=64,
            max_leaf=lanes,
            triangle_block=lanes,
        )
    )


_LIER = "Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018"

for _width in wide.WIDTHS:
    _register_grouped(f"grouped-{_width}", _width, _width, _LIER)
_register_grouped("warp-bvh4", 4, 32, _BARCZAK)
_register_grouped("warp-bvh8", 8, 32, _BARCZAK)

#: Names of the strategies that come with the program.
BUILT_IN = strategy_names()
