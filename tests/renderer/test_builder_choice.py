"""The builder of the tree is chosen by name."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from fake_cuda import installed

import scenes
from renderer import cli
from renderer.bench.builder_benchmark import built_trees
from renderer.drivers.photon import PhotonDriver
from renderer.errors import UsageError
from renderer.run.plan import Plan
from renderer.scene import tree_updates
from renderer.scene.render_context import TracerChoice, context_of
from renderer.settings.picture import Settings
from tracecore.bvh import reinsertion, tree_cache, tree_top
from tracecore.bvh.builders import BUILDERS, build_by, register_builder
from tracecore.errors import KernelError
from tracecore.layout.bvh8 import BLOCK

pytestmark = pytest.mark.usefixtures("collects_often")


@pytest.mark.parametrize("builder", [None, *BUILDERS])
def test_the_tree_is_by_the_builder_that_is_chosen(builder: str | None) -> None:
    choice = TracerChoice.chosen(Settings(device="cpu", builder=builder), None)
    assert choice.on_cpu.builder == builder
    snapshot = scenes.load("cornell").at(0.0)
    costs = {name: build_by(name, snapshot.positions, max_leaf=BLOCK).sah_cost for name in BUILDERS}
    assert len(set(costs.values())) == len(BUILDERS)
    with context_of(snapshot, choice, load_seconds=0.0) as context:
        assert context.tracer.bvh.sah_cost == costs[builder or "reinserted"]


@pytest.mark.parametrize(
    ("asked", "rays"),
    [
        ({"passes": 3, "size": (10, 20)}, 20 * 3 * 200),
        ({"passes": 3, "size": (10, 20), "photons": 50}, 20 * 3 * 250),
        ({"passes": 3, "size": (10, 20), "target_noise": 0.01}, None),
        ({"passes": 3, "size": (10, 20), "time_limit": 1.0}, None),
        ({"time_limit": 1.0}, None),
    ],
)
def test_how_many_rays_are_expected(asked: dict[str, Any], rays: int | None) -> None:
    """Which is why a GPU builds the tree itself or not."""
    plan = Plan(scene=scenes.load("cornell"), settings=Settings(**asked), driver=PhotonDriver)
    assert plan.choice_for_one.rays == plan.expected_rays == rays
    assert plan.choice.rays is None  # of what stays open


def test_a_picture_with_the_tree_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracecore.tracers.gpu.LEAST_TRIANGLES", 10_000)
    words = ["render", "cornell", "--driver", "path", "--size", "8x6", "--passes", "1", "--threads", "1", "--quiet"]
    words += ["--shading", "cpu"]
    made = {}
    for cuda in installed(monkeypatch):
        for device in ("gpu", "cpu"):
            file = tmp_path / f"{device}.npy"
            assert cli.main([*words, "--device", device, "-o", str(file)]) == 0
            made[device] = (np.load(file), json.loads((tmp_path / f"{device}.npy.json").read_text())["bvh.update"])
        assert cuda.complaints == []
    assert np.array_equal(made["gpu"][0], made["cpu"][0])
    assert [made["gpu"][1], made["cpu"][1]] == ["built by the gpu", "built"]


def test_an_unknown_builder_is_refused() -> None:
    snapshot = scenes.load("cornell").at(0.0)
    choice = TracerChoice(builder="bvh9")
    with pytest.raises(UsageError, match="unknown builder"), context_of(snapshot, choice, load_seconds=0.0):
        pass


PLUGIN = """
from tracecore.bvh import binned_sah
from tracecore.bvh.builders import register_builder


def build(triangles, *, max_leaf, triangle_block):
    \"\"\"Returns a tree of single triangles.\"\"\"
    return binned_sah.build(triangles, max_leaf=1, triangle_block=triangle_block)


register_builder("single", build)
"""


def test_a_builder_may_come_from_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its picture has the bits of any other, and its trees are not kept, as nobody knows when it changes."""
    monkeypatch.setattr("tracecore.bvh.builders.BUILDERS", dict(BUILDERS))
    (tmp_path / "single.py").write_text(PLUGIN)
    kept: list[object] = []
    monkeypatch.setattr(tree_cache, "kept", lambda _triangles, _name, build: kept.append(build) or build())
    pictures = []
    for options in ([], ["--plugin", str(tmp_path / "single.py"), "--builder", "single"]):
        path = tmp_path / f"{len(pictures)}.png"
        command = ["render", "cornell", "--driver", "path", "--size", "16x12", "--passes", "1", "--device", "cpu"]
        assert cli.main([*command, *options, "--quiet", "-o", str(path)]) == 0
        pictures.append(path.read_bytes())
    assert pictures[0] == pictures[1]
    assert len(kept) == 1


def test_a_builder_has_a_name_of_its_own() -> None:
    for name, message in (("ploc", "registered already"), ("a,b", "letters, digits")):
        with pytest.raises(KernelError, match=message):
            register_builder(name, BUILDERS["ploc"])


def test_all_code_is_loaded_before_the_time_of_a_tree_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {
        reinsertion: ("_find_targets", "_move_all"),
        tree_top: ("_count_top", "_fill_top", "_link_all", "_move_runs"),
    }
    loops = []
    for module in names:
        for name in names[module]:
            loops.append(Mock(wraps=getattr(module, name)))
            monkeypatch.setattr(module, name, loops[-1])
    tree_updates.TreeUpdates("auto")
    assert all(loop.called for loop in loops)


@pytest.fixture
def trees_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of trees, in which those of few triangles are kept too."""
    monkeypatch.setenv("TRACECORE_CACHE", str(tmp_path))
    monkeypatch.setenv("TRACECORE_TREE_BYTES", "1e8")
    monkeypatch.setattr(tree_cache, "LEAST_TRIANGLES", 1)
    return tmp_path / "trees"


def test_statistics_tell_a_tree_that_was_read(trees_kept: Path, tmp_path: Path) -> None:
    words = ["render", "cornell", "--size", "8x6", "--driver", "ao", "--passes", "1", "--device", "cpu", "--quiet"]
    made = []
    for name in ("a", "b"):
        assert cli.main([*words, "-o", str(tmp_path / f"{name}.npy")]) == 0
        made.append((np.load(tmp_path / f"{name}.npy"), json.loads((tmp_path / f"{name}.npy.json").read_text())))
    (first, built), (second, read) = made
    assert [built["bvh.update"], read["bvh.update"]] == ["built", "cached"]
    assert read["bvh.update_seconds"] != built["bvh.update_seconds"]
    assert np.array_equal(first, second)


def test_builders_are_measured_without_trees_that_were_kept(trees_kept: Path) -> None:
    snapshot = scenes.load("cornell").at(0.0)
    build_by(None, snapshot.positions)
    before = list(trees_kept.iterdir())
    trees = built_trees(snapshot.positions, 1)
    assert list(trees_kept.iterdir()) == before
    assert len({tree.seconds for tree in trees}) == len(trees)


def test_a_photon_run_tells_a_tree_that_was_read(trees_kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["photons", "cornell", "--store", "2000", "--device", "cpu"]
    reports = []
    for _ in range(2):
        assert cli.main(words) == 0
        reports.append(capsys.readouterr().out)
    assert "nodes built in" in reports[0]
    assert "nodes read in" in reports[1]
