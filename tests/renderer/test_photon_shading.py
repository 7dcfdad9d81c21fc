"""Batches of photons: every photon is traced once and accounted for, whatever the batch, the place and the thread."""

import math
from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, floor_and_ceiling, lamp_in_box, quad
from stored_flux import total_flux

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.batch import new_batch
from renderer.photons.emission import launch
from renderer.photons.photon_map import PHOTON_FLUX, unpack_flux
from renderer.photons.scattering import make_photons_ready
from renderer.photons.shading import needs_uv, shade_batch
from renderer.photons.store import (
    PHOTON_RAYS,
    PHOTONS_ABSORBED,
    PHOTONS_EMITTED,
    PHOTONS_ESCAPED,
    PHOTONS_STORED,
    PHOTONS_TERMINATED,
    PhotonStore,
    in_order,
)
from renderer.scene.packed_scene import pack_scene
from renderer.shading.queues import sort_rays
from renderer.simd.columns import ELEMENTS
from scenes.lights import PointLight
from scenes.model import Material, Texture
from tracecore.workers.pool import CallingThread

WHITE = Material(diffuse=(0.9, 0.9, 0.9))
LAMP = PointLight(position=(0.5, 0.7, 0.4), intensity=(1.0, 2.0, 3.0))
LAMPS = (LAMP, PointLight(position=(0.2, 0.3, 0.6), intensity=(2.0, 1.0, 0.5)))
FILLED = np.float32(-7.0)

#: What a snapshot has for each triangle.
ARRAYS = ("positions", "normals", "uvs", "object_ids", "material_ids")


def columns(scene, capacity, pad=32):
    """Rays, hits and paths of a batch, full of a number that nobody expects."""
    rays, hits = np.full((8, capacity + pad), FILLED), np.full((4, capacity + pad), np.float32(np.nan))
    return new_batch(rays, hits, capacity)


def photons_of(batch, active):
    """Indices of the photons that the first rays are of: in columns, or numbered."""
    place, photon = batch.fresh
    old = min(place, active)
    return np.append(batch.paths[0, :old], np.arange(photon, photon + active - old, dtype=np.uint32))


def traced_box(texel):
    """A closed box of one texture, two texels wide."""
    pixels = np.array([[[255, 255, 255], texel]], np.uint8)
    box = flat_snapshot(closed_box(), [Material(diffuse=(0.8, 0.8, 0.8), texture=0)], lights=[LAMP])
    return type(box)(**(vars(box) | {"textures": (Texture(name="two", pixels=pixels),)}))


def open_room():
    return floor_and_ceiling(materials=[WHITE], lights=[LAMP])


def room_of_many_materials():
    """A closed box of paint, mirror, glass and highlights, with bent normals here and there."""
    materials = [
        WHITE,
        Material(kind="mirror", specular=(0.9, 0.8, 0.7)),
        Material(kind="nff", diffuse=(0.3, 0.3, 0.3), specular=(0.4, 0.4, 0.4), exponent=20.0),
        Material(kind="dielectric", transmittance=1.0, ior=1.5),
    ]
    box = flat_snapshot(closed_box(), materials, material_ids=[0, 1, 2, 3] * 3, lights=[LAMP])
    box.normals[:3] += np.float32(0.2) * box.normals[3:6]
    return box


def lamps_in_open_room():
    return floor_and_ceiling(materials=[WHITE], lights=LAMPS)


def room_of_many_materials_and_lamps():
    return replace(room_of_many_materials(), lights=LAMPS)


def glowing_square():
    """From 0.4 to 0.6, facing up."""
    square = quad((0.4, 0.4, 0.0), (0.6, 0.4, 0.0), (0.6, 0.6, 0.0), (0.4, 0.6, 0.0))
    return flat_snapshot(square, [Material(emission=(1.0, 1.0, 1.0))])


