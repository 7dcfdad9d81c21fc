"""`tracecore bench`: what it measures, what it refuses."""

import json
from dataclasses import replace
from itertools import pairwise

import blind_plugin
import numpy as np
import pytest
from faulty_kernel import registered
from small_scenes import lamp_in_box

from renderer import cli, plugins
from renderer.bench import comparison, kernel_benchmark, workload
from renderer.bench.dispatch_benchmark import end_to_end
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, KernelMeasurement, over_baseline
from renderer.bench.table import table
from renderer.bench.workload import RaySet
from tracecore.kernels import strategies
from tracecore.rays import MISS, Query, make_rays

SMALL = "--device emulator --size 8x6 --samples 1 --ao-rays 2 --photon-rays 40 --repeat 2"


def run(capsys, *options):
    status = cli.main(["bench", *options])
    return status, capsys.readouterr()


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    words = f"bench cornell {SMALL} --end-to-end --store 3000 --kernels while-while,bvh4 --baseline bvh4"
    assert cli.main([*words.split(), "--rays", "primary,ao,photon", "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_every_kernel_traces_the_same_rays(figures):
    by_kernel = [
        [(m["kind"], m["rays"]) for m in figures["measurements"] if m["kernel"] == k] for k in ("while-while", "bvh4")
    ]
    assert by_kernel[0] == by_kernel[1]
    counts = dict(by_kernel[0])
    assert counts["primary"] == 48
    assert counts["photon"] == 40
    assert 0 < counts["ao"] <= 96


def test_rates_lie_in_their_range_and_are_over_the_baseline(figures):
    for one in figures["measurements"]:
        assert 0.0 < one["least"] <= one["rate"] <= one["most"]
        base = next(m for m in figures["measurements"] if (m["kernel"], m["kind"]) == ("bvh4", one["kind"]))
        assert one["relative"] == one["rate"] / base["rate"]
        assert one["steps"]["nodes"] > 0.0
        assert 64 * one["steps"]["nodes"] < one["steps"]["bytes"]
        assert 0.0 < one["steps"]["node_efficiency"] <= 1.0
        assert one["bound"] > 100.0 > one["rate"]  # of a GPU, and of its emulator
    assert figures["baseline"] == "bvh4"
    assert [facts["kernel"] for facts in figures["kernels"]] == ["while-while", "bvh4"]
    assert all(facts["nodes"] > 0 for facts in figures["kernels"])


def test_photon_runs_are_timed_end_to_end(figures):
    runs = figures["photon_runs"]
    assert [(run["kernel"], run["dispatch"]) for run in runs] == [("while-while", "emulated"), ("bvh4", "emulated")]
    assert all(0.0 < run["least"] <= run["rate"] <= run["most"] and 0.0 < run["busy"] <= 1.0 for run in runs)


def test_an_interrupt_leaves_what_was_measured(capsys, monkeypatch, tmp_path):
    def until_the_third(tracer, rays, repeats):
        if tracer.name == "if-if":
            raise KeyboardInterrupt
        return KernelMeasurement(kernel=tracer.name, kind=rays.kind, rays=48, rate=1.0, least=1.0, most=1.0)

    monkeypatch.setattr(kernel_benchmark, "measure", until_the_third)
    path = tmp_path / "part.json"
    given = [*SMALL.split(), "--rays", "primary", "--kernels", "while-while,bvh4,if-if", "--json", str(path)]
    status, figures = run(capsys, "cornell", *given)
    assert status == 130
    assert "interrupted: what was measured by then" in figures.err
    part = json.loads(path.read_text())
    assert [one["kernel"] for one in part["measurements"]] == ["while-while", "bvh4"]
    assert not part["finished"]
    status, figures = run(capsys, "cornell", *given, "--baseline", "if-if")
    assert status == 130
    assert "what was measured" not in figures.err


def test_the_table_is_aligned_and_complete():
    def measured(kernel, kind, rate):
        return KernelMeasurement(
            kernel=kernel, kind=kind, rays=48, rate=rate, least=rate / 2, most=rate * 2, compared=40
        )

    ones = [
        measured(k, kind, rate)
        for k, kind, rate in [("a", "ao", 2.0), ("a", "photon", 3.0), ("bb", "ao", 4.0), ("bb", "photon", 1.5)]
    ]
    facts = [
        KernelFacts(kernel=name, nodes=7, tree_bytes=9, sah_cost=1.0, registers=(32, 40), occupancy=(0.5, 1.0))
        for name in ("a", "bb")
    ]
    found = Comparison(device="gpu", baseline="a", kernels=tuple(facts), measurements=tuple(over_baseline(ones, "a")))
    lines = table(found).splitlines()
    assert lines[2].split() == ["a", "2", "(1-4)", "1.00x", "3", "(1.5-6)", "1.00x", "7", "32/40", "50%/100%"]
    assert lines[3].split() == ["bb", "4", "(2-8)", "2.00x", "1.5", "(0.75-3)", "0.50x", "7", "32/40", "50%/100%"]
    assert lines[1].split() == ["rays", "48", "48"]
    assert lines[4:] == ["", "compared with the CPU: ao 40 of 48, photon 40 of 48 rays"]
    columns = [line.index(word) for line, word in zip(lines[2:4], ("2 (1", "4 (2"), strict=True)]
    assert all(a == b for a, b in pairwise(columns))


@pytest.fixture
def own_kernels(monkeypatch):
    """Kernels that are registered meanwhile are forgotten in the end."""
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))
    monkeypatch.setattr(plugins, "_loaded", dict(plugins._loaded))


