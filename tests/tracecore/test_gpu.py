"""The GPU tracer against brute force and the CPU, bit for bit, and what it does when things go wrong."""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tracecore import gpu_device, strategy
from tracecore.brute_force import BruteForceTracer, is_valid
from tracecore.bvh.binned_sah import build
from tracecore.cpu import CpuTracer
from tracecore.errors import DeviceError, KernelError, RayError
from tracecore.gpu import GpuTracer, gpu_unavailable_reason
from tracecore.gpu_device import timeout_seconds
from tracecore.launch import describe_faults
from tracecore.layout import bvh2
from tracecore.rays import BATCH_RAYS, MISS, RAY, as_records, make_rays
from tracecore.strategy import KernelStrategy, find_strategy, strategy_names
from tracecore.streamed import CopiedBatch, StreamedQueue
from tracecore.tracer import Batch, Query

Floats = npt.NDArray[np.float32]
Case = tuple[Floats, Floats]

MILLION = 1 << 20
RAYS = 3000


@pytest.fixture(scope="module")
def gpu() -> None:
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)


def gpu_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test that needs a GPU."""
    return pytest.mark.gpu(pytest.mark.usefixtures("gpu")(function))


# ---------------------------------------------------------------------------------------------------------- the cases


def soup(count: int, scale: float = 1.0) -> Floats:
    """(count, 3, 3) triangles here and there in a cube of side 2."""
    random = np.random.default_rng(count)
    return ((random.uniform(-1, 1, (count, 1, 3)) + random.normal(0, 0.3, (count, 3, 3))) * scale).astype(np.float32)


def grid(cells: int) -> Floats:
    """(2 * cells * cells, 3, 3): a square in the plane z = 0 cut into triangles with shared edges."""
    ticks = np.linspace(-1, 1, cells + 1)
    p = np.stack(np.meshgrid(ticks, ticks, [0.0], indexing="ij"), axis=-1)[:, :, 0]
    a, b, c, d = p[:-1, :-1], p[1:, :-1], p[1:, 1:], p[:-1, 1:]
    return np.stack([np.stack([a, b, c], axis=-2), np.stack([a, c, d], axis=-2)]).reshape(-1, 3, 3).astype(np.float32)


def random_rays(seed: int, count: int = RAYS, scale: float = 1.0) -> Floats:
    random = np.random.default_rng(seed)
    return make_rays(random.uniform(-1.5, 1.5, (count, 3)) * scale, random.normal(0, 1, (count, 3)))


def axis_rays(seed: int) -> Floats:
    """Along axes, through the corners and edges of a grid of quarters."""
    random = np.random.default_rng(seed)
    sign = random.choice([-1.0, 1.0], (RAYS, 1))
    return make_rays(random.integers(-6, 7, (RAYS, 3)) / 4, np.eye(3)[random.integers(3, size=RAYS)] * sign)


def _edges(triangles: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    chosen = triangles[random.integers(len(triangles), size=RAYS)]
    corner = random.integers(3, size=RAYS)
    each = np.arange(RAYS)
    return chosen[each, corner], chosen[each, (corner + 1) % 3]


def rays_at_edges(triangles: Floats) -> Floats:
    """Aimed at corners and at points of edges."""
    random = np.random.default_rng(1)
    a, b = _edges(triangles, random)
    origin = random.uniform(-2, 2, (RAYS, 3)).astype(np.float32) * np.abs(triangles).max()
    return make_rays(origin, a + random.choice([0, 1, 0.5, 0.25], (RAYS, 1)).astype(np.float32) * (b - a) - origin)


def rays_along_edges(triangles: Floats) -> Floats:
    """Starting before, on and inside an edge, in its direction."""
    random = np.random.default_rng(2)
    a, b = _edges(triangles, random)
    return make_rays(a + random.choice([0, -1, 0.5], (RAYS, 1)).astype(np.float32) * (b - a), b - a)


def rays_from_surfaces(triangles: Floats) -> Floats:
    """Starting on triangles."""
    random = np.random.default_rng(3)
    chosen = triangles[random.integers(len(triangles), size=RAYS)]
    return make_rays((chosen * random.dirichlet([1, 1, 1], RAYS)[:, :, None]).sum(1), random.normal(0, 1, (RAYS, 3)))


def intervals_around_hits(triangles: Floats) -> Floats:
    """Ending or beginning exactly at a hit, empty ones, and backwards ones."""
    rays = random_rays(4)
    t = BruteForceTracer(triangles).closest_hit(rays)[:, 0]
    rays[0::4, 7] = t[0::4]
    rays[1::4, 3] = t[1::4]
    rays[2::4, 3] = rays[2::4, 7] = 0.5
    rays[3::4, 3], rays[3::4, 7] = -np.inf, t[3::4] * 0.5
    return rays


def invalid_rays() -> Floats:
    """NaN, infinities and zeros everywhere, and no direction at all."""
    random = np.random.default_rng(5)
    rays = random_rays(5)
    rays[np.arange(RAYS), random.integers(8, size=RAYS)] = random.choice([np.nan, np.inf, -np.inf, 0.0], RAYS)
    rays[:100, 4:7] = 0.0
    rays[100:200, 4:7] = -0.0
    return rays


def degenerate_triangles() -> Floats:
    """Points and line segments among proper triangles."""
    triangles = soup(300)
    triangles[0::3, 1] = triangles[0::3, 0]
    triangles[1::6] = triangles[1::6, :1]
    triangles[2::6, 2] = (triangles[2::6, 0] + triangles[2::6, 1]) / 2
    return triangles


def scaled_directions(exponent: int) -> Floats:
    rays = np.concatenate([random_rays(6), axis_rays(6)])
    rays[:, 4:7] *= np.float32(10.0) ** exponent
    return rays


def moved(case: Case, offset: float) -> Case:
    triangles, rays = case[0] + np.float32(offset), case[1].copy()
    rays[:, 0:3] += np.float32(offset)
    return triangles, rays


CASES: dict[str, Callable[[], Case]] = {
    "soup": lambda: (soup(500), random_rays(0)),
    "one-triangle": lambda: (soup(1), rays_at_edges(soup(1))),
    "few-triangles": lambda: (soup(5), random_rays(1)),
    "no-triangles": lambda: (soup(0), random_rays(2)),
    "axis-aligned": lambda: (soup(500), axis_rays(0)),
    "axis-aligned-grid": lambda: (grid(8), axis_rays(1)),
    "edges-and-corners": lambda: (soup(300), rays_at_edges(soup(300))),
    "edges-of-grid": lambda: (grid(12), rays_at_edges(grid(12))),
    "along-edges": lambda: (soup(300), rays_along_edges(soup(300))),
    "along-edges-of-grid": lambda: (grid(8), rays_along_edges(grid(8))),
    "from-surfaces": lambda: (soup(300), rays_from_surfaces(soup(300))),
    "intervals": lambda: (soup(300), intervals_around_hits(soup(300))),
    "invalid": lambda: (soup(300), invalid_rays()),
    "degenerate": lambda: (degenerate_triangles(), rays_at_edges(degenerate_triangles())),
    "duplicates": lambda: (np.concatenate([soup(99), soup(99)[::-1], soup(99)]), rays_at_edges(soup(99))),
    "offset-1e6": lambda: moved((soup(300), random_rays(7)), 1e6),
    "surfaces-offset-1e6": lambda: moved((soup(300), rays_from_surfaces(soup(300))), 1e6),
    "scale-1e6": lambda: (soup(300, 1e6), random_rays(8, scale=1e6)),
    "scale-1e-12": lambda: (soup(300, 1e-12), random_rays(9, scale=1e-12)),
    "denormal": lambda: (soup(300, 1e-42), random_rays(10, scale=1e-42)),
    "short-directions": lambda: (soup(300), scaled_directions(-20)),
    "shortest-directions": lambda: (soup(300), scaled_directions(-37)),
    "long-directions": lambda: (soup(300), scaled_directions(30)),
}


@functools.cache
def answers(name: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Triangles and rays of a case, and what brute force answers: closest hit and any hit."""
    triangles, rays = CASES[name]()
    judge = BruteForceTracer(triangles)
    return triangles, rays, judge.closest_hit(rays), judge.any_hit(rays)


