"""Cut-outs: what a mask lets through, on every device and in every kernel, bit for bit; and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute_answers import cutout_answers
from judges import ONE_OF_EACH_SOURCE, assert_same_bits
from readme_kernel import register_example

import tracecore
from tracecore import Cutouts
from tracecore.bvh.refit import refit
from tracecore.checks.cutout_cases import CASES, random_cutouts
from tracecore.checks.ray_cases import Floats, soup
from tracecore.cutouts import LARGEST_SIDE, Wrap, tables_of
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.errors import CutoutError, KernelError
from tracecore.kernels import strategies
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy
from tracecore.rays import HIT, MISS, Query, as_records, make_rays
from tracecore.tracers.brute_force import BruteForceTracer
from tracecore.tracers.cpu import CpuTracer

RAYS = 1500

SQUARE = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], np.float32)


@pytest.fixture(params=["brute", "cpu", "emulator"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "emulator" and (reason := emulator_unavailable_reason()):
        pytest.skip(reason)
    return str(request.param)


def square_with(mask: Any, scale: float = 1.0, shift: float = 0.0, wrap: Wrap = "repeat") -> Cutouts:
    """Of the unit square: s = scale x + shift, t = scale y + shift."""
    return Cutouts(masks=[mask], mask_ids=[0, 0], uvs=SQUARE[:, :, :2] * scale + shift, wraps=[wrap])


def is_hit(device: Any, cutouts: Cutouts | None, points: Any, triangles: Floats = SQUARE) -> np.ndarray:
    """Whether rays straight down hit triangles at points (n, 2) of the plane; both queries must say the same."""
    rays = make_rays(np.column_stack([points, np.ones(len(points))]), [0.0, 0.0, -1.0])
    with tracecore.open_tracer(triangles, device=device, threads=1, cutouts=cutouts) as tracer:
        closest, occlusion = (
            as_records(hits, HIT)["prim_id"] for hits in (tracer.closest_hit(rays), tracer.any_hit(rays))
        )
    assert np.array_equal(closest == MISS, occlusion == MISS)
    return closest != MISS


def middles(columns: int, rows: int) -> np.ndarray:
    """(rows * columns, 2) the middles of the cells of the unit square, row by row."""
    x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows)
    return np.column_stack([x.ravel(), y.ravel()])


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 3), (9, 40), (64, 2)])
def test_a_ray_hits_where_the_mask_is_set(device: str, shape: tuple[int, int]) -> None:
    mask = np.random.default_rng(shape[0]).integers(0, 2, shape).astype(np.bool_)
    for chosen in (mask, ~mask):
        assert np.array_equal(is_hit(device, square_with(chosen), middles(shape[1], shape[0])), chosen.ravel())


def test_a_mask_repeats_or_goes_on_as_at_its_rim(device: str) -> None:
    mask = np.random.default_rng(1).integers(0, 2, (4, 4)).astype(np.uint8)
    points = middles(20, 20)
    texel = np.floor(points * 20).astype(int) - 8  # s and t go from -2 to 3
    repeated, clamped = texel % 4, np.clip(texel, 0, 3)
    expected = {"repeat": mask[repeated[:, 1], repeated[:, 0]], "clamp": mask[clamped[:, 1], clamped[:, 0]]}
    for wrap in ("repeat", "clamp"):
        cutouts = square_with(mask, 5.0, -2.0, wrap)
        assert np.array_equal(is_hit(device, cutouts, points), expected[wrap] != 0)


def test_a_ray_goes_on_to_what_lies_behind(device: str) -> None:
    """Ten squares, each with one more hole than the one above; only the last one is solid."""
    triangles = np.concatenate([SQUARE - np.array([0, 0, i], np.float32) for i in range(10)])
    made = [np.arange(10)[None, :] >= 10 - i for i in range(10)]
    ids = np.repeat([*range(9), -1], 2)
    cutouts = Cutouts(masks=made, mask_ids=ids, uvs=np.tile(SQUARE[:, :, :2], (10, 1, 1)))
    rays = make_rays(np.column_stack([middles(10, 1), np.ones(10)]), [0.0, 0.0, -1.0])
    with tracecore.open_tracer(triangles, device=device, cutouts=cutouts) as tracer:
        assert tracer.closest_hit(rays)[:, 0].tolist() == [10.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]


@pytest.mark.parametrize(("coordinate", "column"), [(1e30, 0), (-1e30, 0), (3e38, 0), (-1e-30, 3), (0.75, 3), (0.5, 2)])
def test_huge_coordinates_and_those_at_edges_of_texels(device: str, coordinate: float, column: int) -> None:
    """All whole numbers are the first texel, just below 0 is the last; an edge belongs to the texel behind it."""
    mask = (np.arange(4) == column)[None, :]
    cutouts = Cutouts(masks=[mask], mask_ids=[0, 0], uvs=np.full((2, 3, 2), coordinate))
    assert is_hit(device, cutouts, [[0.75, 0.25], [0.25, 0.75]]).all()


@pytest.mark.parametrize("case", CASES)
def test_many_rays_pass_and_many_do_not(case: str) -> None:
    tables, (triangles, rays, closest, _) = cutout_answers(case, RAYS)
    with CpuTracer(triangles) as solid:
        changed = (solid.closest_hit(rays).view(np.uint32) != closest.view(np.uint32)).any(axis=1)
    through_holes = tables.cutout_of[as_records(closest, HIT)["prim_id"][closest[:, 0] < np.inf]] >= 0
    assert 0.05 < changed.mean() < 0.8
    assert 0.1 < through_holes.mean() < 0.9


@pytest.mark.parametrize("case", CASES)
def test_the_cpu_hits_the_same(case: str) -> None:
    tables, (triangles, rays, closest, occlusion) = cutout_answers(case, RAYS)
    with CpuTracer(triangles, cutouts=tables) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays), occlusion, rays)


def check_kernel(kernel: Any, case: str) -> None:
    if reason := emulator_unavailable_reason():
        pytest.skip(reason)
    tables, (triangles, rays, closest, occlusion) = cutout_answers(case, RAYS)
    with EmulatedTracer(triangles, kernel, cutouts=tables) as tracer:
        assert_same_bits(tracer.closest_hit(rays), closest, rays)
        assert_same_bits(tracer.any_hit(rays[::2]), occlusion[::2], rays[::2])


@pytest.mark.parametrize("kernel", ONE_OF_EACH_SOURCE)
def test_kernels_of_every_source_hit_the_same(kernel: str) -> None:
    for case in CASES:
        check_kernel(kernel, case)


def test_the_kernel_of_the_readme_hits_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))
    check_kernel(register_example(tmp_path), "soup")


def test_a_queue_hits_the_same() -> None:
    tables, (triangles, rays, closest, occlusion) = cutout_answers("layers", RAYS)
    with CpuTracer(triangles, cutouts=tables) as tracer:
        queue = tracer.open_queue()
        for query, expected in ((Query.CLOSEST, closest), (Query.ANY, occlusion)):
            queue.submit(rays, query)
            (batch,) = queue.drain()
            assert_same_bits(batch.hits, expected, rays)
        queue.close()


@pytest.mark.parametrize("device", ["cpu", "emulator"])
def test_triangles_that_move_keep_their_holes(device: Any) -> None:
    if device == "emulator" and (reason := emulator_unavailable_reason()):
        pytest.skip(reason)
    _, (triangles, rays, _, _) = cutout_answers("soup", RAYS)
    moved = triangles + np.random.default_rng(3).normal(0, 0.3, (len(triangles), 1, 3)).astype(np.float32)
    cutouts = random_cutouts(triangles)
    with tracecore.open_tracer(triangles, device=device, cutouts=cutouts) as before:
        assert before.tree is not None
        tree = refit(before.tree, moved)
    with BruteForceTracer(moved, cutouts=tables_of(cutouts, len(moved))) as judge:
        expected = judge.closest_hit(rays)
    with tracecore.open_tracer(moved, device=device, cutouts=cutouts, tree=tree) as tracer:
        assert_same_bits(tracer.closest_hit(rays), expected, rays)


def test_solid_triangles_are_compiled_without_cutouts() -> None:
    constants = find_strategy(None).constants
    assert (constants()["CUTOUTS"], constants(has_cutouts=True)["CUTOUTS"]) == ("0", "1")


def cutouts_but(**changes: Any) -> Cutouts:
    return replace(square_with(np.ones((2, 2), np.bool_)), **changes)


@pytest.mark.parametrize(
    ("cutouts", "message"),
    [
        (cutouts_but(masks=[np.ones(4, np.bool_)]), r"mask 0 must be \(height, width\) bool or uint8, got \(4,\) bool"),
        (cutouts_but(masks=[np.ones((2, 2))]), r"mask 0 must be .* got \(2, 2\) float64"),
        (cutouts_but(masks=[np.ones((0, 2), np.bool_)]), r"mask 0 must have 1 to 16384 texels a side, got \(0, 2\)"),
        (
            cutouts_but(masks=[np.zeros((1, LARGEST_SIDE + 1), np.bool_)]),
            r"mask 0 must have 1 to 16384 texels a side, got \(1, 16385\)",
        ),
        (
            cutouts_but(masks=[np.broadcast_to(np.uint8(1), (LARGEST_SIDE, LARGEST_SIDE))] * 9),
            "at most 2147483648 texels of masks can be traced, got 2415919104; make the masks smaller",
        ),
        (cutouts_but(mask_ids=[0]), r"mask_ids must be \(2,\) integers, one a triangle, got \(1,\) int64"),
        (cutouts_but(mask_ids=[0.0, 0.0]), r"mask_ids must be \(2,\) integers, .* float64"),
        (cutouts_but(mask_ids=[0, 1]), "triangle 1 has mask 1, but there are 1; -1 means solid"),
        (cutouts_but(mask_ids=[-2, 0]), "triangle 0 has mask -2, but there are 1"),
        (cutouts_but(uvs=np.zeros((2, 3))), r"uvs must be \(2, 3, 2\) numbers, got \(2, 3\) float64"),
        (cutouts_but(uvs=np.full((2, 3, 2), "a")), r"uvs must be \(2, 3, 2\) numbers"),
        (cutouts_but(uvs=np.full((2, 3, 2), np.nan)), "triangle 0 has a mask and uvs that are not finite"),
        (cutouts_but(uvs=np.full((2, 3, 2), 1e39)), "triangle 0 has a mask and uvs that are not finite"),
        (cutouts_but(wraps=["repeat", "clamp"]), "wraps must be repeat or clamp for each of 1 masks"),
        (cutouts_but(wraps=["mirror"]), r"wraps must be repeat or clamp for each of 1 masks, got \('mirror',\)"),
    ],
)
def test_what_does_not_fit_is_refused(cutouts: Cutouts, message: str) -> None:
    with pytest.raises(CutoutError, match=message) as caught:
        tracecore.open_tracer(SQUARE, device="cpu", cutouts=cutouts)
    assert "\n" not in str(caught.value)


@pytest.fixture
def ignorant() -> KernelStrategy:
    """A kernel whose `struct Scene` has no cut-outs."""
    row = find_strategy("while-while")
    scene = np.dtype([("nodes", "<u8"), ("triangles", "<u8"), ("extent", "<f4")], align=True)
    return replace(row, name="ignorant", layout=replace(row.layout, scene=scene))


def test_a_kernel_without_cutouts_says_so(ignorant: KernelStrategy) -> None:
    tables = tables_of(square_with(np.ones((2, 2), np.bool_)), 2)
    with pytest.raises(KernelError, match="kernel 'ignorant' traces no cut-outs: its struct Scene has no cutout_of"):
        EmulatedTracer(SQUARE, ignorant, cutouts=tables)
    assert ignorant.pack(ignorant.build(soup(5)), soup(5)).nodes > 0
