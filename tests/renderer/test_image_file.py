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
