"""Scenes written to files: the same triangles are read back, by this project and by trimesh alone."""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from gltf_file import GltfBuilder

from scenes import Scene, SceneError, load
from scenes.aff.writer import levels
from scenes.document import Document, EnvironmentSource, KeyedTriangles, Part
from scenes.export import WRITERS, export, looking_through
from scenes.gltf import writer as gltf_writer
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.materials.microfacets import by_phong, phong_power
from scenes.meshes.geometry import unit
from scenes.meshes.shapes import rectangle, sphere
from scenes.model import AnimationRange, Camera, Material, Mesh, Texture
from scenes.motion.tracks import RotationTrack, Track, VectorTrack, VisibilityTrack
from scenes.motion.transforms import WORLD, compose, quaternion
from scenes.playing.evaluator import scene_of
from scenes.wavefront import writer

TIMES = (-1.0, 0.0, 0.37, 1.0, 1.9, 2.5, 3.0, 9.0)
ARRAYS = ("positions", "normals", "uvs")
NUMBERS = ("diffuse", "specular", "exponent", "transmittance", "ior", "backdrop")
MATERIALS = [
    Material(
        name="paint",
        kind="nff",
        diffuse=(0.1, 0.2, 0.3),
        specular=(0.2, 0.1, 0.05),
        exponent=13.7,
        ambient=(0.5, 0.1, 0),
    ),
    Material(name="poster", kind="nff", diffuse=(0.9, 0.8, 0.7), texture=1),
    Material(name="window", kind="nff", diffuse=(0.0, 0.0, 0.0), backdrop=(0.3, 0.5, 2.0), texture=0),
    Material(name="glass", kind="nff", diffuse=(0.0, 0.0, 0.0), transmittance=0.9, ior=1.52),
]
PAINT, POSTER, WINDOW, GLASS = range(4)


def generator():
    return np.random.default_rng(5)


def shape(material, is_textured=True):
    """Triangles whose positions, normals and texture coordinates have indices of their own."""
    random = generator()

    def indices(size):
        return random.integers(0, size, (40, 3)).astype(np.int32)

    mesh = Mesh(
        vertices=random.normal(size=(30, 3)) * 3.0,
        triangles=indices(30),
        normals=random.normal(size=(20, 3)),
        normal_triangles=indices(20),
        uvs=random.uniform(-3.0, 4.0, (25, 2)),
        uv_triangles=indices(25),
        material=material,
    )
    return mesh if is_textured else replace(mesh, uvs=None, uv_triangles=None)


def keyed(material):
    """Three triangles with keys, normals of unit length."""
    random = generator()
    return KeyedTriangles(
        times=np.array([0.0, 0.7, 2.0]),
        positions=random.normal(size=(3, 3, 3, 3)),
        normals=unit(random.normal(size=(3, 3, 3, 3))),
        material=material,
    )


def track(seed):
    random = np.random.default_rng(seed)
    times, shapes = np.linspace(-0.5, 3.1, 7), random.uniform(-1.0, 1.0, (7, 3))
    return Track(
        transl=VectorTrack(times, random.normal(size=(7, 3)), shapes),
        rot=RotationTrack(times, random.normal(size=(7, 3)), random.uniform(-90.0, 400.0, 7), shapes[::-1]),
        scale=VectorTrack(times, random.uniform(0.5, 2.0, (7, 3)), np.zeros((7, 3))),
        visibility=VisibilityTrack(np.array([0.5, 1.2, 2.2]), np.array([False, True, True])),
    )


def placed(scale, axis, degrees, offset):
    return compose(np.array(scale), quaternion(np.array(axis), degrees), np.array(offset))


