"""Light transport with answers that books give: furnaces, form factors, a lens, and photons that add up."""

import math

import numpy as np
import pytest
from driver_passes import independent_pictures, opened, passes, sidak_bound, z_scores
from small_scenes import closed_box, flat_snapshot, quad, sphere

import scenes
from renderer.photons.photon_map import PHOTON
from scenes.lights import DistantLight
from scenes.model import Camera, Material
from shaders.octahedral import unpack_unit

WHITE, BLACK, GLOW = (1.0, 1.0, 1.0), Material(diffuse=(0.0, 0.0, 0.0)), (1.0, 1.0, 1.0)
GLASS = Material(kind="dielectric", transmittance=1.0, ior=1.5)

#: What loses no light, at least of what falls in straight, and the share of it that may be lost nevertheless: where the
#: table of what rough glass reflects and lets through has an error.
LOSSLESS = {
    "diffuse": (Material(diffuse=WHITE), 0.0),
    "mirror": (Material(kind="mirror", specular=WHITE), 0.0),
    "polished metal": (Material(kind="metal", specular=WHITE), 0.0),
    "rough metal": (Material(kind="metal", specular=WHITE, roughness=0.6), 0.0),
    "polished plastic": (Material(kind="plastic", diffuse=WHITE, ior=1.5), 0.0),
    "rough plastic": (Material(kind="plastic", diffuse=WHITE, ior=1.5, roughness=0.5), 0.0),
    "clear glass": (GLASS, 0.0),
    "frosted glass": (Material(kind="dielectric", transmittance=1.0, ior=1.5, roughness=0.7), 0.005),
    "nff": (Material(kind="nff", diffuse=(0.3, 0.3, 0.3), specular=(0.7, 0.7, 0.7), exponent=20.0), 0.0),
}

#: Drivers with all light, and what share of the radiance discs that reach over edges may lose: cubes have many.
COMPLETE = {
    "path": 0.003,
    "path+caustics": 0.003,
    "photon": 0.012,
    "sppm": 0.012,
    "gather": 0.012,
    "photons-only": 0.012,
}

#: Those whose passes have one map in common, and so its noise.
ONE_MAP = ("gather", "photons-only")


def turned_cube(face, degrees):
    """A cube of side 0.16, the middle of one face at a place, turned about the vertical by degrees from -y: (12, 3,
    3)."""
    cube = (closed_box()[:, ::-1] - (0.5, 0.0, 0.5)) * 0.16
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return cube @ np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)]) + face


