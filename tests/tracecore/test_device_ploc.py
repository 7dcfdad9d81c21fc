"""Trees that a GPU builds and packs have the bits of the CPU's. CUDA is played by the emulator (`fake_cuda`)."""

import gc
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from brute_answers import answers
from emulated_ring import SHUFFLED
from fake_cuda import FakeCuda, hang_at, installed, rested
from judges import assert_same_bits
from test_builder import TRIANGLES, depths, points_at

import scenes
import tracecore
from tracecore.benchmarks.tree_time import KERNELS, check_same, tree_time
from tracecore.bvh import ploc
from tracecore.bvh.bottom_up import Leaves
from tracecore.checks.cutout_cases import random_cutouts
from tracecore.checks.ray_cases import Floats
from tracecore.cuda import device_collapse, device_ploc
from tracecore.cuda.device import CudaDevice, Stream, find_device, gpu_unavailable_reason
from tracecore.cuda.device_ploc import DeviceTree
from tracecore.cuda.driver import DEVICE_TO_HOST, HOST_TO_DEVICE
from tracecore.cuda.nvrtc import compile_program, supported_architectures
from tracecore.cutouts import tables_of
from tracecore.errors import DeviceError, KernelError, TriangleError
from tracecore.kernels.collapse_records import WIDE_LAYOUTS
from tracecore.kernels.ploc_records import PROGRAM, ROW_STATE, SUBTREE, TILE_KEYS
from tracecore.kernels.program import Program
from tracecore.kernels.source import flatten
from tracecore.kernels.strategies import find_strategy
from tracecore.layout import bvh2, bvh4, compressed8
from tracecore.layout.device_layout import DeviceLayout
from tracecore.rays import Query
from tracecore.tracers.gpu import GpuTracer

CASE = answers("soup", 600)

#: Leaves of kernels as `while-while`.
LEAVES = Leaves(4, 1)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "30")
    yield from installed(monkeypatch)


@pytest.fixture
def device(cuda: FakeCuda) -> CudaDevice:
    found = find_device(0)
    found.attach()
    return found


def signs_of_zero(count: int) -> Floats:
    """Triangles whose corners are 0 and -0 in places."""
    random = np.random.default_rng(4)
    return random.choice(np.array([-1, -0.0, 0.0, 1], np.float32), (count, 3, 3))


def few(count: int) -> Floats:
    return TRIANGLES["soup"][:count]


def along_a_line(places: npt.NDArray[np.float64]) -> Floats:
    return points_at(places[:, None] * np.ones(3))


#: Sets of triangles of which the GPU makes a tree, and sets for which it leaves that to the CPU.
MADE = {
    **{name: TRIANGLES[name] for name in ("five", "soup", "same", "flat", "line of points", "large", "small")},
    **{name: TRIANGLES[name] for name in ("denormal", "largest", "far", "every magnitude")},
    **{f"the first {count}": few(count) for count in (2, 3, 4, TILE_KEYS - 1, TILE_KEYS, TILE_KEYS + 1)},
    "signs of zero": signs_of_zero(700),
    "few that find each other": along_a_line(1.005 ** np.arange(TILE_KEYS + 501.0)),
    "a row of points at one place and one elsewhere": points_at(np.repeat([[0.0, 0, 0], [1, 0, 0]], [999, 1], axis=0)),
}
LEFT = {"none": TRIANGLES["none"], "one": TRIANGLES["one"], "too deep": along_a_line(1.5 ** -np.arange(150.0))}


def check(device: CudaDevice, triangles: Floats, leaves: Leaves, layout: DeviceLayout = bvh2.LAYOUT) -> None:
    made = device_ploc.build(device, triangles, leaves, layout.name)
    assert made is not None
    tree = ploc.build(triangles, max_leaf=leaves.max_leaf, triangle_block=leaves.block)
    check_same(made, tree, layout.pack(tree, triangles))
    assert made.fetched().triangle_block == leaves.block


@pytest.mark.parametrize("leaves", [Leaves(1, 1), Leaves(4, 1), Leaves(8, 8), Leaves(20, 3)])
@pytest.mark.parametrize("name", MADE)
def test_trees_have_the_bits_of_the_cpus(device: CudaDevice, name: str, leaves: Leaves) -> None:
    if len(MADE[name]) > leaves.max_leaf:
        check(device, MADE[name], leaves)