def open_gpu(triangles: Floats, kernel: str | KernelStrategy | None = None) -> GpuTracer:
    return GpuTracer(build(triangles), triangles, kernel)


def assert_same_bits(got: Floats, expected: Floats, rays: Floats) -> None:
    """All four words of every hit; names the first ray that differs."""
    wrong = np.flatnonzero((got.view(np.uint32) != expected.view(np.uint32)).any(axis=1))
    if len(wrong) > 0:
        i = wrong[0]
        ids = got.view(np.uint32)[i, 3], expected.view(np.uint32)[i, 3]
        pytest.fail(f"{len(wrong)} of {len(rays)} differ; ray {i} {rays[i]}: {got[i]} {expected[i]}, ids {ids}")


# ------------------------------------------------------------------------------------------------------ the same hits


@gpu_test
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", strategy_names())
def test_hits_are_those_of_brute_force(kernel: str, case: str) -> None:
    triangles, rays, closest, occlusion = answers(case)
    with open_gpu(triangles, kernel) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


def bunny(shared_scenes: Path) -> Floats:
    """(69451, 3, 3) triangles."""
    path = shared_scenes / "bunny" / "bunny.obj"
    if not path.is_file():
        pytest.skip(f"the bunny is not at {path}")
    words = [line.split() for line in path.read_text().splitlines()]
    points = np.array([word[1:4] for word in words if word[:1] == ["v"]], np.float32)
    corners = [[int(corner.split("/")[0]) - 1 for corner in word[1:4]] for word in words if word[:1] == ["f"]]
    return points[np.array(corners)]