def animated():
    """A hierarchy of fixed and moving places, with everything in it that AFF can say."""
    room = WORLD.inner(matrix=placed((1.5, 1.5, 1.5), (0, 1, 0), 30.0, (0.1, 0.2, 0.3)))
    arm = room.inner(track="my {arm}")
    hand = arm.inner(matrix=placed((1.0, 0.5, 2.0), (1, 2, -3), 200.0, (1, 0, 0))).inner(track="hand")
    nowhere = WORLD.inner(track="without keys")
    random = generator()
    return Document(
        parts=[
            Part(shape(PAINT, is_textured=False), room),
            Part(keyed(PAINT), room),
            Part(shape(POSTER), arm),
            Part(sphere(np.zeros(3), 1.0, GLASS, 8), hand),
            Part(shape(PAINT), hand, material=WINDOW),
            Part(rectangle((0, 0, 0), (1, 0, 0), (0, 1, 0), POSTER), nowhere),
        ],
        lights=[PointSource(np.array([1.0, 5.0, 2.0]), (0.5, 0.6, 0.7), arm, track="hand", fades=False)],
        materials=MATERIALS,
        textures=[
            Texture(name=name, pixels=random.integers(0, 256, (5, 7, 3), dtype=np.uint8)) for name in ("a.png", "A.png")
        ],
        tracks={"my {arm}": track(1), "hand": track(2), "front": replace(track(3), scale=None), "camera": track(4)},
        cameras={"front": Camera(eye=(0, 1, 9), forward=(0, 0, -1), up=(0, 1, 0), vertical_fov=33.3, near=0.01)},
        background=(0.1, 0.2, 0.4),
        ambient=(0.5, 1.0, 2.0),
        animation=AnimationRange(start=0.25, end=2.75, frames=11),
    )


def scene(document):
    return scene_of("made", document)


def written(scene_or_document, folder, suffix, time=0.0):
    """A scene or document read back from a file of a format, which is not one that it was read from."""
    source = scene_or_document if isinstance(scene_or_document, Scene) else scene(scene_or_document)
    name = "again" if any(file.stem == "copy" for file in source.files) else "copy"
    return load(export(source, folder / f"{name}{suffix}", time).files[0])


def assert_same_triangles(first, second, arrays=ARRAYS):
    """Two snapshots, bit for bit, in the same order."""
    for name in arrays:
        one, two = getattr(first, name), getattr(second, name)
        assert one.dtype == two.dtype == np.float32
        assert np.array_equal(one.view(np.uint32), two.view(np.uint32)), name


def assert_same_materials(first, second):
    """Two snapshots whose triangles have the same numbers and pictures."""
    for one, two in set(zip(first.material_ids.tolist(), second.material_ids.tolist(), strict=True)):
        assert_same_material(first, second, first.materials[one], second.materials[two])


def assert_same_material(first, second, one, two):
    assert [getattr(one, name) for name in NUMBERS] == [getattr(two, name) for name in NUMBERS]
    assert one.ambient == two.ambient
    assert (one.texture < 0) == (two.texture < 0)
    if one.texture >= 0:
        assert np.array_equal(first.textures[one.texture].pixels, second.textures[two.texture].pixels)


def assert_same_camera(one, two):
    assert (one.vertical_fov, one.resolution, one.near) == (two.vertical_fov, two.resolution, two.near)
    for name in ("eye", "forward", "up"):
        assert np.allclose(getattr(one, name), getattr(two, name), rtol=0, atol=1e-14)


def by_material(snapshot):
    """The snapshot's triangles in the order of groups of one material."""
    order = np.argsort(snapshot.material_ids, kind="stable")
    arrays = {name: getattr(snapshot, name)[order] for name in (*ARRAYS, "material_ids")}
    return replace(snapshot, **arrays)


@pytest.mark.parametrize("suffix", [".aff", ".toml"])
def test_an_animated_hierarchy_is_read_as_it_was_written(suffix, tmp_path):
    source = scene(animated() if suffix == ".aff" else with_all_lights())
    copy = written(source, tmp_path, suffix)
    assert copy.animation == source.animation
    assert copy.moving_triangles == source.moving_triangles
    counts = set()
    for time in TIMES:
        first, second = source.at(time), copy.at(time)
        assert_same_triangles(first, second)
        assert_same_materials(first, second)
        assert_same_camera(first.camera, second.camera)
        assert first.background == second.background
        assert first.lights == second.lights
        counts.add(len(first.positions))
    assert len(counts) > 1  # some of it was hidden at times


