"""Colours of corners: what a lookup in the texture gives is their barycentric mean, and so does every driver."""

from dataclasses import replace

import numpy as np
import pytest
from driver_passes import deviation, independent_pictures, sidak_bound
from gltf_file import GltfBuilder

from renderer.drivers import DRIVERS
from renderer.scene.packed_scene import texture_colors, texture_look
from scenes import load
from scenes.colors.srgb import decoded
from scenes.lights import DistantLight
from scenes.materials import vertex_colors
from scenes.materials.vertex_colors import with_vertex_colors
from scenes.model import Camera, Mesh
from shaders.textures import lookup, pack_textures

TRIANGLE = np.eye(3)


def mesh_of(count):
    """A mesh of some triangles, all in the same place."""
    triangles = np.tile(np.int32([[0, 1, 2]]), (count, 1))
    return Mesh(vertices=TRIANGLE, triangles=triangles, material=0)


def seen(mesh, texture, weights):
    """(n, w, 3): what is looked up at points with some weights (w, 3) of the corners of each triangle."""
    textures = pack_textures([texture_colors(texture)], [texture_look(texture)])
    uvs = mesh.uvs.astype(np.float32)[mesh.uv_triangles]
    return np.array([[lookup(textures, 0, *(weight @ corners)) for weight in weights] for corners in uvs])


@pytest.mark.parametrize("count", [1, 2, 3, 5, 37])
def test_colours_are_interpolated_exactly(count):
    rng = np.random.default_rng(count)
    colors = rng.random((count, 3, 3))
    colors[0] = np.eye(3)  # whose fourth texel is no colour
    weights = np.concatenate([np.eye(3), rng.dirichlet((1.0, 1.0, 1.0), 20), [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]])
    mesh, texture = with_vertex_colors(mesh_of(count), colors)
    assert np.allclose(seen(mesh, texture, weights), weights @ colors, atol=1e-6)
    assert texture.pixels.shape == texture.colors.shape
    assert texture.pixels.size < 2 * 4 * 3 * count + 1


#: A floor of 8 by 1 squares with colours of its 18 corners, sRGB bytes: red along x, green along y. The first corner of
#: each triangle is an acute one, so that the fourth texel of its patch is no colour.
X, Y = np.repeat(np.arange(9), 2), np.tile([0, 1], 9)
BYTES = np.stack([np.minimum(32 * X, 255), 255 * Y, np.full(18, 128)], axis=-1)
FLOOR = [corners for k in range(0, 16, 2) for corners in ((k, k + 2, k + 3), (k, k + 3, k + 1))]


def ply(path):
    kinds = [f"float {name}" for name in "xyz"] + [f"uchar {name}" for name in ("red", "green", "blue")]
    header = ["ply", "format ascii 1.0", "element vertex 18", *(f"property {kind}" for kind in kinds)]
    header += ["element face 16", "property list uchar int vertex_indices", "end_header"]
    rows = [f"{x} {y} 0 {r} {g} {b}" for x, y, (r, g, b) in zip(X, Y, BYTES, strict=True)]
    faces = [f"3 {a} {b} {c}" for a, b, c in FLOOR]
    path.write_text("\n".join([*header, *rows, *faces, ""]))
    return path


def faces_ply(path):
    """The floor as squares with a colour each, that of their left corner below."""
    header = ["ply", "format ascii 1.0", "element vertex 18", *(f"property float {name}" for name in "xyz")]
    header += ["element face 8", "property list uchar int vertex_indices"]
    header += [*(f"property uchar {name}" for name in ("red", "green", "blue")), "end_header"]
    rows = [f"{x} {y} 0" for x, y in zip(X, Y, strict=True)]
    faces = [f"4 {k} {k + 2} {k + 3} {k + 1} {BYTES[k, 0]} {BYTES[k, 1]} {BYTES[k, 2]}" for k in range(0, 16, 2)]
    path.write_text("\n".join([*header, *rows, *faces, ""]))
    return path


def obj(path):
    rows = [f"v {x} {y} 0 {r} {g} {b}" for x, y, (r, g, b) in zip(X, Y, BYTES / 255.0, strict=True)]
    path.write_text("\n".join(rows + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in FLOOR]))
    return path


