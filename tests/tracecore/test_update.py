"""Triangles that move under a tracer, which keeps its tree, are hit where they are. CUDA is played by the emulator."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from brute_answers import answers, occlusion_of
from emulated_ring import SHUFFLED
from fake_cuda import FakeCuda, hang_at, installed, rested
from judges import assert_same_bits
from test_device_ploc import each_layout
from test_launch_queue import OnGpu

import tracecore
from tracecore.bvh.refit import refit
from tracecore.checks.cutout_cases import random_cutouts
from tracecore.checks.ray_cases import Floats
from tracecore.cuda import device_refit
from tracecore.cuda.device import find_device, gpu_unavailable_reason
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import DeviceError, KernelError, TriangleError
from tracecore.kernels.refit_records import PROGRAMS
from tracecore.kernels.source import flatten
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.layout.device_layout import DeviceLayout
from tracecore.rays import Query
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.gpu import GpuTracer

CASE = answers("soup", 600)
COUNT = len(CASE.triangles)

#: A kernel of each layout that a GPU moves triangles of, and one more.
KERNELS = ("while-while", "persistent-bvh4", "replacing-compressed-bvh8", "warp-triangles-8")


def swapped_around(triangles: Floats) -> Floats:
    """Triangles in each other's places, so that a tree keeps nothing of its order."""
    return np.ascontiguousarray(triangles[np.random.default_rng(5).permutation(len(triangles))])


#: What becomes of triangles.
MOVES: dict[str, Callable[[Floats], Floats]] = {
    "shaken": lambda given: given + np.random.default_rng(3).normal(0, 0.05, (len(given), 1, 3)).astype(np.float32),
    "swapped around": swapped_around,
    "far away": lambda given: given * np.float32(50) + np.float32(1000),
    "small": lambda given: given * np.float32(1e-3),
    "at one place": lambda given: np.repeat(given[:1], len(given), axis=0),
    "flat": lambda given: given * np.array([1, 1, 0], np.float32),
}
each_move = pytest.mark.parametrize("move", MOVES)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    pytest.importorskip("cupy", reason="CuPy is not installed; the extra `gpu` brings it")
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "30")
    yield from installed(monkeypatch)


def open_gpu(kernel: str = "while-while", **options: Any) -> GpuTracer:
    return GpuTracer(CASE.triangles, kernel, **{"threads": 1, "dispatch": "streamed", **options})


def check_hits(tracer: Tracer, triangles: Floats, **options: Any) -> None:
    with BruteForceTracer(triangles, **options) as brute:
        closest = brute.closest_hit(CASE.rays)
    assert_same_bits(tracer.closest_hit(CASE.rays), closest, CASE.rays)
    assert_same_bits(tracer.any_hit(CASE.rays), occlusion_of(closest), CASE.rays)


def check_moves(tracer: Tracer, move: str) -> None:
    """There and back again."""
    moved = MOVES[move](CASE.triangles)
    for triangles in (moved, moved, CASE.triangles):
        tracer.update(triangles)
        check_hits(tracer, triangles)


@each_move
@pytest.mark.parametrize("device", ["cpu", "brute", "emulator"])
def test_moved_triangles_are_hit_where_they_are(device: str, move: str) -> None:
    with tracecore.open_tracer(CASE.triangles, device=device) as tracer:
        check_moves(tracer, move)


@each_move
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_gpu_moves_them_itself(cuda: FakeCuda, kernel: str, move: str) -> None:
    with open_gpu(kernel) as tracer:
        check_moves(tracer, move)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_gpu_moves_them_in_trees_of_its_own(cuda: FakeCuda, kernel: str) -> None:
    with open_gpu(kernel, builder="ploc") as tracer:
        check_moves(tracer, "shaken")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(3))
def test_lanes_in_any_order_move_them_to_the_same_place(cuda: FakeCuda, kernel: str, seed: int) -> None:
    cuda.options = {"order": SHUFFLED, "seed": seed}
    with open_gpu(kernel) as tracer:
        check_moves(tracer, "shaken")


def packed_in(tracer: GpuTracer) -> list[bytes]:
    scene = tracer.launch_context.scene
    return [scene.memory(name).copied().tobytes() for name in ("nodes", "triangles")]


@pytest.mark.parametrize("count", [1, 2, 5, COUNT])
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_moves_nowhere_keeps_its_bytes(cuda: FakeCuda, kernel: str, count: int) -> None:
    """Boxes of a refitted tree are those of the tree that was built, bit for bit."""
    triangles = CASE.triangles[:count]
    with GpuTracer(triangles, kernel, threads=1, dispatch="streamed") as tracer:
        before, record = packed_in(tracer), tracer.launch_context.scene.record.tobytes()
        tracer.update(np.ascontiguousarray(triangles[::-1]))
        assert (packed_in(tracer) != before) == (count > 1)
        tracer.update(triangles)
        assert packed_in(tracer) == before
        assert tracer.launch_context.scene.record.tobytes() == record


