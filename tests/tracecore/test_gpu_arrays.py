"""Rays of CuPy, PyTorch, JAX and Warp that lie on the GPU are traced there, with the bits of those that are copied."""

import gc
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from brute_answers import answers
from judges import MILLION, assert_same_bits

import tracecore
from tracecore.checks.ray_cases import CASES
from tracecore.cuda.device import find_device, gpu_count
from tracecore.dispatch.tracer import Tracer
from tracecore.errors import KernelError, RayError
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.layout import bvh2
from tracecore.rays import HIT, MISS, Floats, Hits, Query, as_records, make_rays
from tracecore.tracers.gpu import GpuTracer

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpu")]

RAYS = 3000

#: Cycles of the GPU's clock that take about half a second.
LONG = 1 << 30

#: Copies words when so many cycles are over.
WRITE_LATE = r"""
extern "C" __global__ void write_late(float* to, const float* from, long long words, long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
    for (long long i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
}
"""


@pytest.fixture
def cupy(gpu: None) -> Any:
    find_device(0).attach()
    return pytest.importorskip("cupy")


@pytest.fixture
def late(cupy: Any) -> Callable[[Any, Any], None]:
    """Has CuPy's current stream copy one of its arrays to another, late. The kernel is loaded already."""
    kernel = cupy.RawKernel(WRITE_LATE, "write_late")

    def write(to: Any, source: Any, cycles: int = LONG) -> None:
        kernel((1,), (1024,), (to, source, np.int64(to.size), np.int64(cycles)))

    write(cupy.empty(8, np.float32), cupy.empty(8, np.float32), 0)
    cupy.cuda.get_current_stream().synchronize()
    return write


def asked(tracer: Tracer, query: Query, rays: Any) -> Any:
    return tracer.any_hit(rays) if query == Query.ANY else tracer.closest_hit(rays)


@pytest.mark.parametrize("case", ["soup", "invalid", "no-triangles"])
@pytest.mark.parametrize("kernel", strategy_names())
def test_hits_have_the_bits_of_brute_force(cupy: Any, kernel: str, case: str) -> None:
    triangles, rays, closest, occlusion = answers(case, RAYS)
    with GpuTracer(triangles, kernel) as tracer:
        there = cupy.asarray(rays)
        assert_same_bits(asked(tracer, Query.CLOSEST, there).get(), closest, rays)
        assert_same_bits(asked(tracer, Query.ANY, there).get(), occlusion, rays)
        assert_same_bits(cupy.asnumpy(there), rays, rays)


@pytest.mark.parametrize("kernel", ["while-while", "replacing-while-while", "compressed-bvh8", "packet-8"])
def test_a_million_hits_are_those_of_rays_that_are_copied(cupy: Any, kernel: str) -> None:
    triangles, rays = CASES["soup"](MILLION)
    with GpuTracer(triangles, kernel) as tracer:
        there = cupy.asarray(rays)
        for query in Query:
            assert_same_bits(asked(tracer, query, there).get(), asked(tracer, query, rays), rays)


