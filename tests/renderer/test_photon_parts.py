"""Parts of a photon run that were traced apart make the photons of the whole run, also beyond 2^32, and no others."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from test_parts import SCENE, error_of, run

from renderer.photons.photon_file import load_photons
from renderer.photons.ranges import SEQUENCE_PHOTONS
from renderer.run.photon_run.photon_parts import read_photon_part

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


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_merged_parts_are_the_file_of_the_whole_run(
    scene: Path, parts: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_parts_of_other_runs_and_other_files_are_refused(
    scene: Path, parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, path = tmp_path / "other.photons", tmp_path / "no.npz"
    for more, difference in (
        (("--seed", 5), "--seed: 5 and 0"),
        (("--max-bounces", 3), "--max-bounces: 3 and 16"),
        (("--plain",), "the scene or the version of the program"),
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


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--part", "1/2", "-o", "a.photons"), "say by --emit how many the whole run has"),
        (("--part", "1/2", "--emit", "9"), "--part makes a file; name it, -o FILE.photons"),
        (("--part", "1/8", "--emit", "7", "-o", "a.photons"), "--part 1/8 has none of 7 photons; make fewer parts"),
        (("--part", "1/2", "--emit", "9", "-o", "a.npz"), "the name must end in .photons"),
        (("--store", "9", "--emit", "9"), "not allowed with argument"),
    ],
)
def test_parts_that_cannot_be_are_refused(
    words: tuple[str, ...], problem: str, scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("photons", scene, "--device", "cpu", *words) == 2
    assert problem in capsys.readouterr().err


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
