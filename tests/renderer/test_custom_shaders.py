"""Shaders of the user's own that look at every hit, in all drivers."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from small_scenes import flat_snapshot, lamp_in_box, quad

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.simd.bsdf_kinds import BsdfKind, kind_of
from scenes.lights import PointLight
from scenes.model import Camera, Material
from shaders import registry
from shaders.bsdfs import nff
from shaders.bsdfs.nff import Nff
from shaders.bsdfs.plastic import Plastic
from shaders.compilation import compiled
from shaders.custom import shader_address
from shaders.errors import ShaderError
from shaders.registry import get_shader, register_shader
from shaders.vector import dot, scale


def unchanged(point, surface):
    return surface


def mirror_below(point, surface):
    """A mirror on what faces up, a change of lobe that the parameters know nothing of."""
    none = (0.0, 0.0, 0.0)
    if point.normal[2] < 0.9:
        return surface
    return Nff(none, none, surface.diffuse, none, surface.exponent, surface.ior)


def failing(point, surface):
    if point.position[0] > 0.5:
        raise ValueError("bad shader")
    return surface


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    """Registrations are forgotten after the test."""
    monkeypatch.setattr(registry, "_shaders", dict(registry._shaders))


@pytest.fixture
def shaded_by():
    """Makes a snapshot's materials use a function, which takes the numbers of their kind or of another one."""

    def use(snapshot, function, name="own", kind=None):
        def own(material):
            register_shader(replace(get_shader(kind or material.kind), name=name, at_point=function))
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


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_shader_that_changes_nothing_changes_no_bit(driver, shaded_by):
    expected, _ = passes(lamp_in_box(), driver)
    seen, _ = passes(shaded_by(lamp_in_box(), unchanged), driver)
    assert expected.any()
    np.testing.assert_array_equal(seen, expected)


def test_another_kind_of_the_same_numbers_changes_no_mean_of_photons(shaded_by):
    """A function keeps surfaces of kind nff from being looped as diffuse ones, which draw other directions."""
    expected, _ = passes(lamp_in_box(), "photon", 24)
    seen, _ = passes(shaded_by(lamp_in_box(), unchanged, "all lobes", "nff"), "photon", 24)
    expected, seen = expected.mean(axis=(1, 2)), seen.mean(axis=(1, 2))
    error = np.sqrt((expected.var(axis=0, ddof=1) + seen.var(axis=0, ddof=1)) / 24)
    assert np.all(np.abs(expected.mean(axis=0) - seen.mean(axis=0)) < 4.0 * error)


def test_a_lobe_of_its_own_scatters_photons(shaded_by):
    """Light between a mirror floor and a matt room: as many photons reach the room as if the material were one."""
    snapshot = shaded_by(lamp_in_box(), mirror_below, "mirror below", "nff")
    _, plain = passes(lamp_in_box(), "photons-only", photons=40_000)
    _, own = passes(snapshot, "photons-only", photons=40_000)
    assert own.photons.emitted == own.photons.absorbed + own.photons.escaped + own.photons.terminated == 40_000
    assert own.rays.photon == pytest.approx(plain.rays.photon, rel=0.02)  # the same albedo, so the same survival


@njit
def halved(point, surface):
    """Half of the base, by functions of shading."""
    half = dot(point.normal, scale(point.normal, 0.5))
    return Nff(scale(surface.diffuse, half), *surface[1:])


def quartered(point, surface):
    return halved(point, halved(point, surface))


def half_coated(point, surface):
    d = surface.diffuse
    return Plastic((0.5 * d[0], 0.5 * d[1], 0.5 * d[2]), *surface[1:])


def by_coordinates(point, surface):
    return Nff((point.uv[0] / 8.0, 0.5, point.uv[1] / 8.0), *surface[1:])


def by_position(point, surface):
    x, y, _ = point.position
    return Nff(((2.0 * x + 3.0) / 8.0, 0.5, (4.0 - 3.0 * y) / 8.0), *surface[1:])


def matt(point, surface):
    """Turns mirrors into what scatters light."""
    return Nff(surface.mirror, surface.phong, (0.0, 0.0, 0.0), surface.transmission, surface.exponent, surface.ior)


