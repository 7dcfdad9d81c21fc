"""How long pictures take until no part of them is noisier than wanted: what `bench error --to-noise` measures."""

import json

import numpy as np
import pytest
from command_line import run

from renderer.bench import figure_keys, noise_benchmark
from renderer.bench.noise_benchmark import Made, whole_passes, worst_noise
from renderer.film.relative_error import FLOOR
from renderer.settings.picture import RenderSettings


def flat(value, tiles=20):
    return np.full((8, 8 * tiles, 3), value, np.float32)


def test_the_noisiest_tile_tells_but_for_a_hundredth_of_them():
    one, other = flat(1.0, 200), flat(1.0, 200)
    one[:, :8], other[:, :8] = 0.0, 2.0  # a tile of 200
    one[:, 8:40] += 0.1
    other[:, 8:40] -= 0.1
    assert worst_noise([one, other]) == pytest.approx(np.sqrt(0.02) / (1.0 + FLOOR), rel=1e-3)


def test_noise_between_two_numbers_of_passes_is_taken_for_a_power(monkeypatch):
    def pictures_of(context, name, settings, most):
        assert most == 500  # five times as many as the samples of adaptive pictures
        sign = 1.0 - 2.0 * settings.seed
        for passes in (4, 16, 64, 256):
            yield Made(flat(1.0 + sign / np.sqrt(passes)), passes, 0.5 * passes)

    monkeypatch.setattr(noise_benchmark, "uniform", pictures_of)
    settings = RenderSettings(width=160, height=8)
    noise = np.sqrt(2.0 / 100.0) / (1.0 + FLOOR)
    found = whole_passes(None, "path", settings, (2, noise, 100.0))  # type: ignore[arg-type]
    assert found == pytest.approx((100.0, 50.0), rel=1e-4)


def test_the_command_tells_what_both_take(tmp_path, capsys):
    size = ("--drivers", "whitted", "--size", "24x16", "--seeds", "2", "--device", "cpu")
    assert run("bench", "error", "cornell", "--to-noise", "0.5", *size, "--json", tmp_path / "a.json") == 0
    (row,) = json.loads((tmp_path / "a.json").read_text())["rows"]
    assert {f"rows[].{name}" for name in row} <= figure_keys.ERROR.keys()
    assert row["noise"] == 0.5
    assert row["samples"] >= 16
    assert row["whole_passes"] >= 4
    assert min(row["reached"], row["seconds"], row["whole_seconds"]) > 0.0
    assert "of the samples" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--estimates", "4"), "--estimates and --to-noise are measurements of their own; leave one of them out"),
        (
            ("--plot", "a.svg"),
            "--plot draws errors over time, which --to-noise does not measure; leave one of them out",
        ),
        (("--reference", "a.npy"), "--reference does nothing with --to-noise; leave it out"),
    ],
)
def test_what_measures_something_else_is_refused(more, message, capsys):
    assert run("bench", "error", "cornell", "--to-noise", "0.5", *more) == 2
    assert message in capsys.readouterr().err