def test_hits_lie_beside_the_rays_and_have_names(cupy: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with GpuTracer(triangles) as tracer:
        hits: Any = tracer.closest_hit(cupy.asarray(rays))
        assert isinstance(hits, cupy.ndarray)
        assert hits.device.id == tracer.gpu.index
        fetched = hits.get()
        assert isinstance(fetched, Hits)
        assert_same_bits(fetched, closest, rays)
        for name in ("t", "u", "v", "prim_id", "hit"):
            column, expected = getattr(hits, name), getattr(fetched, name)
            assert type(column) is cupy.ndarray
            assert column.dtype == expected.dtype
            assert np.array_equal(column.get(), expected)
        assert 0 < int(hits.hit.sum()) < RAYS
        some = hits[hits.hit]
        assert np.array_equal(some.prim_id.get(), fetched[fetched.hit].prim_id)
        assert as_records(fetched, HIT)["prim_id"].tolist() == fetched.prim_id.tolist()
        for same in (cupy.from_dlpack(hits), cupy.asarray(SimpleNamespace(**interface_of(hits)))):
            assert same.data.ptr == hits.data.ptr
        assert tracer.closest_hit(cupy.empty((0, 8), np.float32)).shape == (0, 4)


def interface_of(array: Any) -> dict[str, Any]:
    return {"__cuda_array_interface__": array.__cuda_array_interface__, "owner": array}


class Lent:
    """An array that has DLPack and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def of_cupy(rays: Floats) -> Any:
    return pytest.importorskip("cupy").asarray(rays)


def managed(rays: Floats) -> Any:
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        return cupy.asarray(rays)


def of_torch(rays: Floats) -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch is not for CUDA here")
    return torch.from_numpy(rays.copy()).cuda()


def of_jax(rays: Floats) -> Any:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or it takes most of the GPU's memory
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX is not for CUDA here: {error}")
    return jax.device_put(rays, device)


def of_warp(rays: Floats) -> Any:
    warp = pytest.importorskip("warp")
    return warp.array(rays, dtype=warp.float32, device="cuda:0")


LIBRARIES: dict[str, Callable[[Floats], Any]] = {
    "cupy": of_cupy,
    "managed": managed,
    "interface": lambda rays: SimpleNamespace(**interface_of(of_cupy(rays))),
    "dlpack": lambda rays: Lent(of_cupy(rays)),
    "torch": of_torch,
    "jax": of_jax,
    "warp": of_warp,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_any_library_are_traced_where_they_lie(cupy: Any, library: str) -> None:
    triangles, rays, closest, occlusion = answers("soup", RAYS)
    there = LIBRARIES[library](rays)
    find_device(0).attach()
    with GpuTracer(triangles) as tracer:
        assert tracer.gpu.driver.array_of(there).shape == rays.shape
        assert_same_bits(asked(tracer, Query.CLOSEST, there).get(), closest, rays)
        assert_same_bits(asked(tracer, Query.ANY, there).get(), occlusion, rays)
        for refusing in ("cpu", "brute"):
            with (
                tracecore.open_tracer(triangles, device=refusing) as other,
                pytest.raises(RayError, match="GPU's memory"),
            ):
                other.closest_hit(there)


def test_nothing_is_copied(cupy: Any) -> None:
    rays = cupy.asarray(answers("soup", RAYS).rays)
    driver = find_device(0).driver
    for lent in (rays, Lent(rays), SimpleNamespace(**interface_of(rays))):
        assert driver.array_of(lent).data.ptr == rays.data.ptr


def test_a_launch_follows_the_current_stream_and_the_host_goes_on(cupy: Any, late: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with GpuTracer(triangles) as tracer, cupy.cuda.Stream(non_blocking=True) as stream:
        there, source = cupy.asarray(rays), cupy.asarray(rays)
        for _ in range(3):  # memory is had before
            tracer.closest_hit(there)
            stream.synchronize()
        there.fill(np.nan)
        late(there, source)
        hits: Any = tracer.closest_hit(there)
        assert not stream.done
        assert tracer.statistics().rays == 3 * RAYS
        assert_same_bits(hits.get(), closest, rays)
        assert tracer.statistics().rays == 4 * RAYS
        assert tracer.statistics().invalid_rays == 0


def test_rays_and_hits_that_are_dropped_stay_until_they_are_traced(cupy: Any, late: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with GpuTracer(triangles) as tracer, cupy.cuda.Stream(non_blocking=True):
        found: list[Any] = []
        source = cupy.asarray(rays)
        for _ in range(3):
            there = cupy.full_like(source, np.nan)
            late(there, source)
            found.append(tracer.closest_hit(there))
            tracer.any_hit(there)
            del there
        for hits in found:
            assert_same_bits(hits.get(), closest, rays)


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
def test_queues_go_on_beside_rays_that_lie_there(cupy: Any, late: Any, dispatch: str) -> None:
    """A kernel that stays makes way, and comes back when the launch is done that nobody waits for."""
    triangles, rays, closest, occlusion = answers("soup", RAYS)
    found: list[Any] = []
    with GpuTracer(triangles, dispatch=dispatch) as tracer, cupy.cuda.Stream(non_blocking=True):
        queue, there, source = tracer.open_queue(), cupy.asarray(rays), cupy.asarray(rays)
        for _ in range(2):
            queue.submit(rays)
            assert_same_bits(queue.drain()[0].hits, closest, rays)
            late(there, source)
            found.append(tracer.any_hit(there))
            queue.submit(rays)
            assert_same_bits(queue.drain()[0].hits, closest, rays)
    for hits in found:
        assert_same_bits(hits.get(), occlusion, rays)


def test_threads_have_streams_of_their_own(cupy: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    found: dict[int, list[Floats]] = {}

    def trace(number: int) -> None:
        with cupy.cuda.Stream(non_blocking=True):
            there = cupy.asarray(rays[number:])
            hits: list[Any] = [tracer.closest_hit(there) for _ in range(50)]
            found[number] = [one.get() for one in hits]

    with GpuTracer(triangles) as tracer:
        threads = [threading.Thread(target=trace, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(4))
    for number, several in found.items():
        for hits in several:
            assert_same_bits(hits, closest[number:], rays[number:])


def test_torch_orders_its_stream_and_ours(cupy: Any) -> None:
    """Rays are written late in a stream of PyTorch's, and hits are read in it, with no word about streams."""
    triangles, rays, closest, _ = answers("soup", RAYS)
    there, torch = of_torch(rays), pytest.importorskip("torch")
    source, stream = there.clone(), torch.cuda.Stream()
    with GpuTracer(triangles) as tracer:
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            there.fill_(float("nan"))
            torch.cuda._sleep(LONG)
            there.copy_(source)
            hits: Any = tracer.closest_hit(there)
            lent = torch.from_dlpack(hits)
            assert lent.data_ptr() == hits.data.ptr
            assert_same_bits(lent.cpu().numpy(), closest, rays)
        with pytest.raises(RayError, match=r"^rays: "):
            tracer.closest_hit(source.requires_grad_())


@pytest.fixture
def two_gpus(cupy: Any) -> Iterator[None]:
    if gpu_count() < 2:
        pytest.skip("there is one GPU here")
    yield
    find_device(0).attach()


@pytest.mark.usefixtures("two_gpus")
def test_rays_of_another_gpu_are_refused(cupy: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    there = []
    for gpu in range(2):
        with cupy.cuda.Device(gpu):
            there.append(cupy.asarray(rays))
    for gpu in range(2):
        with GpuTracer(triangles, gpu=gpu) as tracer:
            for lent in (there[1 - gpu], Lent(there[1 - gpu]), SimpleNamespace(**interface_of(there[1 - gpu]))):
                with pytest.raises(RayError, match=f"rays lie on GPU {1 - gpu}, and the tracer is on GPU {gpu}"):
                    tracer.closest_hit(lent)
            hits: Any = tracer.closest_hit(there[gpu])
            assert hits.device.id == gpu
            assert_same_bits(hits.get(), closest, rays)


def test_other_arrays_are_no_rays(cupy: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    there = cupy.asarray(rays)
    words = cupy.empty(8 * RAYS + 1, np.float32)
    others = (
        (there.astype(np.float64), rf"\({RAYS}, 8\) float64"),
        (there.view(np.int32), rf"\({RAYS}, 8\) int32"),
        (there[:, :4], rf"\({RAYS}, 4\) float32"),
        (there[::2], rf"\({RAYS // 2}, 8\) float32, strides \(64, 4\)"),
        (cupy.asfortranarray(there), rf"\({RAYS}, 8\) float32, strides \(4, {4 * RAYS}\)"),
        (there.ravel(), rf"\({8 * RAYS},\) float32"),
        (words[1:].reshape(RAYS, 8), rf"\({RAYS}, 8\) float32, strides \(32, 4\), at 0x[0-9a-f]+4"),
    )
    with GpuTracer(triangles) as tracer:
        for other, got in others:
            with pytest.raises(RayError, match=rf"rays on a GPU must be .*\(n, 8\) .*got {got}"):
                tracer.any_hit(other)
        for refusing in (tracer.open_queue().submit, tracer.limits, tracer.count_steps):
            with pytest.raises(RayError, match="only closest_hit and any_hit of a tracer on that GPU take them"):
                refusing(there)
        assert_same_bits(asked(tracer, Query.CLOSEST, there[7:]).get(), closest[7:], rays[7:])


def test_an_overflow_of_the_stack_is_told_by_the_next_call(cupy: Any) -> None:
    triangles, rays, _, _ = answers("soup", RAYS)
    layout = replace(bvh2.LAYOUT, pack=lambda *arguments: replace(bvh2.pack(*arguments), stack=1))
    small = replace(find_strategy(None), name="small", stack_size=4, layout=layout)
    there, missing = cupy.asarray(rays), cupy.asarray(make_rays([[9, 9, 9]], [[1, 1, 1]]))
    tracer = GpuTracer(triangles, small)
    tracer.closest_hit(there)
    cupy.cuda.get_current_stream().synchronize()
    with pytest.raises(KernelError, match=r"kernel 'small' failed: its traversal stack overflowed; .*stack_size"):
        tracer.closest_hit(missing)
    assert asked(tracer, Query.CLOSEST, missing).prim_id.get().tolist() == [MISS]
    tracer.closest_hit(there)
    with pytest.raises(KernelError, match="its traversal stack overflowed"):
        tracer.close()


def test_hits_are_verified_on_the_cpu(cupy: Any) -> None:
    triangles, rays, closest, _ = answers("soup", RAYS)
    with tracecore.open_tracer(triangles, device="gpu", verify=1.0) as tracer:
        hits: Any = tracer.closest_hit(cupy.asarray(rays))
        assert isinstance(hits, cupy.ndarray)
        assert_same_bits(hits.get(), closest, rays)
        assert tracer.statistics().verified_batches == 1


def test_the_page_runs(cupy: Any) -> None:
    page = Path(tracecore.__file__).parents[1] / "docs" / "ray-casting.md"
    (block,) = re.findall(r"GPU -->\n\n```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["nearest"].get() == 2.0
    assert 0 < int(names["hits"].hit.sum()) < len(names["rays"])


def test_memory_does_not_grow_from_call_to_call(cupy: Any) -> None:
    triangles, rays, _, _ = answers("soup", RAYS)
    used, pool = [], cupy.get_default_memory_pool()
    gc.collect()
    with GpuTracer(triangles) as tracer:
        there = cupy.asarray(rays)
        for _ in range(20):
            hits: Any = tracer.closest_hit(there)
            hits.get()
            used.append(pool.used_bytes())
    assert used[2:] == used[2:3] * 18