def panes(materials):
    """Four panes under a lamp, of the materials by turns; texture coordinates are (2x + 3, 4 - 3y)."""
    quads = [quad((x, 0, 0), (x + 0.5, 0, 0), (x + 0.5, 1, 0), (x, 1, 0)) for x in (0.0, 0.5, 1.0, 1.5)]
    positions = np.concatenate(quads)
    ids = np.arange(8) // 2 % len(materials)
    lamp = PointLight(position=(1.0, 0.5, 1.0), intensity=(1.0, 2.0, 3.0))
    camera = Camera(eye=(1.0, 0.5, 2.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=25.0)
    found = flat_snapshot(positions, materials, material_ids=ids, lights=[lamp], camera=camera)
    return replace(found, uvs=(positions[:, :, :2] * (2.0, -3.0) + (3.0, 4.0)).astype(np.float32))


def test_texture_coordinates_are_those_of_the_point(shaded_by):
    scene = panes([Material(diffuse=(0.5, 0.5, 0.5))])
    by_uv, _ = passes(shaded_by(scene, by_coordinates, "by uv", "nff"), "path")
    by_place, _ = passes(shaded_by(scene, by_position, "by position", "nff"), "path")
    assert (by_uv > 0.0).all()
    np.testing.assert_allclose(by_uv, by_place, rtol=1e-4)


def test_each_material_of_a_scene_has_its_own_function_and_bsdf():
    """Of four materials one has no function, and two share a BSDF; without a function it is simpler."""
    rows = [("nff", halved, 0.5), ("plastic", half_coated, 0.5), ("nff", quartered, 0.25), ("diffuse", None, 1.0)]
    for kind, function, _ in rows[:3]:
        register_shader(replace(get_shader(kind), name=function.__name__, at_point=function))  # type: ignore[arg-type, attr-defined]
    own = [Material(kind=getattr(function, "__name__", kind), diffuse=(0.8, 0.6, 0.4)) for kind, function, _ in rows]
    plain = [Material(kind=kind, diffuse=(0.8 * share, 0.6 * share, 0.4 * share)) for kind, _, share in rows]
    seen, _ = passes(panes(own), "path")
    expected, _ = passes(panes(plain), "path")
    assert (expected > 0.0).all()
    np.testing.assert_allclose(seen, expected, rtol=1e-4)


def test_photons_are_stored_where_a_function_turns_a_mirror_into_what_scatters(shaded_by):
    def mirror_room(material):
        return replace(material, kind="mirror", diffuse=(0.0, 0.0, 0.0), specular=material.diffuse)

    box = lamp_in_box()
    plain, _ = passes(box, "photons-only", 8, photons=20_000)
    mirrors = replace(box, materials=tuple(map(mirror_room, box.materials)))
    own, _ = passes(shaded_by(mirrors, matt, "matt"), "photons-only", 8, photons=20_000)
    assert own.mean() == pytest.approx(plain.mean(), rel=0.05)


@pytest.mark.timeout(60, method="thread")
@pytest.mark.parametrize("driver", ["path", "photon"])
def test_an_exception_in_a_shader_ends_the_run_and_is_raised(driver, shaded_by):
    with pytest.raises(ValueError, match="bad shader"):
        passes(shaded_by(lamp_in_box(), failing, f"failing {driver}"), driver, photons=10**9, width=2000, height=2000)


class Other(NamedTuple):
    diffuse: tuple[float, float, float]


def returns_a_number(point, surface):
    return 1.0


def returns_another(point, surface):
    return Other(surface.diffuse)


def returns_words(point, surface):
    return Nff("red", *surface[1:])  # type: ignore[arg-type]


def names_glitter(point, surface):
    return surface.glitter


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (returns_a_number, "shader 'own' must return Nff of numbers, got float64"),
        (returns_another, "shader 'own' must return Nff of numbers, got Other"),
        (returns_words, "shader 'own' must return Nff of numbers, got Nff\\(unicode"),
        (names_glitter, "shader 'own' does not compile: .*glitter.*test_custom_shaders.py"),
    ],
)
def test_functions_that_make_no_sense_are_refused_in_one_line(function, words):
    with pytest.raises(ShaderError, match=words) as raised:
        shader_address(replace(nff.BSDF, name="own", at_point=function))
    assert "\n" not in str(raised.value)


def test_a_bsdf_with_one_other_function_has_loops_of_its_own():
    """It is found again by this process, and by no other."""
    own = replace(nff.BSDF, name="own", reflectance=compiled(lambda nff, w: nff.phong))
    assert kind_of(own) != kind_of(nff.BSDF)
    assert kind_of(own).row is own
    assert kind_of(replace(nff.BSDF, name="other", at_point=unchanged)) == kind_of(nff.BSDF)
    with pytest.raises(ShaderError, match=r"the BSDF of shaders\.bsdfs\.nff is not that of the process which asks"):
        BsdfKind("shaders.bsdfs.nff", "another", ()).row  # noqa: B018
