"""Materials as files say them, in pictures: what was measured, and what is metal by texel."""

import math
from dataclasses import replace

import numpy as np
import pytest
from driver_passes import passes
from gltf_file import GltfBuilder

from scenes import PointLight, load
from scenes.model import Camera, Material
from shaders.errors import ShaderError

EYE, LAMP, INTENSITY = np.array([0.0, -2.0, 1.5]), np.array([0.2, 0.6, 1.8]), np.array([3.0, 4.0, 5.0])
WIDTH, HEIGHT = 32, 16
#: Base and highlight of what was measured, by channel, of the left and of the right half of a floor.
LEFT, RIGHT = ((0.3, 0.2, 0.1), (0.5, 0.6, 0.8)), ((0.05, 0.3, 0.4), (0.9, 0.2, 0.3))


def reflected(surface, cosine):
    """What a surface (base, highlight) reflects, (..., 3) in 1/sr, by the cosine of the half vector."""
    base, highlight = (np.array(color) for color in surface)
    return base / math.pi + highlight * cosine[..., None] ** 30


def write_merl(path, surface):
    cosine = np.cos(((np.arange(90) + 0.5) / 90.0) ** 2 * math.pi / 2.0)
    values = reflected(surface, cosine).T / (np.array([1.0, 1.15, 1.66]) / 1500.0)[:, None]
    numbers = np.repeat(values[..., None], 90 * 180, axis=2).astype("<f8")
    path.write_bytes(np.array([90, 90, 180], "<i4").tobytes() + numbers.tobytes())


FLOOR = """
[[object]]
shape = "triangles"
material = "{name}"
vertices = [[{x0}, -1, 0], [{x1}, -1, 0], [{x1}, 1, 0], [{x0}, 1, 0]]
triangles = [[0, 1, 2], [0, 2, 3]]
uvs = [[0, 0], [1, 0], [1, 1], [0, 1]]
"""


def view(snapshot):
    """A snapshot as it is seen from a slant, under a lamp without size."""
    forward = -EYE / np.linalg.norm(EYE)
    up = np.cross(np.array([1.0, 0.0, 0.0]), forward)
    camera = Camera(eye=tuple(EYE), forward=tuple(forward), up=tuple(up), vertical_fov=30.0, resolution=(WIDTH, HEIGHT))
    lamp = PointLight(position=tuple(LAMP), intensity=tuple(INTENSITY))
    return replace(snapshot, camera=camera, lights=(lamp,), environment=None, background=(0.0, 0.0, 0.0))


def seen_points():
    """Points (HEIGHT, WIDTH, 3) of the plane z = 0 that the middles of pixels see."""
    forward = -EYE / np.linalg.norm(EYE)
    up = np.cross(np.array([1.0, 0.0, 0.0]), forward)
    side = math.tan(math.radians(15.0))
    y, x = np.meshgrid(
        1.0 - (2.0 * np.arange(HEIGHT) + 1.0) / HEIGHT, (2.0 * np.arange(WIDTH) + 1.0) / WIDTH - 1.0, indexing="ij"
    )
    direction = forward + side * (y[..., None] * up + WIDTH / HEIGHT * x[..., None] * np.array([1.0, 0.0, 0.0]))
    return EYE - direction * (EYE[2] / direction[..., 2:])