def test_long_tracks_are_arrays_and_are_read_as_they_were_written(monkeypatch, tmp_path):
    monkeypatch.setattr("scenes.toml_scene.tracks.MOST_WRITTEN_KEYS", 1)
    source = scene(with_all_lights())
    copy = written(source, tmp_path, ".toml")
    assert "degrees" not in (tmp_path / "copy.toml").read_text()
    for time in TIMES:
        assert_same_triangles(source.at(time), copy.at(time))
        assert source.at(time).lights == copy.at(time).lights


def test_aff_of_the_kitchen(kitchen_file, tmp_path):
    source = load(kitchen_file)
    copy = written(source, tmp_path, ".aff")
    for time in (0.0, 11.3):
        assert_same_triangles(source.at(time), copy.at(time))
        assert_same_materials(source.at(time), copy.at(time))
        assert source.at(time).camera == copy.at(time).camera
        assert source.at(time).lights == copy.at(time).lights


def test_aff_of_cornell(tmp_path):
    source = load("cornell")
    exported = export(source, tmp_path / "copy.aff", 0.0)
    first, second = source.at(0.0), load(exported.files[0]).at(0.0)
    assert_same_triangles(first, second)
    pairs = set(zip(first.material_ids.tolist(), second.material_ids.tolist(), strict=True))
    materials = {first.materials[one].name: second.materials[two] for one, two in pairs}
    assert materials["white"].diffuse == (0.73, 0.73, 0.73)
    assert (materials["glass"].transmittance, materials["glass"].ior) == (1.0, 1.5)
    assert materials["glass"].specular == (0.0, 0.0, 0.0)
    assert materials["mirror"].specular == (0.95, 0.95, 0.95)
    assert materials["mirror"].exponent >= 1e5
    assert {material.kind for material in second.materials} == {"nff"}
    assert [line.split(";")[0] for line in exported.losses] == [
        "material 'lamp' no longer shines",
        "material 'mirror' is no longer a perfect mirror but has a shine of 1e+06",
        "camera 'front' sees from 0.0001 on, not from 0",
        "proposed settings left out: exposure",
    ]


def test_aff_lists_what_is_lost(tmp_path):
    document = animated()
    document.cameras["side"] = replace(document.cameras["front"], near=0.5)
    document.settings["exposure"] = 1.0
    document.materials = [replace(document.materials[0], backdrop=(1, 1, 1), texture=0), *document.materials[1:]]
    document.parts.append(Part(shape(GLASS)))
    losses = export(scene(document), tmp_path / "copy.aff", 0.0).losses
    assert losses == (
        "material 'paint' is no longer a backdrop, since it scatters light too",
        "cameras left out, since AFF has one: 'side'",
        "texture coordinates left out, since no texture uses them: those of 1 meshes",
        "textures left out of triangles that have keys of their own",
        "proposed settings left out: exposure",
    )


def test_lenses_and_parallel_views_are_lost_where_there_are_no_words_for_them(tmp_path):
    document = animated()
    front = document.cameras["front"]
    document.cameras["front"] = replace(front, aperture=0.25, focus=2.0, height=1.5)
    lens = "camera 'front' is a pinhole; its lens of radius 0.25 is left out"
    flat = "camera 'front' is no longer orthographic and 1.5 high but has an angle of 33.3 degrees"
    aff = export(scene(document), tmp_path / "copy.aff", 0.0).losses
    assert {lens, flat} <= set(aff)
    glb = export(scene(document), tmp_path / "copy.glb", 0.0).losses
    assert lens in glb
    assert flat not in glb


def instances(meshes):
    places = [WORLD.inner(matrix=placed((1, 1, 1), (0, 0, 1), 36.0 * k, (3.0 * k, 0, 0))) for k in range(10)]
    parts = [Part(mesh, place, material=k % 2) for k, (mesh, place) in enumerate(zip(meshes, places, strict=True))]
    return Document(parts=parts, materials=[MATERIALS[PAINT], MATERIALS[GLASS]])


SHARED = shape(0, is_textured=False)


@pytest.mark.parametrize("meshes", [[SHARED] * 10, [replace(SHARED) for _ in range(10)]], ids=["one", "equal ones"])
def test_aff_stores_a_shared_mesh_once(meshes, tmp_path):
    document = instances(meshes)
    exported = export(scene(document), tmp_path / "copy.aff", 0.0)
    texts = [file.read_text() for file in exported.files]
    assert [file.name for file in exported.files] == ["copy.aff", "copy-mesh-1.aff"]
    assert [text.count("vertices") for text in texts] == [0, 1]
    copy = load(exported.files[0])
    assert_same_triangles(scene(document).at(0.0), copy.at(0.0))
    assert_same_materials(scene(document).at(0.0), copy.at(0.0))


