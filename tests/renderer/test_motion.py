"""Motion blur: what passes see while the shutter is open."""

from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from small_scenes import flat_snapshot, lamp_in_box, quad

from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.drivers.path import PathDriver
from renderer.drivers.sppm import StochasticDriver
from renderer.errors import UsageError
from renderer.run.motion import UNSEEN, Motion, looks_same
from renderer.run.picture import pass_source
from renderer.run.picture.pass_source import PassSource
from renderer.run.plan import Plan
from renderer.run.render_call import plan_picture
from renderer.scene.render_context import TracerChoice, context_of
from renderer.settings.picture import Settings
from scenes.lights import PointLight
from scenes.model import Camera, Environment, Material, Snapshot, Texture

GLOW = Material(diffuse=(0.0, 0.0, 0.0), emission=(1.0, 1.0, 1.0))
FRONT = Camera(eye=(0.0, 0.0, 5.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=40.0, height=4.0)
CHOICE = TracerChoice(device="cpu", threads=1)


def moving_square(time, speed=4.0):
    """A unit square whose left edge is at x = speed time - 3, before an orthographic camera of 16 x 4 pixels."""
    x = speed * time - 3.0
    square = quad((x, -9, 0), (x + 1, -9, 0), (x + 1, 9, 0), (x, 9, 0))
    return replace(flat_snapshot(square, [GLOW], camera=FRONT), time=time)


@dataclass(frozen=True, kw_only=True)
class MovingPlan(Plan):
    """A plan of a scene that is what `place` returns of a time."""

    place: Any

    def snapshot(self, **view):
        return self.place(view["time"])


@contextmanager
def making_of(place, driver="path", *, start=0.0, samples=4, opened=None, kind=None, **settings):
    """What makes a picture in motion, of 16 x 4 pixels. opened: gets the times for which a tracer was opened."""
    asked = Settings(shutter=1.0, motion_samples=samples, passes=1, device="cpu", threads=1)
    kind, opened = kind or DRIVERS[driver], [] if opened is None else opened
    plan = MovingPlan(scene=place(start), settings=asked, driver=kind, place=place)
    chosen = RenderSettings(**({"width": 16, "height": 4, "threads": 1, "photons": 2000, "max_bounces": 2} | settings))

    def noted(snapshot, choice, *, load_seconds, tree):
        opened.append((snapshot.time, tree is not None))
        return context_of(snapshot, choice, load_seconds=load_seconds, tree=tree)

    with (
        pytest.MonkeyPatch.context() as patch,
        context_of(place(start), CHOICE, load_seconds=0.0) as first,
        closing(PassSource(first, plan, chosen)) as made,
    ):
        patch.setattr(pass_source, "context_of", noted)
        yield made


def images(place, indices, **chosen):
    """(n, height, width, 3) passes of a picture in motion, and what made it. chosen: as `making_of` takes it."""
    with making_of(place, **chosen) as made:
        return np.array([one.values for one in made.passes(iter(indices))]), made


@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_times_are_spread_evenly_over_the_shutter(seed):
    motion = Motion(shutter=0.5, samples=16, snapshot_at=moving_square, choice=CHOICE)
    for count in (1, 2, 4, 16, 64):
        times = np.sort([motion.time_of(block, 3.0, seed) for block in range(count)])
        assert np.all((times >= 3.0) & (times < 3.5))
        assert np.all(np.floor((times - times[0]) * count / 0.5 + 1e-9) == np.arange(count))


def test_a_moving_square_is_a_trapezoid():
    """Of the shutter's time, a unit square with a way of 4 before it covers a place for a quarter, less at the ends."""
    seen, _ = images(moving_square, range(16 + 32 + 64), samples=16)
    edges = np.linspace(-8.0, 8.0, 17)  # pixels are a unit wide
    xs = np.linspace(-8.0, 8.0, 16 * 1000 + 1)
    covered = np.clip(np.minimum(xs + 3.0, 1.0) / 4.0, 0.0, None) * (xs < 1.0)
    covered += np.clip((2.0 - xs) / 4.0, 0.0, 0.25) * (xs >= 1.0)
    expected = [covered[(xs >= left) & (xs < left + 1.0)].mean() for left in edges[:-1]]
    assert max(expected) == pytest.approx(0.25)
    np.testing.assert_allclose(seen[..., 0].mean(axis=(0, 1)), expected, atol=0.02)


def test_the_time_of_a_pass_depends_on_nothing_but_its_number():
    whole, _ = images(moving_square, range(12))
    shorter, _ = images(moving_square, range(5))
    alone, _ = images(moving_square, [9, 3])
    assert np.array_equal(shorter, whole[:5])
    assert np.array_equal(alone, whole[[9, 3]])
    assert len({image.tobytes() for image in whole[:4]}) == 4


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_stands_still_has_the_same_bits_as_without_a_shutter(driver):
    opened = []
    still = lamp_in_box()
    with making_of(lambda time: replace(still, time=time), driver, opened=opened) as made:
        seen, settings = [one.values for one in made.passes(iter(range(6)))], made.driver.settings
    with (
        context_of(still, CHOICE, load_seconds=0.0) as context,
        closing(DRIVERS[driver](still, context.tracer, settings)) as plain,
    ):
        assert np.array_equal(seen, [plain.render_pass(index) for index in range(6)])
        assert made.work.rays == plain.work.rays
        assert made.work.photons == plain.work.photons
    assert opened == []


def test_photons_are_those_of_the_time():
    """A lamp that is lit from the middle of the shutter's time on, by a box that reflects its light."""

    def place(time):
        lamp = PointLight(position=(0.5, 0.7, 0.4), intensity=(1.0, 2.0, 3.0))
        box = lamp_in_box()
        return replace(box, time=time, lights=(lamp,) if time >= 0.5 else ())

    seen, made = images(place, range(8), driver="photon", samples=8)
    motion = Motion(shutter=1.0, samples=8, snapshot_at=place, choice=CHOICE)
    lit = [motion.time_of(block, 0.0, 0) >= 0.5 for block in range(8)]
    assert sum(lit) == 4
    assert [bool(image.any()) for image in seen] == lit
    assert made.work.photons.emitted == 4 * 2000


def test_a_driver_sees_the_camera_of_its_time_and_keeps_a_tracer_that_fits():
    eyes, opened = [], []

    class Kind(PathDriver):
        def __init__(self, snapshot, tracer, settings):
            eyes.append(snapshot.camera.eye[0])
            super().__init__(snapshot, tracer, settings)

    def place(time):
        still = moving_square(0.0)
        return replace(still, time=time, camera=replace(FRONT, eye=(time, 0.0, 5.0)))

    images(place, range(6), samples=4, kind=Kind, opened=opened)
    motion = Motion(shutter=1.0, samples=4, snapshot_at=place, choice=CHOICE)
    assert eyes == [0.0, *(motion.time_of(block, 0.0, 0) for block in range(5))]
    assert opened == []


def turned(degrees):
    """The axes of an environment that has been turned about y."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([(c, 0.0, -s), (0.0, 1.0, 0.0), (s, 0.0, c)])


def test_a_sky_that_turns_is_seen_at_every_time():
    """Half of the sky is bright, and turns by a whole turn: straight ahead it is bright for half of the time."""
    halves = np.zeros((2, 64, 3), np.float32)
    halves[:, :32] = 1.0

    def place(time):
        sky = Environment(radiance=halves, axes=turned(360.0 * time))
        return replace(moving_square(9.0), time=time, environment=sky)

    seen, _ = images(place, range(8), samples=8)
    assert sorted(seen[..., 0].mean(axis=(1, 2)).round(3)) == [0.0] * 4 + [1.0] * 4


@pytest.mark.parametrize("field", [field.name for field in fields(Snapshot) if field.name not in UNSEEN])
def test_a_snapshot_that_differs_in_anything_to_be_seen_looks_different(field):
    still = replace(moving_square(0.0), textures=(Texture(name="", pixels=np.zeros((1, 1, 3), np.uint8)),))
    other = {
        "materials": (replace(GLOW, ior=2.0),),
        "textures": (replace(still.textures[0], wrap="clamp"),),
        "lights": (PointLight(position=(0.0, 0.0, 1.0), intensity=(1.0, 1.0, 1.0)),),
        "camera": replace(FRONT, near=1.0),
        "environment": Environment(radiance=np.ones((1, 1, 3), np.float32)),
        "name": "other",
        "background": (0.0, 0.0, 1.0),
        "light_groups": ("key",),
        "shown_lights": (0,),
        "environment_group": "sky",
    }
    value = other[field] if field in other else getattr(still, field) + 1
    assert looks_same(still, replace(still, time=9.0, cameras={"other": FRONT}, positions=still.positions.copy()))
    assert not looks_same(still, replace(still, **{field: value}))


def moving_lamp(time):
    """A box with a lamp that moves, so that what is seen differs from time to time, and the triangles do not."""
    box = lamp_in_box()
    lamp = PointLight(position=(0.3 + 0.4 * time, 0.7, 0.4), intensity=(1.0, 2.0, 3.0))
    return replace(box, time=time, lights=(lamp,))


def growing_box(time):
    """A box with a lamp whose triangles move."""
    box = lamp_in_box()
    return replace(box, time=time, positions=(box.positions * np.float32(1.0 + 0.1 * time)))


@pytest.mark.parametrize("place", [moving_lamp, growing_box])
def test_radii_of_pixels_go_on_from_time_to_time(place):
    """Each pass has the radii that the pass before it has left, at whatever time that was."""
    radii = []

    class Watched(StochasticDriver):
        def follow_camera_paths(self, index, photon_map, site):
            found, image = self._discs_before(index).radius2, super().follow_camera_paths(index, photon_map, site)
            radii.append((found, self.discs.radius2))
            return image

    seen, _ = images(place, range(8), samples=4, kind=Watched, radius=0.2)
    assert len(radii) == 8
    for (_, left), (found, _) in pairwise(radii):
        assert np.array_equal(left, found)
    assert radii[-1][1].max() < 0.5 * 0.2**2
    resumed = 5
    with making_of(place, "sppm", samples=4, radius=0.2) as whole:
        *_, last = whole.passes(iter(range(resumed)))
    with making_of(place, "sppm", samples=4, radius=0.2) as again:
        other = [made.values for made in again.passes(iter(range(resumed, 8)), last.carried)]
    assert np.array_equal(other, seen[resumed:])


def test_a_driver_that_does_not_tell_what_it_keeps_has_no_shutter(monkeypatch):
    class Secretive(DRIVERS["path"]):  # type: ignore[misc, name-defined, valid-type]
        name = "secretive"
        is_sequential = True

    monkeypatch.setitem(DRIVERS, "secretive", Secretive)
    with pytest.raises(UsageError, match=r"driver secretive does not tell what it keeps .*; leave out --shutter"):
        plan_picture("cornell", Settings(driver="secretive", shutter=1.0))
