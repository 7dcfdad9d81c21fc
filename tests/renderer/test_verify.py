"""`--verify`: a kernel that is right makes the same picture; one that is wrong is named, with a ray to trace again."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from faulty_kernel import registered

import scenes
import tracecore
from renderer.bench.ray_file import digest, read_rays
from tracecore.kernels import strategies

pytestmark = pytest.mark.usefixtures("emulator")

SMALL = ("--size", "8x6", "--passes", "1", "--threads", "1", "--driver", "path", "--max-bounces", "2")


@pytest.fixture
def wrong() -> Iterator[str]:
    """A kernel that has one of fifty hits wrong."""
    name = registered("wrong-hit", period=50)
    yield name
    del strategies._strategies[name]


def test_a_kernel_that_is_right_makes_the_same_picture(tmp_path: Path) -> None:
    assert run("render", "cornell", *SMALL, "--device", "cpu", "-o", tmp_path / "cpu.npy") == 0
    verified = ("--device", "emulator", "--kernel", "if-if", "--verify", "0.5")
    assert run("render", "cornell", *SMALL, *verified, "-o", tmp_path / "verified.npy") == 0
    assert (tmp_path / "verified.npy").read_bytes() == (tmp_path / "cpu.npy").read_bytes()
    figures = json.loads((tmp_path / "verified.npy.json").read_text())
    assert figures["coprocessor.verified_batches"] == pytest.approx(figures["coprocessor.batches"] / 2, abs=1)


def test_a_kernel_that_is_wrong_is_named_and_its_ray_can_be_traced_again(wrong, tmp_path, capsys):
    chosen = ("--device", "emulator", "--kernel", wrong, "--verify", "1")
    assert run("render", "cornell", *SMALL, *chosen, "-o", tmp_path / "a.png") == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    path = tmp_path / "a.wrong-ray.npz"
    assert f"error: kernel '{wrong}' is wrong: ray " in line
    assert line.endswith(f"tracecore bench cornell --device emulator --kernels {wrong} --replay {path}")
    positions = scenes.load("cornell").at_frame(0).positions
    rays = read_rays(path)
    assert rays.triangles == digest(positions)
    first, batch = rays.sets
    assert (first.kind, len(first.rays), batch.kind) == ("wrong", 1, "wrong-batch")
    assert (batch.rays == first.rays).all(axis=1).any()
    hits = []
    for device, kernel in (("emulator", wrong), ("cpu", None)):
        with tracecore.open_tracer(positions, device=device, kernel=kernel, threads=1) as tracer:
            hits.append(tracer.closest_hit(first.rays).view(np.uint32))
    assert (hits[0] ^ hits[1]).tolist() == [[1, 0, 0, 0]]


def test_a_photon_run_is_looked_at_too(wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("photons", "cornell", "--store", "1", "--threads", "1", "--json", tmp_path / "a.json")
    assert run(*words, "--device", "emulator", "--kernel", wrong, "--verify", "1") == 1
    assert f"kernel '{wrong}' is wrong" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.wrong-ray.npz"]


def test_the_cpu_is_not_compared_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("render", "cornell", *SMALL, "--device", "cpu", "--verify", "1", "-o", tmp_path / "a.png") == 2
    assert "--verify compares with the CPU, and the CPU traces here; leave it out" in capsys.readouterr().err
