"""Surfaces with holes: light passes through them, for the eye, for shadow rays and for photons."""

import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from small_scenes import flat_snapshot, quad

from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.errors import UsageError
from renderer.run.plan import Plan
from renderer.run.resuming.frame_key import frame_key
from renderer.scene.render_context import TracerChoice, context_of, cutouts_of
from renderer.settings.picture import Settings
from scenes.lights import PointLight
from scenes.model import Camera, Material, Texture

WIDTH, HEIGHT = 32, 8
FLOOR = quad((-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0))
GRID = quad((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
LAMP = PointLight(position=(0.5, 0.5, 2.0), intensity=(3.0, 3.0, 3.0))
UNDER_THE_GRID = Camera(eye=(0.5, 0.5, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=12.0)
GREY = Material(diffuse=(0.5, 0.5, 0.5))
BLACK = Material(diffuse=(0.0, 0.0, 0.0), cutout=0)


def picture_of(mask):
    """A texture that is there where a mask (height, width) is."""
    alpha = np.where(mask, 255, 0).astype(np.uint8)
    return Texture(name="mask", pixels=np.zeros((*alpha.shape, 3), np.uint8), alpha=alpha)


def grid_over_floor(mask, material=BLACK, camera=UNDER_THE_GRID):
    """A lamp over a unit square with holes over a floor."""
    shown = flat_snapshot(
        np.concatenate([FLOOR, GRID]), [GREY, material], material_ids=[0, 0, 1, 1], lights=[LAMP], camera=camera
    )
    uvs = np.concatenate([np.zeros((2, 3, 2), np.float32), GRID[:, :, :2]])
    return replace(shown, uvs=uvs, textures=(picture_of(mask),))


@contextmanager
def opened(snapshot, driver, **settings):
    chosen = RenderSettings(
        **({"width": WIDTH, "height": HEIGHT, "photons": 1, "radius": 1e-6, "threads": 2} | settings)
    )
    with context_of(snapshot, TracerChoice(device="cpu", threads=2), load_seconds=0.0) as context:
        made = DRIVERS[driver](context.snapshot, context.tracer, chosen)
        try:
            yield made
        finally:
            made.close()


def rendered(snapshot, driver, **settings):
    """(height, width) radiance of one pass."""
    with opened(snapshot, driver, **settings) as made:
        return made.render_pass(0)[:, :, 0]


def columns_on_floor():
    """(WIDTH,) x of the floor at the left and at the right end of each column of pixels."""
    half = 0.9 * math.tan(math.radians(UNDER_THE_GRID.vertical_fov / 2)) * WIDTH / HEIGHT
    ends = 0.5 + half * np.linspace(-1, 1, WIDTH + 1)
    return ends[:-1], ends[1:]


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_bars_throw_shadows_twice_their_size(driver):
    bars = np.array([[True, False] * 8])
    left, right = columns_on_floor()
    bar_of = [np.floor(8.0 * (0.5 + x)).astype(int) for x in (left, right)]  # the lamp is at twice the bars' height
    is_whole = bar_of[0] == bar_of[1]
    is_dark = bars[0, bar_of[0]]
    made = rendered(grid_over_floor(bars), driver)
    assert (is_whole & is_dark).sum() >= 5
    assert (made[:, is_whole & is_dark] == 0.0).all()
    straight_below = 0.5 / math.pi * 3.0 / 4.0
    lit = made[:, is_whole & ~is_dark]
    assert lit.size >= 5 * HEIGHT
    assert (lit <= straight_below * 1.0001).all()
    assert (lit >= straight_below * 0.8).all()


@pytest.mark.parametrize("driver", ["path", "photon", "ao"])
def test_what_is_all_holes_is_not_there(driver):
    """The same bits as when its material gives it no holes, but it lies aside."""
    shown = grid_over_floor(np.zeros((1, 1), np.bool_))
    positions = np.concatenate([FLOOR, GRID + np.array([40, 0, 0], np.float32)])
    aside = replace(shown, positions=positions, materials=(GREY, GREY))
    assert np.array_equal(rendered(shown, driver), rendered(aside, driver))


def test_photons_fall_through_holes():
    """Of a square of which one half is there the shadow has no photons, and the light as many as without it."""
    above = replace(UNDER_THE_GRID, eye=(0.5, 0.5, 0.95), vertical_fov=20.0)
    settings = {"photons": 200_000, "radius": 0.05}
    half = rendered(grid_over_floor(np.array([[True, False]]), camera=above), "photons-only", **settings)
    none = rendered(grid_over_floor(np.array([[False]]), camera=above), "photons-only", **settings)
    assert (half[:, :12] == 0.0).all()
    assert half[:, 20:].mean() == pytest.approx(none[:, 20:].mean(), rel=0.15)


def test_what_shines_has_no_holes():
    bars = np.array([[True, False] * 8])
    shining = replace(BLACK, emission=(1.0, 1.0, 1.0))
    up = replace(UNDER_THE_GRID, forward=(0.0, 0.0, 1.0))
    shown = grid_over_floor(bars, shining, camera=up)
    assert cutouts_of(shown) is None
    below = replace(shown, positions=np.concatenate([FLOOR, GRID[:, ::-1]]), normals=-shown.normals)
    assert (rendered(below, "path") == 1.0).all()


def test_masks_and_triangles_go_together():
    shown = grid_over_floor(np.eye(2, dtype=np.bool_))
    materials = (replace(GREY, cutout=2), GREY, replace(GREY, cutout=0), replace(BLACK, cutout=2))
    textures = (picture_of([[True]]), picture_of([[True, True]]), picture_of([[False, True]]))
    ids, uvs = np.int32([2, 1, 0, 3]), shown.uvs + np.float32(0.5)  # type: ignore[arg-type]
    made = cutouts_of(replace(shown, materials=materials, textures=textures, material_ids=ids, uvs=uvs))
    assert [mask.tolist() for mask in made.masks] == [[[True]], [[False, True]]]  # type: ignore[union-attr]
    assert made.mask_ids.tolist() == [0, -1, 1, 1]  # type: ignore[union-attr]
    assert made.uvs is uvs  # type: ignore[union-attr]


def test_a_mask_that_is_too_large_is_bad_input():
    shown = grid_over_floor(np.ones((1, 1 << 15), np.bool_))
    with (
        pytest.raises(UsageError, match="mask 0 must have 1 to 16384 texels a side"),
        context_of(shown, TracerChoice(device="cpu"), load_seconds=0.0),
    ):
        pass


def test_a_frame_with_other_holes_is_another():
    picture = Plan(scene=grid_over_floor(np.array([[True]])), settings=Settings(size=(2, 2)), driver=DRIVERS["path"])
    masks = ([[True, False]], [[False, True]], [[True, False]])
    first, second, third = (frame_key(picture, grid_over_floor(np.array(mask)), 1) for mask in masks)
    assert first == third != second