def test_a_plugin_that_hits_nothing_is_struck_out(own_kernels, capsys, tmp_path, monkeypatch):
    """It makes no rays, is no baseline, leads nowhere, and is neither simulated nor run."""
    runs = []
    monkeypatch.setattr(comparison, "end_to_end", lambda snapshot, device, kernels, **_: runs.extend(kernels) or [])
    path = tmp_path / "bench.json"
    plugin = ["--plugin", blind_plugin.written(tmp_path), "--kernels", "blind,while-while,bvh4", "--end-to-end"]
    status, said = run(capsys, "cornell", *SMALL.split(), *plugin, "--rays", "primary,bounce1,ao", "--json", str(path))
    assert status == 1
    found = json.loads(path.read_text())
    by_kernel = {name: [m for m in found["measurements"] if m["kernel"] == name] for name in ("blind", "while-while")}
    assert [m["kind"] for m in by_kernel["blind"]] == ["primary", "bounce1", "ao"]
    for one in by_kernel["blind"]:
        assert one["compared"] == one["rays"] > 20
        assert one["relative"] is one["steps"] is one["bound"] is None
        wrong = one["wrong"]
        assert wrong["found"] == "hits nothing"
        assert wrong["expected"].startswith("hits triangle ")
        assert 0 < wrong["differing"] <= one["rays"]
        assert len(wrong["origin"]) == len(wrong["direction"]) == 3
    assert all(m["wrong"] is m["relative"] is None and m["steps"] and m["bound"] for m in by_kernel["while-while"])
    assert runs == ["while-while", "bvh4"]
    lead = next(line for line in said.out.splitlines() if line.startswith("Fastest: "))
    assert "blind" not in lead
    assert said.out.count("Struck out: blind on ") == 3
    assert "compared with the CPU: primary 48 of 48, " in said.out
    assert next(line for line in said.out.splitlines() if line.startswith("blind ")).count("struck out") == 3
    assert "--kernel blind" not in said.out