def test_no_triangles_move() -> None:
    with tracecore.open_tracer(CASE.triangles[:0], device="cpu") as tracer:
        tracer.update(CASE.triangles[:0])
        assert np.isinf(tracer.closest_hit(CASE.rays)[:, 0]).all()


def test_no_triangles_move_on_a_gpu(cuda: FakeCuda) -> None:
    with GpuTracer(CASE.triangles[:0], "while-while", threads=1, dispatch="streamed") as tracer:
        tracer.update(CASE.triangles[:0])


@pytest.mark.parametrize("builder", ["reinserted", "ploc"])
def test_the_tree_moves_too(cuda: FakeCuda, builder: str) -> None:
    moved = MOVES["shaken"](CASE.triangles)
    with open_gpu(builder=builder) as tracer:
        expected = refit(find_strategy("while-while").build(CASE.triangles, builder), moved)
        tracer.update(moved)
        tree = tracer.tree
        assert tree is not None
        for name in ("lower", "upper", "child", "first", "count", "order"):
            assert getattr(tree, name).tobytes() == getattr(expected, name).tobytes()
        assert tracer.tree is tree


def test_triangles_that_lie_on_the_gpu_are_read_there(cuda: FakeCuda) -> None:
    moved = MOVES["far away"](CASE.triangles)
    with open_gpu() as tracer:
        find_device(0).attach()
        lent, before = OnGpu(cuda, moved), dict(cuda.copied)
        tracer.update(lent)
        assert cuda.copied[1] == before[1]  # nothing went up
        check_hits(tracer, moved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: given[:-1], r"must be C-contiguous float32 of shape \(500, 3, 3\), got \(499, 3, 3\) float32"),
        (lambda given: given.astype(np.float64), r"got \(500, 3, 3\) float64"),
        (lambda given: np.where(given == given[7, 1, 2], np.nan, given), "a corner that is not finite or beyond 1e"),
        (lambda given: given * np.float32(1e20), "a corner that is not finite or beyond 1e"),
    ],
)
def test_other_triangles_on_the_gpu_are_refused(cuda: FakeCuda, change: Any, message: str) -> None:
    with open_gpu() as tracer:
        find_device(0).attach()
        with pytest.raises(TriangleError, match=message):
            tracer.update(OnGpu(cuda, np.ascontiguousarray(change(CASE.triangles))))
        check_hits(tracer, CASE.triangles)  # all is as before