class Shooter:
    """Photons of one scene through batches of given sizes, which take turns."""

    def __init__(self, snapshot, *, max_bounces=200, min_bounces=0, seed=5, sequence=0):
        self.scene = pack_scene(snapshot)
        make_photons_ready(self.scene.bsdfs)
        settings = RenderSettings(width=8, height=8, seed=seed, max_bounces=max_bounces)
        self.task = photon_task(self.scene, settings, sequence, min_bounces)
        self.tracer = tracecore.open_tracer(snapshot.positions, device="cpu", threads=1)

    def __call__(self, photons, capacities=(1024,), first=0):
        """All photons stored, in order, and counters."""
        supply, stores = np.array([first, first + photons]), [PhotonStore() for _ in capacities]
        batches, active = [columns(self.scene, capacity) for capacity in capacities], [0] * len(capacities)
        while True:
            for k, (batch, store) in enumerate(zip(batches, stores, strict=True)):
                active[k] = shade_batch(self.scene, self.task, batch, active[k], supply, store.output(active[k]))
                self.trace(batch, active[k])
            if not any(active):
                break
        counters = np.sum([store.counters for store in stores], axis=0)
        return in_order(stores, first, photons, CallingThread()), counters

    def trace(self, batch, active):
        """Hits of the first rays; u and v only if they are needed."""
        rays = np.ascontiguousarray(batch.rays[:, :active].T)
        rays[:, 3], rays[:, 7] = 0.0, np.inf
        found = self.tracer.closest_hit(rays).T
        rows = slice(0, 4) if needs_uv(self.scene) else [0, 3]
        batch.hits[rows, :active] = found[rows]


def test_the_books_balance_in_a_closed_box():
    stored, counters = Shooter(lamp_in_box())(30_000)
    assert counters[PHOTONS_EMITTED] == counters[PHOTONS_ABSORBED] == 30_000
    assert counters[PHOTONS_STORED] == counters[PHOTON_RAYS] == len(stored)
    assert counters[PHOTONS_ESCAPED] == counters[PHOTONS_TERMINATED] == 0


def test_the_books_balance_where_paths_are_cut_and_light_escapes():
    _, counters = Shooter(floor_and_ceiling(materials=[WHITE], lights=[LAMP]), max_bounces=2)(20_000)
    assert (
        counters[PHOTONS_EMITTED] == 20_000 == counters[[PHOTONS_ABSORBED, PHOTONS_ESCAPED, PHOTONS_TERMINATED]].sum()
    )
    assert counters[[PHOTONS_ABSORBED, PHOTONS_ESCAPED, PHOTONS_TERMINATED]].min() > 500
    assert 0 < counters[PHOTONS_STORED] < counters[PHOTON_RAYS]


@pytest.mark.parametrize("capacities", [(256,), (1000,), (16384,), (31, 4096, 7), (1,)])
@pytest.mark.parametrize(
    "make", [lamp_in_box, open_room, room_of_many_materials, lamps_in_open_room, room_of_many_materials_and_lamps]
)
def test_batches_and_places_change_no_bit(capacities, make):
    """Also where many rays miss and where few hits are stored."""
    photons = 2_000 if min(capacities) == 1 else 20_000
    shoot = Shooter(make())
    expected, counts = shoot(photons)
    stored, counters = shoot(photons, capacities)
    assert np.array_equal(stored, expected)
    assert np.array_equal(counters, counts)


