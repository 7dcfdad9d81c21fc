"""A picture does not depend on the kernel: the same bytes for every name."""

import functools
from pathlib import Path

import pytest
from judges import ONE_OF_EACH_SOURCE

from renderer import cli
from tracecore.emulator.library import emulator_unavailable_reason
from tracecore.kernels.strategies import strategy_names
from tracecore.tracers.gpu import gpu_unavailable_reason

TINY = ("--size", "16x12", "--photons", "400", "--passes", "1")
SMALL = ("--size", "128x96", "--photons", "50000", "--passes", "2")


def png(folder: Path, *options: str) -> bytes:
    """What `tracecore render cornell` writes."""
    out = folder / "picture.png"
    assert cli.main(["render", "cornell", "-o", str(out), "--quiet", *options]) == 0
    return out.read_bytes()


@pytest.fixture(scope="module")
def by_cpu(tmp_path_factory: pytest.TempPathFactory):

    @functools.cache
    def picture(options: tuple[str, ...]) -> bytes:
        return png(tmp_path_factory.mktemp("cpu"), "--device", "cpu", *options)

    return picture


@pytest.mark.skipif(emulator_unavailable_reason() is not None, reason=str(emulator_unavailable_reason()))
@pytest.mark.parametrize("kernel", ONE_OF_EACH_SOURCE)
def test_emulated(kernel, by_cpu, tmp_path):
    assert png(tmp_path, "--device", "emulator", "--kernel", kernel, *TINY) == by_cpu(TINY)


@pytest.mark.gpu
@pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason()))
@pytest.mark.parametrize("kernel", strategy_names())
def test_on_a_gpu(kernel, by_cpu, tmp_path):
    assert png(tmp_path, "--device", "gpu", "--kernel", kernel, *SMALL) == by_cpu(SMALL)


@pytest.mark.gpu
@pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason()))
@pytest.mark.parametrize("options", [SMALL, ("--driver", "path", "--size", "128x96", "--passes", "2")])
def test_by_a_resident_kernel(options, by_cpu, tmp_path):
    assert png(tmp_path, "--device", "gpu", "--dispatch", "resident", *options) == by_cpu(options)


def test_pictures_do_differ(by_cpu, tmp_path):
    """The comparison would see another one."""
    assert png(tmp_path, "--device", "cpu", "--seed", "1", *TINY) != by_cpu(TINY)
