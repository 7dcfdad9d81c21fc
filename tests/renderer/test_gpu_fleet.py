"""GPUs that share the work out, a process each, give the bits of one."""

from pathlib import Path

import pytest

import renderer
from renderer import cli
from tracecore.cuda.device import gpu_count
from tracecore.tracers.gpu import gpu_unavailable_reason

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason())),
]

ONE_AND_TWO = [
    1,
    pytest.param(
        2, marks=pytest.mark.skipif(not gpu_unavailable_reason() and gpu_count() < 2, reason="needs two GPUs")
    ),
]


@pytest.mark.parametrize("gpus", ONE_AND_TWO)
@pytest.mark.parametrize("driver", ["photon", "path", "sppm", "photons-only"])
def test_a_picture_has_the_bits_of_the_cpus(driver: str, gpus: int) -> None:
    chosen = {"driver": driver, "size": (96, 64), "passes": 5, "quiet": True}
    shared, one = renderer.render("cornell", **chosen, gpus=gpus), renderer.render("cornell", **chosen, device="cpu")  # type: ignore[arg-type]
    assert shared.image.tobytes() == one.image.tobytes()
    assert shared.statistics["rays.photon"] == one.statistics["rays.photon"]
    assert shared.statistics["device"] == "gpu"
    assert [row["name"] for row in shared.statistics["members"]] == [f"{n} (gpu:{n})" for n in range(gpus)]


@pytest.mark.parametrize("gpus", ONE_AND_TWO)
def test_a_photon_run_has_the_bits_of_the_cpus(gpus: int, tmp_path: Path) -> None:
    words = ["photons", "cornell", "--store", "300000"]
    for name, where in (("cpu", ["--device", "cpu"]), ("gpus", ["--gpus", str(gpus)])):
        assert cli.main([*words, *where, "--save-photons", f"{tmp_path}/{name}.npz"]) == 0
    assert (tmp_path / "cpu.npz").read_bytes() == (tmp_path / "gpus.npz").read_bytes()
