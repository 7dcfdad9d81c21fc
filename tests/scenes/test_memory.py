"""What a scene will take is known, and said, before it is taken."""

import logging
from pathlib import Path

import numpy as np
import pytest

from scenes.document import Document, Part
from scenes.errors import SceneError
from scenes.files import memory
from scenes.meshes.shapes import sphere
from scenes.motion.transforms import WORLD, translation
from scenes.playing.evaluator import scene_of


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system whose files a test writes; at first 5 GB are free and there is no limit."""
    for name, file in (("ALL_MEMORY", "meminfo"), ("GROUP_LIMIT", "max"), ("GROUP_USE", "current")):
        monkeypatch.setattr(memory, name, tmp_path / file)
    (tmp_path / "meminfo").write_text("MemTotal:  9765625 kB\nMemFree: 12 kB\nMemAvailable:   4882812 kB\nHuge: 0\n")
    return tmp_path


def test_what_does_not_fit_is_refused(system: Path) -> None:
    per_triangle = memory.needed_bytes(1)
    memory.check_memory(4_900_000_000 // per_triangle, 7)
    (system / "max").write_text("2500000000")
    (system / "current").write_text("500000000")
    with pytest.raises(
        SceneError, match=r"7,000,000 triangles, placed from 7, take about 3.\d GB, and 2.0 GB are free"
    ):
        memory.check_memory(7_000_000, 7)


@pytest.mark.usefixtures("system")
def test_much_is_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="scenes")
    memory.check_memory(1000, 10)
    assert caplog.messages == []
    memory.check_memory(4_000_000, 2_000)
    assert caplog.messages == [
        f"4,000,000 triangles, placed from 2,000, take about {memory.gigabytes(memory.needed_bytes(4_000_000))}"
    ]


def many_spheres(count: int) -> Document:
    ball = sphere(np.zeros(3), 1.0, 0)
    transforms = [WORLD.inner(matrix=translation(np.array([3.0 * i, 0.0, 0.0]))) for i in range(count)]
    return Document(parts=[Part(ball, transform) for transform in transforms])


def test_instances_are_stored_once_and_counted_before_they_are_made(system: Path) -> None:
    document = many_spheres(10)
    one = len(document.parts[0].shape.triangles)  # type: ignore[union-attr]
    assert (document.stored_triangles, document.triangles) == (one, 10 * one)
    (system / "meminfo").write_text(f"MemAvailable: {memory.needed_bytes(9 * one) // 1024} kB\n")
    with pytest.raises(SceneError, match=f"placed from {one:,}, take"):
        scene_of("spheres", document)


def test_free_memory(system: Path) -> None:
    assert memory.free_bytes() == 4882812 * 1024
    (system / "max").write_text("max\n")
    (system / "current").write_text("1000000000\n")
    assert memory.free_bytes() == 4882812 * 1024
    (system / "max").write_text("3000000000\n")
    assert memory.free_bytes() == 2_000_000_000
    (system / "meminfo").write_text("odd")
    assert memory.free_bytes() == 2_000_000_000
