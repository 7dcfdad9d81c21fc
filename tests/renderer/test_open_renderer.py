"""A renderer that stays open makes the pictures of calls of their own, bit for bit, and reads and builds nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import renderer
import scenes
from renderer.errors import UsageError
from renderer.scene import packed_scene, render_context
from tracecore.errors import TraceError

DRAFT: dict[str, Any] = {"size": (24, 18), "passes": 2, "photons": 2000, "device": "cpu", "threads": 2, "quiet": True}
LEFT: dict[str, Any] = {"eye": (0.15, 0.27, -0.6), "look_at": (0.28, 0.2, 0.28), "fov": 50.0}


@pytest.fixture(scope="module")
def room():
    with renderer.Renderer("cornell", **DRAFT) as opened:
        yield opened


@pytest.mark.parametrize(
    "changes",
    [
        {},
        LEFT,
        {"driver": "path", "size": (16, 12), "photons": None},
        {"seed": 3, **LEFT},
        {"driver": "sppm", "passes": 3},
    ],
)
def test_pictures_have_the_bits_of_calls_of_their_own(room, changes):
    made, alone = room.render(**changes), renderer.render("cornell", **DRAFT | changes)
    assert made.image.any()
    np.testing.assert_array_equal(made.image, alone.image)
    assert made.statistics["passes"] == alone.statistics["passes"]


def test_nothing_is_read_built_or_packed_again(monkeypatch):
    with renderer.Renderer("cornell", **DRAFT) as opened:
        for module, name in ((packed_scene, "pack_after"), (render_context, "_open_tracer")):
            monkeypatch.setattr(module, name, None)
        monkeypatch.setattr("scenes.loading.load", None)
        first, second = opened.render(), opened.render(**LEFT)
    assert (first.image != second.image).any()
    assert second.statistics["seconds.load"] == second.statistics["seconds.build"] == 0.0


def test_other_materials_are_seen_over_the_same_tree(room, monkeypatch):
    monkeypatch.setattr(render_context, "_open_tracer", None)
    black = [replace(one, diffuse=(0.0, 0.0, 0.0)) for one in room.snapshot.materials]
    dark, bright = room.render(replace(room.snapshot, materials=tuple(black))), room.render()
    monkeypatch.undo()
    np.testing.assert_array_equal(
        dark.image, renderer.render(replace(room.snapshot, materials=tuple(black)), **DRAFT).image
    )
    assert dark.image.mean() < 0.7 * bright.image.mean()


def test_passes_are_yielded_as_they_are_made(room):
    pictures = list(room.render_passes(passes=3, **LEFT))
    assert [one.passes for one in pictures] == [1, 2, 3]
    np.testing.assert_array_equal(pictures[-1].image, renderer.render("cornell", **DRAFT | LEFT | {"passes": 3}).image)


def test_files_are_written(room, tmp_path):
    room.render(output=tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()
    with pytest.raises(UsageError, match="save a picture by its method"):
        list(room.render_passes(output=tmp_path / "b.png"))


def test_a_scene_of_parameters_and_a_moment_stay_open(tmp_path):
    museum = scenes.load("museum:10k")
    settings = {**DRAFT, "frame": 20, "driver": "whitted", "photons": None}
    with renderer.Renderer(museum, **settings) as opened:
        made = opened.render(fov=30.0)
    np.testing.assert_array_equal(made.image, renderer.render(museum, **settings, fov=30.0).image)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"device": "emulator"}, "--device is decided when a scene is opened"),
        ({"frame": 3}, "--frame is decided"),
        ({"cluster": "local:2"}, "--cluster is decided"),
        ({"driver": "none"}, "none"),
        ({"crop": (0, 0, 99, 99)}, "--crop"),
    ],
)
def test_what_is_decided_when_a_scene_is_opened_is_refused_later(room, changes, told):
    with pytest.raises(UsageError, match=told):
        room.render(**changes)
    assert room.render().image.any()


def test_what_fails_as_it_opens_leaves_nothing_open(monkeypatch):
    closed = []
    monkeypatch.setattr("renderer.run.open_renderer.pack_ahead", None)
    monkeypatch.setattr("tracecore.tracers.cpu.CpuTracer.close", lambda tracer: closed.append(tracer))
    with pytest.raises(TypeError):
        renderer.Renderer("cornell", **DRAFT)
    assert len(closed) == 1


def test_nothing_is_rendered_when_it_is_closed():
    with renderer.Renderer("cornell", **DRAFT) as opened:
        assert opened.render().image.any()
    with pytest.raises(TraceError, match="closed"):
        opened.render()


def test_what_cannot_stay_open_is_refused():
    with pytest.raises(UsageError, match="--shutter is for one picture"):
        renderer.Renderer("museum:10k", shutter=0.5)
    with pytest.raises(TypeError, match="sise"):
        renderer.Renderer("cornell", sise=(4, 4))


def test_other_triangles_are_refused(room):
    moved = replace(room.snapshot, positions=room.snapshot.positions + np.float32(1.0))
    with pytest.raises(UsageError, match="other triangles need a tree of their own"):
        room.render(moved)


def test_other_cut_outs_are_refused(room):
    holes = [replace(one, cutout=0) for one in room.snapshot.materials]
    with pytest.raises(UsageError, match="other cut-outs need a tracer of their own"):
        room.render(replace(room.snapshot, materials=tuple(holes)))


def test_what_is_shown_of_materials_is_shown_once():
    own = scenes.load("cornell").at_frame(0)
    lit = replace(own, materials=tuple(replace(one, ambient=(0.1, 0.2, 0.3)) for one in own.materials))
    with renderer.Renderer(lit, **DRAFT, ambient="literal") as opened:
        first, again = opened.render(), opened.render(opened.snapshot)
    np.testing.assert_array_equal(again.image, first.image)
    assert (first.image != renderer.render(lit, **DRAFT).image).any()
