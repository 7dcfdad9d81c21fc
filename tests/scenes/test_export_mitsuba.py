"""Scenes written as Mitsuba's XML: the same surfaces, lights and cameras are read back."""

from dataclasses import replace

import numpy as np
import pytest

from scenes import SceneError, load
from scenes.document import Document, EnvironmentSource, Part
from scenes.export import export
from scenes.lights import DistantSource, PointSource, SpotSource
from scenes.meshes.shapes import rectangle
from scenes.model import Camera, Material, Texture
from scenes.motion.transforms import WORLD, quaternion, rotation
from scenes.playing.evaluator import scene_of

BLACK = (0.0, 0.0, 0.0)
GOLD = Material(name="gold", kind="metal", diffuse=BLACK, specular=(1.0, 0.75, 0.25), roughness=0.5)
COPPER = replace(GOLD, name="copper", roughness=0.0, eta=(0.25, 1.0, 1.25), k=(3.0, 2.5, 2.0))
GLAZE = Material(name="glaze", kind="plastic", diffuse=(0.25, 0.5, 0.75), ior=1.5, roughness=0.25)
SATIN = replace(GLAZE, name="satin", kind="principled", own={"metalness": 0.0, "specular_weight": (0.5, 0.25, 1.0)})
CAR = replace(GLAZE, name="car", kind="principled", own={"metalness": 0.25})
SLATE = replace(GLAZE, name="slate", roughness=0.0)
GLASS = Material(
    name="glass",
    kind="dielectric",
    diffuse=BLACK,
    specular=(1.0, 1.0, 1.0),
    transmittance=0.75,
    ior=1.25,
    roughness=0.5,
)
LAMP = Material(name="lamp", diffuse=(0.25, 0.25, 0.5), emission=(3.0, 2.0, 1.0))
CHALK = Material(name="chalk", diffuse=(0.5, 0.75, 0.875))


BULB = PointSource(np.array([0.0, 3.0, 0.0]), (1.0, 1.0, 1.0))


@pytest.fixture
def exported(tmp_path):
    """What is written of a document, and what is read of that."""

    def both(**fields):
        document = Document(cameras={"front": FRONT}, **fields)
        if not document.parts:
            document.materials, document.parts = [CHALK], squares(1)
        found = export(scene_of("made", document), tmp_path / "copy.xml", 0.0)
        return found, load(found.files[0]).at(0.0)

    return both


def squares(count):
    """A square of each of so many materials, one beside the other."""
    return [Part(rectangle((2.0 * k, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), k)) for k in range(count)]


FRONT = Camera(eye=(0, 1, 9), forward=(0, 0, -1), up=(0, 1, 0), vertical_fov=33.3, near=0.01, resolution=(120, 60))


@pytest.mark.parametrize("material", [GOLD, COPPER, GLAZE, SLATE, SATIN, CAR, GLASS, LAMP], ids=lambda one: one.name)
def test_a_material_comes_back(exported, material):
    _, snapshot = exported(materials=[CHALK, material], parts=squares(2))
    assert snapshot.materials[1] == material
    assert snapshot.materials[0] == CHALK


@pytest.mark.parametrize(
    "material",
    [
        Material(name="paint", kind="nff", diffuse=(0.1, 0.2, 0.3), specular=(0.2, 0.1, 0.05), exponent=13.7),
        Material(name="pane", kind="nff", diffuse=BLACK, specular=(0.1, 0.1, 0.1), exponent=90.0, transmittance=0.8),
        Material(
            name="all",
            kind="nff",
            diffuse=(0.2, 0.1, 0.1),
            specular=(0.1, 0.2, 0.3),
            exponent=7.0,
            transmittance=0.25,
            ior=1.5,
        ),
    ],
    ids=lambda one: one.name,
)
def test_mixtures_come_back(exported, material):
    found, snapshot = exported(materials=[material], parts=squares(1))
    (read,) = snapshot.materials
    assert (read.name, read.kind, read.ior) == (material.name, "nff", material.ior)
    for name in ("diffuse", "specular", "exponent", "transmittance"):
        assert getattr(read, name) == pytest.approx(getattr(material, name)), name
    assert f"material '{material.name}' has microfacets for Phong's highlight" in found.losses


def test_mixtures_of_one_thing_are_that_thing(exported):
    plain = Material(name="plain", kind="nff", diffuse=(0.25, 0.5, 0.75))
    clear = Material(name="clear", kind="nff", diffuse=BLACK, transmittance=1.0, ior=1.5)
    black = Material(name="black", kind="nff", diffuse=BLACK)
    _, snapshot = exported(materials=[plain, clear, black], parts=squares(3))
    one, two, three = snapshot.materials
    assert (one.kind, one.diffuse) == ("diffuse", plain.diffuse)
    assert (two.kind, two.transmittance, two.ior) == ("dielectric", 1.0, 1.5)
    assert (three.kind, three.diffuse) == ("diffuse", BLACK)


def test_textures_hold_the_colour_before_them(exported):
    pixels = np.random.default_rng(3).integers(0, 256, (4, 8, 3), dtype=np.uint8)
    pictures = [Texture(name="a.png", pixels=pixels), Texture(name="b", pixels=pixels, wrap="clamp", filter="nearest")]
    white = Material(name="white", diffuse=(1.0, 1.0, 1.0), texture=0)
    tinted = Material(name="tinted", diffuse=(0.0, 0.25, 1.0), texture=1)
    found, snapshot = exported(materials=[white, tinted], textures=pictures, parts=squares(2), lights=[BULB])
    one, two = (snapshot.textures[material.texture] for material in snapshot.materials)
    assert np.array_equal(one.pixels, pixels)
    assert (two.wrap, two.filter) == ("clamp", "nearest")
    assert not two.pixels[..., 0].any()
    assert np.array_equal(two.pixels[..., 2], pixels[..., 2])
    assert found.losses == ("material 'tinted' has its colour in its texture, rounded to bytes",)


