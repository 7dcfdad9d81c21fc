"""Subdivision surfaces and curves of pbrt, by known areas, fronts and places."""

import math

import numpy as np
import pytest

from scenes import SceneFileError, load
from scenes.meshes.geometry import areas, double_area_normals
from scenes.pbrt import shapes

BEFORE = 'Scale -1 1 1\nLookAt 0 0 -4  0 0 0  0 1 0\nCamera "perspective"\nWorldBegin\n'
OCTAHEDRON = """Shape "loopsubdiv" "point3 P" [ 1 0 0  0 1 0  0 0 1  -1 0 0  0 -1 0  0 0 -1 ] "integer indices" [ 0 1 2
1 3 2  3 4 2  4 0 2  1 0 5  3 1 5  4 3 5  0 4 5 ]"""
STRAIGHT = '"point3 P" [ 0 0 0  1 0 0  2 0 0  3 0 0 ]'


@pytest.fixture
def snap(tmp_path):
    """The picture of what is after WorldBegin."""

    def read(world):
        (tmp_path / "a.pbrt").write_text(BEFORE + world)
        return load(tmp_path / "a.pbrt").at(0.0)

    return read


def positions(picture):
    return picture.positions.astype(np.float64)


@pytest.mark.parametrize(("levels", "count"), [("", 8 * 4**3), ('"integer levels" 1', 32), ('"integer levels" 0', 8)])
def test_subdivision_surfaces(snap, levels, count):
    """Corners are seen clockwise in front: pbrt's normals point so."""
    picture = snap(f"{OCTAHEDRON} {levels}")
    corners = positions(picture)
    assert len(corners) == count
    assert np.abs(corners).max() == pytest.approx(0.5)
    outward = np.einsum("nki,nki->nk", picture.normals.astype(np.float64), corners) / np.linalg.norm(corners, axis=2)
    assert outward.max() < -0.8
    assert (np.einsum("ni,ni->n", double_area_normals(corners), corners.mean(axis=1)) < 0.0).all()


@pytest.mark.parametrize(("width", "sides"), [(0.01, 3), (1.0, 8)])
@pytest.mark.parametrize("kind", ["flat", "cylinder"])
def test_straight_curves_have_the_surface_of_a_cylinder(snap, kind, width, sides):
    corners = positions(snap(f'Shape "curve" "string type" "{kind}" {STRAIGHT} "float width" {width}'))
    assert len(corners) == 2 * sides
    assert areas(corners).sum() == pytest.approx(math.pi * width * 3.0, rel=1e-5)
    assert (np.einsum("ni,ni->n", double_area_normals(corners), corners.mean(axis=1) * (0, 1, 1)) > 0.0).all()


def test_a_curve_narrows(snap):
    """A cone: the mean of both widths."""
    corners = positions(snap(f'Shape "curve" {STRAIGHT} "float width0" 0.02 "float width1" 0'))
    assert areas(corners).sum() == pytest.approx(math.pi * 0.01 * 3.0, rel=1e-3)
    ends = corners.reshape(-1, 3)
    assert np.abs(ends[ends[:, 0] > 2.9, 1:]).max() < 1e-6


@pytest.mark.parametrize(
    "points",
    [
        '"point3 P" [ 0 0 0  0 0.5522847 0  0.4477153 1 0  1 1 0 ]',
        '"point3 P" [ 0 0 0  0 1 0  1 1 0 ] "integer degree" 2',
        '"point3 P" [ 0 -1 0  0 1 0  2 1 0 ] "integer degree" 2 "string basis" "bspline"',
    ],
)
def test_bent_curves_go_where_they_should(snap, points):
    """A quarter of a circle about (1, 0), or the parabola with the same ends and tangents: between -1 and a half above
    the chord."""
    corners = positions(snap(f'Shape "curve" {points} "float width" 1e-3')).reshape(-1, 3)
    assert corners[:, :2].min(axis=0) == pytest.approx((0.0, 0.0), abs=2e-3)
    assert corners[:, :2].max(axis=0) == pytest.approx((1.0, 1.0), abs=2e-3)
    radii = np.linalg.norm(corners[:, :2] - (1.0, 0.0), axis=1)
    middle = 1.0 if "0.55" in points else math.hypot(0.75, 0.75)
    assert radii[np.argmin(np.abs(corners[:, 0] + corners[:, 1] - 1.0))] == pytest.approx(middle, abs=3e-3)


def test_a_ribbon_faces_its_normals(snap):
    picture = snap(f'Shape "curve" "string type" "ribbon" {STRAIGHT} "normal N" [ 0 0 1  0 1 0 ] "float width" 0.5')
    corners = positions(picture)
    flat = snap(f'Shape "curve" "string type" "ribbon" {STRAIGHT} "normal N" [ 0 0 1  0 0 1 ] "float width" 0.5')
    assert areas(positions(flat)).sum() == pytest.approx(0.5 * 3.0)
    assert double_area_normals(positions(flat))[:, 2].min() > 0.0
    assert (np.einsum("ni,nki->nk", double_area_normals(corners), picture.normals) > 0.0).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"point3 P" [ 0 0 0  1 1 1 ]', "expected 4 and then 3 points P for each piece of a curve, got 2"),
        ('"string type" "flat"', "expected 4 and then 3 points P for each piece of a curve, got 0"),
        (f'{STRAIGHT} "string type" "hair"', "expected a type of a curve that is one of flat, cylinder, ribbon"),
        (f'{STRAIGHT} "string basis" "hermite"', "expected a basis of a curve that is one of bezier, bspline"),
        (f'{STRAIGHT} "integer degree" 4', "expected a degree of a curve that is 2 or 3, got 4"),
        (f'{STRAIGHT} "string type" "ribbon"', "expected 2 normals N of a ribbon"),
        (f'{STRAIGHT} "float width" -1', "from 0"),
        (f'"point3 P" [ {" 0 0 0 99 99 99" * 450_000} 0 0 0 ]', "a curve of 300000 pieces has over 20000000 triangles"),
    ],
)
def test_curves_that_are_none(snap, text, message):
    with pytest.raises(SceneFileError) as caught:
        snap(f'Shape "curve" {text}')
    assert message in str(caught.value)


def test_a_surface_of_too_many_triangles_is_coarser(tmp_path, snap, monkeypatch):
    monkeypatch.setattr(shapes, "MAX_SUBDIVIDED", 8 * 20)
    assert len(snap(f'{OCTAHEDRON} "integer levels" 9').positions) == 8 * 4**2
    told = load(tmp_path / "a.pbrt").document.notes.lines
    assert any(line.endswith("a loopsubdiv is divided 2 times: more would make over 160 triangles") for line in told)