def test_aff_of_lights_that_fade(tmp_path):
    document = replace(animated(), tracks={})
    document.lights = [
        PointSource(np.array([0.0, 9.0, 0.0]), (10.0, 20.0, 0.0)),
        PointSource(np.array([5.0, 2.0, 30.0]), (0.5, 0.5, 0.5), fades=False),
    ]
    source = scene(document)
    lights = written(source, tmp_path, ".aff").at(0.0).lights
    assert [light.position for light in lights] == [(0.0, 9.0, 0.0), (5.0, 2.0, 30.0)]
    for one, two in zip(source.at(0.0).lights, lights, strict=True):
        assert np.allclose(one.intensity, two.intensity, rtol=1e-12, atol=0.0)


def with_all_lights():
    """A document with a light of every kind."""
    more = [
        SpotSource(np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0, 2.0]), (3.0, 2.0, 1.0), 10.0, 30.0),
        SpotSource(np.zeros(3), np.array([0.0, 0.0, 1.0]), (1.0, 1.0, 1.0), 120.0, 150.0),
        DistantSource(np.array([0.6, 0.0, 0.8]), (4.0, 5.0, 6.0), 0.5),
    ]
    sky = EnvironmentSource(np.ones((1, 1, 3), np.float32))
    return replace(animated(), lights=[*animated().lights, *more], environment=sky)


def test_lights_that_a_format_has_no_words_for_are_told():
    class GlobeLight:
        kind, has_size, strength = "globe", True, (1.0, 1.0, 1.0)

    seen = replace(scene(with_all_lights()).at(0.0), lights=(GlobeLight(), GlobeLight()))
    assert list(writer.light_losses(seen)) == ["globe lights left out: 2"]
    assert list(gltf_writer.light_losses(seen)) == ["globe lights left out: 2"]
    assert gltf_writer.punctual_lights(seen) == []


def test_glb_has_spots_and_distant_lights(tmp_path):
    losses = export(scene(with_all_lights()), tmp_path / "copy.glb", 0.0).losses
    assert "environment left out" in losses
    assert "a distant light has no disc any more, which was 0.5 degrees in radius" in losses
    assert "a spot fades from 10 to 30 degrees as those of glTF do" in losses
    first, second = scene(with_all_lights()).at(0.0).lights, load(tmp_path / "copy.glb").at(0.0).lights
    assert [type(light) for light in first] == [type(light) for light in second]
    _, spot, wide, sun = second
    assert spot.position == (1.0, 2.0, 3.0)
    assert spot.intensity == pytest.approx((3.0, 2.0, 1.0))
    assert (spot.inner_angle, spot.outer_angle) == pytest.approx((10.0, 30.0))
    assert (wide.inner_angle, wide.outer_angle) == pytest.approx((90.0, 90.0), abs=1e-3)
    assert sun.irradiance == pytest.approx((4.0, 5.0, 6.0))
    for one, two in zip(first[1:], second[1:], strict=True):
        assert one.direction == pytest.approx(two.direction)


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(4),
        placed((0.3, 0.1, 7.0), (1, 1, 1), 37.3, (1.1, 2.2, 3.3)),
        placed((0.7, 0.7, 0.7), (0, 1, 0), 270.0, (0, 0, 0)),
        placed((1, 1, 1), (0, 0, 1), 180.0, (0, 0, 0)),
        placed((1, 1, 1), (1, 0, 0), 1e-7, (0, 0, 0)),
        placed((1, 0.0, 1), (0, 0, 1), 45.0, (0, 0, 0)),
        placed((-1, 1, 1), (0, 1, 0), 60.0, (0, 0, 0)),
        placed((1, 1, 1), (0, 1, 0), 20.0, (1, 2, 3)) @ placed((1, 3, 0.5), (1, 0, 1), 40.0, (1, 2, 3)),
        placed((1, 3, 0.5), (0, 1, 0), 20.0, (1, 2, 3)) @ placed((-1, 3, 0.5), (1, 0, 1), 40.0, (1, 2, 3)),
    ],
    ids=["none", "all", "270", "180", "tiny", "flat", "mirrored", "nested", "sheared"],
)
def test_maps_as_scale_turn_and_shift(matrix):
    product = np.eye(4)
    for level in levels(matrix):
        product = product @ placed(level[:3], level[3:6], level[6], level[7:])
    assert np.allclose(product, matrix, rtol=0, atol=1e-14)
    assert np.array_equal(product[:3, 3], matrix[:3, 3])


