"""Every registered kernel through the emulator against brute force, bit for bit; and the README's kernel."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from brute_answers import answers
from judges import assert_same_bits, bounces, bunny, incoherent_rays, kitchen
from readme_kernel import README, register_example

import tracecore
from tracecore.bvh import binned_sah
from tracecore.bvh.tree import BinaryTree
from tracecore.checks.ray_cases import CASES, FAR_AIMS, Floats, far_rays, far_sphere, soup
from tracecore.emulator.tracer import EmulatedTracer, Order
from tracecore.kernels import strategies
from tracecore.kernels.step_records import WARP_LANES
from tracecore.kernels.strategies import find_strategy, strategy_names
from tracecore.kernels.strategy import KernelStrategy
from tracecore.layout import bvh4
from tracecore.rays import MISS
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.cpu import CpuTracer

pytestmark = pytest.mark.usefixtures("emulator")

#: Of a case: eight blocks. A GPU gets a million of each (`test_gpu.py`).
RAYS = 1_000

#: More where rounding decides, and few rays tell: boxes a little too small, distances whose inverse is no number.
MORE_RAYS = {"edges-of-grid": 10_000, "denormal-distances": 10_000}

#: Of a kernel that has a warp for each ray every third one: it takes a hundred times as long.
WARP_STEP = 3

#: Kernels that trace as another one does, and take their rays otherwise, and the cases that try how they do that.
TAKERS = ("persistent-", "replacing-")
OF_TAKING = ("soup", "no-triangles", "one-triangle", "few-triangles", "duplicates", "intervals", "invalid")
#: Cases that tell which lane of several was first.
OF_LANES = ("duplicates", "intervals", "shortest-directions")


@pytest.mark.parametrize(
    ("kernel", "case"),
    [
        (kernel, case)
        for kernel in strategy_names()
        for case in CASES
        if case in OF_TAKING or not kernel.startswith(TAKERS)
    ],
)
def test_hits_are_those_of_brute_force(kernel: str, case: str) -> None:
    step = WARP_STEP if find_strategy(kernel).lanes_per_ray == WARP_LANES else 1
    triangles, *of_rays = answers(case, MORE_RAYS.get(case, RAYS))
    rays, closest, occlusion = (each[::step] for each in of_rays)
    with EmulatedTracer(triangles, kernel) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays[::4]), occlusion[::4], rays[::4])


@pytest.mark.parametrize("order", ["descending", "shuffled"])
@pytest.mark.parametrize("kernel", strategy_names())
def test_hits_do_not_depend_on_the_order_of_lanes(kernel: str, order: Order) -> None:
    """Of kernels whose lanes help each other also where hits tie, end, or have the shortest directions."""
    row = find_strategy(kernel)
    is_alone = row.lanes_per_ray == row.packet_rays == 1 and row.layout is not bvh4.LAYOUT
    counts = {"soup": RAYS} | ({} if is_alone else dict.fromkeys(OF_LANES, RAYS // 2))
    for case, count in counts.items():
        triangles, *of_rays = answers(case, count)
        rays, closest, occlusion = (each[:: WARP_STEP if row.lanes_per_ray == WARP_LANES else 1] for each in of_rays)
        with EmulatedTracer(triangles, kernel, order=order) as tracer:
            assert_same_bits(tracer.closest_hit(rays), closest, rays)
            assert_same_bits(tracer.any_hit(rays), occlusion, rays)


@functools.cache
def real(scene: Callable[[Path], Floats], folder: Path) -> tuple[Floats, Floats, Floats, Floats]:
    """Triangles of a scene, incoherent rays and bounces of them, and the CPU tracer's answers."""
    triangles = scene(folder)
    with CpuTracer(triangles) as cpu:
        first = incoherent_rays(triangles)[: RAYS // 2]
        rays = np.concatenate([first, bounces(first, cpu.closest_hit(first))])
        return triangles, rays, cpu.closest_hit(rays), cpu.any_hit(rays)


@functools.cache
def tree_of(scene: Callable[[Path], Floats], folder: Path, max_leaf: int, triangle_block: int) -> BinaryTree:
    """The tree of a scene for all kernels that want leaves alike."""
    return binned_sah.build(real(scene, folder)[0], max_leaf=max_leaf, triangle_block=triangle_block)


@pytest.mark.parametrize("scene", [bunny, kitchen])
@pytest.mark.parametrize("kernel", strategy_names())
def test_hits_in_a_real_scene(kernel: str, scene: Callable[[Path], Floats], shared_scenes: Path) -> None:
    triangles, rays, closest, occlusion = real(scene, shared_scenes)
    row = find_strategy(kernel)
    tree = tree_of(scene, shared_scenes, row.max_leaf, row.triangle_block)
    with EmulatedTracer(triangles, kernel, tree=tree) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays[::4]), occlusion[::4], rays[::4])