#: Layouts of wide trees, and leaves that they may have.
WIDE = [(bvh4.LAYOUT, Leaves(1, 1)), (bvh4.LAYOUT, Leaves(4, 1)), (compressed8.LAYOUT, Leaves(3, 1))]
each_wide = pytest.mark.parametrize(("layout", "leaves"), WIDE, ids=lambda value: getattr(value, "name", str(value)))


@each_wide
@pytest.mark.parametrize("name", MADE)
def test_wide_trees_have_the_bits_of_the_cpus(
    device: CudaDevice, name: str, layout: DeviceLayout, leaves: Leaves
) -> None:
    if len(MADE[name]) > leaves.max_leaf:
        check(device, MADE[name], leaves, layout)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["cornell", "museum"])
def test_trees_of_scenes_have_the_bits_of_the_cpus(device: CudaDevice, name: str, kernel: str) -> None:
    strategy = find_strategy(kernel)
    check(device, scenes.load(name).at_frame(0).positions, Leaves(strategy.max_leaf, 1), strategy.layout)


@pytest.mark.parametrize("seed", range(3))
def test_lanes_and_blocks_in_any_order_make_the_same_tree(device: CudaDevice, cuda: FakeCuda, seed: int) -> None:
    cuda.options = {"order": SHUFFLED, "seed": seed}
    check(device, TRIANGLES["soup"], LEAVES)
    for layout, leaves in WIDE:
        check(device, TRIANGLES["soup"], leaves, layout)


@pytest.mark.parametrize("name", LEFT)
def test_what_the_gpu_leaves_to_the_cpu(device: CudaDevice, name: str) -> None:
    assert device_ploc.build(device, LEFT[name], LEAVES) is None


