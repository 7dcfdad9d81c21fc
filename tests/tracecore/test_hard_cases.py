"""The hard cases of `tracecore check`, on the emulator and on a GPU that the emulator plays."""

from collections.abc import Iterator
from functools import partial

import pytest
from brute_answers import answers
from fake_cuda import FakeCuda, installed
from faulty_kernel import faulty

from tracecore.checks.hard_cases import CheckDevice, HardCase, Way, cases_for, first_difference, judged, opened
from tracecore.checks.ray_cases import Floats
from tracecore.kernels.strategies import find_strategy
from tracecore.kernels.strategy import KernelStrategy

pytestmark = pytest.mark.usefixtures("emulator")

KERNEL = find_strategy("while-while")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    yield from installed(monkeypatch, devices=1)


def wrong(kernel: KernelStrategy, case: HardCase, device: CheckDevice) -> str | None:
    with opened(kernel, case, device, timeout=60.0) as ways:
        return judged(case, ways)


#: Of all sizes, and with all that a tracer can be opened with.
SOME = ("33-rays", "edges-of-grid", "no-triangles", "deep-tree", "cut-outs-ties")


@pytest.mark.parametrize("name", SOME)
def test_a_kernel_that_is_right_is_right_on_a_gpu(name: str, cuda: FakeCuda) -> None:
    assert wrong(KERNEL, cases_for(KERNEL)[name](), "gpu") is None


def test_a_wrong_hit_is_told_on_both_devices(cuda: FakeCuda) -> None:
    kernel = faulty("wrong-hit", period=7)
    devices: dict[CheckDevice, str] = {"emulator": "lanes in order", "gpu": "one launch"}
    for device, way in devices.items():
        text = wrong(kernel, cases_for(kernel)["soup"](), device)
        assert text is not None
        assert text.startswith(f"closest hit, {way}: ")


def with_another_hit(way: Way) -> tuple[Floats, Floats]:
    """What a way answers, but for the last ray and any hit."""
    closest, occlusion = way()
    occlusion[-1, 1] = 7.0
    return closest, occlusion


def test_each_way_is_judged(cuda: FakeCuda) -> None:
    case = cases_for(KERNEL)["soup"]()
    devices: dict[CheckDevice, int] = {"emulator": 3, "gpu": 2}
    for device, count in devices.items():
        with opened(KERNEL, case, device, timeout=60.0) as ways:
            assert len(ways) == count
            for words, way in ways.items():
                text = judged(case, {**ways, words: partial(with_another_hit, way)})
                assert text is not None
                assert text.startswith(f"any hit, {words}: 1 of 500 rays differ; ray 499, ")


def test_the_first_difference_is_named() -> None:
    _, rays, closest, _ = answers("soup", 600)
    assert first_difference(closest, closest, rays) is None
    other = closest.copy()
    other[[5, 9], 0] = 2.5
    text = first_difference(other, closest, rays)
    assert text is not None
    assert text.startswith("2 of 600 rays differ; ray 5, origin [")
    assert "got " in text.partition("expected ")[2]
    assert "(t 2.5, " in text