@pytest.mark.parametrize("scene", [bunny, kitchen])
def test_the_judge_of_real_scenes_is_right(scene: Callable[[Path], Floats], shared_scenes: Path) -> None:
    triangles, rays, closest, _ = real(scene, shared_scenes)
    chosen = np.random.default_rng(0).choice(len(rays), 40, replace=False)
    assert_same_bits(closest[chosen], BruteForceTracer(triangles).closest_hit(rays[chosen]), rays[chosen])


@pytest.mark.parametrize("kernel", strategy_names())
def test_no_ray_leaves_a_closed_sphere_far_away(kernel: str) -> None:
    """On a GPU it has 159,200 triangles and a million rays (`test_gpu_watertight.py`)."""
    rays = np.concatenate([far_rays(16, aim, 80) for aim in FAR_AIMS])
    with EmulatedTracer(far_sphere(16), kernel) as tracer:
        for hits in (tracer.closest_hit(rays), tracer.any_hit(rays)):
            assert (hits.view(np.uint32)[:, 3] != MISS).all()


@pytest.mark.parametrize("kernel", strategy_names())
def test_any_number_of_rays(kernel: str) -> None:
    triangles, rays, closest, _ = answers("few-triangles", 4097)
    with EmulatedTracer(triangles, kernel) as tracer:
        for count in (1, 31, 32, 33, 127, 128, 129, 4097):
            assert_same_bits(tracer.closest_hit(rays[:count]), closest[:count], rays)


@pytest.fixture
def brute_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelStrategy:
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))
    return register_example(tmp_path)


@pytest.mark.parametrize("case", ["soup", "invalid", "no-triangles", "duplicates"])
def test_the_kernel_of_the_readme_is_brute_force(brute_force: KernelStrategy, case: str) -> None:
    triangles, rays, closest, occlusion = answers(case, RAYS)
    with EmulatedTracer(triangles, brute_force) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


def test_the_kernel_of_the_readme_is_found_by_name(tmp_path: Path, brute_force: KernelStrategy) -> None:
    assert strategy_names()[-1] == "brute-force"
    monkey = pytest.MonkeyPatch()
    with monkey.context() as context:
        context.chdir(tmp_path)
        with tracecore.open_tracer(soup(5), device="emulator", kernel="brute-force") as tracer:
            assert (tracer.name, tracer.device) == ("brute-force", "emulator")
            assert tracer.closest_hit(answers("few-triangles", RAYS).rays[:40]).shape == (40, 4)


def test_the_readme_names_every_kernel() -> None:
    table = README.read_text(encoding="utf-8").split("## Kernels")[1].split("##")[0]
    first_cells = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    named = {name for name in re.findall(r"`([\w-]+)`", first_cells) if not name.endswith("-")}
    assert named == {name.removeprefix("persistent-").removeprefix("replacing-") for name in strategy_names()}


@pytest.mark.parametrize("name", strategy_names())
def test_every_row_is_whole(name: str) -> None:
    row = find_strategy(name)
    assert row.source.is_file()
    assert re.search(r"\d{4}", row.citation)
