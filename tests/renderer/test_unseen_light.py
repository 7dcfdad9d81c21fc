"""What drivers cannot see of a scene is said, and nothing else is."""

from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, floor_and_ceiling

from renderer import cli
from renderer.drivers import DRIVERS
from renderer.drivers.driver import Caustics
from renderer.drivers.unseen_light import unseen_light_note
from scenes.lights import PointLight
from scenes.model import Material

LAMP = PointLight(position=(0.5, 0.5, 0.5), intensity=(1.0, 1.0, 1.0))
GLASS = Material(name="glass", kind="dielectric", ior=1.5, transmittance=1.0)
GLOWING = Material(name="tube", emission=(1.0, 1.0, 1.0))


def scene(*materials, lights=(LAMP,)):
    ids = np.arange(12) % len(materials)
    return flat_snapshot(closed_box(), materials, material_ids=ids, lights=lights)


def note(driver, snapshot):
    return unseen_light_note(DRIVERS[driver], snapshot, DRIVERS)


def test_the_path_driver_says_what_it_cannot_see():
    assert note("path", scene(Material(), GLASS)) == (
        "driver 'path' cannot see light of point lights that comes through mirrors or glass (material 'glass'); "
        "'photon', 'sppm', 'path+caustics', 'gather', 'photons-only' and 'vcm' can"
    )


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_only_what_is_blind_says_so(driver):
    caustics = DRIVERS[driver].caustics
    by_point, by_tube = scene(Material(), GLASS), scene(Material(), GLASS, GLOWING, lights=())
    assert (note(driver, by_point) is None) == (caustics is Caustics.ALL)
    assert (note(driver, by_tube) is None) == (caustics is not Caustics.NONE)


def test_lights_of_all_kinds_are_named():
    both = scene(Material(), GLASS, GLOWING)
    assert "light of point lights and glowing surfaces that" in note("whitted", both)
    assert "light of point lights that" in note("path", both)


@pytest.mark.parametrize(
    "snapshot",
    [
        scene(Material()),  # nothing sharp
        scene(GLASS),  # nothing that a caustic would be seen on
        scene(Material(), GLASS, lights=()),  # no light
        scene(Material(), GLASS, lights=[replace(LAMP, intensity=(0.0, 0.0, 0.0))]),
        floor_and_ceiling(materials=[Material(), GLASS, Material()], lights=[LAMP]),  # no triangle is of glass
    ],
)
def test_nothing_is_said_where_nothing_is_missed(snapshot):
    for driver in DRIVERS:
        assert note(driver, snapshot) is None


def test_sheets_are_solid_to_ambient_occlusion_alone():
    """To all others shadow rays see through."""
    sheets = scene(Material(), replace(GLASS, name="pane", ior=1.0))
    said = {driver: note(driver, sheets) for driver in DRIVERS}
    line = "driver 'ao' takes for solid sheets that let light straight through (material 'pane'); all others see "
    assert said.pop("ao") == line + "through them"
    assert not any(said.values())
    both = note("ao", scene(Material(), GLASS, replace(GLASS, name="pane", ior=1.0)))
    assert both.startswith("driver 'ao' cannot see light of point lights that")
    assert "takes for solid" in both


@pytest.fixture
def snapshot_file(tmp_path):
    """A point light over a mirror and a matt floor."""
    path = tmp_path / "a.nff"
    path.write_text(
        "v\nfrom 0 0 5\nat 0 0 0\nup 0 1 0\nangle 40\nhither 1\nresolution 8 6\nl 0 0 4\n"
        "f 1 1 1 1 0 0 0 1\np 3\n-1 -1 0\n1 -1 0\n0 1 0\n"
        "f 1 1 1 0 1 1000000 0 1\np 3\n-1 -1 1\n0 -1 1\n0 0 1\n"
    )
    return path


@pytest.mark.parametrize(
    ("options", "lines"),
    [(["--driver", "path"], 1), (["--driver", "path", "--quiet"], 0), (["--driver", "photon", "--photons", "9"], 0)],
)
def test_the_command_says_it_on_stderr(options, lines, snapshot_file, tmp_path, capsys):
    files = ["-o", str(tmp_path / "a.png")]
    assert cli.main(["render", str(snapshot_file), "--passes", "1", "--device", "cpu", *files, *options]) == 0
    figures = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tracecore: note: ")]
    assert len(figures) == lines
    assert all("cannot see light of point lights that comes through mirrors or glass" in line for line in figures)
