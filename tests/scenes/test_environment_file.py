"""Images of light from all around: what each format says, and files that are no such images."""

import numpy as np
import pytest
from PIL import Image

from scenes import SceneFileError
from scenes.pictures import environment_file
from scenes.pictures.environment_file import read_environment

RADIANCE = np.arange(18, dtype=np.float32).reshape(2, 3, 3) / 7


def write_exr(path, channels):
    openexr = pytest.importorskip("OpenEXR", reason="the extra exr is not installed")
    header = {"compression": openexr.ZIP_COMPRESSION, "type": openexr.scanlineimage}
    with openexr.File(header, channels) as file:
        file.write(str(path))


def refused(path, scale=(1.0, 1.0, 1.0)):
    """What is wrong with a file, in one line."""
    with pytest.raises(SceneFileError) as caught:
        read_environment(path, scale)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return caught.value.message


def test_exr(tmp_path):
    write_exr(tmp_path / "sky.exr", {"RGB": RADIANCE})
    assert np.array_equal(read_environment(tmp_path / "sky.exr"), RADIANCE)
    write_exr(tmp_path / "grey.exr", {"Y": RADIANCE[..., 1].copy()})
    assert np.array_equal(read_environment(tmp_path / "grey.exr"), RADIANCE[..., [1, 1, 1]])
    write_exr(tmp_path / "depth.exr", {"Z": RADIANCE[..., 1].copy()})
    assert "it has no colours, but channels Z" in refused(tmp_path / "depth.exr")


def test_pictures_are_decoded(tmp_path):
    pixels = np.array([[(0, 128, 255), (188, 10, 1)]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "sky.png")
    value = pixels / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    np.testing.assert_allclose(read_environment(tmp_path / "sky.png", (3.0, 3.0, 3.0)), 3.0 * linear, rtol=1e-6)
    Image.fromarray(np.full((8, 8, 3), 255, np.uint8)).save(tmp_path / "sky.jpg")
    assert np.array_equal(read_environment(tmp_path / "sky.jpg"), np.ones((8, 8, 3)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.nan, "expected radiance from 0 to 1e+09, got nan in row 1, column 2"),
        (np.inf, "got inf in row 1, column 2"),
        (-1.0, "got -1 in row 1, column 2"),
        (1e10, "got 1e+10 in row 1, column 2"),
    ],
)
def test_what_no_radiance_can_be(tmp_path, value, expected):
    bad = RADIANCE.copy()
    bad[1, 2, 0] = value
    np.save(tmp_path / "sky.npy", bad)
    assert expected in refused(tmp_path / "sky.npy")
    write_exr(tmp_path / "sky.exr", {"RGB": bad})
    assert expected in refused(tmp_path / "sky.exr")


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros((2, 3, 3), np.uint8), "expected floating point numbers, got uint8"),
        (np.zeros((2, 3)), "expected an array of shape (height, width, 3), got (2, 3)"),
        (np.zeros((2, 3, 4)), "expected an array of shape (height, width, 3), got (2, 3, 4)"),
        (np.zeros((0, 3, 3)), "expected an array of shape (height, width, 3), got (0, 3, 3)"),
        (np.array([None]), "is not a readable .npy file"),
    ],
)
def test_arrays_that_are_no_images(tmp_path, array, expected):
    np.save(tmp_path / "sky.npy", array, allow_pickle=True)
    assert expected in refused(tmp_path / "sky.npy")


@pytest.mark.parametrize("suffix", environment_file.READERS)
def test_files_that_are_none(tmp_path, suffix):
    path = tmp_path / f"sky{suffix}"
    assert refused(path) == "no such file"
    path.write_bytes(b"no image" * 20)
    assert refused(path)
    path.write_bytes(b"")
    assert refused(path) == "the file is empty"


def test_images_of_too_many_texels_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(environment_file, "MAX_TEXELS", 5)
    np.save(tmp_path / "sky.npy", RADIANCE)
    Image.new("RGB", (3, 2)).save(tmp_path / "sky.png")
    write_exr(tmp_path / "sky.exr", {"RGB": RADIANCE})
    for suffix in (".npy", ".png", ".exr"):
        assert refused(tmp_path / f"sky{suffix}") == "the image has 3x2 texels, at most 5 are read"


def test_a_suffix_that_is_not_read(tmp_path):
    (tmp_path / "sky.tif").write_bytes(b"II")
    assert refused(tmp_path / "sky.tif") == (
        "expected an environment in a file that ends in .exr, .hdr, .npy, .pfm, .rgbe, .png, .jpg, .jpeg"
    )


def test_the_first_of_several_parts_counts(tmp_path):
    import OpenEXR

    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    parts = [OpenEXR.Part(dict(header), {"RGB": factor * RADIANCE}, f"part{factor}") for factor in (1, 2)]
    with OpenEXR.File(parts) as file:
        file.write(str(tmp_path / "sky.exr"))
    np.testing.assert_array_equal(read_environment(tmp_path / "sky.exr", (1.0, 1.0, 1.0)), RADIANCE)


def test_exr_of_many_channels(tmp_path):
    write_exr(tmp_path / "sky.exr", {f"c{k}": RADIANCE[..., 0].copy() for k in range(9)})
    assert refused(tmp_path / "sky.exr") == "expected at most 8 channels, got 9"
