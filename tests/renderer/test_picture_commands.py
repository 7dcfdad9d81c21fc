"""Commands on picture files: how far one is from another, noise taken out, and a scene in another format."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PIL import Image

from renderer.errors import UsageError
from renderer.film import image_file
from renderer.film.difference import difference_picture
from renderer.film.picture_file import read_picture, write_picture

GREY = np.full((4, 6, 3), 0.5, np.float32)


def saved(path: Path, image: np.ndarray) -> Path:
    np.save(path, image)
    return path


def test_red_is_brighter_and_blue_is_darker() -> None:
    picture = GREY.copy()
    picture[0, 0], picture[0, 1] = 0.9, 0.1
    pixels, full = difference_picture(picture, GREY)
    assert full == pytest.approx(0.4, rel=1e-5)
    assert pixels[0, 0].tolist() == [255, 64, 0]
    assert pixels[0, 1].tolist() == [0, 64, 255]
    assert not pixels[1:].any()
    assert not difference_picture(GREY, GREY)[0].any()


def test_the_command_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = saved(tmp_path / "a.npy", GREY), saved(tmp_path / "b.npy", 2 * GREY)
    assert run("compare", one, one, "--tolerance", "0") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "PSNR    inf dB"
    assert run("compare", one, other, "-o", tmp_path / "d.npy", "--tolerance", "0.25") == 0
    assert capsys.readouterr().out.splitlines()[:3] == ["relMSE  0.247525", "MSE     0.25", "mean    -0.5"]
    assert np.array_equal(np.load(tmp_path / "d.npy"), -GREY)
    assert run("compare", one, other, "-o", tmp_path / "d.png", "--tolerance", "0.24") == 1
    assert Image.open(tmp_path / "d.png").size == (6, 4)


def test_what_cannot_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = saved(tmp_path / "a.npy", GREY)
    cases = [
        ((one, saved(tmp_path / "b.npy", GREY[:2])), "of the same size, got 6x4 and 6x2 pixels"),
        ((one, saved(tmp_path / "c.npy", GREY * np.nan)), "24 pixels that are no finite numbers"),
        ((one, saved(tmp_path / "d.npy", np.zeros((2, 3, 4)))), "expected numbers (height, width, 3)"),
        ((one, saved(tmp_path / "e.npy", np.full((2, 3, 3), "x"))), "expected numbers (height, width, 3)"),
        ((one, tmp_path / "none.npy"), "there is no such file"),
        ((one, tmp_path / "a.jpg"), "the name must end in one of"),
        ((one, one, "-o", one), "cannot write"),
        ((one, one, "-o", tmp_path / "b.npy"), "it is there already, and tracecore did not write it"),
    ]
    for words, text in cases:
        assert run("compare", *words) == 2
        error = capsys.readouterr().err
        assert text in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("suffix", [".npy", ".exr", ".png"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(place=10, new=b"{")  # NumPy takes the header for Python
@given(place=st.integers(0, 400), new=st.sampled_from([b"", b"{", b"'", b"\n", b"9" * 9, b"\xff" * 4]))
def test_damaged_files_are_read_or_refused(tmp_path: Path, suffix: str, place: int, new: bytes) -> None:
    if suffix == ".exr":
        pytest.importorskip("OpenEXR")
    path = tmp_path / f"whole{suffix}"
    write_picture(path, {"picture": GREY}, np.zeros((4, 6, 3), np.uint8))
    data = path.read_bytes()
    place %= len(data)
    damaged = tmp_path / f"damaged{suffix}"
    damaged.write_bytes(data[:place] + new + data[place + 1 :])
    with contextlib.suppress(UsageError):
        assert read_picture(damaged).image.dtype == np.float32


def test_layers_of_an_exr_come_back(tmp_path: Path) -> None:
    pytest.importorskip("OpenEXR")
    values = np.random.default_rng(3).random((4, 6, 3)).astype(np.float32)
    layers = {"beauty": GREY, "albedo": values, "normal": values - 1, "depth": values[..., 0], "noise": values[..., 1]}
    image_file.write_exr(tmp_path / "a.exr", layers, {})
    found = read_picture(tmp_path / "a.exr").layers
    assert next(iter(found)) == "picture"
    assert found.keys() == {"picture", "albedo", "normal", "depth", "noise"}
    for name, layer in layers.items():
        np.testing.assert_array_equal(found[{"beauty": "picture"}.get(name, name)], layer)


def test_a_png_is_the_light_that_it_shows(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 6, 3), 188, np.uint8)).save(tmp_path / "a.png")
    picture = read_picture(tmp_path / "a.png")
    assert not picture.is_linear
    assert picture.image == pytest.approx(0.5029, abs=1e-4)


def test_noise_is_taken_out(tmp_path: Path) -> None:
    pytest.importorskip("pyoidn")
    noisy = np.random.default_rng(1).gamma(4.0, 0.125, (32, 32, 3)).astype(np.float32)
    path = saved(tmp_path / "a.npy", noisy)
    assert run("denoise", path, "-o", tmp_path / "b.npy") == 0
    clean = np.load(tmp_path / "b.npy")
    assert clean.std() < 0.3 * noisy.std()
    assert clean.mean() == pytest.approx(noisy.mean(), rel=0.1)
    assert run("denoise", path, "-o", tmp_path / "b.npy") == 0
    assert run("denoise", path, "-o", tmp_path / "b.npy", "--no-clobber") == 2
    assert run("denoise", path, "-o", tmp_path / "b.png", "--exposure", "1") == 0
    shown = [np.asarray(Image.open(tmp_path / "b.png")).mean()]
    assert run("denoise", path, "-o", tmp_path / "b.png") == 0
    assert np.asarray(Image.open(tmp_path / "b.png")).mean() < shown[0] - 10


def test_a_scene_is_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "cornell", tmp_path / "cornell.obj") == 0
    assert (tmp_path / "cornell.obj").is_file()
    assert "written" in capsys.readouterr().out
    assert run("convert", "cornell", tmp_path / "cornell.doc") == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", [("convert", "cornell"), ("scene", "export", "cornell", "--to")])
def test_a_scene_replaces_one_of_this_program_and_nothing_else(words, tmp_path, capsys):
    path, mine = tmp_path / "a.obj", tmp_path / "a.mtl"
    assert [run(*words, path), run(*words, path)] == [0, 0]
    before = path.read_bytes()
    for file in (mine, path):
        file.write_text("newmtl mine\n")
        assert run(*words, path) == 2
        assert f"{file.name}': it is there already, and tracecore did not write it" in capsys.readouterr().err
        assert file.read_text() == "newmtl mine\n"
    assert run(*words, path, "--no-clobber") == 2
    assert run(*words, path, "--force") == 0
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.mtl", "a.obj"]
