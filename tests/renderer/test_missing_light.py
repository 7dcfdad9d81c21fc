"""A picture that comes out black, or where hardly a photon arrives, says so and why."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, quad

import tracecore
from renderer import cli
from renderer.drivers.driver import RayCounts, Work
from renderer.photons.counts import PhotonCounts
from renderer.run.picture.picture_files import statistics_path
from renderer.run.picture.picture_record import missing_light
from scenes.lights import DistantLight, PointLight, SpotLight
from scenes.model import Material

BULB = PointLight(position=(0.5, 0.6, 0.5), intensity=(1.0, 1.0, 1.0))
OUTSIDE = replace(BULB, position=(3.0, 0.5, 0.5))
SUN = DistantLight(direction=(0.0, 0.0, -1.0), irradiance=(1.0, 1.0, 1.0))
AWAY = SpotLight(
    position=(0.5, 0.6, 0.5), direction=(-1.0, 0.0, 0.0), intensity=(1.0, 1.0, 1.0), inner_angle=5.0, outer_angle=9.0
)
GREY, GLASS = Material(), Material(name="glass", kind="dielectric", transmittance=1.0, ior=1.5)
LAMP = Material(name="tube", emission=(1.0, 1.0, 1.0))
#: Outside of the unit box, to the right.
PANEL = quad((2.0, 0.0, 0.0), (2.0, 0.0, 1.0), (2.0, 1.0, 1.0), (2.0, 1.0, 0.0))


def box(lights=()):
    """A closed box, seen from inside, and a lamp outside."""
    return flat_snapshot(
        np.concatenate([closed_box(), PANEL]), [GREY, LAMP], material_ids=[0] * 12 + [1, 1], lights=lights
    )


def told(snapshot, *, is_black=True, met=500, emitted=1000):
    """What is said of a picture whose photons met so many surfaces."""
    work = Work(rays=RayCounts(photon=emitted + met), photons=PhotonCounts(emitted=emitted, escaped=emitted))
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        return missing_light(SimpleNamespace(snapshot=snapshot, tracer=tracer), work, is_black=is_black)  # type: ignore[arg-type]


def test_lights_that_reach_nothing_are_named():
    glow = "the glow of 'tube'"
    assert told(box([OUTSIDE])) == (
        f"the picture is black: the point light at (3, 0.5, 0.5), {glow} reach nothing that the camera sees, at least "
        "not straight"
    )
    assert f"the distant light along (0, 0, -1), {glow} reach nothing" in told(box([SUN]))
    assert f"the spot light at (0.5, 0.6, 0.5), {glow} reach nothing" in told(box([AWAY]))
    assert f": {glow} reaches nothing" in told(box([BULB]))  # the bulb is in the box and is not named
    assert "and 2 more reach nothing" in told(box([OUTSIDE] * 4))


def test_what_else_may_be_is_told():
    pane, behind = quad((0.3, 0, 0), (0.3, 1, 0), (0.3, 1, 1), (0.3, 0, 1)), replace(BULB, position=(0.2, 0.5, 0.5))
    for material, expected in ((GREY, "reaches nothing"), (GLASS, "but little of it comes back")):
        parted = flat_snapshot(
            np.concatenate([closed_box(), pane]), [GREY, material], material_ids=[0] * 12 + [1, 1], lights=[behind]
        )
        assert expected in told(parted)  # it may come through glass
    walls = flat_snapshot(closed_box(), [GREY])
    assert told(walls) == "the picture is black: nothing in the scene shines"
    assert "nothing in the scene shines" in told(replace(walls, lights=(replace(BULB, intensity=(0.0, 0.0, 0.0)),)))
    away = replace(walls.camera, eye=(5.0, 0.5, 0.5))
    assert told(replace(walls, camera=away, lights=(BULB,))) == "the picture is black: the camera sees no surface"


def test_photons_that_do_not_arrive_are_told():
    few = told(box([OUTSIDE]), is_black=False, met=9)
    assert few.startswith("hardly a photon arrives (1000 were sent out, and met 9 surfaces): the point light at (3, ")
    assert told(box([OUTSIDE]), met=9).startswith("the picture is black and hardly a photon arrives (1000 were sent ")
    assert told(box([OUTSIDE]), is_black=False, met=10) == ""
    assert told(box([OUTSIDE]), is_black=False, met=0, emitted=0) == ""


@pytest.mark.parametrize(("options", "lines"), [([], 1), (["--quiet"], 0)])
def test_the_command_says_it_on_stderr_and_in_the_statistics(options, lines, tmp_path, capsys):
    scene, picture = tmp_path / "a.nff", tmp_path / "a.png"
    scene.write_text(
        "v\nfrom 0 0 5\nat 0 0 0\nup 0 1 0\nangle 40\nhither 1\nresolution 8 6\nl 0 0 -4\n"
        "f 1 1 1 1 0 0 0 1\np 3\n-1 -1 0\n1 -1 0\n0 1 0\n"
    )
    command = ["render", str(scene), "--driver", "whitted", "--passes", "1", "--device", "cpu", "-o", str(picture)]
    assert cli.main([*command, *options]) == 0
    line = "the picture is black: the point light at (0, 0, -4) reaches nothing that the camera sees"
    assert capsys.readouterr().err.count(f"tracecore: note: {line}") == lines
    assert line in statistics_path(picture).read_text()
