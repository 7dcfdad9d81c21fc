"""Vertex connection and merging: each way to find a path has the same mean, and the weights of all add up to one."""

import itertools

import numpy as np
import pytest
from driver_passes import block_means, passes, sidak_bound
from small_scenes import flat_snapshot, quad, sphere

from renderer.drivers import DRIVERS
from renderer.drivers.vcm import VcmDriver
from renderer.vcm import weights
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
            return Chances(Float32(1e30), ZERO)

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


def arrived(sums, distance, cosine):
    return Sums(sums.vcm * distance * distance / cosine, sums.vc / cosine, sums.vm / cosine)


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
            at = Sums(path["lamp_pdf"] / over, 1.0 / over, chances.connecting / over)
        else:
            at = arrived(sums, path["distances"][k if is_from_eye else k + 1], cosine)
        found[k] = at
        sums = weights.sums_behind.py_func(at, path["cosines"][k, 1 - side], ahead[k], back[k], chances)
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
            weights.others_by_connection.py_func,
            weights.others_by_merging.py_func,
        )
        by_hit = 1.0 / (1.0 + path["lamp_pdf"] * behind.vcm + path["leaving"] * behind.vc)
        towards = path["cosines"][last, 1] * path["leaving"] / path["lamp_pdf"]
        others = path["to_lamp"][last] / path["lamp_pdf"]
        by_shadow_ray = 1.0 / (1.0 + others + towards * connection(eye[last], path["to_eye"][last], chances))
        total = by_hit + by_shadow_ray
        for k in range(surfaces):
            others = merging(lamp[k], path["to_lamp"][k], chances) + merging(eye[k], path["to_eye"][k], chances)
            total += 1.0 / (1.0 + others)
        for k in range(surfaces - 1):
            square = path["distances"][k + 1] ** 2
            to_lamp = path["to_lamp"][k] * path["cosines"][k + 1, 0] / square
            to_eye = path["to_eye"][k + 1] * path["cosines"][k, 1] / square
            others = to_lamp * connection(lamp[k + 1], path["to_lamp"][k + 1], chances)
            total += 1.0 / (1.0 + others + to_eye * connection(eye[k], path["to_eye"][k], chances))
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


def without_photons(settings):
    return {name: value for name, value in settings.items() if name not in ("radius", "photons")}
