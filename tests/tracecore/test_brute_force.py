"""The tracer that defines what is right: its fused multiply-add, and hits that can be worked out by hand."""

from fractions import Fraction

import numpy as np
import pytest

from tracecore.rays import MISS, Floats, make_rays
from tracecore.tracers.brute_force import BruteForceTracer, _minor, fma, is_valid

CORNER = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], np.float32)


def nearest_float32(value: Fraction) -> np.float32:
    """The float32 nearest to an exact value, ties to even, by trying neighbours."""
    guess = np.float32(float(value))
    candidates = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(candidates, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(np.int32)) & 1))


def exact_fma(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    return nearest_float32(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))


@pytest.mark.parametrize("spread", [0, 3, 12, 24, 40, 60])
def test_fma_is_rounded_once(spread: int) -> None:
    random = np.random.default_rng(spread)
    a, b, c = (random.uniform(-2, 2, 400).astype(np.float32) for _ in range(3))
    c = np.ldexp(c, random.integers(-spread, spread + 1, 400)).astype(np.float32)
    expected = np.array([exact_fma(*values) for values in zip(a, b, c, strict=True)])
    assert np.array_equal(fma(a, b, c).view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("nudge", [2.0**-60, -(2.0**-60)])
def test_fma_where_rounding_twice_goes_wrong(sign: int, nudge: float) -> None:
    """24929 * 673 = 2^24 + 1, halfway between two float32 but for the nudge, which float64 cannot hold."""
    a, b, c = np.float32(sign * 24929), np.float32(673 * 2.0**-24), np.float32(nudge)
    assert np.float32(np.float64(a) * np.float64(b) + np.float64(c)) == sign
    away = nudge * sign > 0
    assert fma(a, b, c) == sign * np.float32(1 + 2.0**-23 if away else 1)


def test_fma_of_denormal_and_special_values() -> None:
    tiny = np.float32(2.0**-149)
    with np.errstate(all="ignore"):
        assert fma(tiny, np.float32(0.5), tiny) == np.float32(2 * tiny)  # 1.5 units: a tie, to even
        assert fma(tiny, np.float32(0.25), tiny) == tiny
        assert np.isnan(fma(np.float32(np.inf), np.float32(0), np.float32(1)))
        assert fma(np.float32(3e38), np.float32(2), np.float32(0)) == np.inf
        assert np.signbit(fma(np.float32(-0.0), np.float32(1), np.float32(-0.0)))


@pytest.mark.parametrize(
    ("origin", "direction", "expected"),
    [
        ((0.25, 0.5, 2), (0, 0, -1), (2, 0.25, 0.5)),
        ((0.25, 0.5, -2), (0, 0, 4), (0.5, 0.25, 0.5)),
        ((0, 0, 1), (0, 0, -1), (1, 0, 0)),
        ((0.5, 0.5, 1), (0, 0, -1), (1, 0.5, 0.5)),
    ],
)
def test_hits_known_by_hand(origin: Floats, direction: Floats, expected: Floats) -> None:
    hit = BruteForceTracer(CORNER).closest_hit(make_rays([origin], [direction]))
    assert hit[0, :3].tolist() == list(expected)
    assert hit.view(np.uint32)[0, 3] == 0


def test_of_equal_triangles_the_first_is_hit_also_in_another_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracecore.tracers.brute_force.PAIRS", 4)
    triangles = np.concatenate([CORNER + np.array([0, 0, -1], np.float32), *[CORNER] * 9])
    hits = BruteForceTracer(triangles).closest_hit(make_rays([(0.25, 0.25, 1)] * 3, [(0, 0, -1)] * 3))
    assert hits.view(np.uint32)[:, 3].tolist() == [1, 1, 1]


def test_validity() -> None:
    good = make_rays([(0, 0, 0)], [(0, 0, 2.0**-126)], -1, np.inf)
    assert is_valid(good).all()
    for column, value in (
        (0, np.inf),
        (2, np.nan),
        (3, np.nan),
        (5, -np.inf),
        (6, np.nan),
        (6, 0.0),
        (6, 1e-40),
        (7, np.nan),
    ):
        bad = good.copy()
        bad[0, column] = value
        assert not is_valid(bad).any()


def test_edge_functions_have_the_right_sign_and_nearly_all_digits() -> None:
    random = np.random.default_rng(3)
    a, b = random.normal(size=(2, 2000)).astype(np.float32)
    c = (a * random.choice([1.0, 1.0 + 2.0**-23, 1.0 - 2.0**-22], 2000)).astype(np.float32)
    d = (b * random.choice([1.0, 1.0 + 2.0**-22, -1.0], 2000)).astype(np.float32)
    got = _minor(a, b, c, d)
    for i in range(2000):
        right = Fraction(float(a[i])) * Fraction(float(b[i])) - Fraction(float(c[i])) * Fraction(float(d[i]))
        assert abs(Fraction(float(got[i])) - right) <= 2 * abs(right) * Fraction(2) ** -24
        assert (got[i] > 0) == (right > 0)
        assert (got[i] < 0) == (right < 0)


def test_rays_in_the_plane_of_a_triangle_hit_it_where_it_is() -> None:
    """What is hit lies in the box of its triangle, or trees would miss what brute force hits."""
    random = np.random.default_rng(4)
    for _ in range(40):
        triangle = random.normal(size=(3, 3)).astype(np.float32)
        weights = random.normal(size=(2, 10_000, 3))
        weights += (1.0 - weights.sum(axis=2, keepdims=True)) / 3.0
        start, aim = weights @ triangle
        rays = make_rays(start, aim - start)
        with BruteForceTracer(triangle[None]) as tracer:
            hits = tracer.closest_hit(rays)
        hit = np.isfinite(hits[:, 0])
        points = rays[hit, 0:3].astype(np.float64) + hits[hit, 0:1] * rays[hit, 4:7].astype(np.float64)
        pad = 2.0**-19 * np.maximum(np.abs(rays[hit, 0:3]).max(axis=1), np.abs(triangle).max())[:, None]
        assert (points >= triangle.min(axis=0) - pad).all()
        assert (points <= triangle.max(axis=0) + pad).all()


@pytest.mark.parametrize(
    ("origin", "direction", "t_min", "t_max"),
    [
        ((0.75, 0.5, 1), (0, 0, -1), 0, np.inf),
        ((0.25, 0.25, 1), (0, 0, 1), 0, np.inf),
        ((0.25, 0.25, 1), (0, 0, -1), 1, np.inf),
        ((0.25, 0.25, 1), (0, 0, -1), 0, 1),
        ((-1, 0.25, 0), (1, 0, 0), 0, np.inf),
    ],
    ids=["beside", "behind", "at t_min", "at t_max", "in the plane"],
)
def test_misses_known_by_hand(origin: Floats, direction: Floats, t_min: float, t_max: float) -> None:
    hit = BruteForceTracer(CORNER).closest_hit(make_rays([origin], [direction], t_min, t_max))
    assert hit[0, :3].tolist() == [np.inf, 0, 0]
    assert hit.view(np.uint32)[0, 3] == MISS