@pytest.mark.parametrize("degrees", [0.0, 12.5, 45.0, 90.0, 137.0, 180.0, 200.1, 270.0, 359.0, -90.0])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, -1), (1, 1, 0), (1, -2, 3)])
def test_maps_of_short_numbers_come_back_in_full(axis, degrees):
    matrix = placed((0.3, 1.7, 0.01), axis, degrees, (0.1, 0.2, 0.7))
    (level,) = levels(matrix)
    assert np.array_equal(placed(level[:3], level[3:6], level[6], level[7:]), matrix)


STILL = [".obj", ".glb"]


@pytest.mark.parametrize("suffix", [*STILL, ".xml"])
@pytest.mark.parametrize("time", [0.0, 0.9])
def test_still_files_read_back(suffix, time, tmp_path):
    """Triangles come in groups of one material. Normals are made unit ones again, so that a last bit may change."""
    source = scene(animated())
    first, second = by_material(source.at(time)), written(source, tmp_path, suffix, time).at(0.0)
    assert_same_triangles(first, second, ["positions"])
    assert np.allclose(first.normals, second.normals, rtol=0, atol=1e-6)
    assert np.allclose(first.uvs, second.uvs, rtol=0, atol=1e-6)
    assert len(first.positions) == (45 if time == 0.9 else 173)


def test_materials_of_glb(tmp_path):
    document = animated()
    document.materials = [*document.materials[:3], replace(document.materials[3], emission=(1.0, 2.0, 4.0))]
    snapshot = written(document, tmp_path, ".glb").at(0.0)
    found = {material.name: material for material in snapshot.materials}
    paint = MATERIALS[PAINT]
    assert phong_power(found["paint"].roughness ** 2) == pytest.approx(paint.exponent)
    shiny = by_phong(found["paint"])
    given = np.sum([paint.diffuse, paint.specular], axis=0)
    assert np.allclose(np.sum([shiny.diffuse, shiny.specular], axis=0), given, atol=0.02)
    assert sum(shiny.specular) / given.sum() == pytest.approx(sum(paint.specular) / given.sum(), abs=0.05)
    assert (found["glass"].kind, found["glass"].ior) == ("dielectric", 1.52)
    assert found["glass"].transmittance == pytest.approx(0.9)
    assert found["glass"].emission == (1.0, 2.0, 4.0)
    assert found["poster"].diffuse == (0.9, 0.8, 0.7)
    assert np.array_equal(snapshot.textures[found["poster"].texture].pixels, document.textures[1].pixels)


GOLD = Material(name="gold", kind="metal", diffuse=(0.0, 0.0, 0.0), specular=(1.0, 0.75, 0.25), roughness=0.5)
COPPER = Material(
    name="copper",
    kind="metal",
    diffuse=(0.0, 0.0, 0.0),
    specular=(0.5, 1.0, 1.0),
    roughness=0.75,
    eta=(0.25, 1.0, 1.25),
    k=(3.0, 2.5, 2.0),
)
#: ((eta - 1)^2 + k^2) / ((eta + 1)^2 + k^2), of its red one half.
COPPER_AHEAD = (0.5 * 9.5625 / 10.5625, 6.25 / 10.25, 4.0625 / 9.0625)
GLAZE = Material(name="glaze", kind="plastic", diffuse=(0.25, 0.5, 0.75), ior=1.5, roughness=0.25)
CAR = Material(
    name="car",
    kind="principled",
    diffuse=(0.75, 0.25, 0.5),
    ior=1.5,
    roughness=0.5,
    own={"metalness": 0.25, "coat": 0.5, "coat_roughness": 0.25, "specular_weight": (0.5, 0.25, 1.0)},
)
CLOTH = Material(name="cloth", kind="sheen", diffuse=(0.25, 0.5, 0.75), roughness=0.5, own={"sheen": (0.5, 0.25, 0.0)})
ICE = Material(
    name="ice", kind="dielectric", transmittance=1.0, ior=1.25, roughness=0.5, absorption=(0.5, 0.25, 0.0), priority=2,
    scattering=(0.5, 1.0, 2.0), mean_cosine=0.25,
)  # fmt: skip


