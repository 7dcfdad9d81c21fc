"""Pictures come back as they were written, and an interrupt never leaves half a file."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from renderer.atomic_file import atomic_file
from renderer.errors import UsageError
from renderer.film import image_file
from renderer.film.picture_file import read_picture

PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 13
LINEAR = np.linspace(0.0, 100.0, 2 * 3 * 3, dtype=np.float32).reshape(2, 3, 3)


def test_png_and_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    texts = {"scene": "Küche 厨房", "settings": '{"seed": 1}', "Software": "tracecore"}
    image_file.write_png(path, PIXELS, texts)
    with Image.open(path) as image:
        assert image.mode == "RGB"
        assert image.size == (3, 2)
        np.testing.assert_array_equal(np.asarray(image), PIXELS)
        assert image.info["srgb"] == 0
    assert image_file.read_texts(path) == texts


def test_text_with_undecodable_bytes(tmp_path: Path) -> None:
    image_file.write_png(tmp_path / "a.png", PIXELS, {"scene": os.fsdecode(b"k\xff.aff")})
    assert image_file.read_texts(tmp_path / "a.png")["scene"] == "k?.aff"


def test_exr(tmp_path: Path) -> None:
    openexr = pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    path = tmp_path / "a.exr"
    image_file.write_exr(path, {"beauty": LINEAR}, {"scene": "cornell"})
    np.testing.assert_array_equal(read_picture(path).image, LINEAR)
    with openexr.File(str(path)) as file:
        assert file.header()["scene"] == "cornell"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.exr"]


def test_layers_of_an_exr(tmp_path: Path) -> None:
    openexr = pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    path = tmp_path / "a.exr"
    layers = {"beauty": LINEAR, "albedo": LINEAR + 1.0, "normal": LINEAR + 2.0, "depth": LINEAR[..., 0] + 3.0}
    image_file.write_exr(path, layers | {"noise": LINEAR[..., 1]}, {})
    np.testing.assert_array_equal(read_picture(path).image, LINEAR)
    with openexr.File(str(path), separate_channels=True) as file:
        planes = {name: channel.pixels for name, channel in file.channels().items()}
    assert set(planes) == {
        "R",
        "G",
        "B",
        "Z",
        "noise.Y",
        *(f"albedo.{c}" for c in "RGB"),
        *(f"normal.{c}" for c in "XYZ"),
    }
    np.testing.assert_array_equal(planes["albedo.G"], LINEAR[..., 1] + 1.0)
    np.testing.assert_array_equal(planes["normal.Z"], LINEAR[..., 2] + 2.0)
    np.testing.assert_array_equal(planes["Z"], LINEAR[..., 0] + 3.0)
    np.testing.assert_array_equal(planes["noise.Y"], LINEAR[..., 1])


def test_an_exr_of_several_parts(tmp_path: Path) -> None:
    """They have the channels of a file of one part, and layers of mattes are one of them."""
    openexr = pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    mattes = np.zeros((2, 3, 4), np.float32)
    layers = {"beauty": LINEAR, "light.lamp01": LINEAR + 1.0, "depth": LINEAR[..., 0] + 3.0}
    layers |= {"CryptoObject00": mattes, "CryptoObject01": mattes, "CryptoMaterial00": mattes}
    texts = {"scene": "cornell", "cryptomatte/1/name": "CryptoObject"}
    form = image_file.ExrForm(image_file.Window(4, 5, 20, 10), image_file.FilmTime(3, 24.0), is_multi=True)
    image_file.write_exr(tmp_path / "multi.exr", layers, texts, form)
    image_file.write_exr(tmp_path / "single.exr", layers, texts, form._replace(is_multi=False))
    with openexr.File(str(tmp_path / "multi.exr"), separate_channels=True) as file:
        parts = {part.name(): (dict(part.header), dict(part.channels)) for part in file.parts}
        channels = {name: channel.pixels for _, own in parts.values() for name, channel in own.items()}
    assert list(parts) == ["beauty", "light.lamp01", "depth", "CryptoObject", "CryptoMaterial"]
    assert set(parts["beauty"][1]) == {"R", "G", "B"}
    assert set(parts["depth"][1]) == {"Z"}
    assert len(parts["CryptoObject"][1]) == 8
    for header, _ in parts.values():
        assert np.array(header["dataWindow"]).tolist() == [[4, 5], [6, 6]]
        assert np.array(header["displayWindow"]).tolist() == [[0, 0], [19, 9]]
    assert parts["beauty"][0]["scene"] == "cornell"
    assert [name for name, (header, _) in parts.items() if "cryptomatte/1/name" in header] == [
        "beauty",
        "CryptoObject",
        "CryptoMaterial",
    ]
    with openexr.File(str(tmp_path / "single.exr"), separate_channels=True) as file:
        assert len(file.parts) == 1
        assert set(file.channels()) == set(channels)
        for name, channel in file.channels().items():
            np.testing.assert_array_equal(channel.pixels, channels[name])
    both = [read_picture(tmp_path / f"{name}.exr").layers for name in ("multi", "single")]
    assert [next(iter(layers)) for layers in both] == ["picture", "picture"]
    assert set(both[0]) == set(both[1])
    for name, layer in both[1].items():
        np.testing.assert_array_equal(both[0][name], layer)


def test_parts_of_others_with_the_same_channels(tmp_path: Path) -> None:
    """As programs write them that call all channels R, G and B: the first part is the picture."""
    openexr = pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    header = {"compression": openexr.ZIP_COMPRESSION, "type": openexr.scanlineimage}
    parts = [openexr.Part(dict(header), {"RGB": LINEAR + k}, name) for k, name in enumerate(("beauty", "diffuse"))]
    with openexr.File(parts) as file:
        file.write(str(tmp_path / "a.exr"))
    read = read_picture(tmp_path / "a.exr")
    np.testing.assert_array_equal(read.image, LINEAR)
    np.testing.assert_array_equal(read.layers["diffuse"], LINEAR + 1.0)


def test_exr_without_the_extra_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    with pytest.raises(UsageError, match="pip install OpenEXR"):
        image_file.check_writable(tmp_path / "a.exr")


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        image_file.check_writable(tmp_path / "missing" / "a.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(UsageError, match="it is a folder"):
        image_file.check_writable(tmp_path / "folder.png")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="there is no folder"):
        image_file.check_writable(tmp_path / "file" / "a.png")


def test_folder_that_refuses_files() -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc, whose folders take no files even from root")
    with pytest.raises(UsageError, match="cannot write to the folder '/proc/self'"):
        image_file.check_writable(Path("/proc/self/a.png"))


def test_checks_leave_nothing_behind(tmp_path: Path) -> None:
    image_file.check_writable(tmp_path / "a.PNG")
    image_file.check_photon_path(tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_interrupted_writing_keeps_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def write_half() -> None:
        with atomic_file(path) as file:
            file.write(b"ne")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_appears_only_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with atomic_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_new_files_obey_the_umask(tmp_path: Path) -> None:
    if os.name != "posix":
        pytest.skip("no umask here")
    before = os.umask(0o022)
    try:
        image_file.write_array(tmp_path / "a.npy", LINEAR)
    finally:
        os.umask(before)
    assert (tmp_path / "a.npy").stat().st_mode & 0o777 == 0o644
