"""Tracks against known answers."""

import numpy as np
import pytest

from scenes.motion.tracks import RotationTrack, VectorTrack, VisibilityTrack, find_segment, slerp
from scenes.motion.transforms import compose, quaternion, rotation

X, Y, Z = np.eye(3)


def vector_track(times, values, shapes=None):
    values = np.array(values, dtype=np.float64)
    if values.ndim == 1:
        values = np.stack([values, 0 * values, 0 * values], axis=-1)
    shapes = np.zeros((len(times), 3)) if shapes is None else np.array(shapes, dtype=np.float64)
    return VectorTrack(np.array(times, dtype=np.float64), values, shapes)


def rotation_track(times, axes, degrees, shapes=None):
    shapes = np.zeros((len(times), 3)) if shapes is None else np.array(shapes, dtype=np.float64)
    axes = np.array(axes, dtype=np.float64)
    return RotationTrack(np.array(times, dtype=np.float64), axes, np.array(degrees, dtype=np.float64), shapes)


def catmull_rom(p0, p1, p2, p3, u):
    return 0.5 * (2 * p1 + (p2 - p0) * u + (2 * p0 - 5 * p1 + 4 * p2 - p3) * u**2 + (3 * p1 - p0 - 3 * p2 + p3) * u**3)


@pytest.mark.parametrize("u", [0.0, 0.1, 0.5, 0.9])
def test_plain_spline_on_even_keys_is_catmull_rom(u):
    p = np.random.default_rng(1).normal(size=(5, 3))
    track = vector_track(range(5), p)
    assert np.allclose(track.at(2.0 + u), catmull_rom(*p[1:5], u))  # type: ignore[call-arg]


def test_continuity_and_bias_weigh_the_steps():
    # leaving = .5 (1-T)(1+C)(1+B) step_before + .5 (1-T)(1-C)(1-B) step; arriving likewise with C mirrored.
    steps, u = (2.0, 3.0, 5.0), 0.5
    t, c, b = 0.2, 0.3, -0.4
    track = vector_track(range(4), [0.0, 2.0, 5.0, 10.0], np.tile([t, c, b], (4, 1)))
    leaving = 0.5 * (1 - t) * ((1 + c) * (1 + b) * steps[0] + (1 - c) * (1 - b) * steps[1])
    arriving = 0.5 * (1 - t) * ((1 - c) * (1 + b) * steps[1] + (1 + c) * (1 - b) * steps[2])
    hermite = 2.0 + 0.5 * steps[1] + (leaving - arriving) / 8.0
    assert track.at(1.0 + u)[0] == pytest.approx(hermite)


def test_uneven_times_weigh_the_tangents():
    track = vector_track([0.0, 1.0, 3.0, 3.5], [0.0, 1.0, 5.0, 6.0])
    leaving = (2 * 2.0 / 3.0) * 0.5 * (1.0 + 4.0)
    arriving = (2 * 2.0 / 2.5) * 0.5 * (4.0 + 1.0)
    assert track.at(2.0)[0] == pytest.approx(1.0 + 2.0 + (leaving - arriving) / 8.0)


def test_unsorted_keys_are_searched_in_order():
    times = np.array([47.0, 47.5, 48.0, 42.0, 42.5, 48.5, 49.0])
    assert find_segment(times, 47.75).index == 1
    assert find_segment(times, 48.2).index == 4
    track = vector_track(times, np.arange(7.0))
    values = np.array([track.at(t)[0] for t in np.linspace(46, 50, 81)])
    assert np.isfinite(values).all()
    assert (np.abs(values) < 10).all()


@pytest.mark.parametrize("helper", [3.0, 0.5, 2.0])
def test_helper_keys_at_any_time_divide_by_nothing(helper):
    track = vector_track([2.0, 1.0, 2.0, helper - 1.0], [0, 1, 2, 3])
    assert np.isfinite(track.at(1.5)).all()


