"""What a kernel is asked in hard cases, in which ways it is asked, and what is wrong with what it answers."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from tracecore.bvh.tree import MAX_DEPTH, BinaryTree
from tracecore.checks import cutout_cases, ray_cases
from tracecore.checks.chain_tree import chain, slices, vertical_rays
from tracecore.checks.ray_cases import FAR_AIMS, Floats, far_rays, far_sphere, random_rays, soup, unreal_rays
from tracecore.cutouts import CutoutTables, tables_of
from tracecore.dispatch.tracer import Tracer
from tracecore.emulator.ring import EmulatedRing
from tracecore.emulator.tracer import EmulatedTracer, Order
from tracecore.errors import KernelError
from tracecore.kernels.launch_records import describe_faults
from tracecore.kernels.ring_records import ANY_HIT_BIT, FAULT_SHIFT, LEAST_SLOT_RAYS, ONCE
from tracecore.kernels.step_records import WARP_LANES
from tracecore.kernels.strategy import KernelStrategy
from tracecore.rays import MISS, Query
from tracecore.tracers.cpu import CpuTracer

#: What runs the kernel.
CheckDevice = Literal["emulator", "gpu"]

#: Rays of a case; more where rounding decides, and few rays tell.
RAYS = 500
MORE_RAYS = {"edges-of-grid": 5_000, "denormal-distances": 5_000}

#: Of a kernel that has a warp for each ray so many times fewer: in the emulator it takes a hundred times as long.
FEWER = 4

#: Rings of the sphere that is far from the origin.
RINGS = 16

#: Slots of a ring for rays of one query.
MOST_SLOTS = 8

#: Of the random order of lanes, and of weak memory.
SEED = 1


class HardCase(NamedTuple):
    """Holds triangles, rays and what else a tracer is opened with."""

    triangles: Floats
    rays: Floats
    cutouts: CutoutTables | None = None
    tree: BinaryTree | None = None


#: A way to have the rays of a case traced: returns hits of the nearest and of any.
Way = Callable[[], tuple[Floats, Floats]]


def cases_for(kernel: KernelStrategy) -> dict[str, Callable[[], HardCase]]:
    """Returns what makes each case, by its name; those of cut-outs only for a kernel that traces cut-outs."""
    cases: dict[str, Callable[[], HardCase]] = {
        "one-ray": lambda: HardCase(soup(300), random_rays(3, 1)),
        "33-rays": lambda: HardCase(soup(300), random_rays(4, 33)),
        **{name: partial(_of_rays, kernel, name) for name in ray_cases.CASES},
        "no-numbers": lambda: HardCase(soup(300), unreal_rays(random_rays(5, RAYS))),
        "far-sphere": _far_sphere,
        "deep-tree": partial(_deep_tree, kernel),
    }
    if set(CutoutTables._fields) <= set(kernel.layout.scene.names or ()):
        cases |= {f"cut-outs-{name}": partial(_of_cutouts, name) for name in cutout_cases.CASES}
    return cases


def _of_rays(kernel: KernelStrategy, name: str) -> HardCase:
    count = MORE_RAYS.get(name, RAYS) // (FEWER if kernel.lanes_per_ray == WARP_LANES else 1)
    return HardCase(*ray_cases.CASES[name](count))


def _of_cutouts(name: str) -> HardCase:
    triangles, rays = cutout_cases.CASES[name](RAYS)
    return HardCase(triangles, rays, tables_of(cutout_cases.random_cutouts(triangles), len(triangles)))


def _far_sphere() -> HardCase:
    return HardCase(far_sphere(RINGS), np.concatenate([far_rays(RINGS, aim, RAYS // 3) for aim in FAR_AIMS]))


def _deep_tree(kernel: KernelStrategy) -> HardCase:
    """The deepest chain of nodes that there may be, or that the kernel's stack has room for."""
    levels = MAX_DEPTH
    while kernel.stack_size is not None and kernel.pack(chain(levels), slices(levels)).stack > kernel.stack_size:
        levels -= 1
    bits = np.random.default_rng(SEED).random((2, RAYS)) < 0.5
    return HardCase(slices(levels), vertical_rays(levels, *bits), tree=chain(levels))


@contextmanager
def opened(kernel: KernelStrategy, case: HardCase, device: CheckDevice, timeout: float) -> Iterator[dict[str, Way]]:
    """Yields the ways to have a case traced, by words for them; all is compiled by then.

    timeout: seconds that the emulator gives to a launch.

    Raises `KernelError` and `DeviceError` as tracers do.
    """
    with ExitStack() as tracers:
        if device == "gpu":
            yield _on_gpu(kernel, case, tracers)
        else:
            yield _emulated(kernel, case, timeout, tracers)


