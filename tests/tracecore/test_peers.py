"""Peers: each that is installed here answers as our CPU tracer does, and those that are not say so in one line."""

import numpy as np
import pytest

import tracecore
from tracecore import peers
from tracecore.benchmarks.compare_embree import room_of_spheres
from tracecore.errors import PeerError
from tracecore.peers import PeerModule, agreement, for_peers, open_peer
from tracecore.rays import MISS, Query, make_rays

RAYS = 5000


@pytest.fixture(scope="module")
def room():
    """Triangles, rays of all lengths and limits from near its middle, and where the CPU tracer finds hits."""
    triangles = room_of_spheres()
    random = np.random.default_rng(5)
    origin = np.array([0.02, 0.03, 0.01]) + random.normal(0.0, 0.02, (RAYS, 3))
    direction = random.normal(size=(RAYS, 3)) * random.choice([0.2, 1.0, 7.0], (RAYS, 1))
    rays = make_rays(origin, direction, random.choice([0.0, 0.5], RAYS), random.choice([0.8, np.inf], RAYS))
    with tracecore.open_tracer(triangles, device="cpu", threads=1) as tracer:
        t = tracer.closest_hit(rays)[:, 0] - rays[:, 3]
        is_hit = tracer.any_hit(rays).view(np.uint32)[:, 3] != MISS
    assert 0.2 < is_hit.mean() < 0.8
    return triangles, rays, {Query.CLOSEST: t, Query.ANY: np.where(is_hit, 0.0, np.inf)}


def embree(triangles):
    pytest.importorskip("embreex", reason="embreex, of the extras 'dev' and 'peers', is not installed")
    from tracecore.peers.embree import EmbreePeer

    return EmbreePeer(triangles, threads=2)


def warp(constructor):
    def opened(triangles):
        pytest.importorskip("warp", reason="warp-lang, of the extra 'peers', is not installed")
        from tracecore.peers.warp_mesh import WarpPeer

        return WarpPeer(triangles, constructor, "cpu")

    return opened


def mitsuba(triangles):
    pytest.importorskip("mitsuba", reason="mitsuba, of the extra 'peers', is not installed")
    from tracecore.peers.optix import MitsubaPeer

    try:
        return MitsubaPeer(triangles, "llvm_ad_rgb")
    except ImportError as error:
        pytest.skip(f"Mitsuba cannot compile for the CPU: {error}")


@pytest.mark.parametrize("query", list(Query))
@pytest.mark.parametrize(
    "opened", [embree, warp("cubql"), warp("sah"), mitsuba], ids=["embree", "cubql", "sah", "llvm"]
)
def test_a_peer_answers_as_ours(room, opened, query):
    triangles, rays, ours = room
    rounds = opened(triangles).trace(for_peers(rays), query, 3)
    assert len(rounds.seconds) == 3
    assert all(seconds > 0.0 for seconds in rounds.seconds)
    assert rounds.t.shape == (RAYS,)
    assert agreement(rounds.t, ours[query]) >= 0.9995


def test_answers_are_counted_that_differ():
    ours = np.array([1.0, 2.0, 3.0, np.inf, np.inf], np.float32)
    assert agreement(ours, ours) == 1.0
    assert agreement(ours * np.float32(1.00005), ours) == 1.0
    assert agreement(ours * np.float32(1.001), ours) == pytest.approx(0.4)
    assert agreement(np.array([1.0, np.inf, 3.0, 4.0, np.inf], np.float32), ours) == pytest.approx(0.6)


def test_rays_begin_at_their_t_min():
    rays = make_rays([[1.0, 2.0, 3.0]] * 2, [[0.0, 2.0, 0.0]] * 2, [0.0, 0.5], [np.inf, 0.75])
    moved = for_peers(rays)
    assert moved[0].tolist() == [1.0, 2.0, 3.0, 0.0, 0.0, 2.0, 0.0, np.finfo(np.float32).max]
    assert moved[1].tolist() == [1.0, 3.0, 3.0, 0.0, 0.0, 2.0, 0.0, 0.25]
    assert rays[1, 3] == 0.5


@pytest.mark.parametrize(
    ("on_gpu", "reason", "said"),
    [
        (False, None, "No module named 'tracecore.peers.nosuch'; install it with: pip install nosuch"),
        (True, "no NVIDIA GPU is visible", "no GPU can be used: no NVIDIA GPU is visible"),
    ],
)
def test_a_peer_that_cannot_run_says_why(monkeypatch, room, on_gpu, reason, said):
    row = PeerModule(module="tracecore.peers.nosuch", package="nosuch", on_gpu=on_gpu, ways=("nosuch",))
    monkeypatch.setitem(peers.PEERS, "nosuch", row)
    monkeypatch.setattr(peers, "gpu_unavailable_reason", lambda: reason)
    with pytest.raises(PeerError) as raised:
        open_peer("nosuch", "nosuch", room[0], 1)
    assert str(raised.value) == f"peer 'nosuch' is left out: {said}"
