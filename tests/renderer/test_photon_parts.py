"""Parts of a photon run that were traced apart make the photons of the whole run, also beyond 2^32, and no others."""

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from test_parts import SCENE, digest, error_of, render

import renderer
from renderer.photons.photon_file import load_photons
from renderer.photons.ranges import SEQUENCE_PHOTONS
from renderer.run.photon_run.photon_parts import read_photon_part
from renderer.run.picture.picture_files import statistics_path

EMITTED = 20_000


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("photons") / "ball.toml"
    path.write_text(SCENE)
    return path


def photons(scene: Path, path: Path, *more: object, emit: int = EMITTED) -> int:
    return run("photons", scene, "--emit", emit, "--device", "cpu", "--quiet", "-o", path, *more)


@pytest.fixture(scope="module")
def parts(scene: Path) -> list[Path]:
    paths = [scene.with_name(f"{number}.photons") for number in (1, 2, 3)]
    for number, path in enumerate(paths, 1):
        assert photons(scene, path, "--part", f"{number}/3", "--threads", number, "--batch-rays", 1024) == 0
    return paths


def test_merged_parts_are_the_file_of_the_whole_run(scene, parts, capsys):
    whole, merged, half = (scene.with_name(name) for name in ("whole.npz", "merged.npz", "half.photons"))
    assert photons(scene, whole) == 0
    assert run("merge", parts[2], parts[0], "-o", half, "--quiet") == 0
    assert read_photon_part(half).spans == [(0, 6666), (13333, EMITTED)]
    assert run("merge", parts[1], half, "-o", merged) == 0
    assert digest(merged) == digest(whole)
    stored = len(load_photons(whole)[0])
    assert stored > 100
    assert capsys.readouterr().out == f"{merged}: {EMITTED} of {EMITTED} photons, {stored} stored, of 2 parts\n"
    complete = scene.with_name("all.photons")
    assert run("merge", half, parts[1], "-o", complete) == 0
    assert np.array_equal(read_photon_part(complete).photons(), load_photons(whole)[0])


