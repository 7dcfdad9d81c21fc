"""Rays that skip triangles, and all that rays hit, against every ray with every triangle."""

import re
import threading
from typing import Any

import numpy as np
import pytest

import tracecore
from tracecore.errors import CutoutError, DeviceError, KernelError, RayError, TriangleError
from tracecore.masked_tracer import ALL_MASKS
from tracecore.rays import MISS, Floats, Hits, make_rays

COUNT = 400
DEVICES = (
    pytest.param({"device": "cpu", "threads": 2}, id="cpu"),
    pytest.param({"device": "brute"}, id="brute"),
    pytest.param({"device": "emulator", "kernel": "while-while"}, id="emulator"),
    pytest.param({"device": "gpu"}, id="gpu", marks=pytest.mark.gpu),
)


def some_triangles() -> Floats:
    """Many in the way of any ray, and each twice, so that there are two at one distance."""
    numbers = np.random.default_rng(5)
    middle = numbers.uniform(-1.0, 1.0, (COUNT // 2, 1, 3))
    return np.repeat(middle + numbers.normal(0.0, 0.3, (COUNT // 2, 3, 3)), 2, axis=0).astype(np.float32)


def some_rays(count: int = 200) -> Floats:
    numbers = np.random.default_rng(6)
    return make_rays(numbers.normal(0.0, 0.5, (count, 3)), numbers.normal(0.0, 1.0, (count, 3)), t_max=2.0)


TRIANGLES, RAYS = some_triangles(), some_rays()
MASKS = np.random.default_rng(7).integers(0, 8, COUNT)
RAY_MASKS = np.random.default_rng(8).integers(0, 16, len(RAYS))


@pytest.fixture(params=DEVICES)
def chosen(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How a tracer is opened."""
    if request.param["device"] == "gpu":
        request.getfixturevalue("gpu")
    return request.param


def hits_alone(chosen: np.ndarray, rays: Floats) -> Hits:
    """The nearest hits of rays among chosen triangles."""
    with tracecore.open_tracer(TRIANGLES[chosen], device="brute") as tracer:
        hits = tracer.closest_hit(rays)
    hits.prim_id[hits.hit] = np.flatnonzero(chosen)[hits.prim_id[hits.hit]]
    return hits


def test_rays_meet_what_has_a_bit_of_their_masks(chosen: dict[str, Any]) -> None:
    expected = np.concatenate([hits_alone((MASKS & mask) != 0, RAYS[i : i + 1]) for i, mask in enumerate(RAY_MASKS)])
    with tracecore.open_masked(TRIANGLES, MASKS, **chosen) as masked:
        found, anything = masked.closest_hit(RAYS, RAY_MASKS), masked.any_hit(RAYS, RAY_MASKS)
        everything = masked.closest_hit(RAYS)
    assert found.tobytes() == expected.tobytes()
    assert np.array_equal(anything.hit, found.hit)
    assert found.hit.sum() > 50
    assert (~found.hit).sum() > 50
    assert (~found.hit[RAY_MASKS & 7 == 0]).all()
    assert everything.tobytes() == hits_alone(MASKS != 0, RAYS).tobytes()
    assert (found.prim_id != everything.prim_id).sum() > 30


def test_all_hits_are_those_of_each_triangle_alone(chosen: dict[str, Any]) -> None:
    every = [hits_alone(np.arange(COUNT) == k, RAYS) for k in range(0, COUNT, 2)]  # the first of each two
    t = np.array([hits.t for hits in every])
    with tracecore.open_tracer(TRIANGLES, **chosen) as tracer:
        ray, hits = tracecore.all_hits(tracer, RAYS)
        few_rays, few = tracecore.all_hits(tracer, RAYS, most=3)
    assert np.array_equal(np.bincount(ray, minlength=len(RAYS)), np.isfinite(t).sum(axis=0))
    for k in np.unique(ray):
        order = np.argsort(t[:, k], kind="stable")[: (ray == k).sum()]
        assert np.array_equal(hits[ray == k].prim_id, 2 * order)
        assert hits[ray == k].tobytes() == np.concatenate([every[j][k : k + 1] for j in order]).tobytes()
        assert few[few_rays == k].tobytes() == hits[ray == k][:3].tobytes()
    assert np.bincount(ray).max() > 5
    assert np.array_equal(ray, np.sort(ray))


def test_all_hits_of_masked_triangles() -> None:
    with tracecore.open_masked(TRIANGLES, MASKS, device="cpu", threads=1) as masked:
        ray, hits = tracecore.all_hits(masked, RAYS)
    assert len(ray) == len(hits) > 200
    assert (MASKS[hits.prim_id] != 0).all()


def test_rays_without_triangles_and_no_rays() -> None:
    with tracecore.open_masked(TRIANGLES[:0], [], device="cpu") as none:
        assert not none.closest_hit(RAYS).hit.any()
    with tracecore.open_masked(TRIANGLES, 0, device="cpu") as nowhere:
        assert (nowhere.closest_hit(RAYS, ALL_MASKS).prim_id == MISS).all()
        assert nowhere.any_hit(RAYS[:0], []).shape == (0, 4)
        ray, hits = tracecore.all_hits(nowhere, RAYS[:0])
        assert (ray.shape, hits.shape) == ((0,), (0, 4))


def test_masks_and_cutouts_go_together() -> None:
    square = np.array([[[0, 0, z], [1, 0, z], [0, 1, z]] for z in (0.0, -1.0, -2.0)], np.float32)
    bars = np.array([[True, False] * 4])
    cutouts = tracecore.Cutouts(masks=[bars], mask_ids=[-1, 0, 0], uvs=square[:, :, :2])
    rays = make_rays([[0.05, 0.5, 1], [0.2, 0.5, 1]], [0, 0, -1])
    with tracecore.open_masked(square, [1, 2, 6], cutouts=cutouts, device="cpu") as masked:
        for mask, first in ((1, [0, 0]), (2, [1, MISS]), (4, [2, MISS]), (3, [0, 0])):
            assert masked.closest_hit(rays, mask).prim_id.tolist() == first


def test_threads_may_ask_at_once() -> None:
    with tracecore.open_masked(TRIANGLES, MASKS, device="cpu", threads=1) as masked:
        found: dict[int, bytes] = {}
        threads = [
            threading.Thread(target=lambda k=k: found.update({k: masked.closest_hit(RAYS, RAY_MASKS).tobytes()}))
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(found.values()) == {masked.closest_hit(RAYS, RAY_MASKS).tobytes()}
        assert len(found) == 4


@pytest.mark.parametrize(
    ("masks", "why"),
    [
        ([1, 2], "expected integers, one or 400, got (2,) int64"),
        (1.5, "expected integers, one or 400, got () float64"),
        (-1, "expected 32 bits, 0 to 4294967295, got -1 to -1"),
        (1 << 32, "expected 32 bits, 0 to 4294967295, got 4294967296 to 4294967296"),
    ],
)
def test_masks_that_are_none_are_refused(masks: Any, why: str) -> None:
    with pytest.raises(TriangleError, match=re.escape(f"masks of triangles: {why}")):
        tracecore.open_masked(TRIANGLES, masks, device="cpu")
    of_rays = why.replace("one or 400", "one or 200")
    with (
        tracecore.open_masked(TRIANGLES, MASKS, device="cpu") as masked,
        pytest.raises(RayError, match=re.escape(f"masks of rays: {of_rays}")),
    ):
        masked.closest_hit(RAYS, masks)


def test_what_cannot_be_had_is_told_at_once() -> None:
    with pytest.raises(DeviceError, match="unknown device 'tpu'"):
        tracecore.open_masked(TRIANGLES, MASKS, device="tpu")
    with pytest.raises(KernelError, match="unknown kernel 'no'"):
        tracecore.open_masked(TRIANGLES, MASKS, device="cpu", kernel="no")
    with pytest.raises(CutoutError):
        tracecore.open_masked(TRIANGLES, MASKS, cutouts=tracecore.Cutouts(masks=[], mask_ids=[0], uvs=[]), device="cpu")
    with (
        tracecore.open_tracer(TRIANGLES, device="cpu") as tracer,
        pytest.raises(RayError, match="at least one hit of a ray must be asked for, got 0"),
    ):
        tracecore.all_hits(tracer, RAYS, most=0)


def test_tracers_are_closed_and_opened_again() -> None:
    masked = tracecore.open_masked(TRIANGLES, MASKS, device="cpu")
    before = masked.closest_hit(RAYS, 2).tobytes()
    masked.close()
    assert masked.closest_hit(RAYS, 2).tobytes() == before
    masked.close()