def cubes_in_furnace(albedo, names):
    """Up to nine cubes in a box whose walls glow with radiance 1. Rays of the camera are parallel, and meet the middles
    of faces at borders of pixels 4, 12 and 20 of 24. What is no mirror image of all light is not seen aslant."""
    faces = [(0.22 + 0.28 * (k % 3), 0.5, 0.78 - 0.28 * (k // 3)) for k in range(len(names))]
    cubes = [turned_cube(face, 0.0 if name == "nff" else 30.0) for face, name in zip(faces, names, strict=True)]
    walls = Material(diffuse=3 * (albedo,), emission=GLOW)
    eye = Camera(eye=(0.5, 0.02, 0.5), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=60.0, height=0.84)
    return flat_snapshot(
        np.concatenate([closed_box(), *cubes]),
        [walls, *(LOSSLESS[name][0] for name in names)],
        material_ids=np.repeat(np.arange(1 + len(names)), 12),
        camera=eye,
    )


def pictures(snapshot, driver, side):
    """(n, side, side) radiance in the first channel, independent of each other: passes, or pictures of one pass."""
    settings = {"photons": 10_000, "radius": 0.03, "max_bounces": 60, "width": side, "height": side}
    if driver in ONE_MAP:
        settings["photons"] = 40_000
        return np.concatenate([passes(snapshot, driver, 1, seed=seed, **settings) for seed in range(16)])[..., 0]
    return passes(snapshot, driver, 96 if driver == "path" else 32, **settings)[..., 0]


@pytest.mark.parametrize("albedo", [0.5, 0.8])
@pytest.mark.parametrize("driver", COMPLETE)
def test_every_surface_in_a_furnace_has_radiance_1_over_1_minus_albedo(driver, albedo):
    """The whiter the walls, the more all see of what one surface loses: a cube of an AFF surface at 0.8 takes two
    percent from all, as its Phong lobe loses a third of the light from all sides."""
    names = [name for name in LOSSLESS if albedo < 0.8 or name != "nff"]
    made = pictures(cubes_in_furnace(albedo, names), driver, 24)
    faces = made.reshape(-1, 3, 8, 3, 8)[:, :, 3:5, :, 3:5].mean(axis=(2, 4)).reshape(-1, 9)[:, : len(names)]
    lost = np.array([LOSSLESS[name][1] for name in names]) + COMPLETE[driver]
    scores = z_scores(faces, np.full((2, len(names)), 1.0 / (1.0 - albedo)), lost)
    assert np.abs(scores).max() < sidak_bound(2 * len(COMPLETE) * len(names)), f"{names}: {scores.round(1)}"


#: What reflects the same share of light from all directions, or from straight ahead, where alone it is seen. An AFF
#: surface so shiny is half diffuse and half a mirror, but for the share 1e-4 that is a Phong lobe.
OF_ALBEDO = {
    "diffuse": lambda share: Material(diffuse=3 * (share,), emission=GLOW),
    "mirror": lambda share: Material(kind="mirror", specular=3 * (share,), emission=GLOW),
    "polished metal": lambda share: Material(kind="metal", specular=3 * (share,), emission=GLOW),
    "nff": lambda share: Material(
        kind="nff", diffuse=3 * (0.5 * share,), specular=3 * (0.5 * share,), exponent=1e6, emission=GLOW
    ),
}


@pytest.mark.parametrize(("surface", "albedo"), [("diffuse", 0.5), *((surface, 0.8) for surface in OF_ALBEDO)])
@pytest.mark.parametrize("driver", COMPLETE)
def test_a_furnace_of_any_surface_has_radiance_1_over_1_minus_albedo(driver, surface, albedo):
    """Rays of the camera are parallel, and so remain those that mirrors reflect."""
    eye = Camera(eye=(0.5, 0.02, 0.5), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=60.0, height=0.6)
    snapshot = flat_snapshot(closed_box(), [OF_ALBEDO[surface](albedo)], camera=eye)
    made = pictures(snapshot, driver, 12).mean(axis=(1, 2))
    score = z_scores(made, np.full(2, 1.0 / (1.0 - albedo)), COMPLETE[driver])
    assert abs(score) < sidak_bound(2 * len(COMPLETE) * len(OF_ALBEDO)), (score, made.mean())


def glowing_sphere(**material):
    """A sphere seen from inside, which glows with radiance 1: light is everywhere the same, and no disc has an edge."""
    inside = sphere((0.5, 0.5, 0.5), 0.5, 2)[:, ::-1]
    return flat_snapshot(inside, [Material(kind="nff", emission=GLOW, **material)])


def means_in_sphere(driver, max_bounces, runs=8, **material):
    """(runs, 3) means over small pictures that are independent of each other."""
    settings = {"width": 16, "height": 12, "radius": 0.03, "photons": 20_000, "max_bounces": max_bounces}
    return independent_pictures(glowing_sphere(**material), driver, runs, **settings).mean(axis=(1, 2))


@pytest.mark.parametrize(
    ("driver", "diffuse"),
    [*((driver, (0.7, 0.6, 0.3)) for driver in COMPLETE), ("path", BLACK.diffuse), ("whitted", BLACK.diffuse)],
)
@pytest.mark.parametrize("max_bounces", [1, 2, 3, 5, 16])
def test_light_has_met_no_more_surfaces_than_max_bounces(driver, diffuse, max_bounces):
    """The sum of the powers of the reflectance up to that number, whether walls or mirrors reflect."""
    specular = (0.2, 0.3, 0.6)
    made = means_in_sphere(driver, max_bounces, diffuse=diffuse, specular=specular, mirror_share=1.0)
    expected = np.sum(np.add(diffuse, specular) ** np.arange(max_bounces + 1)[:, None], axis=0)
    score = z_scores(made, np.broadcast_to(expected, (2, 3)), 0.006)
    assert np.abs(score).max() < 7.9, made.mean(axis=0) / expected  # Student's, of 8 runs: once in ten thousand


@pytest.mark.parametrize(("driver", "max_bounces"), [("photons-only", 1), ("photon", 4), ("gather", 4)])
def test_a_glossy_room_is_as_bright_as_paths_have_it(driver, max_bounces):
    """With highlights and mirrors, where paths are cut early."""
    room = {"diffuse": (0.7, 0.3, 0.3), "specular": (0.25, 0.5, 0.6), "exponent": 60.0}
    made, judge = (means_in_sphere(name, max_bounces, runs=12, **room) for name in (driver, "path"))
    assert np.abs(z_scores(made, judge, 0.005)).max() < 4.5


def disc(height, up):
    """A fan of 200 triangles of radius 1 about the z axis."""
    angles = np.linspace(0.0, 2.0 * math.pi, 201)
    rim = np.stack([np.cos(angles), np.sin(angles), np.full(201, height)], axis=1)
    fan = np.stack([np.broadcast_to((0.0, 0.0, height), (200, 3)), rim[:-1], rim[1:]], axis=1)
    return fan if up else fan[:, ::-1]


FLOOR = quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
#: What glows, what it lights, the middle and side of a square that the lit one fills to what share, and the form
#: factor. Howell: A Catalog of Radiation Heat Transfer Configuration Factors: C-11, C-14 and C-41.
PAIRS = {
    "parallel squares": (quad((0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 0, 1)), FLOOR, (0.5, 0.5), 1.0, 1.0, 0.199825),
    "squares with an edge": (quad((0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1)), FLOOR, (0.5, 0.5), 1.0, 1.0, 0.200044),
    "discs": (disc(1.0, up=False), disc(0.0, up=True), (0.0, 0.0), 2.0, math.pi / 4.0, 0.381966),
}


def lit_by(pair):
    """One surface glows with radiance 1 on the other, which a camera between them sees from straight above."""
    glowing, floor, middle, side, _, _ = PAIRS[pair]
    eye = Camera(eye=(*middle, 0.9), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0, height=side)
    lamp, grey = Material(diffuse=(0.0, 0.0, 0.0), emission=GLOW), Material(diffuse=(0.5, 0.5, 0.5))
    ids = np.repeat([0, 1], [len(glowing), len(floor)])
    return flat_snapshot(np.concatenate([glowing, floor]), [lamp, grey], material_ids=ids, camera=eye)


@pytest.mark.parametrize("pair", PAIRS)
def test_photons_find_form_factors(pair):
    """The share of the photons of one surface that land on the other."""
    with opened(lit_by(pair), "photons-only", photons=400_000, max_bounces=1, radius=0.1) as made:
        made.render_pass(0)
        counts = made.work.photons
    expected = PAIRS[pair][-1]
    error = math.sqrt(expected * (1.0 - expected) / counts.emitted)
    assert abs(1.0 - counts.escaped / counts.emitted - expected) < sidak_bound(1) * error


@pytest.mark.parametrize(
    ("pair", "driver"),
    # Shadow rays alone have no finite variance at an edge that both squares have; the path driver has other rays too.
    [*((pair, "path") for pair in PAIRS), ("parallel squares", "photon"), ("discs", "photon")],
)
def test_eye_paths_find_form_factors(pair, driver):
    """The mean radiance of a surface of albedo 1/2 over that of the one that lights it."""
    made = passes(lit_by(pair), driver, 24, width=24, height=24, photons=100, radius=1e-3, max_bounces=3)
    *_, filled, factor = PAIRS[pair]
    # The camera sees pixels of the rim of a disc by chance alone.
    z = z_scores(made.mean(axis=(1, 2, 3)), np.full(2, 0.5 * factor * filled), 5e-4)
    assert abs(z) < sidak_bound(1)


def ball_lens():
    """A glass ball of radius 1 behind a hole as wide as 0.3, both in the sun, over a floor at 1.5 from its middle."""
    ball = sphere((0.0, 0.0, 0.0), 1.0, 5)
    floor = quad((-0.3, -0.3, -1.5), (0.3, -0.3, -1.5), (0.3, 0.3, -1.5), (-0.3, 0.3, -1.5))
    side = quad((0.15, -1.2, 1.2), (1.2, -1.2, 1.2), (1.2, 0.15, 1.2), (0.15, 0.15, 1.2))
    screen = [side @ np.array([(c, s, 0), (-s, c, 0), (0, 0, 1)]) for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    snapshot = flat_snapshot(
        np.concatenate([floor, *screen, ball]),
        [Material(diffuse=WHITE), BLACK, GLASS],
        material_ids=np.repeat([0, 1, 2], [2, 8, len(ball)]),
        lights=[DistantLight(direction=(0.0, 0.0, -1.0), irradiance=WHITE)],
    )
    snapshot.normals[10:] = ball
    return snapshot


def test_a_ball_lens_of_index_1_5_focuses_at_1_5_radii():
    """n R / (2 (n - 1)) from its middle: of all distances, photons are densest there on the axis."""
    with opened(ball_lens(), "photons-only", photons=300_000, max_bounces=3, radius=0.1) as made:
        made.render_pass(0)
        photons = made.one_map.photons.view(PHOTON).ravel()
    places = photons["position"].astype(np.float64)
    back = np.array([unpack_unit(word) for word in photons["direction"]])
    on_floor = places[:, 2] < -1.4
    places, slopes = places[on_floor, :2], back[on_floor, :2] / back[on_floor, 2:]
    distances = np.linspace(1.2, 1.8, 13)
    dense = [np.sum(np.hypot(*(places + (1.5 - d) * slopes).T) < 0.003) for d in distances]
    assert len(places) > 500
    assert distances[np.argmax(dense)] == pytest.approx(1.5)
    assert max(dense) > 0.6 * len(places)  # the rest is what faces have reflected
    # Where the lines are nearest together: rays at 0.15 from the axis meet it half a percent before.
    through = np.hypot(*places.T) < 0.01
    focus = 1.5 + np.sum(places[through] * slopes[through]) / np.sum(slopes[through] ** 2)
    assert focus == pytest.approx(1.5, rel=0.01)


def assert_all_accounted_for(snapshot, photons):
    """Each photon is absorbed, escapes or is cut, and some land."""
    with opened(snapshot, "photons-only", photons=photons) as made:
        made.render_pass(0)
        counts, maps = made.work.photons, made.photon_requests(0)
    assert counts.emitted == len(maps) * photons
    assert counts.emitted == counts.absorbed + counts.escaped + counts.terminated
    assert counts.stored > 0


SMALL = {"museum": "museum:10k"} | {name: f"{name}:1k" for name in ("stress", "hair", "forest", "city")}


@pytest.mark.parametrize("scene", [row.name for row in scenes.shipped_scenes()])
def test_photons_of_every_shipped_scene_add_up(scene):
    assert_all_accounted_for(scenes.load(SMALL.get(scene, scene)).at_frame(0), 2_000)


@pytest.mark.parametrize("surface", LOSSLESS)
def test_photons_add_up_on_every_surface(surface):
    """A lamp over a floor, with a cube between them."""
    lamp = Material(diffuse=(0.0, 0.0, 0.0), emission=GLOW)
    cube, square = turned_cube((0.5, 0.4, 0.5), 30.0), quad((0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 0, 1))
    materials = [lamp, Material(), LOSSLESS[surface][0]]
    snapshot = flat_snapshot(
        np.concatenate([square, FLOOR, cube]), materials, material_ids=np.repeat([0, 1, 2], [2, 2, 12])
    )
    assert_all_accounted_for(snapshot, 3_000)
