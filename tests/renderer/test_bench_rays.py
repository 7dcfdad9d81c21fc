"""`tracecore bench` on rays of a driver and of a file, and beside peers."""

import json

import numpy as np
import pytest

from renderer import cli
from renderer.bench import comparison
from tracecore.errors import PeerError
from tracecore.peers import Rounds
from tracecore.rays import Query

SMALL = "--device cpu --threads 1 --size 16x12 --samples 1 --ao-rays 2 --photon-rays 40 --repeat 2"


def bench(*options):
    return cli.main(["bench", *SMALL.split(), *options])


def arrays(path):
    with np.load(path) as archive:
        return {name: archive[name].tobytes() for name in archive.files}


@pytest.mark.parametrize("source", [["--driver", "path"], ["--rays", "primary,ao,photon"]], ids=["driver", "plan"])
def test_recorded_rays_are_replayed_bit_for_bit(tmp_path, source):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    assert bench("cornell", *source, "--record", str(first), "--json", str(tmp_path / "first.json")) == 0
    assert bench("cornell", "--replay", str(first), "--record", str(second), "--json", str(tmp_path / "two.json")) == 0
    assert arrays(first) == arrays(second)
    counts = [
        [(one["kind"], one["view"], one["rays"]) for one in json.loads((tmp_path / name).read_text())["measurements"]]
        for name in ("first.json", "two.json")
    ]
    assert counts[0] == counts[1]
    assert {kind: rays for kind, _, rays in counts[0]}["camera" if "path" in source else "primary"] == 16 * 12


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("rays") / "rays.npz"
    assert bench("cornell", "--rays", "primary,shadow", "--record", str(path)) == 0
    return str(path)


def test_rays_of_another_scene_are_refused(capsys, recorded):
    assert bench("outdoor", "--replay", recorded) == 2
    assert "was recorded with other triangles, of 'cornell'" in capsys.readouterr().err


def test_embree_beside_ours(tmp_path, capsys):
    pytest.importorskip("embreex", reason="embreex, of the extras 'dev' and 'peers', is not installed")
    path = tmp_path / "bench.json"
    assert bench("cornell", "--peers", "embree", "--rays", "primary,ao,bounce1", "--json", str(path)) == 0
    found = json.loads(path.read_text())
    own = [one for one in found["measurements"] if one["kernel"] == "embree"]
    assert [one["kind"] for one in own] == ["primary", "ao", "bounce1"]
    assert all(one["agreement"] >= 0.995 and one["relative"] > 0.0 for one in own)
    assert found["peers"] == [{"peer": "embree", "clock": "wall time of 1 CPU thread"}]
    assert "embree: wall time of 1 CPU thread; answers as ours: primary " in capsys.readouterr().out


class WrongPeer:
    """Finds nothing."""

    name, clock = "wrong", "no clock"

    def trace(self, rays, query, repeats):
        assert query == Query.CLOSEST
        return Rounds([0.5] * repeats, np.full(len(rays), np.inf, np.float32))


def test_a_peer_that_cannot_run_is_left_out_and_one_that_errs_is_found_out(monkeypatch, capsys, tmp_path):
    def opened(name, way, triangles, threads):
        if name == "embree":
            return WrongPeer()
        raise PeerError(f"peer '{name}' is left out: so it is")

    monkeypatch.setattr(comparison, "open_peer", opened)
    path = tmp_path / "bench.json"
    assert bench("cornell", "--peers", "warp,optix,embree", "--rays", "primary", "--json", str(path)) == 0
    said = capsys.readouterr()
    assert "Struck out: wrong on primary (view point front), whose hits are wrong: ray " in said.out
    assert "The fastest peer" not in said.out
    errors = said.err.splitlines()
    assert [line for line in errors if line.startswith("tracecore: ")] == [
        "tracecore: peer 'warp' is left out: so it is",
        "tracecore: peer 'optix' is left out: so it is",
    ]
    wrong = json.loads(path.read_text())["measurements"][-1]
    assert wrong["kernel"] == "wrong"
    assert wrong["agreement"] < 0.5
    assert wrong["relative"] is None
    assert wrong["wrong"]["found"] == "hits nothing"
    assert wrong["wrong"]["expected"].endswith(" lengths after its start")
    assert wrong["rate"] == pytest.approx(16 * 12 / 0.5 / 1e6)
