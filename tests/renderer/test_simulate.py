"""`tracecore simulate`: what it reports, what it refuses."""

import json

import blind_plugin
import numpy as np
import pytest
from explained_keys import assert_explained, assert_help_explains

from renderer import cli, plugins
from renderer.bench import figure_keys, simulation
from renderer.bench.ray_generators import SAMPLED_RUN, sample
from tracecore.analysis.instruction_counts import StepInstructions
from tracecore.analysis.steps import StepSequences
from tracecore.cuda.gpus import GPUS
from tracecore.errors import DeviceError
from tracecore.kernels import strategies
from tracecore.kernels.step_records import Step
from tracecore.kernels.strategies import find_strategy
from tracecore.rays import Query

SMALL = ["cornell", "--size=8x6", "--samples=1", "--ao-rays=2", "--rays=primary,ao", "--kernels=while-while,packet-8"]
COSTS = StepInstructions(ray=60, node=50, leaf=8, triangle=70, inside=20, iteration=8)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulate") / "simulate.json"
    dump = path.with_name("steps.npz")
    options = ["--loops", "own,if-if,queues", "--width", "8,32", "--json", str(path), "--dump", str(dump)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "step_instructions", lambda *_: COSTS)
        assert cli.main(["simulate", *SMALL, *options]) == 0
    with np.load(dump) as steps:
        figures = json.loads(path.read_text())
        assert set(figures) == {"software", "gpu", "simulations"}
        return {**figures, "steps": dict(steps)}


def test_steps_of_all_rays_are_dumped(figures):
    steps = figures["steps"]
    assert len(steps) == 2 * 2 * 3
    for one in figures["simulations"]:
        kinds, starts = (steps[f"{one['kernel']}/{one['kind']}/{name}"] for name in ("kinds", "starts"))
        items = one["rays"] if one["kernel"] == "while-while" else -(-one["rays"] // 8)
        assert len(starts) == items + 1
        assert np.count_nonzero(kinds == Step.NODE) / items == pytest.approx(one["steps"]["nodes"])


def test_one_kernel_is_simulated_alone(monkeypatch):
    monkeypatch.setattr(simulation, "step_instructions", lambda *_: COSTS)
    steps = StepSequences(
        kinds=np.array([Step.NODE, Step.LEAF, Step.TRIANGLE, Step.NODE], np.uint8),
        useful=np.ones(4, np.uint8),
        starts=np.array([0, 3, 4]),
        lanes=1,
        rays=1,
    )
    strategy, gpu = find_strategy("while-while"), GPUS["h200"]
    costs = simulation.Costs(gpu.arch)
    per_ray, bound = simulation.simulated_bound(strategy, steps, Query.CLOSEST, gpu, costs, rounds=1)
    assert (per_ray.nodes, per_ray.triangles) == (1.0, 0.5)
    assert (per_ray.node_efficiency, per_ray.triangle_efficiency) == (2 / 32, 1 / 32)
    assert bound == pytest.approx(2 / (60 + 50 + 8 + 70 + 8) * 132 * 1.98e9 * 4 / 1e6)


def test_the_help_explains_every_key_of_the_file(capsys):
    assert_help_explains("simulate", figure_keys.SIMULATE, capsys)


def test_a_kernel_that_hits_nothing_is_struck_out(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(strategies, "_strategies", dict(strategies._strategies))
    monkeypatch.setattr(plugins, "_loaded", dict(plugins._loaded))
    monkeypatch.setattr(simulation, "step_instructions", lambda *_: COSTS)
    path = tmp_path / "simulate.json"
    plugin = ["--plugin", blind_plugin.written(tmp_path), "--kernels", "blind,while-while", "--json", str(path)]
    assert cli.main(["simulate", *SMALL, *plugin]) == 1
    said = capsys.readouterr().out
    rows = [line.split("  ") for line in said.splitlines() if line.startswith("blind ")]
    assert len(rows) == 2
    assert all("struck out" in " ".join(row) and "%" not in " ".join(row) for row in rows)
    assert "Struck out: blind on primary, whose hits are wrong: ray " in said
    assert "compared with the CPU: primary 48 of 48, ao " in said
    figures = json.loads(path.read_text())
    assert [one["wrong"] is None for one in figures["simulations"]] == [False, False, True, True]
    assert_explained([figures], figure_keys.SIMULATE)


def test_there_is_a_row_for_each_kernel_kind_loop_and_width(figures):
    found = [(one["kernel"], one["kind"], one["loop"], one["width"]) for one in figures["simulations"]]
    assert found == [
        (kernel, kind, loop, width)
        for kernel in ("while-while", "packet-8")
        for kind in ("primary", "ao")
        for width in (8, 32)
        for loop in ("own", "if-if", "queues")
    ]
    assert figures["gpu"]["name"] == "h200"


def test_without_a_compiler_only_bounds_are_missing(capsys, monkeypatch):
    def fails(*_):
        raise DeviceError("no compiler; pip install one")

    monkeypatch.setattr(simulation, "step_instructions", fails)
    assert cli.main(["simulate", *SMALL, "--kernels", "while-while", "--rays", "primary"]) == 0
    figures = capsys.readouterr()
    assert figures.out.splitlines()[1].split()[-1] == "-"
    assert figures.err.splitlines()[-1] == "tracecore: no bounds: no compiler; pip install one"


def test_a_sample_is_whole_chunks_from_all_over():
    rays = np.repeat(np.arange(1000, dtype=np.float32)[:, None], 8, axis=1)
    assert sample(rays, 1000) is rays
    found = sample(rays, 200)[:, 0].reshape(-1, SAMPLED_RUN)
    assert found[:, 0].tolist() == [0.0, 7 * SAMPLED_RUN, 14 * SAMPLED_RUN]
    assert np.all(np.diff(found, axis=1) == 1.0)
    assert len(sample(rays, 3)) == SAMPLED_RUN