@pytest.mark.parametrize("suffix", [".glb", ".obj", ".aff", ".xml"])
def test_pictures_of_metalness_and_roughness_leave_their_means(suffix, tmp_path):
    document = animated()
    pixels = np.array([[[51, 51, 0], [51, 51, 255]]], np.uint8)
    texture = document.add_texture(Texture(name="m", pixels=pixels, is_linear=True))
    even = replace(CAR, own={"metalness": 0.125}, roughness=0.5 * float(pixels.mean()) / 255.0)
    picture = replace(CAR, own={"metalness": 0.25}, metalness_map=texture, roughness_map=texture)
    found = []
    for folder, material in (("even", even), ("picture", picture)):
        document.materials = [*document.materials[:3], material]
        (tmp_path / folder).mkdir()
        exported = export(scene(document), tmp_path / folder / f"copy{suffix}", 0.0)
        found.append(load(exported.files[0]).at(0.0).materials)
    assert found[0] == found[1]
    assert "material 'car' has lost its roughness map, metalness map" in exported.losses


@pytest.mark.parametrize("suffix", [".toml", ".glb", ".obj", ".aff"])
def test_surfaces_of_microfacets(suffix, tmp_path):
    """Of TOML all comes back, of glTF what is not inside; MTL and AFF have Phong's shine for them."""
    document = animated()
    document.materials = [GOLD, replace(document.materials[POSTER], texture=1), GLAZE, ICE, COPPER, CAR, CLOTH]
    squares = [Part(rectangle((3, 0, index), (1, 0, 0), (0, 1, 0), index)) for index in (4, 5, 6)]
    document.parts = [*document.parts, *squares]
    exported = export(scene(document), tmp_path / f"copy{suffix}", 0.0)
    materials = load(exported.files[0]).at(0.0).materials
    found = {material.name: material for material in materials}
    if suffix == ".toml":
        assert [found[one.name] for one in (GOLD, GLAZE, ICE, COPPER, CAR, CLOTH)] == [
            GOLD, GLAZE, ICE, COPPER, CAR, CLOTH,
        ]  # fmt: skip
        return
    assert "material 'ice' no longer absorbs light inside" in exported.losses
    assert "material 'ice' no longer scatters light inside" in exported.losses
    assert "material 'ice' no longer has a priority where solids overlap" in exported.losses
    if suffix == ".glb":
        for one, color, metal in ((GOLD, GOLD.specular, 1.0), (GLAZE, GLAZE.diffuse, 0.0), (CAR, CAR.diffuse, 0.25)):
            two = found[one.name]
            assert (two.kind, two.diffuse, two.own["metalness"]) == ("principled", color, metal)
            assert (two.roughness, two.ior) == (one.roughness, 1.5)
        assert found["car"] == CAR
        assert found["cloth"] == CLOTH
        assert found["copper"].diffuse == pytest.approx(COPPER_AHEAD)
        lost = "material 'copper' keeps of its index no more than what it reflects at normal incidence"
        assert lost in exported.losses
        assert (found["ice"].kind, found["ice"].ior, found["ice"].roughness) == ("dielectric", 1.25, 0.5)
        return
    assert "material 'gold' is no longer a metal but shines by Phong's numbers" in exported.losses
    assert "material 'glaze' is no longer a plastic but shines by Phong's numbers" in exported.losses
    assert "material 'car' is no longer a principled but shines by Phong's numbers" in exported.losses
    assert "material 'cloth' is no longer a sheen but diffuse" in exported.losses
    assert "material 'ice' is no longer rough" in exported.losses
    by_color = {material.specular: material for material in materials}  # AFF has no names
    assert any(specular == pytest.approx(COPPER_AHEAD) for specular in by_color)
    gold, glaze = by_color[GOLD.specular], next(m for m in materials if m.diffuse == GLAZE.diffuse)
    assert (gold.kind, gold.diffuse, gold.exponent) == ("nff", (0.0, 0.0, 0.0), pytest.approx(phong_power(0.25)))
    assert (glaze.specular, glaze.exponent) == (pytest.approx((0.04,) * 3), pytest.approx(phong_power(0.0625)))


