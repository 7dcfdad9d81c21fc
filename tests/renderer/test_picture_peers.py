"""Peers of pictures, where they are installed, render what our own path tracing renders of the same file."""

import importlib.util

import numpy as np
import pytest

import scenes
import tracecore
from renderer.bench.peer_process import PeerOrder, in_process
from renderer.bench.picture_scenes import PEERS, peer_rows
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from scenes.export import export

WIDTH, HEIGHT, BLOCK, SAMPLES = 24, 16, 4, 256


@pytest.fixture(scope="module")
def order(tmp_path_factory):
    cornell = scenes.load("cornell")
    path = export(cornell, tmp_path_factory.mktemp("peers") / "cornell.xml", 0.0).files[0]
    return PeerOrder(
        path=path,
        camera=cornell.at(0.0).camera,
        size=(WIDTH, HEIGHT),
        samples=(1, SAMPLES),
        max_bounces=16,
        repeats=2,
        threads=1,
    )


@pytest.fixture(scope="module")
def ours(order):
    snapshot = scenes.load(str(order.path)).at(0.0)
    settings = RenderSettings(width=WIDTH, height=HEIGHT)
    with tracecore.open_tracer(snapshot.positions, device="cpu") as tracer:
        driver = DRIVERS["path"](snapshot, tracer, settings)
        picture = np.mean([made.values for made in driver.passes(iter(range(SAMPLES)))], axis=0)
        driver.close()
    return picture


def blocks(picture):
    return picture.reshape(HEIGHT // BLOCK, BLOCK, WIDTH // BLOCK, BLOCK, 3).mean(axis=(1, 3))


@pytest.mark.parametrize(("name", "way"), [("mitsuba", "scalar_rgb"), ("luxcore", "PATHCPU")])
def test_a_peer_renders_the_same_picture(name, way, order, ours):
    """Blocks are right to some noise; were they upside down or the other way around, they would not be."""
    if importlib.util.find_spec(PEERS[name].package) is None:
        pytest.skip(f"{PEERS[name].package} is not installed (pip install {PEERS[name].package})")
    one, many = in_process(PEERS[name].module, way, order)
    assert (one.samples, many.samples) == (1, SAMPLES)
    assert len(many.seconds) == 2
    assert many.linear.shape == (HEIGHT, WIDTH, 3)
    scale = blocks(ours).mean()
    assert np.abs(blocks(many.linear) - blocks(ours)).mean() < 0.08 * scale
    for turned in (many.linear[::-1], many.linear[:, ::-1], 1.15 * many.linear):
        assert np.abs(blocks(turned) - blocks(ours)).mean() > 0.12 * scale
    assert np.abs(one.linear - ours).mean() > 2.0 * np.abs(many.linear - ours).mean()


def test_a_peer_that_is_not_installed_is_left_out(order, ours, monkeypatch, capsys):
    monkeypatch.setitem(PEERS, "luxcore", PEERS["luxcore"].__class__(module="nosuch", package="it", ways={"a": "cpu"}))
    assert list(peer_rows(["luxcore"], ["cpu"], order, ours)) == []
    said = "tracecore: peer 'luxcore' (a) is left out: No module named 'nosuch'; install it with: pip install it\n"
    assert capsys.readouterr().err == said


def test_pictures_that_are_too_large_are_rendered_in_portions():
    pytest.importorskip("mitsuba", reason="mitsuba is not installed (pip install mitsuba)")
    from renderer.bench.mitsuba_pictures import MOST_PATHS, portions

    assert portions(MOST_PATHS // 64, 64) == {}
    assert portions(MOST_PATHS // 64, 256) == {"samples_per_pass": 64}
