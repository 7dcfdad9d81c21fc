"""Peers: each that is installed here answers as our CPU tracer does, and those that are not say so in one line."""

import numpy as np
import pytest

import tracecore
from tracecore import peers
from tracecore.benchmarks.compare_embree import room_of_spheres
from tracecore.errors import PeerError
from tracecore.peers import PeerModule, differing, for_peers, from_start, open_peer
from tracecore.rays import Query, make_rays
from tracecore.tracers.verified import trace

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
        ours = {query: from_start(trace(tracer, rays, query), rays, query) for query in Query}
    assert 0.2 < np.isfinite(ours[Query.CLOSEST]).mean() < 0.8
    assert np.array_equal(np.isfinite(ours[Query.CLOSEST]), ours[Query.ANY] == 0.0)
    return triangles, rays, ours


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
    assert differing(rounds.t, ours[query]).mean() <= 0.0005


def test_answers_are_found_that_differ():
    ours = np.array([1.0, 2.0, 3.0, np.inf, np.inf], np.float32)
    assert not differing(ours, ours).any()
    assert not differing(ours * np.float32(1.00005), ours).any()
    assert differing(ours * np.float32(1.001), ours).tolist() == [True, True, True, False, False]
    others = np.array([1.0, np.inf, np.nan, 4.0, np.nan], np.float32)
    assert differing(others, ours).tolist() == [False, True, True, True, True]


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