def kitchen(shared_scenes: Path) -> Floats:
    """(110561, 3, 3) triangles."""
    path = shared_scenes / "bart-kitchen" / "aff" / "kitchen.aff"
    if not path.is_file():
        pytest.skip(f"the kitchen is not at {path}")
    return pytest.importorskip("scenes").load(path).at_frame(0).positions


def incoherent_rays(triangles: Floats) -> Floats:
    """(MILLION, 8) rays from anywhere in the scene's box to anywhere."""
    random = np.random.default_rng(11)
    lower, upper = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    return make_rays(random.uniform(lower, upper, (MILLION, 3)), random.normal(0, 1, (MILLION, 3)))


def bounces(rays: Floats, hits: Floats) -> Floats:
    """From where the rays hit, without an offset, to anywhere."""
    hit = hits.view(np.uint32)[:, 3] != MISS
    origin = rays[hit, 0:3] + hits[hit, 0:1] * rays[hit, 4:7]
    return make_rays(origin, np.random.default_rng(12).normal(0, 1, origin.shape))


@gpu_test
@pytest.mark.parametrize("scene", [bunny, kitchen])
@pytest.mark.parametrize("kernel", strategy_names())
def test_a_million_incoherent_rays_hit_as_on_the_cpu(
    kernel: str, scene: Callable[[Path], Floats], shared_scenes: Path
) -> None:
    triangles = scene(shared_scenes)
    with open_gpu(triangles, kernel) as tracer, CpuTracer(triangles) as cpu:
        rays = incoherent_rays(triangles)
        for _ in range(2):
            hits = cpu.closest_hit(rays)
            assert (hits.view(np.uint32)[:, 3] != MISS).sum() > len(rays) // 20
            assert_same_bits(tracer.closest_hit(rays), hits, rays)
            assert_same_bits(tracer.any_hit(rays), cpu.any_hit(rays), rays)
            rays = bounces(rays, hits)