def test_view_of_glb(tmp_path):
    document = animated()
    turned = placed((1, 1, 1), (1, 2, 3), 50.0, (0, 0, 0))
    forward, up = tuple((-turned[:3, 2]).tolist()), tuple(turned[:3, 1].tolist())
    document.cameras["side"] = Camera(
        eye=(1, 2, 3), forward=forward, up=up, vertical_fov=50.0, near=0.2, resolution=(1200, 600)
    )
    document.cameras["plan"] = replace(document.cameras["side"], vertical_fov=40.0, height=3.5)
    first, second = scene(document).at(0.0), written(document, tmp_path, ".glb").at(0.0)
    assert list(second.cameras) == ["front", "side", "plan"]
    for name, camera in first.cameras.items():
        found = second.cameras[name]
        assert np.allclose([camera.eye, camera.forward, camera.up], [found.eye, found.forward, found.up])
        assert (found.vertical_fov, found.near) == (pytest.approx(camera.vertical_fov), camera.near)
        assert found.height == camera.height
    assert second.cameras["side"].resolution == (1200, 600)
    nodes = trimesh.load_scene(tmp_path / "copy.glb").graph
    assert np.linalg.det(nodes.get("side")[0][:3, :3]) == pytest.approx(1.0)  # no mirror image
    (one,), (two,) = first.lights, second.lights
    assert one.position == two.position
    assert np.allclose(one.intensity, two.intensity)


@pytest.mark.parametrize("suffix", STILL)
def test_trimesh_alone_reads_the_same(suffix, tmp_path):
    snapshot = scene(animated()).at(0.0)
    export(scene(animated()), tmp_path / f"copy{suffix}", 0.0)
    loaded = trimesh.load_scene(tmp_path / f"copy{suffix}", process=False)
    assert len(loaded.geometry) == 4
    for number, material in enumerate(snapshot.materials):
        (found,) = [mesh for mesh in loaded.geometry.values() if mesh.visual.material.name == material.name]
        mine = snapshot.material_ids == number
        positions = np.asarray(found.triangles, dtype=np.float32)
        assert np.array_equal(positions.view(np.uint32), snapshot.positions[mine].view(np.uint32))
        assert np.allclose(found.vertex_normals[found.faces], snapshot.normals[mine], rtol=0, atol=1e-6)
        if material.texture >= 0:
            surface = found.visual.material
            image = getattr(surface, "image", None) or getattr(surface, "baseColorTexture", None)
            assert np.array_equal(np.asarray(image.convert("RGB")), snapshot.textures[material.texture].pixels)
            upward = np.array([1.0, -1.0]) * found.visual.uv[found.faces] + np.array([0.0, 1.0])
            assert np.allclose(upward, snapshot.uvs[mine], rtol=0, atol=1e-6)


@pytest.mark.parametrize("suffix", WRITERS)
def test_files_are_replaced_in_full_or_not_at_all(suffix, tmp_path, monkeypatch):
    path = tmp_path / f"copy{suffix}"
    path.write_text("before")
    writer = WRITERS[suffix]

    def failing(*arguments):
        writer(*arguments)
        raise OSError("no space left")

    monkeypatch.setitem(WRITERS, suffix, failing)
    with pytest.raises(OSError, match="no space"):
        export(scene(animated()), path, 0.0)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"
    monkeypatch.setitem(WRITERS, suffix, writer)
    assert len(written(animated(), tmp_path, suffix).at(0.0).positions) > 100


def test_missing_folders_are_to_be_made(tmp_path):
    with pytest.raises(SceneError, match=r"no folder '.*missing' to write 'copy\.obj' in; make it first"):
        export(scene(animated()), tmp_path / "missing" / "copy.obj", 0.0)
    assert list(tmp_path.iterdir()) == []