def test_what_is_missing_or_twice_there_is_told(parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = parts[0].with_name("no.npz")
    assert run("merge", parts[1], "-o", path) == 2
    assert error_of(capsys).startswith("photons 0 to 6665, 13333 to 19999 are missing, of 20000; ")
    assert run("merge", *parts, parts[1], "-o", path) == 2
    assert error_of(capsys) == f"photons 6666 to 13332 are twice there, '{parts[1]}' is named twice; leave one out"
    assert not path.exists()


def test_parts_of_other_runs_and_other_files_are_refused(scene, parts, tmp_path, capsys):
    other, path = tmp_path / "other.photons", tmp_path / "no.npz"
    for more, difference in (
        (("--seed", 5), "--seed: 5 and 0"),
        (("--max-bounces", 3), "--max-bounces: 3 and 16"),
        (("--plain",), "triangles: 8282 and 8280"),
    ):
        assert photons(scene, other, "--part", "3/3", *more) == 0
        assert run("merge", *parts[:2], other, "-o", path) == 2
        assert error_of(capsys) == f"'{other}' and '{parts[0]}' differ in {difference}"
    assert photons(scene, other, "--part", "3/3", emit=EMITTED + 1) == 0
    assert run("merge", *parts[:2], other, "-o", path) == 2
    assert "differ in --emit: 20001 and 20000" in error_of(capsys)
    content = bytearray(parts[2].read_bytes())
    content[len(content) // 2] ^= 1
    for bad in (content, content[: len(content) // 3], b"", b"tracecore film 1\n"):
        other.write_bytes(bytes(bad))
        assert run("merge", *parts[:2], other, "-o", path) == 2
        assert error_of(capsys).startswith(f"'{other}' is damaged, or no part of a photon run by this version")
    assert not path.exists()


def test_photons_go_on_beyond_32_bits(scene: Path, tmp_path: Path) -> None:
    """A part that crosses 2^32 has other photons than the first ones, the same whatever traces them."""
    emit, number = 2 * SEQUENCE_PHOTONS + 1000, 500_000
    one, other, first = (tmp_path / f"{name}.photons" for name in ("one", "other", "first"))
    assert photons(scene, one, "--part", f"{number}/1000000", "--threads", 1, emit=emit) == 0
    assert photons(scene, other, "--part", f"{number}/1000000", "--threads", 3, "--batch-rays", 256, emit=emit) == 0
    assert photons(scene, first, "--part", "1/1000000", emit=emit) == 0
    (start, end, stored), photons_here = read_photon_part(one).ranges[0], read_photon_part(one).photons()
    assert start < SEQUENCE_PHOTONS < end == SEQUENCE_PHOTONS + 500
    assert len(photons_here) == stored > 0
    assert np.array_equal(photons_here, read_photon_part(other).photons())
    beginning = {row.tobytes() for row in read_photon_part(first).photons()}
    assert beginning.isdisjoint(row.tobytes() for row in photons_here)


@pytest.fixture(scope="module")
def of_picture(scene: Path) -> Path:
    """The photons of a picture, which are those of a run whose round shapes are cut for it."""
    halves, path = [scene.with_name(f"half-{number}.photons") for number in (1, 2)], scene.with_name("picture.photons")
    for number, half in enumerate(halves, 1):
        assert photons(scene, half, "--part", f"{number}/2", "--size", "12x9", "--eye", "0,1,5") == 0
    assert run("merge", *halves, "-o", path, "--quiet") == 0
    return path


#: A picture that looks these photons up.
PICTURE = ("--photons", EMITTED, "--eye", "0,1,5")


def test_eye_paths_by_parts_look_up_photons_by_parts(scene: Path, of_picture: Path, tmp_path: Path) -> None:
    films = [tmp_path / f"{number}.film" for number in (1, 2)]
    whole, merged = tmp_path / "whole.png", tmp_path / "merged.png"
    for number, film in enumerate(films, 1):
        words = (*PICTURE, "--load-photons", of_picture, "--part", f"{number}/2", "-o", film)
        assert render(scene, *words, driver="photons-only") == 0
    assert run("merge", *films, "-o", merged, "--quiet") == 0
    assert render(scene, *PICTURE, "-o", whole, driver="photons-only") == 0
    for suffix in (".png", ".npy"):
        assert digest(merged.with_suffix(suffix)) == digest(whole.with_suffix(suffix))
    one, other = (json.loads(statistics_path(path).read_text()) for path in (merged, whole))
    assert one["rays.photon"] == 0 < other["rays.photon"]
    assert one["rays.camera"] == other["rays.camera"]


def test_layers_are_those_of_the_whole_picture_too(scene: Path, of_picture: Path) -> None:
    """Photons that layers tell apart are traced, as the file does not tell of them."""
    eye = (0.0, 1.0, 5.0)
    chosen = renderer.Settings(driver="photons-only", photons=EMITTED, size=(12, 9), eye=eye, passes=1, layers=True)
    loaded, traced = (
        renderer.render(scene, chosen, device="cpu", quiet=True, load_photons=path) for path in (of_picture, None)
    )
    assert loaded.image.tobytes() == traced.image.tobytes()
    assert {name: layer.tobytes() for name, layer in loaded.layers.items()} == {
        name: layer.tobytes() for name, layer in traced.layers.items()
    }


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--seed", 5), "differ in --seed: 0 and 5"),
        (("--photons", 9), "differ in --emit: 20000 and 9"),
        (("--max-bounces", 3), "differ in --max-bounces: 16 and 3"),
        (("--size", "80x60"), "differ in triangles: "),
        (("--load-photons", "half-1.photons"), "photons 10000 to 19999 are missing, of 20000; trace them"),
        (("--load-photons", "none.photons"), "there is no such file"),
        (("--load-photons", "ball.toml"), "the name must end in .photons"),
        (("--driver", "photon"), "driver photon has maps of each pass; use --driver photons-only with --load-photons"),
        (("--shutter", "0.1"), "--load-photons has one photon map, and with --shutter each time has its own"),
        (("--gpus", "2", "--device", "auto"), "load_photons is for one process, and gpus shares the work out"),
    ],
)
def test_photons_of_another_run_are_refused(words, problem, scene, of_picture, monkeypatch, capsys):
    monkeypatch.chdir(scene.parent)
    words = (*PICTURE, "--load-photons", of_picture.name, "-o", "no.png", *words)
    assert render(scene, *words, driver="photons-only") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert problem in error
    assert not Path("no.png").exists()