@gpu_test
def test_any_hit_is_a_hit_where_there_is_a_closest_one() -> None:
    triangles, rays, _, _ = answers("soup")
    with open_gpu(triangles) as tracer:
        closest, occlusion = tracer.closest_hit(rays), tracer.any_hit(rays)
    hit = closest.view(np.uint32)[:, 3] != MISS
    assert 0 < hit.sum() < len(rays)
    assert (occlusion[hit].view(np.uint32) == 0).all()
    assert_same_bits(occlusion[~hit], closest[~hit], rays[~hit])


@gpu_test
def test_records_and_empty_arrays_are_rays_too() -> None:
    triangles, rays, closest, _ = answers("soup")
    with open_gpu(triangles) as tracer:
        assert_same_bits(tracer.closest_hit(as_records(rays, RAY)), closest, rays)
        assert tracer.closest_hit(rays[:0]).shape == (0, 4)


# ------------------------------------------------------------------------------------------------------------- queues


@gpu_test
@pytest.mark.parametrize("batch_type", [None, CopiedBatch])
def test_a_batch_is_used_again_and_only_its_count_is_written(batch_type: type[CopiedBatch] | None) -> None:
    triangles, rays, closest, occlusion = answers("soup")
    with open_gpu(triangles) as tracer:
        queue = tracer.open_queue() if batch_type is None else StreamedQueue(tracer.session, batch_type)
        batch = queue.batch(1000)
        assert batch.capacity == 1000
        for count in (1, 31, 32, 33, 127, 128, 129, 999, 1000, 0, 5):
            batch.rays[:] = rays[count : count + 1000]
            for query, expected in ((Query.CLOSEST, closest), (Query.ANY, occlusion)):
                batch.hits[:] = -7.0
                queue.submit(batch, count, query)
                queue.wait(batch)
                assert_same_bits(batch.hits[:count], expected[count : 2 * count], rays[count : 2 * count])
                assert (batch.hits[count:] == -7.0).all()
        queue.close()