def _emulated(kernel: KernelStrategy, case: HardCase, timeout: float, tracers: ExitStack) -> dict[str, Way]:
    tree = case.tree or kernel.build(case.triangles)
    open_one = partial(EmulatedTracer, case.triangles, kernel, threads=1, seed=SEED, tree=tree, cutouts=case.cutouts)
    plain = tracers.enter_context(open_one(timeout=timeout))
    weak = tracers.enter_context(open_one(timeout=timeout, order="shuffled", is_weak=True))
    packed = kernel.pack(tree, case.triangles, case.cutouts)
    shape = (2 * len(_batches(case.rays)), _slot_rays(case.rays))
    ring = EmulatedRing(kernel, packed, shape, has_cutouts=case.cutouts is not None, timeout=timeout)
    return {
        "lanes in order": partial(_whole, plain, case.rays),
        "lanes in random order on weak memory": partial(_whole, weak, case.rays),
        "in the ring, lanes in random order on weak memory": partial(_in_ring, ring, case.rays),
    }


def _on_gpu(kernel: KernelStrategy, case: HardCase, tracers: ExitStack) -> dict[str, Way]:
    from tracecore.tracers.gpu import GpuTracer

    tracer = GpuTracer(case.triangles, kernel, threads=1, tree=case.tree, cutouts=case.cutouts)
    tracers.enter_context(tracer)
    return {"one launch": partial(_whole, tracer, case.rays), "in the ring": partial(_queued, tracer, case.rays)}


def _slot_rays(rays: Floats) -> int:
    """Returns how many rays a slot has, so that the emulator keeps track of all slots."""
    return max(LEAST_SLOT_RAYS, 1 << (len(rays) // MOST_SLOTS).bit_length())


def _batches(rays: Floats) -> list[Floats]:
    size = _slot_rays(rays)
    return [rays[start : start + size] for start in range(0, len(rays), size)]


def _whole(tracer: Tracer, rays: Floats) -> tuple[Floats, Floats]:
    return tracer.closest_hit(rays), tracer.any_hit(rays)


def _queued(tracer: Tracer, rays: Floats) -> tuple[Floats, Floats]:
    with tracer.open_queue(batch_rays=_slot_rays(rays)) as queue:
        for query in Query:
            for batch in _batches(rays):
                queue.submit(batch, query)
        hits = np.concatenate([batch.hits for batch in queue.drain()])
    return hits[: len(rays)], hits[len(rays) :]


def _in_ring(ring: EmulatedRing, rays: Floats) -> tuple[Floats, Floats]:
    """Rings for all rays at once, in slots of their own for each query, and runs the kernel until they are answered."""
    memory, batches = ring.memory, _batches(rays)
    for slot, batch in enumerate([*batches, *batches]):
        memory.rays[slot, :, : len(batch)] = batch.T
        memory.doorbells[slot] = 1 << 32 | len(batch) | (ANY_HIT_BIT if slot >= len(batches) else 0)
    memory.stop[0] = ONCE
    if error := ring.run(order=get_args(Order).index("shuffled"), seed=SEED, is_weak=1):
        raise KernelError(error)
    if faults := int(np.bitwise_or.reduce(memory.flags & np.uint64(0xFFFFFFFF))) >> FAULT_SHIFT:
        raise KernelError(describe_faults(faults))
    hits = np.concatenate([memory.hits[slot, :, : len(batch)].T for slot, batch in enumerate([*batches, *batches])])
    return hits[: len(rays)], hits[len(rays) :]


def judged(case: HardCase, ways: Mapping[str, Way]) -> str | None:
    """Returns what is wrong with the first way whose hits have other bits than those of the CPU, or None."""
    with CpuTracer(case.triangles, threads=1, cutouts=case.cutouts) as cpu:
        expected = _whole(cpu, case.rays)
    for words, way in ways.items():
        try:
            found = way()
        except KernelError as error:
            return f"{words}: {error}"
        for query, got, right in zip(("closest hit", "any hit"), found, expected, strict=True):
            if difference := first_difference(got, right, case.rays):
                return f"{query}, {words}: {difference}"
    return None


def first_difference(got: Floats, expected: Floats, rays: Floats) -> str | None:
    """Returns how many hits have other bits and what the first one is, None if all are the same.

    got, expected: (n, 4) float32 hits of the (n, 8) float32 rays.
    """
    wrong = np.flatnonzero((got.view(np.uint32) != expected.view(np.uint32)).any(axis=1))
    if len(wrong) == 0:
        return None
    i = wrong[0]
    origin, direction = rays[i, 0:3].tolist(), rays[i, 4:7].tolist()
    return (
        f"{len(wrong)} of {len(rays)} rays differ; ray {i}, origin {origin}, direction {direction}, "
        f"t_min {rays[i, 3]}, t_max {rays[i, 7]}: expected {_words(expected[i])}, got {_words(got[i])}"
    )


def _words(hit: Floats) -> str:
    """Returns a hit in words, with all digits."""
    prim_id = int(hit.view(np.uint32)[3])
    t, u, v = hit[:3].tolist()
    return f"{'a miss' if prim_id == MISS else f'triangle {prim_id}'} (t {t!r}, u {u!r}, v {v!r})"
