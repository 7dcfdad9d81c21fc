"""Vertex connection and merging: each way to find a path has the same mean, and the weights of all add up to one."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from driver_passes import block_means, opened, passes, sidak_bound
from small_scenes import flat_snapshot, quad, sphere
from test_fog import fog
from test_light_kinds import KINDS
from test_media import block, scene

import renderer
from renderer.drivers import DRIVERS
from renderer.drivers.vcm import VcmDriver
from renderer.errors import UsageError
from renderer.film.layers import LAYER_BIAS
from renderer.vcm import weights
from renderer.vcm.vertices import BOUNCES, PATH, VERTEX_WORDS, order_of
from renderer.vcm.weights import Chances, Sums, chances_of
from scenes.model import Camera, Material
from shaders.float32 import ZERO, Float32

GREY, WHITE = Material(diffuse=(0.6, 0.5, 0.4)), Material(diffuse=(0.8, 0.8, 0.8))
GLOSSY = Material(kind="metal", diffuse=(0.0, 0.0, 0.0), specular=(0.8, 0.7, 0.6), roughness=0.4)
MIRROR = Material(kind="mirror", specular=(0.9, 0.9, 0.9))
GLASS = Material(kind="dielectric", transmittance=1.0, ior=1.5)
LAMP = Material(diffuse=(0.3, 0.3, 0.3), emission=(6.0, 5.0, 4.0))
#: Discs so small that merging at edges loses nothing that a test of so few passes would see.
SMALL = {"width": 12, "height": 9, "radius": 0.02, "photons": 2000, "max_bounces": 5}


@pytest.fixture
def ways(monkeypatch):
    """Drivers that merge alone, and that connect alone."""

    class Merging(VcmDriver):
        name = "merging"

        def chances_of(self, radius):
            return Chances(Float32(1e30), Float32(1e-30))

    class Connecting(VcmDriver):
        name = "connecting"

        def chances_of(self, radius):
            return Chances(ZERO, Float32(1.0))

    for driver in (Merging, Connecting):
        monkeypatch.setitem(DRIVERS, driver.name, driver)


def room(*, lamp=LAMP, walls=GREY, inside=()):
    """A closed room two wide, with a lamp under its ceiling, and what is inside: positions with their materials."""
    corners = [np.array(one, float) for one in itertools.product((-1, 1), repeat=3)]
    a, b, c, d, e, f, g, h = corners
    faces = [(a, c, g, e), (b, f, h, d), (a, b, d, c), (e, g, h, f), (a, e, f, b), (c, d, h, g)]
    parts = [(quad(*face), walls) for face in faces]
    parts.append((quad((-0.4, 0.98, -0.4), (0.4, 0.98, -0.4), (0.4, 0.98, 0.4), (-0.4, 0.98, 0.4)), lamp))
    parts += inside
    materials = list(dict.fromkeys(material for _, material in parts))
    ids = np.concatenate([np.full(len(part), materials.index(material)) for part, material in parts])
    camera = Camera(eye=(0.0, 0.0, -0.95), forward=(0.0, -0.1, 1.0), up=(0.0, 1.0, 0.0), vertical_fov=80.0)
    positions = np.concatenate([part for part, _ in parts])
    return flat_snapshot(positions, materials, material_ids=ids, camera=camera)


def ball(middle, radius, material):
    return sphere(middle, radius, 4), material


def random_path(numbers, surfaces):
    """What densities a path from the eye over some surfaces to a lamp has: `to_lamp[k]`, `to_eye[k]` at surface k, per
    solid angle, `cosines[k]` there on the side of the eye and of the lamp, and `distances[k]` from the eye or surface
    k - 1 to surface k, and to the lamp."""
    shape = (surfaces,)
    ends = {"leaving": numbers.random() + 0.1, "lamp_pdf": numbers.random() + 0.1}
    vectors = {name: numbers.random(shape) + 0.1 for name in ("to_lamp", "to_eye")}
    return {
        **ends,
        **vectors,
        "cosines": numbers.random((surfaces, 2)) + 0.1,
        "distances": numbers.random(surfaces + 1),
    }


def in_python(function: Any) -> Any:
    """What is compiled, as it is written."""
    return function.py_func


def arrived(sums, distance, cosine, merging):
    return Sums(sums.vcm * distance * distance / cosine, (sums.vc + sums.last * merging) / cosine, 0.0)


def sums_along(path, chances, *, is_from_eye):
    """The sums at each surface, of the path from the eye or of that from the lamp."""
    surfaces = len(path["to_eye"])
    ahead, back = (path["to_lamp"], path["to_eye"]) if is_from_eye else (path["to_eye"], path["to_lamp"])
    order, side = (range(surfaces), 0) if is_from_eye else (range(surfaces - 1, -1, -1), 1)
    found, sums = {}, Sums(0.0, 0.0, 0.0)
    for step, k in enumerate(order):
        cosine = path["cosines"][k, side]
        if step == 0 and not is_from_eye:  # `lamps.sums_of_first`, of a surface
            over = path["leaving"] * cosine
            at = Sums(path["lamp_pdf"] / over, 1.0 / over, 0.0)
        else:
            at = arrived(sums, path["distances"][k if is_from_eye else k + 1], cosine, chances.merging)
        found[k] = at
        sums = in_python(weights.sums_behind)(at, path["cosines"][k, 1 - side], ahead[k], back[k])
        if step == 0 and not is_from_eye:  # where nothing is merged
            sums = sums._replace(last=0.0)
    return found, sums


@pytest.mark.parametrize("surfaces", [1, 2, 3, 6])
def test_the_weights_of_all_ways_to_find_a_path_add_up_to_one(surfaces):
    numbers = np.random.default_rng(surfaces)
    for _ in range(20):
        path, radius = random_path(numbers, surfaces), 0.3 * numbers.random() + 0.05
        chances = Chances(*map(float, chances_of(radius, 100)))
        eye, behind = sums_along(path, chances, is_from_eye=True)
        lamp, _ = sums_along(path, chances, is_from_eye=False)
        last, connection, merging = (
            surfaces - 1,
            in_python(weights.others_by_connection),
            in_python(weights.others_by_merging),
        )
        by_hit = 1.0 / (1.0 + path["lamp_pdf"] * behind.vcm + path["leaving"] * behind.vc)
        towards = path["cosines"][last, 1] * path["leaving"] / path["lamp_pdf"]
        others = path["to_lamp"][last] / path["lamp_pdf"]
        by_shadow_ray = 1.0 / (1.0 + others + towards * connection(eye[last], path["to_eye"][last], 0.0))
        total = by_hit + by_shadow_ray
        for k in range(surfaces - 1):  # the last surface is the first behind the lamp
            others = merging(lamp[k], path["to_lamp"][k], chances) + merging(eye[k], path["to_eye"][k], chances)
            total += 1.0 / (1.0 + others)
        for k in range(surfaces - 1):
            square = path["distances"][k + 1] ** 2
            to_lamp = path["to_lamp"][k] * path["cosines"][k + 1, 0] / square
            to_eye = path["to_eye"][k + 1] * path["cosines"][k, 1] / square
            at_lamp = chances.merging if k + 1 < last else 0.0
            others = to_lamp * connection(lamp[k + 1], path["to_lamp"][k + 1], at_lamp)
            total += 1.0 / (1.0 + others + to_eye * connection(eye[k], path["to_eye"][k], chances.merging))
        assert total == pytest.approx(1.0, rel=1e-5)


ROOMS = {
    "diffuse": room(),
    "glossy": room(walls=GLOSSY, inside=[(ball((0.2, -0.6, 0.3), 0.35, WHITE))]),
    "glass and a mirror": room(inside=[ball((-0.4, -0.6, 0.2), 0.35, GLASS), ball((0.45, -0.6, 0.4), 0.35, MIRROR)]),
}


@pytest.mark.parametrize("name", ROOMS)
def test_each_way_alone_has_the_mean_of_paths(name, ways):
    judge = block_means(passes(ROOMS[name], "path", 300, **without_photons(SMALL)), 3)
    expected = judge.mean(axis=0)
    error = judge.std(axis=0, ddof=1) / np.sqrt(len(judge))
    for driver, count in (("vcm", 60), ("connecting", 60), ("merging", 60)):
        made = block_means(passes(ROOMS[name], driver, count, **SMALL), 3)
        spread = np.hypot(made.std(axis=0, ddof=1) / np.sqrt(count), error)
        z = np.abs(made.mean(axis=0) - expected) - 0.03 * expected  # discs reach over edges
        assert (z / spread).max() < sidak_bound(z.size), driver


@pytest.mark.parametrize("kind", [*KINDS, "ball"])
def test_every_kind_of_lamp_brings_what_paths_have(kind):
    """Outdoors, with something glossy, and a mirror that throws light back."""
    if kind == "ball":
        things = ball((-0.2, 0.3, 1.2), 0.2, replace(LAMP, diffuse=(0.0, 0.0, 0.0)))
        snapshot = corner(parts=(things,))
    else:
        lights, environment = KINDS[kind]
        snapshot = corner(lights=lights, environment=environment)
    judge = passes(snapshot, "path", 400, **without_photons(SMALL)).mean(axis=(1, 2))
    made = passes(snapshot, "vcm", 100, **(SMALL | {"radius": 0.01})).mean(axis=(1, 2))
    error = np.hypot(judge.std(axis=0, ddof=1) / 20.0, made.std(axis=0, ddof=1) / 10.0)
    difference = np.abs(made.mean(axis=0) - judge.mean(axis=0)) - 0.01 * judge.mean(axis=0)
    assert (difference / error).max() < sidak_bound(3)


def corner(*, parts=(), lights=(), environment=None):
    """A floor and a wall, a ball of rough metal on the floor, and more."""
    floor = quad((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
    wall = quad((-1, 1, 0), (1, 1, 0), (1, 1, 1), (-1, 1, 1))
    parts = [(floor, WHITE), (wall, GREY), ball((0.3, 0.2, 0.4), 0.3, GLOSSY), *parts]
    ids = np.repeat(np.arange(len(parts)), [len(positions) for positions, _ in parts])
    camera = Camera(eye=(0.0, -2.0, 1.2), forward=(0.0, 2.0, -0.8), up=(0.0, 0.0, 1.0), vertical_fov=50.0)
    snapshot = flat_snapshot(
        np.concatenate([positions for positions, _ in parts]),
        [material for _, material in parts],
        material_ids=ids,
        lights=lights,
        camera=camera,
    )
    return replace(snapshot, environment=environment)


AMBER = Material(kind="dielectric", transmittance=1.0, ior=1.0, absorption=(0.1, 0.4, 0.8))
FROSTED = replace(AMBER, ior=1.4, roughness=0.4)
PANE = Material(kind="dielectric", transmittance=0.5, ior=0.0)
SHEET = quad((-0.9, 0.5, -0.9), (-0.9, 0.5, 0.9), (0.9, 0.5, 0.9), (0.9, 0.5, -0.9))


@pytest.mark.parametrize(
    "inside",
    [[(block(-1.5, 1.5, 1.5), AMBER)], [(block(-0.9, -0.4, 0.4), FROSTED), (SHEET, PANE)]],
    ids=["all", "part"],
)
def test_light_in_absorbing_glass_and_behind_sheets_is_that_of_paths(inside):
    """Shadow rays, connections and paths from lamps are dimmed by the media and the panes on their way: a room that is
    full of what absorbs, and one with frosted glass and a pane."""
    snapshot = room(inside=inside)
    judge = block_means(passes(snapshot, "path", 400, **without_photons(SMALL)), 3)
    made = block_means(passes(snapshot, "vcm", 100, **(SMALL | {"radius": 0.01})), 3)
    expected, error = judge.mean(axis=0), judge.std(axis=0, ddof=1) / 20.0
    difference = np.abs(made.mean(axis=0) - expected) - 0.01 * expected
    assert (difference / np.hypot(error, made.std(axis=0, ddof=1) / 10.0)).max() < sidak_bound(expected.size)


def test_weights_are_right_for_any_chance_of_merging(monkeypatch):
    """Paths of two surfaces are also found by connections to a first surface behind a lamp, where nothing is merged: no
    weight may be left for that."""

    class Hopeful(VcmDriver):
        name = "hopeful"

        def chances_of(self, radius):
            return Chances(Float32(6.0), Float32(1.0 / 6.0))

    monkeypatch.setitem(DRIVERS, Hopeful.name, Hopeful)
    snapshot, asked = room(walls=WHITE), SMALL | {"max_bounces": 2, "radius": 0.01}
    judge = passes(snapshot, "path", 3000, **without_photons(asked)).mean(axis=(1, 2))
    made = passes(snapshot, "hopeful", 500, **asked).mean(axis=(1, 2))
    error = np.hypot(judge.std(axis=0, ddof=1) / 3000**0.5, made.std(axis=0, ddof=1) / 500**0.5)
    difference = np.abs(made.mean(axis=0) - judge.mean(axis=0)) - 0.001 * judge.mean(axis=0)
    assert (difference / error).max() < sidak_bound(3)


@pytest.mark.parametrize(("radius", "tolerance"), [(0.01, 0.01), (0.15, 0.08)], ids=["connected", "merged"])
@pytest.mark.parametrize("max_bounces", [1, 2, 3])
def test_paths_meet_no_more_surfaces_than_asked_for(max_bounces, radius, tolerance):
    """With wide discs nearly all is found by merging, which loses some light at edges."""
    asked = SMALL | {"max_bounces": max_bounces, "radius": radius}
    judge = passes(ROOMS["glossy"], "path", 200, **without_photons(asked)).mean(axis=(1, 2))
    made = passes(ROOMS["glossy"], "vcm", 50, **asked).mean(axis=(1, 2))
    error = np.hypot(judge.std(axis=0, ddof=1) / 200**0.5, made.std(axis=0, ddof=1) / 50**0.5)
    difference = np.abs(made.mean(axis=0) - judge.mean(axis=0)) - tolerance * judge.mean(axis=0)
    assert (difference / error).max() < sidak_bound(3)


def test_threads_and_batches_change_no_bit():
    made = [
        passes(ROOMS["glass and a mirror"], "vcm", 2, **SMALL, threads=threads, batch_rays=rays)
        for threads, rays in ((1, 4096), (2, 256), (3, 1024))
    ]
    assert (made[0] == made[1]).all()
    assert (made[0] == made[2]).all()


def test_the_cpu_shades_where_a_gpu_might():
    with opened(ROOMS["diffuse"], "vcm", **SMALL, shading="auto") as driver:
        assert driver.why_on_cpu
        assert driver.render_pass(0).mean() > 0.0


def test_vertices_of_long_paths_are_in_the_same_order():
    """Where bounces do not fit into one number with path and cell, three are compared."""
    numbers = np.random.default_rng(3)
    words = np.zeros((500, VERTEX_WORDS), np.uint32)
    words[:, PATH], words[:, BOUNCES] = numbers.integers(0, 9, 500), numbers.permutation(500) * 7
    cells = numbers.integers(0, 5, 500).astype(np.uint64)
    order = order_of(cells, words)
    expected = sorted(range(500), key=lambda k: (cells[k], words[k, PATH], words[k, BOUNCES]))
    assert order.tolist() == expected
    words[:, BOUNCES] //= 7
    assert order_of(cells, words).tolist() == expected


def test_every_path_from_a_lamp_is_accounted_for():
    with opened(ROOMS["glossy"], "vcm", **SMALL) as driver:
        for index in range(3):
            driver.render_pass(index)
        photons, rays = driver.work.photons, driver.work.rays
    assert photons.emitted == 3 * SMALL["photons"] == photons.absorbed + photons.escaped + photons.terminated
    assert photons.stored > photons.emitted
    assert rays.photon > photons.emitted
    assert rays.camera == 3 * 12 * 9


def test_a_scene_without_lamps_is_its_backdrop():
    with opened(
        flat_snapshot(quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)), [GREY], background=(0.1, 0.2, 0.3)), "vcm"
    ) as driver:
        image = driver.render_pass(0)
    assert image.max() == pytest.approx(0.3)
    assert driver.work.photons.emitted == 0


def test_the_bias_of_merging_is_told():
    """A radius as wide as the room takes light over its edges: what is told is of the size of what is lost."""
    wide = SMALL | {"radius": 0.5, "layers": "bias"}
    with opened(ROOMS["diffuse"], "vcm", **wide) as driver:
        made = np.mean([driver.render_pass(k) for k in range(8)], axis=0)
    assert np.abs(made[..., LAYER_BIAS]).mean() > 0.01 * made[..., :3].mean()


def test_layers_of_light_are_refused_by_name():
    with pytest.raises(UsageError, match=r"^driver vcm does not tell kinds of light apart; leave direct, "):
        renderer.render("cornell", driver="vcm", layers=("direct",), size=(8, 6), passes=1, device="cpu", quiet=True)


def test_media_that_scatter_are_refused():
    snapshot = scene((block(-1.0, 1.0), fog((1.0, 1.0, 1.0))))
    with (
        pytest.raises(UsageError, match="driver 'vcm' follows no light in media that scatter"),
        opened(snapshot, "vcm"),
    ):
        pass


def without_photons(settings):
    return {name: value for name, value in settings.items() if name not in ("radius", "photons")}