def test_triangles_on_another_gpu_are_refused(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        find_device(0).attach()
        with pytest.raises(TriangleError, match="triangles lie on GPU 1, and the tracer is on GPU 0"):
            tracer.update(OnGpu(cuda, CASE.triangles, gpu=1))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_other_triangles_are_refused(cuda: FakeCuda, device: str) -> None:
    bad = CASE.triangles.copy()
    bad[3, 1, 2] = np.nan
    with tracecore.open_tracer(CASE.triangles, device=device, threads=1) as tracer:
        with pytest.raises(TriangleError, match="500 triangles cannot become 499"):
            tracer.update(CASE.triangles[1:])
        with pytest.raises(TriangleError, match="triangle 3 has a corner that is not finite"):
            tracer.update(bad)
        check_hits(tracer, CASE.triangles)
    with pytest.raises(KernelError, match="is closed"):
        tracer.update(CASE.triangles)


def test_kernels_whose_triangles_a_gpu_does_not_move(cuda: FakeCuda) -> None:
    names = [name for name in strategy_names() if find_strategy(name).layout.name not in PROGRAMS]
    assert len(names) == 7
    with open_gpu(names[0]) as tracer, pytest.raises(KernelError, match=f"does not move triangles for .*{names[0]}"):
        tracer.update(CASE.triangles)


def test_on_a_cpu_queues_are_closed_before() -> None:
    with tracecore.open_tracer(CASE.triangles, device="cpu") as tracer:
        queue = tracer.open_queue()
        with pytest.raises(KernelError, match="a queue or a port of the tracer 'bvh8' is open; close it before"):
            tracer.update(CASE.triangles)
        queue.close()
        tracer.update(CASE.triangles)


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
def test_a_queue_on_a_gpu_stays_open(cuda: FakeCuda, dispatch: str) -> None:
    moved = MOVES["shaken"](CASE.triangles)
    with open_gpu(dispatch=dispatch) as tracer:
        queue = tracer.open_queue(batch_rays=1024)
        for triangles in (CASE.triangles, moved):
            tracer.update(triangles)
            queue.submit(CASE.rays, Query.CLOSEST)
            (batch,) = queue.drain()
            with BruteForceTracer(triangles) as brute:
                assert_same_bits(batch.hits, brute.closest_hit(CASE.rays), CASE.rays)
        queue.close()


def test_triangles_with_cutouts_move(cuda: FakeCuda) -> None:
    cutouts, moved = random_cutouts(CASE.triangles), MOVES["shaken"](CASE.triangles)
    for device in ("cpu", "gpu"):
        with (
            tracecore.open_tracer(CASE.triangles, device=device, threads=1, cutouts=cutouts) as tracer,
            tracecore.open_tracer(moved, device="brute", cutouts=cutouts) as brute,
        ):
            tracer.update(moved)
            assert_same_bits(tracer.closest_hit(CASE.rays), brute.closest_hit(CASE.rays), CASE.rays)


def test_what_is_compared_moves_with_them(cuda: FakeCuda) -> None:
    moved = MOVES["shaken"](CASE.triangles)
    with tracecore.open_tracer(CASE.triangles, device="gpu", threads=1, verify=1.0) as tracer:
        tracer.update(moved)
        check_hits(tracer, moved)
        assert tracer.statistics().verified_batches == 2


#: Triangles of which the emulator can tell all hand-overs apart, and seeds of the order of lanes.
WEAK, SEEDS = 60, 8


def is_right(cuda: FakeCuda, layout: DeviceLayout) -> bool:
    """Whether boxes are as they were, where memory is weak and lanes run in a random order, one of several."""
    kernel = next(name for name in KERNELS if find_strategy(name).layout is layout)
    with GpuTracer(CASE.triangles[:WEAK], kernel, threads=1, dispatch="streamed") as tracer:
        before = packed_in(tracer)
        for seed in range(SEEDS):
            cuda.options = {"order": SHUFFLED, "seed": seed, "is_weak": 1}
            tracer.update(CASE.triangles[WEAK : 2 * WEAK])
            tracer.update(CASE.triangles[:WEAK])
            if packed_in(tracer) != before:
                return False
    return True


@each_layout
def test_boxes_of_children_are_handed_over(cuda: FakeCuda, layout: DeviceLayout) -> None:
    assert is_right(cuda, layout)


@each_layout
def test_without_the_hand_over_boxes_are_wrong(cuda, layout, tmp_path, monkeypatch):
    program, hand_over = PROGRAMS[layout.name], "count_down(refit.arrivals[node])"
    text, source = flatten(program.source), tmp_path / program.source.name
    assert text.count(hand_over) == 1
    source.write_text(text.replace(hand_over, "atomicSub(&refit.arrivals[node], 1u)"))
    monkeypatch.setattr(device_refit, "PROGRAMS", {layout.name: replace(program, source=source)})
    assert not is_right(cuda, layout)
    cuda.complaints.clear()  # where a lane went astray by what it read


@pytest.mark.parametrize("entry", PROGRAMS["bvh2"].entries)
def test_a_gpu_that_does_not_answer_keeps_what_it_uses(cuda, entry, monkeypatch):
    tracer = open_gpu()
    hang_at(cuda, monkeypatch, entry)
    with pytest.raises(DeviceError, match=r"the GPU has not answered in 0\.3 s: end this process"):
        tracer.update(CASE.triangles)
    tracer.close()  # while it hangs
    cuda.rest()
    rested(cuda)


@each_layout
def test_the_struct_is_checked_by_the_compiler(layout: DeviceLayout) -> None:
    assert "REFIT_BYTES" in re.findall(r"static_assert\(sizeof\(\w+\) == (\w+)", flatten(PROGRAMS[layout.name].source))


@pytest.mark.gpu
@pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason()))
class TestOnGpu:
    """The same on a device."""

    @each_move
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_moves(self, kernel: str, move: str) -> None:
        with GpuTracer(CASE.triangles, kernel, threads=1) as tracer:
            check_moves(tracer, move)
            before = packed_in(tracer)
            tracer.update(CASE.triangles)
            assert packed_in(tracer) == before

    def test_there(self) -> None:
        cupy, moved = pytest.importorskip("cupy"), MOVES["shaken"](CASE.triangles)
        with GpuTracer(CASE.triangles, "while-while", threads=1) as tracer:
            tracer.update(cupy.asarray(moved))
            check_hits(tracer, moved)
