"""A view of one's own: where the eye is, what it looks at, what is up, and mirrors by the letter."""

import json
from pathlib import Path

import numpy as np
import pytest

import renderer
import scenes
from renderer.commands.arguments import chosen_settings
from renderer.commands.parser import Parser
from renderer.commands.render import add_arguments
from renderer.film import image_file
from renderer.run.render_call import plan_picture
from renderer.scene.render_context import SceneView
from renderer.settings.picture import Settings
from scenes.errors import SceneError

FLAT = """v from 0 0 9 at 0 0 0 up 0 1 0 angle 40 hither 1 resolution 40 30
l 0 9 0
f 1 1 1 0.3 0.6 50 0 0
p 3 0 0 0 1 0 0 0 1 0
s 0 0 0 1
"""


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    path = tmp_path / "ball.nff"
    path.write_text(FLAT)
    return path


def parsed(*words: str) -> Settings:
    parser = Parser()
    add_arguments(parser)
    return chosen_settings(Settings, parser.parse_args(["cornell", *words]))


def test_places_are_words_of_the_command_line_also_below_zero() -> None:
    found = parsed("--eye", "-1,2e0,-.5", "--look-at", "0,0,0", "--up", "0,0,1", "--fov", "30", "--up-axis", "z")
    assert (found.eye, found.look_at, found.up, found.fov) == ((-1.0, 2.0, -0.5), (0.0,) * 3, (0.0, 0.0, 1.0), 30.0)
    assert found.up_axis == "z"


def test_the_eye_stands_and_looks_where_it_is_told(ball: Path) -> None:
    camera = plan_picture(ball, Settings(eye=(3, 4, 0), look_at=(3, 0, 0), up=(0, 0, 1), fov=25.0)).snapshot().camera
    assert camera.eye == (3.0, 4.0, 0.0)
    assert np.allclose(camera.forward, (0, -1, 0))
    assert np.allclose(camera.up, (0, 0, 1))
    assert camera.vertical_fov == 25.0


def test_a_view_along_its_up_is_refused(ball: Path) -> None:
    with pytest.raises(SceneError, match="the camera looks along its up, or nowhere"):
        plan_picture(ball, Settings(eye=(0, 5, 0), look_at=(0, 0, 0), up=(0, 1, 0))).snapshot()


def test_round_shapes_are_as_fine_as_the_picture_of_a_render(ball: Path) -> None:
    counts = [len(plan_picture(ball, Settings(size=size)).snapshot().positions) for size in ((40, 30), (800, 600))]
    assert counts[0] < counts[1] / 4


@pytest.mark.parametrize(("mirrors", "share"), [("literal", 1.0), ("none", 0.0)])
def test_mirrors_by_the_letter(ball: Path, mirrors: str, share: float) -> None:
    own = scenes.load(ball).at(0)
    assert 0.5 < (own.materials[0].mirror_share or 0.0) < 1.0
    assert SceneView(mirrors=mirrors).seen(own).materials[0].mirror_share == share
    assert SceneView(mirrors="auto").seen(own).materials == own.materials


@pytest.mark.parametrize(("ambient", "seen"), [(None, 0.0), ("auto", 0.0), ("none", 0.0), ("literal", 0.5)])
def test_the_ambient_term_is_seen_where_it_is_asked_for(ball: Path, ambient: str | None, seen: float) -> None:
    path = ball.with_suffix(".aff")
    path.write_text(FLAT.replace("f 1 1 1 0.3 0.6", "am 2 2 2\nfm .25 .25 .25  .3 .3 .3  .6 .6 .6"))
    chosen = parsed(*([] if ambient is None else ["--ambient", ambient]))
    assert plan_picture(path, chosen).snapshot().materials[0].backdrop == (seen,) * 3


def test_files_are_metered_and_other_scenes_are_not(ball: Path) -> None:
    assert plan_picture(ball, Settings()).settings.exposure == "auto"
    assert plan_picture(ball, Settings(exposure=1.5)).settings.exposure == 1.5
    assert plan_picture(ball, Settings(driver="ao")).settings.exposure == 0.0
    assert plan_picture(ball, Settings(), is_sequence=True).settings.exposure == "auto"
    assert plan_picture("cornell", Settings()).settings.exposure == 0.0
    assert plan_picture("cornell", Settings(exposure="auto")).settings.exposure == "auto"


@pytest.mark.parametrize("driver", ["whitted", "photon"])
def test_a_crop_has_the_bits_of_the_whole(driver: str) -> None:
    made = Settings(driver=driver, size=(16, 12), passes=2, device="cpu", threads=2, quiet=True)
    whole = renderer.render("cornell", made).image
    part = renderer.render("cornell", made, crop=(5, 3, 7, 4))
    assert np.array_equal(part.image, whole[3:7, 5:12])
    assert part.statistics["rays.camera"] == 2 * 7 * 4
    assert json.loads(part.texts["settings"])["crop"] == [5, 3, 7, 4]


def test_a_crop_has_its_place_in_an_exr(tmp_path: Path) -> None:
    openexr = pytest.importorskip("OpenEXR")
    window = image_file.Window(5, 3, 16, 12)
    image_file.write_exr(tmp_path / "a.exr", {"beauty": np.ones((4, 7, 3), np.float32)}, {}, image_file.ExrForm(window))
    with openexr.File(str(tmp_path / "a.exr"), header_only=True) as file:
        corners = [np.concatenate(file.header()[name]).tolist() for name in ("dataWindow", "displayWindow")]
    assert corners == [[5, 3, 11, 6], [0, 0, 15, 11]]