@gpu_test
def test_many_threads_with_a_queue_each() -> None:
    triangles, rays, closest, _ = answers("soup")
    failures: list[str] = []

    def feed(tracer: GpuTracer, seed: int) -> None:
        random = np.random.default_rng(seed)
        queue = tracer.open_queue()
        flying: list[tuple[Batch, int, npt.NDArray[np.int64]]] = [
            (queue.batch(512), 0, np.empty(0, np.int64)) for _ in range(queue.depth)
        ]
        for _ in range(40 * queue.depth):
            batch, count, chosen = flying.pop(0)
            queue.wait(batch)
            if not (batch.hits[:count].view(np.uint32) == closest[chosen].view(np.uint32)).all():
                failures.append(f"thread {seed}")
            count = int(random.integers(513))
            chosen = random.integers(len(rays), size=count)
            batch.rays[:count] = rays[chosen]
            queue.submit(batch, count, Query.CLOSEST)
            flying.append((batch, count, chosen))
        queue.close()

    with open_gpu(triangles) as tracer:
        threads = [threading.Thread(target=feed, args=(tracer, seed)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


@gpu_test
def test_a_queue_may_be_opened_in_one_thread_and_used_in_another() -> None:
    triangles, rays, closest, _ = answers("soup")
    with open_gpu(triangles) as tracer:
        queue = tracer.open_queue()
        batch = queue.batch()

        def use() -> None:
            batch.rays[:100] = rays[:100]
            queue.submit(batch, 100, Query.CLOSEST)
            queue.wait(batch)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert_same_bits(batch.hits[:100], closest[:100], rays[:100])


@gpu_test
def test_misuse_of_a_queue_is_refused() -> None:
    triangles, rays, _, _ = answers("soup")
    with open_gpu(triangles) as tracer:
        queue = tracer.open_queue()
        batch = queue.batch(64)
        batch.rays[:] = rays[:64]
        with pytest.raises(RayError, match="capacity 64 cannot hold 65 rays"):
            queue.submit(batch, 65, Query.CLOSEST)
        with pytest.raises(RayError, match="not made by a GPU's queue"):
            queue.submit(Batch.in_memory(64), 1, Query.CLOSEST)
        with pytest.raises(RayError, match="at least 1 ray, got 0"):
            queue.batch(0)
        queue.submit(batch, 64, Query.CLOSEST)
        with pytest.raises(RayError, match="is being traced; wait for it"):
            queue.submit(batch, 64, Query.CLOSEST)
        queue.wait(batch)
        queue.wait(batch)
        queue.close()
        with pytest.raises(KernelError, match="queue is closed"):
            queue.submit(batch, 64, Query.CLOSEST)
    with pytest.raises(KernelError, match="is closed; open another one"):
        tracer.closest_hit(rays)
    with pytest.raises(KernelError, match="is closed; open another one"):
        tracer.open_queue()


@gpu_test
def test_statistics_count_exactly() -> None:
    triangles, rays, _, _ = answers("invalid")
    invalid = int((~is_valid(rays)).sum())
    assert invalid > 1000
    with open_gpu(triangles) as tracer:
        before = tracer.statistics()
        assert (before.batches, before.rays, before.invalid_rays) == (0, 0, 0)
        assert before.busy_seconds == before.kernel_rays_per_second == 0.0
        queue = tracer.open_queue()
        batches = [queue.batch(RAYS) for _ in range(4)]
        for _ in range(2):
            for batch in batches:
                batch.rays[:] = rays
                queue.submit(batch, RAYS, Query.CLOSEST)
            for batch in batches:
                queue.wait(batch)
        after = tracer.statistics()
        assert (after.batches, after.rays, after.invalid_rays) == (8, 8 * RAYS, 8 * invalid)
        assert after.busy_seconds > 0.0
        assert after.kernel_rays_per_second == pytest.approx(after.rays / after.busy_seconds)
    assert tracer.statistics() == after


@gpu_test
def test_what_a_tracer_says_of_itself() -> None:
    triangles, *_ = answers("soup")
    tree = build(triangles)
    with GpuTracer(tree, triangles, "while-while", threads=3) as tracer:
        assert (tracer.name, tracer.device, tracer.dispatch, tracer.threads) == ("while-while", "gpu", "streamed", 3)
        assert tracer.bvh.nodes == int((~tree.is_leaf).sum())
        assert tracer.bvh.bytes == tracer.bvh.nodes * 64 + len(triangles) * 48
        assert tracer.bvh.sah_cost == tree.sah_cost
        assert tracer.bvh.build_seconds >= tree.build_seconds
        assert all(row.spill_bytes == 0 for row in tracer.compiled.resources.values())
        batch = tracer.open_queue().batch()
        assert (batch.capacity, batch.rays.shape, batch.hits.shape) == (BATCH_RAYS, (BATCH_RAYS, 8), (BATCH_RAYS, 4))


# ------------------------------------------------------------------------------------------------ when things go wrong


@gpu_test
def test_a_stack_too_small_for_the_tree_is_refused() -> None:
    triangles, *_ = answers("soup")
    small = replace(find_strategy(None), name="small", stack_size=4)
    with pytest.raises(KernelError, match=r"'small' has a stack of 4 entries, but this tree needs \d+; .*stack_size"):
        open_gpu(triangles, small)


@gpu_test
def test_an_overflow_of_the_stack_is_an_error_not_a_picture() -> None:
    triangles, rays, _, _ = answers("soup")

    def understated(*arguments: Any) -> Any:
        return replace(bvh2.pack(*arguments), stack=1)

    layout = replace(bvh2.LAYOUT, pack=understated)
    small = replace(find_strategy(None), name="small", stack_size=4, layout=layout)
    with open_gpu(triangles, small) as tracer:
        with pytest.raises(KernelError, match=r"kernel 'small' failed: its traversal stack overflowed; .*stack_size"):
            tracer.closest_hit(rays)
        assert tracer.closest_hit(make_rays([[9, 9, 9]], [[1, 1, 1]])).view(np.uint32)[0, 3] == MISS


@gpu_test
def test_a_kernel_that_does_not_come_back_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that spins for two seconds, and a wait of a fifth of one."""
    (tmp_path / "spin.cu").write_text(
        '#include "bvh2.cuh"\n'
        '#include "clock.cuh"\n'
        "template <bool ANY_HIT> __device__ Hit trace(const Scene& scene, const Ray& ray, unsigned& faults) {\n"
        "    const unsigned long long end = nanoseconds() + 2000000000ull;\n"
        "    while (nanoseconds() < end) {}\n"
        "    return miss();\n"
        "}\n"
        '#include "streamed.cuh"\n'
    )
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "0.2")
    triangles, rays, _, _ = answers("one-triangle")
    tracer = open_gpu(triangles, replace(find_strategy(None), name="spin", source=tmp_path / "spin.cu", defines={}))
    queue = tracer.open_queue()
    batches = [queue.batch(1) for _ in range(2)]
    for batch in batches:
        batch.rays[:] = rays[:1]
        queue.submit(batch, 1, Query.CLOSEST)
    for batch in batches:  # the second one at once: the device counts as lost
        with pytest.raises(KernelError, match=r"kernel 'spin' has not come back in 0\.2 s.*TRACECORE_GPU_TIMEOUT"):
            queue.wait(batch)
    tracer.close()


@gpu_test
def test_an_unknown_kernel_lists_the_known() -> None:
    with pytest.raises(KernelError, match="unknown kernel 'bvh9'; registered: while-while"):
        open_gpu(soup(5), "bvh9")


# ------------------------------------------------------------------------------------------------------ without a GPU


@pytest.fixture
def _fresh_reason() -> Iterator[None]:
    gpu_unavailable_reason.cache_clear()
    yield
    gpu_unavailable_reason.cache_clear()


@pytest.mark.usefixtures("_fresh_reason")
def test_reason_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    reason = gpu_unavailable_reason()
    assert reason is not None
    assert reason.startswith("CuPy cannot be imported")
    assert reason.endswith("pip install cupy-cuda13x nvidia-cuda-nvrtc nvidia-cuda-runtime")
    assert "\n" not in reason


@pytest.mark.usefixtures("_fresh_reason")
def test_reason_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = pytest.importorskip("cupy").cuda.runtime

    def fail() -> int:
        raise runtime.CUDARuntimeError(35)  # the driver is too old or not there

    monkeypatch.setattr(runtime, "getDeviceCount", fail)
    reason = gpu_unavailable_reason()
    assert reason is not None
    assert "install or update the NVIDIA driver" in reason
    assert "\n" not in reason


@pytest.mark.usefixtures("_fresh_reason")
def test_reason_with_no_device_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("cupy").cuda.runtime, "getDeviceCount", lambda: 0)
    assert gpu_unavailable_reason() == "no NVIDIA GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES"


def test_reason_with_a_gpu_that_the_compiler_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_device, "supported_architectures", lambda: ("sm_75", "sm_90"))
    assert gpu_device._unsupported("sm_90") is None
    assert "does not know this GPU (sm_999); pip install --upgrade" in str(gpu_device._unsupported("sm_999"))


@pytest.mark.parametrize("text", ["soon", "-1", "0", "nan"])
def test_a_timeout_must_be_positive(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", text)
    with pytest.raises(DeviceError, match=f"TRACECORE_GPU_TIMEOUT must be a number of seconds above 0, got '{text}'"):
        timeout_seconds()


def test_the_timeout_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "2.5")
    assert timeout_seconds() == 2.5
    monkeypatch.delenv("TRACECORE_GPU_TIMEOUT")
    assert timeout_seconds() == gpu_device.DEFAULT_TIMEOUT


def test_faults_in_words() -> None:
    assert describe_faults(1) == "its traversal stack overflowed; register the strategy with a larger stack_size"
    assert describe_faults(4) == "unknown fault bits 0x4"


def test_every_fault_of_the_kernels_has_words() -> None:
    header = (strategy.KERNELS / "fault.cuh").read_text()
    bits = [int(line.split("=")[1].strip(" ;")) for line in header.splitlines() if line.startswith("constexpr")]
    assert bits
    assert all("unknown" not in describe_faults(bit) for bit in bits)