@pytest.fixture(scope="module")
def measured_floor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    text = ""
    for name, surface, x0, x1 in (("left", LEFT, -1, 0), ("right", RIGHT, 0, 1)):
        write_merl(folder / f"{name}.binary", surface)
        text += f'[materials.{name}]\nkind = "measured"\nfile = "{name}.binary"\n'
        text += FLOOR.format(name=name, x0=x0, x1=x1)
    (folder / "floor.toml").write_text(text)
    return view(load(folder / "floor.toml").at(0.0))


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_what_was_measured_is_seen_as_the_files_have_it(measured_floor, driver):
    """Of one lamp without size, whose light comes to each point once."""
    points = seen_points()
    wi, wo = LAMP - points, EYE - points
    distance = np.linalg.norm(wi, axis=-1)
    wi /= distance[..., None]
    wo /= np.linalg.norm(wo, axis=-1)[..., None]
    h = (wi + wo) / np.linalg.norm(wi + wo, axis=-1)[..., None]
    values = np.where(points[..., :1] < 0.0, reflected(LEFT, h[..., 2]), reflected(RIGHT, h[..., 2]))
    expected = values * INTENSITY * (wi[..., 2] / distance**2)[..., None]
    found = passes(measured_floor, driver, 8, width=WIDTH, height=HEIGHT, photons=200_000).mean(axis=0)
    for half in (np.s_[4:12, 8:14], np.s_[4:12, 18:24]):
        assert found[half].mean(axis=(0, 1)) == pytest.approx(expected[half].mean(axis=(0, 1)), rel=0.03)
        assert np.ptp(expected[half][..., 0]) > 0.3 * expected[half][..., 0].mean()  # there is a highlight


def test_keys_that_a_kind_has_not_are_an_error(measured_floor):
    snapshot = replace(measured_floor, materials=(Material(name="a", kind="principled", own={"metalnes": 1.0}),) * 2)
    message = "material 'a': unknown key 'metalnes' of kind 'principled'; there are: metalness, specular_weight, coat,"
    with pytest.raises(ShaderError, match=message):
        passes(snapshot, "path", 1)


def test_a_file_that_is_none_of_the_database_is_an_error(tmp_path, measured_floor):
    (tmp_path / "a.binary").write_bytes(b"nothing")
    none = Material(name="a", kind="measured", own={"file": str(tmp_path / "a.binary")})
    with pytest.raises(ShaderError, match=r"a\.binary: expected a BRDF of the MERL database"):
        passes(replace(measured_floor, materials=(none, none)), "path", 1)


#: Red of a picture says nothing, green is the roughness and blue the metalness of a texel.
DULL, METAL = (0, 153, 0), (0, 102, 255)
BASE = [0.8, 0.5, 0.2, 1.0]


def gltf_floor(path, materials, picture=None):
    """A floor whose halves have the first and the last of some metallic-roughness materials of glTF."""
    file = GltfBuilder()
    texture = None if picture is None else {"index": file.picture(picture, {"magFilter": 9728})}
    for numbers in materials:
        pictures = {} if texture is None else {"metallicRoughnessTexture": texture}
        file.add("materials", doubleSided=True, pbrMetallicRoughness={"baseColorFactor": BASE, **numbers, **pictures})
    halves = [
        file.primitive(
            {
                "POSITION": [(x, -1, 0), (x + 1, -1, 0), (x + 1, 1, 0), (x, 1, 0)],
                "TEXCOORD_0": [(u, 0), (u + 0.5, 0), (u + 0.5, 1), (u, 1)],
            },
            np.array([0, 1, 2, 0, 2, 3]),
            material=index % len(materials),
        )
        for index, (x, u) in enumerate(((-1, 0.0), (0, 0.5)))
    ]
    file.node(mesh=file.mesh(*halves))
    return view(load(file.write(path)).at(0.0))


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_picture_says_texel_by_texel_what_is_metal(tmp_path, driver):
    """As two materials do, of which one is metal."""
    by_texel = gltf_floor(tmp_path / "one.gltf", [{}], [[DULL, METAL]])
    apart = [{"metallicFactor": 0.0, "roughnessFactor": 0.6}, {"metallicFactor": 1.0, "roughnessFactor": 0.4}]
    assert len(by_texel.materials) == 1
    one, two = (
        passes(snapshot, driver, 6, width=WIDTH, height=HEIGHT, photons=100_000).mean(axis=0)
        for snapshot in (by_texel, gltf_floor(tmp_path / "two.gltf", apart))
    )
    left, right = np.s_[4:12, 8:15], np.s_[4:12, 17:24]
    for half in (left, right):
        assert one[half].mean(axis=(0, 1)) == pytest.approx(two[half].mean(axis=(0, 1)), rel=0.02)
    assert np.abs(two[left] - two[right][:, ::-1]).mean() > 0.2 * two[left].mean()  # halves look unlike
