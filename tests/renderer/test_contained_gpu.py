"""A GPU that fails under a picture, by the GPU's own host code; CUDA is played by the emulator (`fake_cuda`)."""

import logging
from collections.abc import Callable, Iterator

import pytest
from fake_cuda import ILLEGAL_ADDRESS, FakeCuda, installed
from small_scenes import inside_of_lamp_box

import renderer
from renderer.film.picture import Picture
from tracecore.workers.tasks import MOST_BEGUN

#: More passes than the threads begin before the first is taken, so that a device that fails then leaves some over.
THREADS = 2
PASSES = MOST_BEGUN * THREADS + 4
SMALL = {"size": (8, 6), "passes": PASSES, "threads": THREADS, "driver": "path", "max_bounces": 2, "quiet": True}


@pytest.fixture(scope="module", autouse=True)
def whole() -> Picture:
    """The picture of a device that never fails; its loops are compiled by then, so that no kernel waits for them."""
    return renderer.render(inside_of_lamp_box(), device="cpu", **SMALL)  # type: ignore[arg-type]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "3")
    caplog.set_level(logging.WARNING, logger="renderer")
    yield from installed(monkeypatch, devices=1)


def made(
    happens: Callable[[], object],
    dispatch: str,
    fallback: str | None = "cpu",
    verify: float | None = None,
    after: int = 1,
) -> Picture:
    """A picture on the GPU; something happens when so many of its passes are finished."""
    chosen = SMALL | {"device": "gpu", "dispatch": dispatch, "kernel": "if-if", "fallback": fallback, "verify": verify}
    *_, last = (
        (happens() if picture.passes == after else None, picture)
        for picture in renderer.render_passes(inside_of_lamp_box(), **chosen)  # type: ignore[arg-type]
    )
    return last[1]


def assert_contained(picture: Picture, whole: Picture, device: str, faults: int) -> None:
    assert picture.image.tobytes() == whole.image.tobytes()
    figures = picture.statistics
    assert (figures["passes"], figures["device"], figures["coprocessor.faults"]) == (PASSES, device, faults)


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
def test_a_device_that_is_lost(cuda: FakeCuda, whole: Picture, dispatch: str, caplog: pytest.LogCaptureFixture) -> None:
    """The second try finds out that nothing more can be had of it."""
    assert_contained(made(lambda: cuda.devices[0].fail(ILLEGAL_ADDRESS), dispatch), whole, "cpu", 1)
    failed, unusable, goes_on = [record.message for record in caplog.records]
    assert failed.startswith("note: the gpu failed: CUDA error 700 while tracing; GPU 0 is lost to this process")
    assert unusable.startswith("note: the gpu cannot be used any more: cannot set up the GPU: FakeCudaError")
    assert goes_on == "note: what was under way is traced again on the cpu"


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
def test_a_device_that_is_lost_when_all_is_traced(cuda, whole, dispatch, caplog):
    picture = made(lambda: cuda.devices[0].fail(ILLEGAL_ADDRESS), dispatch, fallback=None, after=PASSES)
    assert_contained(picture, whole, "gpu", 0)
    (note,) = [record.message for record in caplog.records]
    assert note.startswith("note: the gpu failed when all was traced: the GPU cannot be used any more")


def test_a_kernel_that_hangs(cuda: FakeCuda, whole: Picture, caplog: pytest.LogCaptureFixture) -> None:
    try:
        assert_contained(made(cuda.devices[0].goes_on.clear, "streamed"), whole, "cpu", 1)
    finally:
        cuda.rest()
    assert "note: the gpu failed: kernel 'if-if' has not answered in 3 s" in caplog.text
    assert "cannot be used any more: kernel 'if-if' has not ended in 3 s" in caplog.text


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
def test_batches_of_a_gpu_are_compared(cuda: FakeCuda, whole: Picture, dispatch: str) -> None:
    picture = made(lambda: None, dispatch, verify=1.0)
    assert_contained(picture, whole, "gpu", 0)
    figures = picture.statistics
    assert figures["coprocessor.verified_batches"] == figures["coprocessor.batches"] > 0


def test_memory_that_runs_out(cuda: FakeCuda, whole: Picture, caplog: pytest.LogCaptureFixture) -> None:
    cuda.refused = {"allocate"}
    assert_contained(made(lambda: None, "resident"), whole, "cpu", 1)
    assert (
        "note: the device chosen cannot be used: cannot set up the GPU: FakeCudaError: allocate is ref" in caplog.text
    )
