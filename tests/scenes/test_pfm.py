"""Portable float maps: colours and greys of both byte orders, and files that are none."""

import numpy as np
import pytest

from scenes import SceneFileError, load
from scenes.pictures.environment_file import read_environment

TEXELS = np.arange(18, dtype=np.float32).reshape(2, 3, 3)


def pfm(texels, factor=-1.0):
    """The bytes of a map; the lowest row comes first."""
    height, width = texels.shape[:2]
    order = "<f4" if factor < 0.0 else ">f4"
    return (
        b"P%s\n%d %d\n%g\n" % (b"F" if texels.ndim == 3 else b"f", width, height, factor)
        + texels[::-1].astype(order).tobytes()
    )


@pytest.mark.parametrize("factor", [-1.0, 1.0, -2.5, 0.5])
def test_colours_and_greys(tmp_path, factor):
    (tmp_path / "a.pfm").write_bytes(pfm(TEXELS, factor))
    assert read_environment(tmp_path / "a.pfm") == pytest.approx(TEXELS * abs(factor))
    (tmp_path / "b.pfm").write_bytes(pfm(TEXELS[..., 0], factor))
    assert read_environment(tmp_path / "b.pfm") == pytest.approx(np.repeat(TEXELS[..., :1], 3, axis=2) * abs(factor))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PF\n3 2\n", "is not a readable .pfm file"),
        (b"P6\n3 2\n255\n", "is not a readable .pfm file"),
        (b"PF\n3 2\n0\n" + bytes(72), "is not a readable .pfm file"),
        (b"PF\n3 2\n1e5e5\n" + bytes(72), "is not a readable .pfm file"),
        (pfm(TEXELS)[:-1], "is cut off: its texels take 72 bytes, there are 71"),
        (b"PF\n0 2\n1\n", "the image has 0x2 texels"),
        (b"PF\n99999 99999\n1\n", "the image has 99999x99999 texels"),
        (pfm(np.full((1, 2, 3), np.nan)), "expected radiance from 0"),
        (pfm(TEXELS, -1e38), "expected radiance from 0"),
    ],
)
def test_what_is_no_map_is_refused(tmp_path, data, message):
    (tmp_path / "a.pfm").write_bytes(data)
    with pytest.raises(SceneFileError) as caught:
        read_environment(tmp_path / "a.pfm")
    assert message in str(caught.value)


def test_it_is_a_texture_of_pbrt(tmp_path):
    """Its first row is the upper one, of large v; above 1 it is white."""
    (tmp_path / "t.pfm").write_bytes(pfm(np.array([[[0.25, 0.5, 2.0]], [[0.0, 0.0, 0.0]]], np.float32)))
    text = 'WorldBegin Texture "t" "spectrum" "imagemap" "string filename" "t.pfm"\nMaterial "diffuse" "texture '
    (tmp_path / "a.pbrt").write_text(text + 'reflectance" "t"\nShape "sphere"')
    assert load(tmp_path / "a.pbrt").at(0.0).textures[0].pixels.tolist() == [[[137, 188, 255]], [[0, 0, 0]]]