def gltf(path, *, has_uvs=False, color=(1.0, 1.0, 1.0)):
    """The floor as a glTF file, without shine."""
    file = GltfBuilder()
    pbr = {"baseColorFactor": [*color, 1.0], "metallicFactor": 0}
    dull = {"KHR_materials_specular": {"specularFactor": 0}}
    file.add("materials", pbrMetallicRoughness=pbr, extensions=dull)
    corners = {"POSITION": np.stack([X, Y, 0 * X], axis=-1), "COLOR_0": decoded(BYTES.astype(np.uint8))}
    if has_uvs:
        corners["TEXCOORD_0"] = np.stack([X / 8.0, Y], axis=-1)
    file.node(mesh=file.mesh(file.primitive(corners, np.ravel(FLOOR), material=0)))
    return file.write(path)


FACTOR = (0.5, 1.0, 0.25)
FILES = {
    "a.ply": ply,
    "a.obj": obj,
    "plain.gltf": gltf,
    "uvs.gltf": lambda path: gltf(path, has_uvs=True),
    "factor.gltf": lambda path: gltf(path, has_uvs=True, color=FACTOR),
}


def lit_from_above(file):
    """The floor of a file, of which each pixel shows the colour, seen so that a square is 4 pixels wide."""
    camera = Camera(eye=(4.0, 0.5, 1.0), forward=(0.0, 0.0, -1.0), up=(0.0, 1.0, 0.0), vertical_fov=1.0, height=1.0)
    light = DistantLight(direction=(0.0, 0.0, -1.0), irradiance=(np.pi, np.pi, np.pi))
    return replace(load(file).at(0), camera=camera, lights=(light,), environment=None, background=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("driver", ["path", "photon"])
def test_faces_of_a_ply_file_have_colours_of_their_own(tmp_path, driver):
    snapshot = lit_from_above(faces_ply(tmp_path / "faces.ply"))
    picture = independent_pictures(snapshot, driver, 1, width=32, height=4)[0]
    expected = np.repeat(decoded(BYTES[:16:2].astype(np.uint8)), 4, axis=0)
    np.testing.assert_allclose(picture[1:-1, 1:-1], np.tile(expected[1:-1], (2, 1, 1)), atol=2e-5)


@pytest.mark.parametrize("driver", sorted(set(DRIVERS) - {"ao"}))
@pytest.mark.parametrize("name", FILES)
def test_every_driver_shows_a_linear_ramp(tmp_path, name, driver):
    snapshot = lit_from_above(FILES[name](tmp_path / name))
    usual = {"radius": 0.1, "max_bounces": 2} if driver == "photons-only" else {}
    pictures = independent_pictures(snapshot, driver, 12, width=32, height=4, **usual)
    columns = decoded(BYTES[::2].astype(np.uint8))
    x, y = (np.arange(32) + 0.5) / 4.0, (3.5 - np.arange(4)) / 4.0
    expected = np.zeros((4, 32, 3))
    expected[..., 0] = np.interp(x, np.arange(9), columns[:, 0])
    expected[..., 1] = y[:, None]
    expected[..., 2] = columns[0, 2]
    if name == "factor.gltf":
        expected *= FACTOR
    inner = (slice(1, -1), slice(1, -1))  # at borders a search finds fewer photons, and at corners the ramp bends
    seen = (pictures[(slice(None), *inner)], expected[inner])
    bound = sidak_bound(seen[1].size)
    has_discs = driver in ("photons-only", "vcm")  # for direct light too, which they lose at borders
    assert deviation(*seen, tolerance=0.05 if has_discs else 1e-5).max() < bound


def test_a_large_mesh_has_means(monkeypatch):
    monkeypatch.setattr(vertex_colors, "MAX_PATCHES", 1)
    mesh, texture = with_vertex_colors(mesh_of(2), np.float64([np.eye(3), np.ones((3, 3))]))
    assert np.allclose(seen(mesh, texture, np.eye(3))[:, 0], [[1 / 3] * 3, [1] * 3], atol=0.004)
