"""Shaders of the user's own that look at every hit, in all drivers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from small_scenes import furnace, lamp_in_box

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from shaders.bsdf import Bsdf
from shaders.custom import Point, shader_address
from shaders.errors import ShaderError
from shaders.registry import Shader, get_shader, register_shader


def unchanged(point, lobes):
    return lobes


def checkered(point, lobes):
    """White and black by turns, along x."""
    white = math.floor(point.position[0] * 8.0) % 2 == 0
    keep = 1.0 if white else 0.0
    diffuse = (lobes.diffuse[0] * keep, lobes.diffuse[1] * keep, lobes.diffuse[2] * keep)
    return Bsdf(diffuse, *lobes[1:])


def mirror_below(point, lobes):
    """A mirror on what faces up, a change of lobe that the parameters know nothing of."""
    none = (0.0, 0.0, 0.0)
    if point.normal[2] < 0.9:
        return lobes
    return Bsdf(none, none, lobes.diffuse, none, *lobes[4:])


def failing(point, lobes):
    if point.position[0] > 0.5:
        raise ValueError("bad shader")
    return lobes


@pytest.fixture
def shaded_by():
    """Makes a snapshot's materials use a function."""

    def use(snapshot, function, name="own"):
        def own(material):
            base = get_shader(material.kind)
            register_shader(Shader(name=name, summary="own", mixture=base.mixture, at_point=function))
            return replace(material, kind=name)

        return replace(snapshot, materials=tuple(map(own, snapshot.materials)))

    return use


def passes(snapshot, driver, count=1, **settings):
    """(count, height, width, 3) radiance, and the work done."""
    chosen = RenderSettings(**({"width": 12, "height": 8, "photons": 4000, "threads": 2, "radius": 0.1} | settings))
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=2) as tracer:
        made = DRIVERS[driver](snapshot, tracer, chosen)
        try:
            return np.array([made.render_pass(i) for i in range(count)]), made.work
        finally:
            made.close()


def test_a_shader_that_changes_nothing_changes_paths_by_rounding_alone(shaded_by):
    """Vertices are shaded one by one then, in float64."""
    expected, _ = passes(lamp_in_box(), "path")
    seen, _ = passes(shaded_by(lamp_in_box(), unchanged), "path")
    np.testing.assert_allclose(seen, expected, rtol=1e-4)


def test_a_shader_that_changes_nothing_changes_no_mean_of_photons(shaded_by):
    """Photons are scattered one by one then, by other sums of the same numbers."""
    expected, _ = passes(lamp_in_box(), "photon", 24)
    seen, _ = passes(shaded_by(lamp_in_box(), unchanged), "photon", 24)
    expected, seen = expected.mean(axis=(1, 2)), seen.mean(axis=(1, 2))
    error = np.sqrt((expected.var(axis=0, ddof=1) + seen.var(axis=0, ddof=1)) / 24)
    assert np.all(np.abs(expected.mean(axis=0) - seen.mean(axis=0)) < 4.0 * error)


def test_path_and_photons_agree_on_a_checkered_box(shaded_by):
    snapshot = shaded_by(furnace(), checkered, "checkered both")
    path = passes(snapshot, "path", 48, max_bounces=40)[0].mean(axis=(1, 2, 3))
    photon = passes(snapshot, "photon", 48, photons=20_000, max_bounces=40)[0].mean(axis=(1, 2, 3))
    error = math.sqrt((path.var(ddof=1) + photon.var(ddof=1)) / 48)
    assert abs(path.mean() - photon.mean()) < 4.0 * error + 0.006 * path.mean()
    assert abs(path.mean() - 1.0) > 10.0 * error  # it is not what the parameters alone mean


def test_a_lobe_of_its_own_scatters_photons(shaded_by):
    """Light between a mirror floor and a matt room: as many photons reach the room as if the material were one."""
    snapshot = shaded_by(lamp_in_box(), mirror_below, "mirror below")
    _, plain = passes(lamp_in_box(), "photons-only", photons=40_000)
    _, own = passes(snapshot, "photons-only", photons=40_000)
    assert own.photons.emitted == own.photons.absorbed + own.photons.escaped + own.photons.terminated == 40_000
    assert own.rays.photon == pytest.approx(plain.rays.photon, rel=0.02)  # the same albedo, so the same survival


@pytest.mark.timeout(60, method="thread")
@pytest.mark.parametrize("driver", ["path", "photon"])
def test_an_exception_in_a_shader_ends_the_run_and_is_raised(driver, shaded_by):
    with pytest.raises(ValueError, match="bad shader"):
        passes(shaded_by(lamp_in_box(), failing, f"failing {driver}"), driver, photons=10**9, width=2000, height=2000)


def test_shaders_that_make_no_sense_are_refused():
    def returns_a_number(point, lobes):
        return 1.0

    def unknown(point, lobes):
        return lobes.glitter

    with pytest.raises(ShaderError, match="shader 'number' must return a Bsdf of floats, got float64"):
        shader_address("number", returns_a_number)
    with pytest.raises(ShaderError, match=r"shader 'unknown' does not compile.*glitter"):
        shader_address("unknown", unknown)


def test_points_have_names():
    assert Point._fields == ("position", "normal", "uv")
