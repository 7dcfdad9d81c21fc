"""How long a GPU takes to build a tree and to pack it, step by step, and how long the CPU does."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tracecore.bvh import ploc
from tracecore.bvh.bottom_up import Leaves
from tracecore.bvh.tree import BinaryTree
from tracecore.cuda import device_ploc
from tracecore.cuda.device import cuda_errors, find_device
from tracecore.cuda.device_kernel import DeviceScene
from tracecore.cuda.device_ploc import DeviceTree
from tracecore.errors import KernelError
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout.device_layout import PackedTree
from tracecore.rays import Floats

#: What trees are made for: a kernel of each layout that a GPU makes itself.
KERNELS = ("while-while", "persistent-bvh4", "replacing-compressed-bvh8")

#: Wall time in seconds of each step of a build, by its name.
Steps = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TreeTime:
    """Holds what was measured of a tree's way into a GPU's memory.

    layout: what it was packed in, by name.
    gpu: median wall seconds of each step where the GPU builds and packs: see `DeviceTree.step_seconds`.
    cpu: those where the CPU does: build, pack, upload.
    gpu_rounds, cpu_rounds: wall seconds of each round, all steps.
    """

    layout: str
    gpu: Steps
    cpu: Steps
    gpu_rounds: tuple[float, ...]
    cpu_rounds: tuple[float, ...]


def tree_time(triangles: Floats, repeats: int, kernel: str = KERNELS[0]) -> TreeTime:
    """Measures the builder `ploc` on the calling thread's current GPU and on the CPU, by turns, after one round that
    does not count.

    triangles: (t, 3, 3) float32, checked.
    repeats: rounds.
    kernel: what the tree is made for, of `KERNELS`.

    Raises `KernelError` where the GPU's tree has other bits than the CPU's, or has to be built by the CPU.
    """
    device, strategy = find_device(), find_strategy(kernel)
    leaves = Leaves(strategy.max_leaf, strategy.triangle_block)
    rounds = []
    with device.device_lock.vacant(), cuda_errors("cannot build trees"):
        device.attach()
        for _ in range(repeats + 1):
            made = device_ploc.build(device, triangles, leaves, strategy.layout.name)
            if made is None:
                raise KernelError("the GPU builds no tree of these triangles: it would be a leaf, or too deep")
            seconds, tree, packed = _by_cpu(triangles, strategy)
            check_same(made, tree, packed)
            rounds.append((made.step_seconds, seconds))
    gpu, cpu = ([one[of] for one in rounds[1:]] for of in (0, 1))
    return TreeTime(
        layout=strategy.layout.name, gpu=_medians(gpu), cpu=_medians(cpu), gpu_rounds=_sums(gpu), cpu_rounds=_sums(cpu)
    )


def _by_cpu(triangles: Floats, strategy: KernelStrategy) -> tuple[Steps, BinaryTree, PackedTree]:
    """Returns the wall seconds of each step, and what the first two make."""
    start = time.perf_counter()
    tree = ploc.build(triangles, max_leaf=strategy.max_leaf, triangle_block=strategy.triangle_block)
    built = time.perf_counter()
    packed = strategy.pack(tree, triangles)
    ready = time.perf_counter()
    DeviceScene(find_device(), packed, strategy.layout.scene)
    return {"build": built - start, "pack": ready - built, "upload": time.perf_counter() - ready}, tree, packed


def check_same(made: DeviceTree, tree: BinaryTree, packed: PackedTree) -> None:
    """Raises `KernelError`, with names, where arrays that a GPU has made are not those of the CPU, bit for bit."""
    fetched = made.fetched()
    there = {name: getattr(fetched, name) for name in made.arrays}
    there |= {f"packed {name}": memory.copied() for name, memory in made.memory.items()}
    here = {name: getattr(tree, name) for name in made.arrays}
    here |= {f"packed {name}": array for name, array in packed.arrays.items()}
    wrong = [name for name in here if here[name].tobytes() != there[name].tobytes()]
    facts = ("nodes", "stack", "scalars")
    wrong += [name for name in facts if getattr(made.packed, name) != getattr(packed, name)]
    if not np.isclose(made.sah_cost, tree.sah_cost, rtol=1e-9):
        wrong.append("sah_cost")
    if wrong:
        raise KernelError(f"the GPU's tree is not the CPU's: {', '.join(wrong)}")


def _medians(rounds: Sequence[Steps]) -> Steps:
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


def _sums(rounds: Sequence[Steps]) -> tuple[float, ...]:
    return tuple(sum(one.values()) for one in rounds)