def test_another_camera_first(tmp_path):
    document = animated()
    document.cameras["side"] = replace(document.cameras["front"], eye=(5.0, 5.0, 5.0), near=0.3)
    turned = looking_through(scene(document), "side")
    assert list(turned.at(0.0).cameras) == ["side", "front"]
    assert_same_camera(written(turned, tmp_path, ".aff").at(0.0).camera, document.cameras["side"])
    with pytest.raises(SceneError, match="has no camera 'top'; it has front, side"):
        looking_through(scene(document), "top")


@pytest.mark.parametrize("suffix", WRITERS)
def test_names_that_are_no_text(suffix, tmp_path):
    """Those of files that are to be written are refused; the scene's own does not matter."""
    if suffix == ".xml":
        pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    scene = replace(load("cornell"), name="box \udcff")
    with pytest.raises(SceneError, match=r"the name of '.*a\\udcff\.\w+' is no text"):
        export(scene, tmp_path / f"a\udcff{suffix}", 0.0)
    assert not list(tmp_path.iterdir())
    assert tmp_path / f"a{suffix}" in export(scene, tmp_path / f"a{suffix}", 0.0).files


def test_unknown_formats_list_those_there_are(tmp_path):
    with pytest.raises(
        SceneError, match=r"copy\.stl'; scenes are written to files that end in \.toml \.aff \.obj \.glb \.xml"
    ):
        export(scene(animated()), tmp_path / "copy.stl", 0.0)


def test_materials_of_obj(tmp_path):
    """AFF's clear surfaces are glass alone to who reads MTL as this project does."""
    snapshot = written(animated(), tmp_path, ".obj").at(0.0)
    found = {material.name: material for material in snapshot.materials}
    paint = MATERIALS[PAINT]
    assert found["paint"].kind == "nff"
    assert [getattr(found["paint"], name) for name in NUMBERS] == [getattr(paint, name) for name in NUMBERS]
    assert (found["glass"].kind, found["glass"].ior) == ("dielectric", 1.52)
    assert found["glass"].transmittance == pytest.approx(0.9)
    assert np.array_equal(snapshot.textures[found["poster"].texture].pixels, animated().textures[1].pixels)
    assert np.array_equal(snapshot.textures[found["window"].texture].pixels, animated().textures[0].pixels)


def test_light_groups_are_written_and_read(tmp_path):
    """Names that nobody has given are not written, and follow from numbers again."""
    lamps = [PointSource(np.zeros(3), (1.0, 1.0, 1.0), group="key"), PointSource(np.ones(3), (1.0, 1.0, 1.0))]
    sky = EnvironmentSource(np.ones((1, 1, 3), np.float32), group="dome")
    materials = [Material(name="panel", emission=(1.0, 1.0, 1.0), group="top"), Material(name="tube")]
    parts = [Part(rectangle((0, 0, 0), (1, 0, 0), (0, 1, 0), material)) for material in (0, 1)]
    document = Document(parts=parts, lights=lamps, materials=materials, environment=sky)
    export(scene_of("a", document), tmp_path / "a.toml", 0.0)
    read = load(tmp_path / "a.toml").at(0.0)
    assert (read.light_groups, read.environment_group) == (("key", "light2"), "dome")
    assert [material.group for material in read.materials] == ["top", ""]
    assert (tmp_path / "a.toml").read_text().count("group = ") == 3


def test_lights_of_gltf_and_mitsuba_have_their_names(tmp_path):
    file = GltfBuilder()
    triangle = file.primitive({"POSITION": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, [0, 1, 2])
    file.node(mesh=file.mesh(triangle))
    file.header["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}}
    for name in ({"name": "Key.001"}, {}):
        file.node(extensions={"KHR_lights_punctual": {"light": 0}}, **name)
    assert load(file.write(tmp_path / "a.gltf")).at(0.0).light_groups == ("Key.001", "light2")
    emitters = '<emitter type="point" id="rim"/><emitter type="constant"/>'
    (tmp_path / "a.xml").write_text(f'<scene version="3.0.0"><shape type="sphere"/>{emitters}</scene>')
    assert load(tmp_path / "a.xml").at(0.0).light_groups == ("rim",)