def test_lights_come_back(exported):
    lights = [
        PointSource(np.array([1.0, 2.0, 3.0]), (3.0, 2.0, 1.0)),
        SpotSource(np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0, 2.0]), (3.0, 2.0, 1.0), 10.0, 30.0),
        DistantSource(np.array([0.6, 0.0, 0.8]), (4.0, 5.0, 6.0), 0.5),
    ]
    found, snapshot = exported(lights=lights)
    point, spot, distant = snapshot.lights
    assert (point.position, point.intensity) == ((1.0, 2.0, 3.0), (3.0, 2.0, 1.0))
    assert spot.position == pytest.approx((1.0, 2.0, 3.0))
    assert spot.direction == pytest.approx((2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0))
    assert (spot.intensity, spot.inner_angle, spot.outer_angle) == ((3.0, 2.0, 1.0), 10.0, 30.0)
    assert (distant.direction, distant.irradiance) == (pytest.approx((0.6, 0.0, 0.8)), (4.0, 5.0, 6.0))
    assert found.losses == (
        "a spot fades otherwise from 10 to 30 degrees",
        "a distant light has lost its disc of 0.5 degrees",
    )


def test_a_picture_all_around_comes_back_turned_as_it_was(exported):
    pytest.importorskip("OpenEXR", reason="OpenEXR, of the extra 'exr', is not installed")
    radiance = np.random.default_rng(2).uniform(0.0, 9.0, (3, 6, 3)).astype(np.float32)
    turned = WORLD.inner(matrix=rotation(quaternion(np.array([1.0, 2.0, 3.0]), 40.0)))
    given = Document(environment=EnvironmentSource(radiance, turned), materials=[CHALK], parts=squares(1))
    axes = scene_of("made", given).at(0.0).environment.axes  # type: ignore[union-attr]
    _, snapshot = exported(environment=given.environment)
    assert np.array_equal(snapshot.environment.radiance, radiance)
    assert np.allclose(snapshot.environment.axes, axes, rtol=0, atol=1e-12)


def test_cameras_come_back(tmp_path):
    lens = replace(FRONT, fov_axis="diagonal", aperture=0.25, focus=3.5, eye=(1, 2, 3), forward=(0.6, 0.0, -0.8))
    plan = replace(lens, aperture=0.0, focus=0.0, height=3.5)
    document = Document(cameras={"front": FRONT, "lens": lens, "plan": plan}, materials=[CHALK], parts=squares(1))
    found = export(scene_of("made", document), tmp_path / "copy.xml", 0.0)
    cameras = load(found.files[0]).at(0.0).cameras
    assert list(cameras) == ["front", "lens", "plan"]
    for name, given in document.cameras.items():
        read = cameras[name]
        assert (read.resolution, read.near, read.aperture, read.focus) == (
            given.resolution,
            given.near,
            given.aperture,
            given.focus,
        )
        assert read.height == (None if given.height is None else pytest.approx(given.height))
        if given.height is None:
            assert read.vertical_fov == pytest.approx(given.vertical_fov)
            assert read.fov_axis == given.fov_axis
        for axis in ("eye", "forward", "up"):
            assert getattr(read, axis) == pytest.approx(getattr(given, axis))


def test_names_that_mitsuba_would_refuse(exported):
    """Ids have no points and no underline ahead, and no two objects have the same."""
    names = ["front", "a.b", "a_b", "_hidden", "@"]
    _, snapshot = exported(materials=[replace(CHALK, name=name) for name in names], parts=squares(5))
    read = [material.name for material in snapshot.materials]
    assert len(set(read)) == 5
    assert not any("." in name or name.startswith("_") for name in read)
    assert list(snapshot.cameras) == ["front"]


def test_what_is_lost_is_told(exported):
    strange = replace(CHALK, name="garden", backdrop=(1.0, 1.0, 1.0), cutout=0, bump_map=0)
    ice = replace(GLASS, name="ice", absorption=(0.5, 0.25, 0.0), scattering=(1.0, 1.0, 1.0), priority=1)
    picture = Texture(name="a", pixels=np.zeros((1, 1, 3), np.uint8))
    found, _ = exported(
        materials=[strange, ice, GOLD], textures=[picture], parts=squares(3), lights=[BULB], background=(0.0, 0.5, 1.0)
    )
    assert found.losses == (
        "background left out: 0 0.5 1",
        "material 'garden' is no longer a backdrop",
        "material 'garden' is no longer cut out",
        "material 'garden' has lost its bump map",
        "material 'ice' no longer absorbs light inside",
        "material 'ice' no longer scatters light inside",
        "material 'ice' no longer has a priority where solids overlap",
        "material 'gold' reflects the same share of light at all angles",
    )


def test_kinds_of_materials_that_mitsuba_does_not_know_are_named(exported):
    with pytest.raises(
        SceneError, match="material 'chalk': Mitsuba has nothing like kind 'velvet'; there are: diffuse"
    ):
        exported(materials=[replace(CHALK, kind="velvet")], parts=squares(1))