@pytest.mark.parametrize("rays", [1, 15, 16, 17, 100])
def test_rays_have_the_bsdf_of_what_they_hit(rays):
    """One that hits nothing has none, and so have those behind the last ray, whatever is there."""
    box = room_of_many_materials()
    scene = pack_scene(replace(box, **{name: getattr(box, name)[:11] for name in ARRAYS}))
    hits = np.random.default_rng(1).integers(-1, 11, 128).astype(np.int32)
    hits[:4] = 10, 3, 0, -1
    own = scene.bsdfs.numbers["bsdf"][([0, 1, 2, 3] * 3)[:11]]
    expected = np.append(own, -1).astype(np.int32)[hits]
    assert set(expected[:rays]) == ({0, 1, 2, -1} if rays > 1 else {1})  # mirrors are of kind nff
    far = np.iinfo(np.int32).max  # in a table so long there is no memory
    hits[hits < 0], hits[rays:] = -far, far
    words = np.full(128, 77, np.int32)
    sort_rays(scene, hits.ctypes.data, words.ctypes.data, rays)
    np.testing.assert_array_equal(words[:rays], expected[:rays])
    last = -(-rays // ELEMENTS) * ELEMENTS
    assert np.all(words[rays:last] == -1)
    assert np.all(words[last:] == 77)


@pytest.mark.parametrize("seed", range(3))
def test_fresh_photons_fill_light_and_directions_evenly(seed):
    """Any run of them, far more so than by chance: chi-squared of random ones would be 31 +- 8."""
    shoot = Shooter(glowing_square(), seed=seed)
    batch = columns(shoot.scene, 4096)
    launch(shoot.scene.photon_scene, shoot.task, batch, (0, 12_345, 4096))
    position, direction = batch.rays[0:3, :4096], batch.rays[4:7, :4096]
    shares = [(position[axis] - 0.4) / 0.2 for axis in (0, 1)]  # of the lamp
    shares += [direction[2] ** 2, np.arctan2(direction[1], direction[0]) / (2.0 * math.pi) + 0.5]
    for share in shares:
        counts, _ = np.histogram(share, bins=32, range=(0.0, 1.0))
        assert counts.sum() == 4096
        assert np.square(counts - 128.0).sum() / 128.0 < 8.0


def test_photons_of_a_supply_are_taken_once():
    """Threads share it: one that is empty is left alone, and what one took beyond the end is nobody's."""
    shoot, store = Shooter(lamp_in_box()), PhotonStore()
    supply, batches = np.array([10, 700]), [columns(shoot.scene, 512) for _ in range(3)]
    active = [shade_batch(shoot.scene, shoot.task, batch, 0, supply, store.output(0)) for batch in batches]
    assert active == [512, 178, 0]
    assert supply.tolist() == [10 + 1024, 700]
    assert sorted([*photons_of(batches[0], 512), *photons_of(batches[1], 178)]) == list(range(10, 700))
    assert store.counters[PHOTONS_EMITTED] == 690


def test_a_texture_dims_as_its_texels_do_on_average():
    """Where two texels meet each is drawn as often, so that a second landing keeps the mean of both."""
    shoot = Shooter(traced_box([0, 255, 255]), max_bounces=2)
    assert needs_uv(shoot.scene)
    shares = []
    for first in range(0, 80_000, 4_000):
        stored, counters = shoot(4_000, first=first)
        direct = total_flux(Shooter.__call__(DirectOnly(shoot), 4_000, first=first)[0])
        shares.append(total_flux(stored) / direct - 1.0)
        assert counters[PHOTONS_EMITTED] == 4_000
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / math.sqrt(len(shares))
    assert np.all(np.abs(mean - [0.4, 0.8, 0.8]) < 4.0 * error + 1e-3)


class DirectOnly(Shooter):
    """The same photons, cut after their first surface."""

    def __init__(self, shoot):
        self.scene, self.task, self.tracer = shoot.scene, shoot.task._replace(max_bounces=1), shoot.tracer


@pytest.mark.parametrize("specular", [(0.4, 0.4, 0.4), (0.4, 0.2, 0.1)])
def test_the_sum_over_diffuse_and_mirror_is_the_sum_of_their_shares(specular):
    """Nearly all of `specular` is a mirror at this shine, and every landing is stored: 1 / (1 - 0.3 - 0.4) of all."""
    shiny = Material(kind="nff", diffuse=(0.3, 0.3, 0.3), specular=specular, exponent=1e6)
    shoot = Shooter(flat_snapshot(closed_box(), [shiny], lights=[LAMP]))
    means = [total_flux(shoot(4_000, first=first)[0]) for first in range(0, 80_000, 4_000)]
    watts = np.array(means) * shoot.task.flux_unit / 4_000
    error = watts.std(axis=0, ddof=1) / math.sqrt(len(watts))
    expected = 4.0 * math.pi * np.array([1.0, 2.0, 3.0]) / (0.7 - np.array(specular))
    assert np.all(np.abs(watts.mean(axis=0) - expected) < 4.0 * error)


def glossy_box(diffuse, specular, intensity=(1.0, 1.0, 1.0), **material):
    """A closed box of one AFF surface with a lamp without size; what is specular is a mirror by default."""
    nff = Material(kind="nff", diffuse=diffuse, specular=specular, **({"mirror_share": 1.0} | material))
    return flat_snapshot(closed_box(), [nff], lights=[replace(LAMP, intensity=intensity)])


@pytest.mark.parametrize(
    ("diffuse", "specular", "photons"),
    [
        ((0.9, 0.1, 0.1), (0.0, 0.0, 0.0), 60_000),
        ((0.9, 0.1, 0.1), (0.1, 0.3, 0.3), 4_000),
        ((0.7, 0.05, 0.05), (0.25, 0.25, 0.25), 60_000),
        ((0.9, 0.0, 0.0), (0.0, 0.9, 0.9), 60_000),
    ],
)
def test_all_channels_keep_their_energy_over_hundreds_of_bounces(diffuse, specular, photons):
    """What is stored is the sum of the powers of the reflectance up to the 400th surface, in each channel."""
    shoot, runs = Shooter(glossy_box(diffuse, specular), max_bounces=400), 10
    each = photons // runs
    stored = [total_flux(shoot(each, first=first)[0]) for first in range(0, photons, each)]
    watts = np.array(stored) * shoot.task.flux_unit / each
    expected = 4.0 * math.pi * np.sum(np.add(diffuse, specular) ** np.arange(400)[:, None], axis=0)
    error = watts.std(axis=0, ddof=1) / math.sqrt(runs)
    assert np.all(np.abs(watts.mean(axis=0) - expected) < 4.8 * error + 1e-4 * expected)  # Student's 4.8: 1 in 1000


@pytest.mark.parametrize("max_bounces", [1, 3, 8])
def test_paths_end_as_the_power_that_is_left_has_it(max_bounces):
    """Of the power that lamps send out the mean of R^n over the channels goes on from n surfaces."""
    diffuse, specular, photons = (0.9, 0.1, 0.3), (0.05, 0.3, 0.5), 20_000
    _, counters = Shooter(glossy_box(diffuse, specular), max_bounces=max_bounces)(photons)
    goes_on = np.mean(np.add(diffuse, specular) ** np.arange(max_bounces + 1)[:, None], axis=1)
    for counter, expected in (
        (PHOTONS_TERMINATED, goes_on[-1]),
        (PHOTONS_ABSORBED, 1.0 - goes_on[-1]),
        (PHOTONS_STORED, goes_on[:-1].sum()),
    ):
        error = math.sqrt(max(expected, 0.25 / photons) * max_bounces / photons)
        assert abs(counters[counter] / photons - expected) < 4.0 * error


@pytest.mark.parametrize("specular", [(0.1, 0.3, 0.3), (0.25, 0.25, 0.25), (0.0, 0.9, 0.9)])
def test_no_photon_has_more_power_than_it_left_the_lamp_with(specular):
    """Choosing a lobe and surviving change its colour alone."""
    intensity = (1.0, 0.5, 0.25)
    shoot = Shooter(glossy_box((0.7, 0.05, 0.05), specular, intensity), max_bounces=50)
    stored, counters = shoot(4_000)
    power = np.sum([unpack_flux(word) for word in stored[:, PHOTON_FLUX]], axis=1)
    np.testing.assert_allclose(power, 1.75, atol=3.0 * 2.0**-8)
    assert counters[PHOTONS_STORED] > 8_000


@pytest.mark.parametrize("triangles", [1, 2, 3])
def test_photons_leave_all_of_a_light_evenly(triangles):
    """A triangle, a parallelogram of two, or both: each half has its share by area, and is covered evenly."""
    glowing = Material(diffuse=(0.5, 0.5, 0.5), emission=(1.0, 1.0, 1.0))
    lozenge = quad((0, 0, 0), (4, 0, 0), (5, 2, 0), (1, 2, 0))
    far = np.array([[(10, 0, 0), (14, 0, 0), (11, 2, 0)]], np.float32)
    shoot = Shooter(flat_snapshot(np.concatenate([lozenge, far])[:triangles], [glowing]))
    batch, count = columns(shoot.scene, 60_000), 60_000
    assert shade_batch(shoot.scene, shoot.task, batch, 0, np.array([0, count]), PhotonStore().output(0)) == count
    x, y, z = batch.rays[:3, :count]
    assert np.abs(z).max() < 1e-3
    assert batch.rays[6, :count].min() > -1e-6  # upwards, as the light is wound
    is_far = x > 9.0
    v = y / 2.0
    u = (x - v - np.where(is_far, 10.0, 0.0)) / 4.0
    assert min(u.min(), v.min()) > -1e-6
    parts = [(v < u) & ~is_far, (v >= u) & ~is_far, is_far]
    shares = [np.mean(part) for part in parts]
    np.testing.assert_allclose(shares, np.where(np.arange(3) < triangles, 1.0 / triangles, 0.0), atol=0.01)
    means = [(2 / 3, 1 / 3, 1 / 4), (1 / 3, 2 / 3, 1 / 4), (1 / 3, 1 / 3, 1 / 12)]
    for part, expected in zip(parts[:triangles], means, strict=False):
        np.testing.assert_allclose([u[part].mean(), v[part].mean(), (u * v)[part].mean()], expected, atol=0.006)


def test_caustic_photons_are_those_that_mirrors_and_glass_alone_have_brought():
    """In a box with all lobes: a path ends at the first other bounce, so that its steps are all sharp ones; and it is
    a part of the path that has no such end."""
    shoot = Shooter(room_of_many_materials(), min_bounces=1)
    everything, _ = shoot(20_000)
    shoot.task = shoot.task._replace(only_caustics=True)
    caustics, counters = shoot(20_000)
    assert 200 < len(caustics) < len(everything) / 2
    assert set(map(bytes, caustics)) < set(map(bytes, everything))
    assert (
        counters[PHOTONS_EMITTED] == counters[[PHOTONS_ABSORBED, PHOTONS_ESCAPED, PHOTONS_TERMINATED]].sum() == 20_000
    )


def test_light_in_a_mirror_is_stored_at_its_share():
    """A matt floor under a mirror and a lamp between them: what lands on the floor by the mirror, and no more."""
    mirror = Material(kind="mirror", specular=(0.5, 0.5, 0.5))
    lamp = PointLight(position=(0.5, 0.5, 0.25), intensity=(1.0, 1.0, 1.0))
    shoot = Shooter(floor_and_ceiling(materials=[WHITE, mirror], lights=[lamp]), min_bounces=1)
    shoot.task = shoot.task._replace(only_caustics=True)
    photons = 100_000
    stored, _ = shoot(photons)
    # The floor as seen from the lamp's image 1.75 over it: the solid angle of a square of side 1, by its half side.
    half = 0.5
    angle = 4.0 * np.arctan(half * half / (1.75 * np.sqrt(1.75**2 + 2.0 * half * half)))
    expected = photons * 0.5 * angle / (4.0 * np.pi)
    assert abs(len(stored) - expected) < 4.0 * np.sqrt(expected)


def test_a_range_is_a_part_of_the_whole():
    shoot = Shooter(lamp_in_box())
    whole, _ = shoot(3_000)
    parts = [shoot(1_000, first=first)[0] for first in (0, 1_000, 2_000)]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("lights", [(LAMP,), LAMPS])
def test_fresh_photons_are_the_same_wherever_they_begin(lights):
    """Each photon alone, behind any number of paths that go on, in front of a whole vector and in it."""
    shoot = Shooter(flat_snapshot(closed_box(), [WHITE], lights=lights))
    expected, _ = shoot(300)
    for capacity in (*range(9, 41, 4), 230, 255):
        assert np.array_equal(shoot(300, (capacity,))[0], expected)
