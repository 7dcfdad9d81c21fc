"""The builder of the tree is chosen by name."""

from typing import get_args, get_type_hints
from unittest.mock import Mock

import pytest

import scenes
from renderer.errors import UsageError
from renderer.scene import tree_updates
from renderer.scene.render_context import TracerChoice
from renderer.settings.picture import Settings
from tracecore.bvh import reinsertion
from tracecore.bvh.builders import BUILDERS, build_by
from tracecore.layout.bvh8 import BLOCK


def test_settings_know_all_builders() -> None:
    (names, _) = get_args(get_type_hints(Settings)["builder"])
    assert get_args(names) == tuple(BUILDERS)


@pytest.mark.parametrize("builder", [None, *BUILDERS])
def test_the_tree_is_by_the_builder_that_is_chosen(builder: str | None) -> None:
    choice = TracerChoice.chosen(Settings(device="cpu", builder=builder), None)
    assert choice.fallen_back.builder == builder
    snapshot = scenes.load("cornell").at(0.0)
    costs = {name: build_by(name, snapshot.positions, max_leaf=BLOCK).sah_cost for name in BUILDERS}
    assert len(set(costs.values())) == len(BUILDERS)
    with choice.opened(snapshot, 0.0) as context:
        assert context.tracer.bvh.sah_cost == costs[builder or "reinserted"]


def test_an_unknown_builder_is_refused() -> None:
    with pytest.raises(UsageError, match="reinserted"):
        Settings(builder="bvh9")
    snapshot = scenes.load("cornell").at(0.0)
    with pytest.raises(UsageError, match="unknown builder"), TracerChoice(builder="bvh9").opened(snapshot, 0.0):
        pass


def test_all_code_is_loaded_before_the_time_of_a_tree_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("_find_targets", "_move_all", "_number")
    loops = {name: Mock(wraps=getattr(reinsertion, name)) for name in names}
    for name, loop in loops.items():
        monkeypatch.setattr(reinsertion, name, loop)
    tree_updates.TreeUpdates("auto")
    assert all(loop.called for loop in loops.values())
