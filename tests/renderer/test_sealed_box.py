"""No light comes into a sealed box, to the bit: whatever shines outside, and whatever driver looks."""

from dataclasses import replace

import numpy as np
import pytest
from driver_passes import opened, passes
from small_scenes import closed_box, flat_snapshot, quad

from renderer.drivers import DRIVERS
from scenes.lights import DistantLight
from scenes.model import Camera, Material

WHITE = Material(diffuse=(0.8, 0.8, 0.8))
SUN = DistantLight(direction=(0.2683281573, 0.3577708764, -0.894427191), irradiance=(10.0, 10.0, 10.0))


def sealed_box(side=1.0, middle=(0.0, 0.0, 0.0), turn=0.0):
    """A cube of no thickness in the sun, maybe turned about two axes, seen from its middle."""
    c, s = np.cos(turn), np.sin(turn)
    turned = np.array([(c, s, 0), (-s, c, 0), (0, 0, 1)]) @ np.array([(1, 0, 0), (0, c, s), (0, -s, c)])
    camera = Camera(eye=tuple(middle), forward=(0.6, 0.8, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=100.0)
    return flat_snapshot((closed_box() - 0.5) * side @ turned + middle, [WHITE], lights=[SUN], camera=camera)


def hut(wall=0.4):
    """A box on a floor that goes on outside, where the sun shines; its walls are thick, and open to nothing."""
    ground, faces = quad((-1, -1, 0), (2, -1, 0), (2, 2, 0), (-1, 2, 0)), closed_box()
    bell = faces[faces[..., 2].max(axis=1) > 0.0] - (0.5, 0.5, 0.0)  # without a floor
    shells = [bell * size + (0.5, 0.5, 0.0) for size in (1.0, 1.0 + 2.0 * wall)]
    made = flat_snapshot(np.concatenate([ground, *shells]), [WHITE], lights=[SUN])
    return replace(made, camera=replace(sealed_box().camera, eye=(0.5, 0.5, 0.5)))


@pytest.mark.parametrize("driver", [name for name in DRIVERS if name != "ao"])
@pytest.mark.parametrize(
    "scene", [sealed_box(), sealed_box(3.0, (1.0, 2.0, 3.0), 0.7), hut()], ids=["box", "turned", "hut"]
)
def test_no_driver_sees_light_in_a_sealed_box(scene, driver):
    """Few photons, so that those looked for are far off: beyond the walls are many."""
    assert passes(scene, driver, 2, photons=1500, radius=0.05).max() == 0.0


@pytest.mark.parametrize(
    ("side", "middle", "turn", "index"),
    [
        (6.580713314204466, (-7.667355102742434, 32.77025938204417, -9.080086363083872), 0.5495936876730595, 99),
        (1.0374027082398332, (25.351310867480663, 3.814331321827924, -17.02682835009078), 0.0, 9),
    ],
)
def test_a_path_that_ends_at_an_edge_does_not_go_on_behind_it(side, middle, turn, index):
    """In these passes a vertex is so close to an edge that rounding has it behind the other wall."""
    with opened(sealed_box(side, middle, turn), "path", width=64, height=48, threads=1) as made:
        assert made.render_pass(index).max() == 0.0
