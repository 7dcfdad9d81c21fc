"""From frame to frame: when a tree is refitted, and when a new one is built."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from renderer.scene.tree_updates import TreeUpdates, Update
from tracecore.bvh.binned_sah import build
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import BinaryTree
from tracecore.dispatch.tracer import BvhStatistics
from tracecore.rays import Floats

HALVES = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[2, 0, 0], [3, 0, 0], [2, 1, 0]]], np.float32)


def tree_of(triangles: Floats, seconds: float) -> BinaryTree:
    tree = build(triangles, max_leaf=1)
    object.__setattr__(tree, "build_seconds", seconds)
    return tree


BY_CPU = BvhStatistics(nodes=1, bytes=1, sah_cost=1.0, build_seconds=1.0)


@dataclass
class Traced:
    """A tracer, as far as it matters here."""

    tree: BinaryTree | None
    bvh: BvhStatistics = BY_CPU


class Elsewhere:
    """A tracer whose tree is on a device."""

    def __init__(self, *, is_of_gpu: bool = False) -> None:
        self.bvh = replace(BY_CPU, is_of_gpu=is_of_gpu)

    @property
    def tree(self) -> BinaryTree | None:
        raise AssertionError("nobody needs the tree")


def mixed(amount: float) -> Floats:
    """Two clusters of triangles whose halves change places by a share of the way, so that boxes overlap."""
    random = np.random.default_rng(2)
    small = random.normal(0, 0.01, (64, 3, 3)) + random.normal(0, 0.1, (64, 1, 3))
    side = np.where(np.arange(64) < 32, -1.0, 1.0)
    away = np.where(np.arange(64) % 2, amount, 0.0)
    small[:, :, 0] += (side * (1.0 - 2.0 * away))[:, None]
    return small.astype(np.float32)


@pytest.mark.parametrize("update", ["auto", "refit", "rebuild"])
def test_another_number_of_triangles_needs_a_new_tree(update: Update) -> None:
    updates = TreeUpdates(update)
    updates.note(Traced(tree_of(HALVES, 1.0)), is_refitted=False, trace_seconds=1.0)
    assert updates.tree_for(HALVES[:1]) is None


def test_refit_keeps_a_tree_however_bad_and_rebuild_none() -> None:
    good, bad = mixed(0.0), mixed(1.0)
    kept, built = TreeUpdates("refit"), TreeUpdates("rebuild")
    for updates in (kept, built):
        updates.note(Traced(tree_of(good, 1e-9)), is_refitted=False, trace_seconds=1e9)
    fitted = kept.tree_for(bad)
    assert fitted is not None
    assert fitted.sah_cost > 2 * build(bad, max_leaf=1).sah_cost
    assert built.tree_for(good) is None


def test_auto_keeps_a_tree_that_is_as_good_as_ever() -> None:
    updates = TreeUpdates("auto")
    updates.note(Traced(tree_of(HALVES, 0.0)), is_refitted=False, trace_seconds=1e9)
    fitted = updates.tree_for(HALVES + np.float32(1.0))
    assert fitted is not None
    updates.note(Traced(fitted), is_refitted=True, trace_seconds=1e9)
    assert updates.tree_for(HALVES + np.float32(2.0)) is not None


def test_auto_adds_up_what_frames_lose() -> None:
    """The cost of a ray grows by a known share; each frame of 10 s loses that; a tree takes 2.5 frames' loss."""
    good, bad = mixed(0.0), mixed(0.2)
    first = tree_of(good, 0.0)
    growth = TreeUpdates("refit")
    growth.note(Traced(first), is_refitted=False, trace_seconds=10.0)
    fitted = growth.tree_for(bad)
    assert fitted is not None
    share = fitted.sah_cost / first.sah_cost - 1.0
    assert share > 0.1
    updates = TreeUpdates("auto")
    updates.note(Traced(tree_of(good, 2.5 * 10.0 * share)), is_refitted=False, trace_seconds=10.0)
    choices = []
    for _ in range(4):
        tree = updates.tree_for(bad)
        choices.append(tree is not None)
        new = tree_of(bad, 2.5 * 10.0 * share)
        seconds = 10.0 * (1 + share) if tree else 10.0
        updates.note(Traced(tree or new), is_refitted=tree is not None, trace_seconds=seconds)
    assert choices == [True, True, False, True]  # the fourth: as good as the one just built


def test_a_tree_on_a_device_stays_there_where_each_frame_gets_a_new_one() -> None:
    updates = TreeUpdates("rebuild")
    updates.note(Elsewhere(), is_refitted=False, trace_seconds=1.0)
    assert updates.tree_for(HALVES) is None
    with pytest.raises(AssertionError, match="nobody needs the tree"):
        TreeUpdates("auto").note(Elsewhere(), is_refitted=False, trace_seconds=1.0)


def test_a_gpu_builds_each_tree_sooner_than_one_is_refitted() -> None:
    updates = TreeUpdates("auto")
    for _ in range(2):
        updates.note(Elsewhere(is_of_gpu=True), is_refitted=False, trace_seconds=1.0)
        assert updates.tree_for(HALVES) is None
    with pytest.raises(AssertionError, match="nobody needs the tree"):
        TreeUpdates("refit").note(Elsewhere(is_of_gpu=True), is_refitted=False, trace_seconds=1.0)


def test_a_tree_is_refitted_ahead_unless_one_is_being_built() -> None:
    updates = TreeUpdates("auto")
    assert updates.tree_ahead(HALVES) is None  # there is none yet
    assert updates.tree_for(HALVES) is None
    assert updates.tree_ahead(HALVES) is None
    updates.note(Traced(tree_of(HALVES, 1.0)), is_refitted=False, trace_seconds=1.0)
    moved = HALVES + np.float32(0.5)
    ahead = updates.tree_ahead(moved)
    assert ahead is not None
    assert ahead.upper[0, 0] == 3.5
    assert updates.tree_for(HALVES[:1]) is None  # so that a new one will be
    assert updates.tree_ahead(moved) is None


def test_frames_may_be_noted_before_they_are_traced() -> None:
    """Two trees are known before the seconds of the first: what is decided then is as if each had been traced first."""
    good, bad = mixed(0.0), mixed(1.0)
    ahead, after = TreeUpdates("auto"), TreeUpdates("auto")
    new, fitted = tree_of(good, 2.0), refit(tree_of(good, 2.0), mixed(0.05))
    ahead.note_tree(Traced(new), is_refitted=False)
    ahead.note_tree(Traced(fitted), is_refitted=True)
    for seconds in (10.0, 11.0):
        ahead.note_seconds(seconds)
    after.note(Traced(new), is_refitted=False, trace_seconds=10.0)
    after.note(Traced(fitted), is_refitted=True, trace_seconds=11.0)
    assert [vars(ahead)[name] for name in ("_trace_seconds", "_lost_seconds", "_built_cost")] == [
        vars(after)[name] for name in ("_trace_seconds", "_lost_seconds", "_built_cost")
    ]
    assert ahead.tree_for(bad) is None


def test_what_the_tree_before_the_last_one_has_lost_counts_no_more() -> None:
    updates, good = TreeUpdates("auto"), mixed(0.0)
    updates.note_tree(Traced(tree_of(mixed(1.0), 1e-3)), is_refitted=False)
    updates.note_tree(Traced(tree_of(good, 1e-3)), is_refitted=False)
    updates.note_seconds(1e9)
    assert updates.tree_for(mixed(0.2)) is not None  # nobody knows yet what tracing takes
    updates.note_seconds(1e9)
    assert updates.tree_for(mixed(0.2)) is None
