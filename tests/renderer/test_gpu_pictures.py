"""A GPU makes the very picture that the CPU makes."""

import functools
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import scenes
import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.run.containment import Containment
from renderer.run.photon_run.trace_until_stored import trace_until_stored
from renderer.scene.render_context import RenderContext
from tracecore.rays import make_rays
from tracecore.tracers.gpu import gpu_unavailable_reason

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_unavailable_reason() is not None, reason=str(gpu_unavailable_reason())),
]


def picture(snapshot, device, driver, settings):
    with tracecore.open_tracer(snapshot.positions, device=device) as tracer:
        made = DRIVERS[driver](snapshot, tracer, settings)
        try:
            return np.mean([made.render_pass(i) for i in range(2)], axis=0)
        finally:
            made.close()


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_cornell_is_the_same_bit_for_bit(driver):
    snapshot = scenes.load("cornell").at_frame(0)
    settings = RenderSettings(width=96, height=96, photons=50_000)
    assert np.array_equal(picture(snapshot, "gpu", driver, settings), picture(snapshot, "cpu", driver, settings))


def test_the_kitchen_is_the_same_bit_for_bit(kitchen_file: Path):
    snapshot = scenes.load(kitchen_file).at_frame(0)
    settings = RenderSettings(width=200, height=150, photons=100_000)
    assert np.array_equal(picture(snapshot, "gpu", "photon", settings), picture(snapshot, "cpu", "photon", settings))


def photons_of(snapshot, settings, **tracer_options):
    with tracecore.open_tracer(snapshot.positions, **tracer_options) as tracer:
        context = RenderContext(
            snapshot=snapshot, tracer=tracer, load_seconds=0.0, build_seconds=0.0, kernel_choice="named"
        )
        return trace_until_stored(Containment(context, None), settings, 200_000)


@functools.cache
def photons_on_a_cpu(file: Path):
    return photons_of(scenes.load(file).at_frame(0), RenderSettings(width=8, height=8), device="cpu")


@pytest.mark.parametrize(
    ("dispatch", "kernel", "threads", "batch_rays"),
    [
        ("resident", None, None, 4096),
        ("resident", "replacing-compressed-bvh8", 3, 256),
        ("resident", "grouped-8", 1, 65536),
        ("streamed", None, None, 4096),
        ("streamed", "persistent-packet-32", 2, 512),
    ],
)
def test_the_photons_are_the_same_bit_for_bit(kitchen_file: Path, dispatch, kernel, threads, batch_rays):
    snapshot = scenes.load(kitchen_file).at_frame(0)
    settings = RenderSettings(width=8, height=8, threads=threads, batch_rays=batch_rays)
    run = photons_of(snapshot, settings, device="gpu", dispatch=dispatch, kernel=kernel, threads=threads)
    expected = photons_on_a_cpu(kitchen_file)
    assert np.array_equal(run.photons, expected.photons)
    assert run.work.photons == expected.work.photons


@pytest.mark.parametrize("dispatch", ["resident", "streamed"])
@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_threads_batches_and_dispatch_change_no_bit_of_a_picture(driver, dispatch):
    snapshot = scenes.load("cornell").at_frame(0)
    settings = RenderSettings(width=60, height=50, photons=20_000, threads=3, batch_rays=256)
    with tracecore.open_tracer(snapshot.positions, device="gpu", dispatch=dispatch, kernel="warp") as tracer:
        made = DRIVERS[driver](snapshot, tracer, settings)
        seen = np.mean([made.render_pass(i) for i in range(2)], axis=0)
        made.close()
    settings = RenderSettings(width=60, height=50, photons=20_000, radius=made.settings.radius)
    assert np.array_equal(seen, picture(snapshot, "cpu", driver, settings))


RUN = """
import os, signal, sys
from renderer.cli import main
from tracecore.workers.tasks import Team
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
run = Team.run
def run_and_tell(team, make_loop):
    run(team, make_loop)
    os.write(1, b"ran\\n")
Team.run = run_and_tell
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("dispatch", "end"),
    [
        ("resident", signal.SIGINT),
        ("resident", signal.SIGTERM),
        ("resident", signal.SIGKILL),
        ("streamed", signal.SIGINT),
    ],
)
def test_a_run_that_is_ended_leaves_nothing_behind(dispatch, end, tmp_path):
    """It ends within a second of the signal, and the GPU serves others at once."""
    render = ["render", "cornell", "--device", "gpu", "--dispatch", dispatch, "--size", "64x64", "--passes", "20000"]
    command = [sys.executable, "-c", RUN, *render, "--quiet", "-o", str(tmp_path / "ended.png")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(6):  # compiled code is loaded and passes are under way
            assert process.stdout.readline() == "ran\n"
        sent = time.perf_counter()
        process.send_signal(end)
        status = process.wait(timeout=30)
        assert time.perf_counter() - sent < 3.0  # one second, and the picture is written, and CUDA closed
        assert status == (-signal.SIGKILL if end == signal.SIGKILL else 128 + end)
    with tracecore.open_tracer(scenes.load("cornell").at_frame(0).positions, device="gpu") as tracer:
        hits = tracer.closest_hit(make_rays(np.zeros((4, 3)), [(0.0, 0.0, 1.0)] * 4))
        assert len(hits) == 4
