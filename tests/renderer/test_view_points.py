"""View points: where they are, and what is measured from them."""

from dataclasses import replace

import numpy as np
import pytest
from small_scenes import closed_box, flat_snapshot, lamp_in_box, quad

import tracecore
from renderer import cli
from renderer.bench import view_points as points
from renderer.bench.kernel_benchmark import Comparison, KernelMeasurement, over_baseline, over_views
from renderer.bench.ray_generators import RayPlan
from renderer.bench.ray_sources import PlannedRays
from renderer.bench.table import table
from renderer.bench.view_points import ViewPoint, drawn_cameras, next_axis, spread, view_points
from renderer.bench.workload import NO_VIEW
from renderer.commands.arguments import views
from renderer.errors import UsageError
from scenes.errors import SceneError
from scenes.model import Camera, Material
from tracecore.analysis.steps import StepsPerRay

GREY = Material(diffuse=(0.5, 0.5, 0.5))
CAMERA = Camera(eye=(0.5, 0.1, 0.5), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=60.0)
PLAN = RayPlan(size=(8, 6), in_morton_order=False, occlusion_rays=2, radius=0.25, photon_rays=50, seed=3)


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    monkeypatch.setattr(points, "CANDIDATES", 512)


def drawn(snapshot, number, seed=0):
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        return drawn_cameras(snapshot, tracer, number, seed)


@pytest.fixture(scope="module")
def box():
    """A closed box, in one half of which stands a solid block."""
    block = closed_box()[:, ::-1] * np.array([0.35, 0.7, 0.7], np.float32) + np.array([0.6, 0.1, 0.1], np.float32)
    return flat_snapshot(np.concatenate([closed_box(), block]), [GREY], camera=CAMERA)


def test_view_points_lie_inside_and_outside_of_solid_things(box):
    eyes = np.array([camera.eye for camera in drawn(box, 6)])
    assert np.all((eyes > 0.0) & (eyes < 1.0))
    lower, upper = box.positions[12:].min(axis=(0, 1)), box.positions[12:].max(axis=(0, 1))
    assert not np.any(np.all((eyes > lower) & (eyes < upper), axis=1))


def test_a_scene_without_an_inside_is_refused():
    floor = flat_snapshot(quad((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)), [GREY], camera=CAMERA)
    with pytest.raises(UsageError, match="--views 2: only 0 places inside the scene were found"):
        drawn(floor, 2)


def test_cameras_come_by_name_and_drawn_ones_have_names_of_their_own(box):
    cameras = {"door": CAMERA, "view1": replace(CAMERA, vertical_fov=30.0)}
    scene = replace(box, cameras=cameras)
    found = view_points(scene, ("view1", "all"), 2, seed=0, threads=1)
    assert [view.name for view in found] == ["view1", "door", "view2", "view3"]
    assert [view.camera for view in found[:2]] == [cameras["view1"], cameras["door"]]
    with pytest.raises(SceneError, match="no camera 'window'"):
        view_points(scene, ("window",), 0, seed=0, threads=1)


def test_light_has_no_view_point():
    scene = replace(lamp_in_box(), camera=CAMERA)
    points = [ViewPoint(name=name, camera=replace(CAMERA, vertical_fov=fov)) for name, fov in (("a", 30), ("b", 90))]
    with tracecore.open_tracer(scene.positions, device="cpu", threads=1) as tracer:
        made = PlannedRays(snapshot=scene, views=points, plan=PLAN, kinds=["primary", "photon"]).sets(tracer)
    sets = {(one.kind, one.view): one.rays for one in made}
    assert {key: len(rays) for key, rays in sets.items()} == {
        ("primary", "a"): 48,
        ("primary", "b"): 48,
        ("photon", NO_VIEW): 50,
    }
    spans = [np.ptp(sets["primary", name][:, 4]) for name in "ab"]
    assert spans[0] < 0.7 * spans[1]


def measured(kernel, view, rays, rate, **known):
    return KernelMeasurement(
        kernel=kernel, kind="ao", view=view, rays=rays, rate=rate, least=rate / 2, most=rate * 2, **known
    )


def test_the_mean_over_views_is_all_rays_by_all_time():
    ones = [
        measured("a", "front", 100, 10.0, bound=20.0),
        measured("a", "back", 300, 60.0, bound=60.0),
        measured("b", "front", 100, 20.0),
        measured("b", "back", 300, 60.0),
    ]
    ones = over_baseline(ones, "a")
    assert [one.relative for one in ones] == [1.0, 1.0, 2.0, 1.0]
    mean, other = over_views(Comparison(device="gpu", baseline="a", kernels=(), measurements=tuple(ones))).measurements
    assert (mean.view, mean.rays) == ("mean", 400)
    assert mean.rate == pytest.approx(400 / (10 + 5))
    assert (mean.least, mean.most) == (5.0, 120.0)
    assert mean.bound == pytest.approx(400 / (5 + 5))
    assert other.relative == pytest.approx(1.5)
    assert other.bound is None


def test_mean_steps_weigh_rays_and_their_steps():
    front = StepsPerRay(nodes=10.0, triangles=0.0, bytes=100.0, node_efficiency=0.5)
    back = StepsPerRay(nodes=30.0, triangles=4.0, bytes=200.0, node_efficiency=1.0, triangle_efficiency=0.25)
    ones = [measured("a", "front", 100, 10.0, steps=front), measured("a", "back", 300, 60.0, steps=back)]
    found = Comparison(device="gpu", baseline="a", kernels=(), measurements=tuple(over_baseline(ones, "a")))
    steps = over_views(found).measurements[0].steps
    assert (steps.nodes, steps.triangles, steps.bytes) == (25.0, 3.0, 175.0)  # type: ignore[union-attr]
    assert steps.node_efficiency == pytest.approx(10_000 / (1_000 / 0.5 + 9_000))  # type: ignore[union-attr]
    assert steps.triangle_efficiency == 0.25  # type: ignore[union-attr]  # in front none was tested
    costs = table(found).split("\n\n")[1].splitlines()
    assert costs[1].split() == ["a", "25", "3", "175", "90.9%", "25.0%", "-", "-"]


@pytest.mark.parametrize(
    ("text", "meant"), [("all,5", (("all",), 5)), ("3", ((), 3)), ("door, car", (("door", "car"), 0))]
)
def test_views_are_names_and_a_number(text, meant):
    assert views(text) == meant


@pytest.mark.parametrize("text", ["", "door,,car", "1,2", "0", "2000"])
def test_other_views_are_refused(capsys, text):
    with pytest.raises(SystemExit) as ended:
        cli.main(["bench", "cornell", "--views", text])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_has_been_seen_does_not_count_again():
    positions = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.1, 0.0), (5.0, 0.0, 0.0)])
    assert spread(positions, [{1, 2, 3, 4, 5}, {1, 2, 3, 4}, {6, 7, 8}, {1}], 3) == [0, 3, 2]


def test_the_seed_decides(box):
    assert drawn(box, 2, seed=1) == drawn(box, 2, seed=1)
    assert drawn(box, 2, seed=1) != drawn(box, 2, seed=2)


def test_up_is_an_axis():
    assert next_axis((0.1, -0.9, 0.4)).tolist() == [0.0, -1.0, 0.0]
