"""FLIP: answers that are known by its definition, and those of the authors' program, flip-evaluator 1.7."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from renderer import cli
from renderer.film import flip as module
from renderer.film.flip import Pixels, flip

SIZE = (24, 32)


def plain(*color: int) -> Pixels:
    return np.broadcast_to(np.array(color, np.uint8), (*SIZE, 3)).copy()


def pattern(twist: int) -> Pixels:
    i, j, channel = np.mgrid[: SIZE[0], : SIZE[1], :3]
    return ((7 * i + 5 * j + 60 * channel + twist * i * j) % 256).astype(np.uint8)


def with_dot() -> Pixels:
    made = plain(0, 0, 0)
    made[12, 16] = 255
    return made


def with_edge(column: int) -> Pixels:
    made = plain(200, 90, 30)
    made[:, :column] = (40, 60, 80)
    return made


def test_what_is_alike_differs_by_nothing_and_green_from_blue_by_all() -> None:
    assert not flip(pattern(1), pattern(1)).any()
    assert flip(plain(0, 255, 0), plain(0, 0, 255)) == pytest.approx(1.0)
    assert np.array_equal(flip(pattern(1), pattern(2)), flip(pattern(2), pattern(1)))


@pytest.mark.parametrize(
    ("picture", "reference", "mean", "middle"),
    [
        (plain(0, 0, 0), plain(255, 255, 255), 0.967391, 0.967388),
        (plain(200, 10, 10), plain(180, 30, 10), 0.274079, 0.274079),
        (pattern(1), pattern(2), 0.579037, 0.704138),
        (with_dot(), plain(0, 0, 0), 0.018632, 0.864907),
        (with_edge(16), with_edge(15), 0.085185, 0.354041),
    ],
    ids=["black and white", "reds", "patterns", "a dot", "an edge"],
)
def test_the_program_of_the_authors_says_the_same(picture, reference, mean, middle):
    found = flip(picture, reference)
    assert found.shape == SIZE
    assert found.mean() == pytest.approx(mean, abs=1e-4)
    assert found[12, 16] == pytest.approx(middle, abs=1e-4)


def test_rows_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = flip(pattern(1), pattern(2))
    monkeypatch.setattr(module, "ROWS", 5)
    assert np.array_equal(flip(pattern(1), pattern(2)), whole)


def test_the_command_prints_it_where_it_is_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, pixels in (("a.png", plain(0, 0, 0)), ("b.png", plain(255, 255, 255))):
        Image.fromarray(pixels).save(tmp_path / name)
    words = ["compare", str(tmp_path / "a.png"), str(tmp_path / "b.png")]
    assert cli.main([*words, "--flip"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "FLIP    0.9674"
    assert cli.main(words) == 0
    assert "FLIP" not in capsys.readouterr().out
