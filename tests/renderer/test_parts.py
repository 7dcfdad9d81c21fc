"""Parts of a picture that were rendered apart make the picture that one process renders, and no other."""

import hashlib
import json
from pathlib import Path

import pytest

from renderer import cli
from renderer.run.picture.part_file import read_part
from renderer.run.picture.picture_files import statistics_path
from renderer.settings.setting import PartOf

SCENE = """
[cameras.front]
eye = [0, 1, 4]
target = [0, 0, 0]
[materials]
grey = { diffuse = 0.7 }
[[object]]
shape = "sphere"
material = "grey"
[[light]]
position = [2, 3, 3]
power = 200
"""


def run(*words: object) -> int:
    try:
        return cli.main([str(word) for word in words])
    except SystemExit as stop:
        return int(str(stop.code))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts") / "ball.toml"
    path.write_text(SCENE)
    return path


def render(scene: Path, *more: object, driver: str = "path") -> int:
    common = ("--driver", driver, "--size", "12x9", "--passes", "7", "--device", "cpu", "--quiet")
    return run("render", scene, *common, *more)


@pytest.fixture(scope="module")
def parts(scene: Path) -> list[Path]:
    paths = [scene.with_name(f"{number}.film") for number in (1, 2, 3)]
    for number, path in enumerate(paths, 1):
        assert render(scene, "--part", f"{number}/3", "-o", path) == 0
    return paths


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.removeprefix("tracecore: error: ").rstrip()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_merged_parts_are_the_picture_and_its_statistics(scene: Path, parts: list[Path]) -> None:
    whole, merged, half = (scene.with_name(f"{name}.png") for name in ("whole", "merged", "half"))
    half = half.with_suffix(".film")
    assert render(scene, "-o", whole) == 0
    assert run("merge", parts[2], parts[0], "-o", half, "--quiet") == 0
    assert read_part(half).ranges == ((0, 2), (4, 7))
    assert run("merge", parts[1], half, "-o", merged) == 0
    for suffix in (".png", ".npy"):
        assert digest(merged.with_suffix(suffix)) == digest(whole.with_suffix(suffix))
    one, other = (json.loads(statistics_path(path).read_text()) for path in (merged, whole))
    same = ("scene", "driver", "passes", "noise", "rays.total", "samples.left_out", "seed")
    assert {key: one[key] for key in same} == {key: other[key] for key in same}
    assert list(one) == list(other)


def test_what_is_missing_or_twice_there_is_told(parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    path = parts[0].with_name("no.png")
    assert run("merge", parts[2], "-o", path) == 2
    assert error_of(capsys).startswith("passes 0 to 3 are missing, of 7; ")
    assert run("merge", *parts, parts[1], "-o", path) == 2
    assert error_of(capsys) == f"passes 2 to 3 are twice there, '{parts[1]}' is named twice; leave one out"
    assert not path.exists()


def test_parts_of_other_pictures_are_refused(
    scene: Path, parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, path = tmp_path / "other.film", tmp_path / "no.png"
    for more, difference in ((("--seed", 5), "seed: 5 and 0"), (("--clamp", 3), "clamp: 3.0 and None")):
        assert render(scene, "--part", "3/3", "-o", other, *more) == 0
        assert run("merge", *parts[:2], other, "-o", path) == 2
        assert error_of(capsys) == f"'{other}' and '{parts[0]}' differ in {difference}"
    brighter = tmp_path / scene.name
    brighter.write_text(SCENE.replace("200", "201"))
    assert render(brighter, "--part", "3/3", "-o", other) == 0
    assert run("merge", *parts[:2], other, "-o", path) == 2
    assert error_of(capsys).endswith("differ in the scene, a setting or the version of the program")
    assert not path.exists()


def test_damaged_parts_and_other_files_are_refused(
    parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray(parts[0].read_bytes())
    content[len(content) // 2] ^= 1
    damaged = tmp_path / "damaged.film"
    for bad in (content, content[: len(content) // 3], b"", b"tracecore film 0\n"):
        damaged.write_bytes(bytes(bad))
        assert run("merge", damaged, *parts[1:], "-o", tmp_path / "no.png") == 2
        assert error_of(capsys).startswith(f"'{damaged}' is damaged, or no part of a picture by this version")
    assert run("merge", tmp_path / "none.film", "-o", tmp_path / "no.png") == 2
    assert "there is no such file" in capsys.readouterr().err
    assert run("merge", parts[0], "-o", parts[0]) == 2
    assert "the scene or the command reads it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--part", "1/8"), "--part 1/8 has none of 7 passes; make fewer parts"),
        (("--part", "4/3"), "expected K/N with K from 1 to N, such as 3/64"),
        (("--part", "1/2", "--time-limit", "3"), "leave out --time-limit"),
        (("--part", "1/2", "--frames", "0:3"), "--part does nothing with --frames"),
        (("--part", "1/2", "-o", "a.png"), "must end in .film"),
        (("--part", "1/2", "--driver", "sppm"), "driver sppm makes its passes one after the other; leave out --part"),
    ],
)
def test_parts_that_cannot_be_are_refused(
    words: tuple[str, ...], problem: str, scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render(scene, "-o", tmp_path / "a.film", *words) == 2
    assert problem in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_all_passes_belong_to_one_part() -> None:
    for passes, parts in ((7, 3), (64, 64), (10, 1), (3, 5)):
        ranges = [PartOf(number, parts).range_of(passes) for number in range(1, parts + 1)]
        assert [index for one in ranges for index in one] == list(range(passes))
        assert max(map(len, ranges)) - min(map(len, ranges)) <= 1