def test_one_wrong_bit_strikes_a_kernel_out_by_its_ray(own_kernels, capsys, tmp_path):
    path, name = tmp_path / "bench.json", registered("wrong-hit", period=30)
    status, said = run(capsys, "cornell", *SMALL.split(), "--kernels", name, "--rays", "primary", "--json", str(path))
    assert status == 1
    assert "No kernel has the right hits." in said.out
    (one,) = json.loads(path.read_text())["measurements"]
    wrong = one["wrong"]
    t = [words.split("t = ")[1].split(",")[0] for words in (wrong["found"], wrong["expected"])]
    assert t[0] != t[1]
    assert float(t[0]) == pytest.approx(float(t[1]), rel=1e-6)
    origin = ", ".join(f"{x:.9g}" for x in wrong["origin"])
    assert f"ray {wrong['ray']} from ({origin}) along (" in said.out
    assert f"{wrong['found']}, by the CPU it {wrong['expected']}" in said.out


def test_a_photon_run_with_wrong_hits_is_not_timed(own_kernels):
    name = registered("wrong-hit", period=5)
    (one,) = end_to_end(lamp_in_box(), "emulator", [name], photons=500, repeats=1, seed=0, threads=1)
    assert (one.kernel, one.dispatch, one.rate, one.busy) == (name, "emulated", 0.0, 0.0)
    assert str(one.wrong).startswith(f"kernel '{name}' is wrong: ray ")


def judged(count, hits):
    """Rays along z, of which the CPU is told to hit so."""
    rays = make_rays(np.zeros((count, 3)), [0.0, 0.0, 1.0])
    one = RaySet(kind="primary", query=Query.CLOSEST, rays=rays)
    return replace(one, right=hits[:: one.step])


def hits_at(t):
    hits = np.zeros((len(t), 4), np.float32)
    hits[:, 0] = t
    hits.view(np.uint32)[np.isinf(t), 3] = MISS
    return hits


@pytest.mark.parametrize(("most", "step"), [(48, 1), (47, 3), (16, 3), (15, 5), (12, 5), (5, 11)])
def test_of_many_rays_an_evenly_spaced_part_is_compared(monkeypatch, most, step):
    """Of all lanes of a warp."""
    monkeypatch.setattr(workload, "COMPARED_RAYS", most)
    right = hits_at(np.arange(48.0))
    rays = judged(48, right)
    assert (rays.step, rays.compared) == (step, len(range(0, 48, step)))
    assert rays.wrong_ray(right) is None
    last = (rays.compared - 1) * step
    for ray in {0, step, last}:
        hits = right.copy()
        hits.view(np.uint32)[ray, 2] ^= 1
        found = rays.wrong_ray(hits)
        assert (found.ray, found.differing, found.direction) == (ray, 1, (0.0, 0.0, 1.0))
        order = np.roll(np.arange(48), 7)
        assert rays.wrong_ray(hits[order], order) == found
    if step > 1:
        hits = right.copy()
        hits[1] = 7.0
        assert rays.wrong_ray(hits) is None


def test_any_hit_is_a_hit_or_not_as_the_cpu_says():
    right = hits_at(np.array([0.0, np.inf]))
    rays = replace(judged(2, right), query=Query.ANY)
    assert rays.wrong_ray(right) is None
    assert rays.wrong_ray(right[::-1]).found == "hits nothing"


@pytest.mark.parametrize(("rays", "allowed"), [(10_000, 10), (100, 4)])
def test_peers_may_differ_at_a_few_rays(rays, allowed):
    t = np.where(np.arange(rays) % 2 == 0, 2.0, np.inf).astype(np.float32)
    ours = judged(rays, hits_at(t))
    assert ours.peer_answers(t * np.float32(1.00005)) == (1.0, None)
    others = t.copy()
    others[1 : 2 * allowed : 2] = 5.0
    assert ours.peer_answers(others) == (pytest.approx(1.0 - allowed / rays), None)
    others[0] = 2.001
    agreement, wrong = ours.peer_answers(others)
    assert agreement == pytest.approx(1.0 - (allowed + 1) / rays)
    assert (wrong.ray, wrong.differing) == (0, allowed + 1)
    assert wrong.found.startswith("hits something 2.00")
    assert wrong.expected == "hits something 2.0 lengths after its start"
