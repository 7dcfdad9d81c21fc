"""Colours of corners: what a lookup in the texture gives is their barycentric mean."""

import numpy as np
import pytest

from renderer.scene.packed_scene import texture_colors, texture_look
from scenes import load, vertex_colors
from scenes.export import export
from scenes.model import Mesh
from scenes.vertex_colors import with_vertex_colors
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


def test_triangles_of_one_colour_each_share_a_palette():
    colors = np.repeat(np.float64([[1, 0, 0], [0, 0, 1], [1, 0, 0]])[:, None], 3, axis=1)
    mesh, texture = with_vertex_colors(mesh_of(3), colors)
    assert texture.colors is None
    assert texture.pixels.shape == (2, 2, 3)
    assert np.allclose(seen(mesh, texture, np.eye(3)), colors)


def test_exports_say_that_they_round(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 0 1 0 0 0 1\nf 1 2 3\n")
    exported = export(load(tmp_path / "a.obj"), tmp_path / "b.obj", 0.0)
    assert "texture 'colours' is rounded to 8 bits and to the range from 0 to 1" in exported.losses
    again = load(tmp_path / "b.obj").at(0.0).textures[0]
    assert again.pixels.tolist() == [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [0, 255, 255]]]


def test_a_large_mesh_has_means(monkeypatch):
    monkeypatch.setattr(vertex_colors, "MAX_PATCHES", 1)
    mesh, texture = with_vertex_colors(mesh_of(2), np.float64([np.eye(3), np.ones((3, 3))]))
    assert np.allclose(seen(mesh, texture, np.eye(3))[:, 0], [[1 / 3] * 3, [1] * 3], atol=0.004)