def test_trees_may_be_as_deep_as_on_the_cpu(device: CudaDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    deepest = max(depths(ploc.build(TRIANGLES["soup"])))
    monkeypatch.setattr(device_ploc, "MAX_DEPTH", deepest)
    check(device, TRIANGLES["soup"], LEAVES)
    monkeypatch.setattr(device_ploc, "MAX_DEPTH", deepest - 1)
    assert device_ploc.build(device, TRIANGLES["soup"], LEAVES) is None


def test_more_triangles_than_the_layout_can_name_are_left_to_the_cpu(device, monkeypatch):
    monkeypatch.setattr(device_ploc, "MAX_TRIANGLES", 4)
    assert device_ploc.build(device, few(5), LEAVES) is None


#: Triangles of which the emulator can tell all hand-overs apart, and seeds of the order of lanes.
WEAK, SEEDS = 60, 8


def is_right(device: CudaDevice, cuda: FakeCuda, layout: DeviceLayout) -> bool:
    """Whether the tree is, where memory is weak and lanes run in a random order, one of several."""
    for seed in range(SEEDS):
        cuda.options = {"order": SHUFFLED, "seed": seed, "is_weak": 1}
        try:
            check(device, few(WEAK), Leaves(1, 1), layout)
        except (AssertionError, KernelError):
            return False
    return True


each_layout = pytest.mark.parametrize(
    "layout", [bvh2.LAYOUT, bvh4.LAYOUT, compressed8.LAYOUT], ids=lambda layout: layout.name
)


@each_layout
def test_what_threads_share_is_handed_over(device: CudaDevice, cuda: FakeCuda, layout: DeviceLayout) -> None:
    assert is_right(device, cuda, layout)


#: Of each layout a hand-over, without which its trees are wrong, and what is there instead.
HAND_OVERS = {
    "bvh2": (
        "    __syncthreads();\n    const unsigned place = first + threadIdx.x;",
        "    const unsigned place = first + threadIdx.x;",
    ),
    "bvh4": ("count_down(collapse.arrivals[rank])", "atomicSub(&collapse.arrivals[rank], 1u)"),
    "compressed8": ("__syncwarp(WHOLE_WARP);  // the smaller sets are there", ""),
}


@each_layout
def test_without_the_hand_over_trees_are_wrong(device, cuda, layout, tmp_path, monkeypatch):
    hand_over, instead = HAND_OVERS[layout.name]
    program = PROGRAM if layout is bvh2.LAYOUT else WIDE_LAYOUTS[layout.name].program
    text, source = flatten(program.source), tmp_path / program.source.name
    assert text.count(hand_over) == 1
    source.write_text(text.replace(hand_over, instead))
    if layout is bvh2.LAYOUT:
        monkeypatch.setattr(device_ploc, "PROGRAM", replace(program, source=source))
    else:
        broken = replace(WIDE_LAYOUTS[layout.name], program=replace(program, source=source))
        monkeypatch.setattr(device_collapse, "WIDE_LAYOUTS", {layout.name: broken})
    assert not is_right(device, cuda, layout)
    cuda.complaints.clear()  # where a lane went astray by what it read


def open_gpu(kernel: str = "while-while", **options: Any) -> GpuTracer:
    return GpuTracer(CASE.triangles, kernel, threads=1, dispatch="streamed", builder="ploc", **options)


@pytest.mark.parametrize("kernel", ["packet-8", "warp-triangles-8", *KERNELS])
def test_hits_are_those_of_brute_force(cuda: FakeCuda, kernel: str) -> None:
    with open_gpu(kernel) as tracer:
        assert_same_bits(tracer.closest_hit(CASE.rays), CASE.closest, CASE.rays)
        assert_same_bits(tracer.any_hit(CASE.rays), CASE.occlusion, CASE.rays)


def looks_at_rows(cuda: FakeCuda) -> int:
    """How often the host looked how many subtrees were left, where nothing else came down but one of all."""
    looks, rest = divmod(cuda.copied[DEVICE_TO_HOST] - SUBTREE.itemsize, ROW_STATE.itemsize)
    assert rest == 0
    return looks


@pytest.mark.parametrize(
    ("given", "is_there"),
    [
        ({"rays": 10_000 * 500}, True),
        ({"rays": 10_000 * 500 + 1}, False),
        ({"rays": None}, False),
        ({"rays": 1, "builder": "binned"}, False),
        ({"rays": 1, "tree": ploc.build(CASE.triangles)}, False),
        ({"rays": 1, "kernel": "warp-bvh4"}, False),  # for its layout a GPU makes no tree
    ],
)
def test_a_gpu_builds_by_itself_where_it_has_few_rays_to_trace(cuda, monkeypatch, given, is_there):
    monkeypatch.setattr("tracecore.tracers.gpu.LEAST_TRIANGLES", 500)
    with GpuTracer(CASE.triangles, given.pop("kernel", "while-while"), threads=1, **given) as tracer:
        assert tracer.bvh.is_of_gpu == is_there
        assert_same_bits(tracer.closest_hit(CASE.rays), CASE.closest, CASE.rays)


@pytest.mark.parametrize(("least", "free_bytes"), [(501, 1e9), (500, 500 * 500 - 1)])
def test_few_triangles_or_too_many_for_its_room_it_leaves_to_the_cpu(cuda, monkeypatch, least, free_bytes):
    monkeypatch.setattr("tracecore.tracers.gpu.LEAST_TRIANGLES", least)
    cuda.free_bytes = int(free_bytes)
    with tracecore.open_tracer(CASE.triangles, device="gpu", threads=1, rays=1) as tracer:
        assert not tracer.bvh.is_of_gpu


def test_triangles_go_up_once_and_no_tree_comes_down(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        assert cuda.copied[HOST_TO_DEVICE] == CASE.triangles.nbytes
        assert 0 < looks_at_rows(cuda) < 9
        strategy = find_strategy("while-while")
        tree = strategy.build(CASE.triangles, "ploc")
        packed = strategy.pack(tree, CASE.triangles)
        assert tracer.bvh.nodes == packed.nodes
        assert tracer.bvh.bytes == packed.bytes
        assert tracer.bvh.sah_cost == pytest.approx(tree.sah_cost, rel=1e-12)
        assert 0.0 < tracer.bvh.tree_seconds <= tracer.bvh.build_seconds
        assert not tracer.bvh.is_cached
        assert 0 < looks_at_rows(cuda) < 9


def test_the_tree_is_fetched_once(cuda: FakeCuda) -> None:
    tracer = open_gpu()
    memory = cuda.memory_on(0)
    tree = tracer.tree
    assert tree is not None
    expected = find_strategy("while-while").build(CASE.triangles, "ploc")
    for name in ("lower", "upper", "child", "first", "count", "order"):
        assert getattr(tree, name).tobytes() == getattr(expected, name).tobytes()
    assert cuda.memory_on(0) == memory - 6
    assert tree.seconds == tracer.bvh.tree_seconds
    assert tracer.tree is tree
    tracer.close()
    assert tracer.tree is tree


def test_a_tree_that_nobody_asked_for_is_given_back(cuda: FakeCuda) -> None:
    tracer = open_gpu()
    tracer.close()
    assert tracer.tree is None
    assert cuda.memory_on(0) == 0


def test_a_tree_that_cannot_be_fetched(cuda: FakeCuda) -> None:
    with open_gpu() as tracer:
        cuda.refused.add("copy")
        with pytest.raises(DeviceError, match="cannot fetch the tree: FakeCudaError: copy is refused"):
            _ = tracer.tree
        cuda.refused.clear()
        assert tracer.tree is not None


def test_triangles_with_cutouts(cuda: FakeCuda) -> None:
    cutouts = tables_of(random_cutouts(CASE.triangles), len(CASE.triangles))
    with open_gpu(cutouts=cutouts) as one, GpuTracer(CASE.triangles, "while-while", cutouts=cutouts) as other:
        assert isinstance(one._tree, DeviceTree)
        assert_same_bits(one.closest_hit(CASE.rays), other.closest_hit(CASE.rays), CASE.rays)
        assert one.bvh.bytes - one._tree.packed.bytes > 0


def test_a_kernel_that_stays_leaves_before_a_tree_is_built(cuda: FakeCuda) -> None:
    with GpuTracer(CASE.triangles, "while-while", threads=1) as other:
        for _ in range(2):
            queue = other.open_queue(batch_rays=256)
            queue.submit(CASE.rays[:100], Query.CLOSEST)
            assert_same_bits(queue.drain()[0].hits, CASE.closest[:100], CASE.rays)
            open_gpu().close()
            queue.close()


def test_what_the_gpu_leaves_the_cpu_builds(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_ploc, "MAX_DEPTH", 3)
    with open_gpu() as tracer:
        assert 0 < looks_at_rows(cuda) < 9
        assert not isinstance(tracer._tree, DeviceTree)
        assert_same_bits(tracer.closest_hit(CASE.rays), CASE.closest, CASE.rays)


@pytest.mark.parametrize("checks", [1, 2])
def test_without_room_for_a_later_step_all_is_given_back(cuda, checks, monkeypatch):
    """For the tree, or for it packed."""
    rooms = iter([cuda.free_bytes] * checks + [10_000, cuda.free_bytes])
    check_room = CudaDevice.check_room

    def fill(device: CudaDevice, count: int, things: str, size: int) -> None:
        cuda.free_bytes = next(rooms)
        check_room(device, count, things, size)

    monkeypatch.setattr(CudaDevice, "check_room", fill)
    with pytest.raises(DeviceError, match="500 triangles whose tree the GPU builds take"):
        open_gpu()
    assert cuda.memory_on(0) == 0


#: A kernel that traces, and each of those that make its tree.
ENTRIES = [
    *(("while-while", entry) for entry in PROGRAM.entries),
    *(("persistent-bvh4", entry) for entry in WIDE_LAYOUTS["bvh4"].program.entries),
    ("replacing-compressed-bvh8", "place_level"),
]


@pytest.mark.parametrize(("kernel", "entry"), ENTRIES)
def test_a_gpu_that_does_not_answer_keeps_what_it_uses(cuda, kernel, entry, monkeypatch):
    """From one kernel on it hangs; later that kernel runs to its end, and finds its memory in place."""
    hang_at(cuda, monkeypatch, entry)
    with pytest.raises(DeviceError, match=r"the GPU has not answered in 0\.3 s: end this process"):
        open_gpu(kernel)
    gc.collect()
    assert cuda.memory_on(0) > 0
    cuda.rest()
    find_device(0).attach()
    Stream(find_device(0)).finish()
    rested(cuda)


@pytest.mark.parametrize("call", ["allocate", "launch_kernel", "copy"])
def test_calls_that_fail_are_errors(cuda: FakeCuda, call: str) -> None:
    cuda.refused.add(call)
    with pytest.raises(DeviceError, match=f"cannot build a tree of 500 triangles: FakeCudaError: {call} is refused"):
        open_gpu()


def test_a_tree_tells_how_long_building_took_without_packing(device: CudaDevice) -> None:
    made = device_ploc.build(device, few(50), LEAVES)
    assert made is not None
    seconds = dict(made.step_seconds)
    assert seconds.pop("pack") > 0.0
    assert made.seconds == made.fetched().seconds == sum(seconds.values())


def test_wrong_bits_are_named(device: CudaDevice) -> None:
    made = device_ploc.build(device, few(50), LEAVES)
    assert made is not None
    tree = ploc.build(few(50), max_leaf=4)
    packed = bvh2.pack(tree, few(50))
    check_same(made, tree, packed)
    other = replace(tree, order=tree.order[::-1].copy())
    with pytest.raises(KernelError, match=r"the GPU's tree is not the CPU's: order$"):
        check_same(made, other, packed)
    with pytest.raises(KernelError, match=r"stack, scalars$"):
        check_same(made, tree, replace(packed, stack=99, scalars={"extent": 0.5}))


#: Kernels that keep something of each child of a wide node, which may be too much for registers.
WITH_ARRAYS = {"share_out", "open_level", "place_level", "pack_nodes"}

PROGRAMS = [PROGRAM, *(layout.program for layout in WIDE_LAYOUTS.values())]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.source.stem)


@each_program
def test_every_struct_is_checked_by_the_compiler(program: Program) -> None:
    asserted = set(re.findall(r"static_assert\(sizeof\(\w+\) == (\w+)", flatten(program.source)))
    assert asserted == {name for name in program.constants if name.endswith("_BYTES")} - {"SCENE_BYTES"}


@each_program
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_programs_compile_without_spills(architecture: str, program: Program) -> None:
    try:
        supported_architectures()
    except DeviceError as error:
        pytest.skip(str(error))
    resources = compile_program(program, architecture).resources
    assert resources.keys() == program.entries.keys()
    for entry, one in resources.items():
        assert one.spill_bytes == one.stack_bytes == 0 or (program is not PROGRAM and entry in WITH_ARRAYS)


@pytest.mark.gpu
@pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason()))
class TestOnGpu:
    """The same bits on a device."""

    @pytest.mark.parametrize("name", MADE)
    def test_few_triangles(self, name: str) -> None:
        found = find_device()
        found.attach()
        for layout, leaves in [(bvh2.LAYOUT, Leaves(1, 1)), (bvh2.LAYOUT, Leaves(8, 8)), *WIDE]:
            if len(MADE[name]) > leaves.max_leaf:
                check(found, MADE[name], leaves, layout)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("name", ["kitchen", "museum:250k", "stress:1M"])
    def test_many_triangles(self, name: str, kernel: str) -> None:
        tree_time(scenes.load(name).at_frame(0).positions, 2, kernel)

    def test_hits(self) -> None:
        with GpuTracer(CASE.triangles, "while-while", builder="ploc") as tracer:
            assert_same_bits(tracer.closest_hit(CASE.rays), CASE.closest, CASE.rays)


def test_without_room_for_building_nothing_is_launched(cuda: FakeCuda) -> None:
    cuda.free_bytes = 50_000
    with pytest.raises(DeviceError, match=r"500 triangles whose tree the GPU builds take 0\.00 GB"):
        open_gpu()
    assert cuda.devices[0].launches == 0


def test_a_corner_that_is_not_finite_is_refused(device: CudaDevice) -> None:
    triangles = few(5).copy()
    triangles[3, 1, 2] = np.nan
    with pytest.raises(TriangleError, match="triangle 3 has a corner that is not finite"):
        device_ploc.build(device, triangles, LEAVES)