@pytest.mark.parametrize(
    ("axis", "degrees", "point", "turned"),
    [(Z, 90, X, Y), (X, 90, Y, Z), (Y, 90, Z, X), (Z, 180, X, -X), (Y, -90, X, Z), (3 * Z, 90, X, Y)],
)
def test_rotation_is_right_handed_in_degrees(axis, degrees, point, turned):
    assert np.allclose(rotation(quaternion(axis, degrees))[:3, :3] @ point, turned)


def test_compose_scales_then_turns_then_shifts():
    matrix = compose(np.array([2.0, 3.0, 4.0]), quaternion(Z, 90), np.array([10.0, 0.0, 0.0]))
    assert np.allclose(matrix @ [1, 0, 0, 1], [10, 2, 0, 1])
    assert np.allclose(matrix @ [0, 1, 0, 1], [7, 0, 0, 1])


def test_squad_goes_through_its_keys():
    rng = np.random.default_rng(2)
    axes, degrees = rng.normal(size=(6, 3)), rng.uniform(-170, 170, 6)
    track = rotation_track(range(6), axes, degrees, rng.uniform(-1, 1, (6, 3)))
    for key in range(1, 5):
        there = rotation(quaternion(axes[key], degrees[key]))
        assert np.allclose(rotation(track.at(float(key))), there)
        assert np.allclose(rotation(track.at(key - 1e-9)), there, atol=1e-6) or key == 1


def test_squad_about_one_axis_is_the_spline_of_the_angle():
    # On one great circle squad is q(u) = lerp(lerp(q1, q2, u), lerp(a, b, u), 2u(1-u)) of angles.
    times, degrees = [0.0, 1.0, 2.0, 3.0], [0.0, 30.0, 80.0, 100.0]
    track = rotation_track(times, [Z] * 4, degrees)
    a = 30.0 + (0.5 * (30.0 + 50.0) - 50.0) / 2.0
    b = 80.0 + (50.0 - 0.5 * (50.0 + 20.0)) / 2.0
    u = 0.3
    angle = (1 - 2 * u * (1 - u)) * (30 + 50 * u) + 2 * u * (1 - u) * (a + (b - a) * u)
    assert np.allclose(rotation(track.at(1.0 + u)), rotation(quaternion(Z, angle)))


def test_axes_of_any_length_give_unit_quaternions():
    axes = [(0.76, -0.62, -0.445), (0.0, 0.95, 0.2), (0.76, -0.62, -0.445), (0.0, 0.95, 0.2), (1e-200, 0, 0)]
    track = rotation_track(range(5), axes, [0.0, 359.0, 1.0, 180.0, 90.0])
    for t in np.linspace(0, 4, 101):
        assert np.linalg.norm(track.at(t)) == pytest.approx(1.0)


def test_slerp_is_even_along_the_arc():
    p, q = quaternion(Z, 0.0), quaternion(Z, 90.0)
    quarter, half = slerp(np.array([p, p]), np.array([q, -p]), np.array([0.25, 0.5]))
    assert np.allclose(quarter, quaternion(Z, 22.5))
    assert np.allclose(np.linalg.norm(half), 1.0)


def test_full_tension_stops_at_the_keys():
    track = vector_track(range(4), [5, 0, 1, -7], np.tile([1.0, 0.0, 0.0], (4, 1)))
    assert track.at(1.5)[0] == pytest.approx(0.5)
    assert track.at(1.25)[0] == pytest.approx(3 * 0.25**2 - 2 * 0.25**3)


def test_visibility_steps_and_starts_seen():
    track = VisibilityTrack(np.array([1.0, 2.0]), np.array([False, True]))
    assert [track.at(t) for t in (0.0, 1.0, 1.5, 2.0, 9.0)] == [True, False, False, True, True]


def test_steps_take_the_short_way_where_angles_start_again():
    track = rotation_track(range(6), [Z] * 6, [0.0, 90.0, 180.0, 270.0, 0.0, 90.0])
    assert np.allclose(rotation(track.at(3.5)), rotation(quaternion(Z, 315.0)))
