"""`tracecore scene export`."""

from pathlib import Path

import numpy as np
import pytest
from command_line import run

import scenes

MOVING = """\
a 0 3 4
v from 0 0 9 at 0 0 0 up 0 1 0 angle 30 hither 0.1 resolution 80 60
l 0 5 5
x slide { p 3 0 0 0 1 0 0 0 1 0 }
k slide { transl 4  0 0 0 0 0 0 0  0 0 0 0 0 0 0  3 3 0 0 0 0 0  3 3 0 0 0 0 0 }
"""


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    """A triangle that moves by 1 in each frame."""
    path = tmp_path / "moving.aff"
    path.write_text(MOVING)
    return path


@pytest.mark.parametrize(("scene_view", "x"), [((), 0.0), (("--frame", 2), 2.0), (("--time", 1.0), 1.0)])
def test_export_at_a_moment(scene_view, x, moving, tmp_path, capsys):
    assert run("scene", "export", moving, "--to", tmp_path / "still.obj", *scene_view) == 0
    copy, source = scenes.load(tmp_path / "still.obj").at(0.0), scenes.load(moving).at(x)
    assert np.array_equal(copy.positions, source.positions)
    assert copy.positions[0, 0, 0] == pytest.approx(x, abs=0.3)
    out = capsys.readouterr().out
    assert f"written    {tmp_path / 'still.obj'}\nwritten    {tmp_path / 'still.mtl'}\n" in out
    assert f"lost       animation left out: the file stands still at time {x:g}\n" in out


def test_export_of_all_the_animation(moving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scene", "export", moving, "--to", tmp_path / "copy.aff") == 0
    for time in (0.0, 1.5, 3.0):
        pictures = [scenes.load(path).at(time) for path in (moving, tmp_path / "copy.aff")]
        assert np.array_equal(pictures[0].positions, pictures[1].positions)
    assert capsys.readouterr().out == f"written    {tmp_path / 'copy.aff'}\n"
