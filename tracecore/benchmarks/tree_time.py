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
from tracecore.layout import bvh2
from tracecore.layout.device_layout import PackedTree
from tracecore.rays import Floats

#: What the trees are made for: kernels as `while-while`.
LEAVES = Leaves(4, 1)

#: Wall time in seconds of each step of a build, by its name.
Steps = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TreeTime:
    """Holds what was measured of a tree's way into a GPU's memory.

    gpu: median wall seconds of each step where the GPU builds and packs: see `DeviceTree.step_seconds`.
    cpu: those where the CPU does: build, pack, upload.
    gpu_rounds, cpu_rounds: wall seconds of each round, all steps.
    """

    gpu: Steps
    cpu: Steps
    gpu_rounds: tuple[float, ...]
    cpu_rounds: tuple[float, ...]


def tree_time(triangles: Floats, repeats: int) -> TreeTime:
    """Measures the builder `ploc` on the calling thread's current GPU and on the CPU, by turns, after one round that
    does not count.

    triangles: (t, 3, 3) float32, checked.
    repeats: rounds.

    Raises `KernelError` where the GPU's tree has other bits than the CPU's, or has to be built by the CPU.
    """
    device = find_device()
    rounds = []
    with device.device_lock.vacant(), cuda_errors("cannot build trees"):
        device.attach()
        for _ in range(repeats + 1):
            made = device_ploc.build(device, triangles, LEAVES)
            if made is None:
                raise KernelError("the GPU builds no tree of these triangles: it would be a leaf, or too deep")
            seconds, tree, packed = _by_cpu(triangles)
            check_same(made, tree, packed)
            rounds.append((made.step_seconds, seconds))
    gpu, cpu = ([one[of] for one in rounds[1:]] for of in (0, 1))
    return TreeTime(gpu=_medians(gpu), cpu=_medians(cpu), gpu_rounds=_sums(gpu), cpu_rounds=_sums(cpu))


def _by_cpu(triangles: Floats) -> tuple[Steps, BinaryTree, PackedTree]:
    """Returns the wall seconds of each step, and what the first two make."""
    start = time.perf_counter()
    tree = ploc.build(triangles, max_leaf=LEAVES.max_leaf, triangle_block=LEAVES.block)
    built = time.perf_counter()
    packed = bvh2.pack(tree, triangles)
    ready = time.perf_counter()
    DeviceScene(find_device(), packed, bvh2.SCENE)
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
