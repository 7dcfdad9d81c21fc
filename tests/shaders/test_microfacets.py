"""Microfacets: a million draws of every sampler against its density, reciprocity, and light that is not lost."""

import math

import numpy as np
import pytest

from shaders.albedo_table import mean_shares, shares_at
from shaders.bsdf import Bsdf, base_reflectance, entering_share
from shaders.compilation import compiled
from shaders.ggx import density, sample_seen, seen_density
from shaders.gloss import gloss_albedo, gloss_pdf, gloss_value, more_bounces, sample_gloss, schlick
from shaders.random import random4
from shaders.rough_glass import rough_glass_pdf, rough_glass_value, sample_rough_glass
from shaders.vector import BLACK

DRAWS, CELLS = 1_000_000, 12
SEEN, GLOSS, GLASS = range(3)
WHITE, GOLD = (1.0, 1.0, 1.0), (1.0, 0.766, 0.336)
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)

#: Sampler, alpha, cosine of wo, index of the far side over the near one.
SAMPLERS = [
    *[(SEEN, alpha, cosine, 1.0) for alpha, cosine in ((0.15, 0.9), (0.6, 0.2), (1.0, 0.5))],
    *[(GLOSS, alpha, cosine, 1.0) for alpha, cosine in ((0.15, 0.95), (0.3, 0.3), (0.5, 0.5), (1.0, 0.8))],
    *[(GLASS, alpha, cosine, eta) for alpha, cosine in ((0.5, 0.9), (0.5, 0.4)) for eta in (1.5, 1.0 / 1.5)],
]


def slanted(cosine):
    """A unit direction, off the axes."""
    sine = math.sqrt(1.0 - cosine * cosine)
    return (0.6 * sine, -0.8 * sine, cosine)


@compiled
def drawn(sampler, wo, alpha, eta, u):
    """A direction, or (0, 0, 0)."""
    if sampler == SEEN:
        return sample_seen(wo, alpha, u[1], u[2])
    if sampler == GLOSS:
        return sample_gloss(GOLD, alpha, wo, u)
    return sample_rough_glass(wo, eta, alpha, u)


@compiled
def pdf_of(sampler, wo, alpha, eta, w):
    """Density in solid angle of what is drawn."""
    if sampler == GLASS:
        return rough_glass_pdf(w, wo, eta, alpha)
    if w[2] <= 0.0:
        return 0.0
    return seen_density(wo, w, alpha) if sampler == SEEN else gloss_pdf(GOLD, alpha, w, wo)


@compiled
def counted(sampler, wo, alpha, eta):
    """(2 CELLS + 1, CELLS) draws in cells of equal size in the root of |z| and in azimuth; lost ones are in the last
    row."""
    counts = np.zeros((2 * CELLS + 1, CELLS))
    for i in range(DRAWS):
        u = random4(np.uint64(11), 0, i, 0, 0)
        w = drawn(sampler, wo, alpha, eta, (u[0], u[1], u[2]))
        if pdf_of(sampler, wo, alpha, eta, w) <= 0.0:
            counts[2 * CELLS, 0] += 1.0
            continue
        root = math.copysign(math.sqrt(abs(w[2])), w[2])
        row = min(int((root + 1.0) * CELLS), 2 * CELLS - 1)
        column = min(int((math.atan2(w[1], w[0]) / (2.0 * math.pi) + 0.5) * CELLS), CELLS - 1)
        counts[row, column] += 1.0
    return counts


@compiled
def expected_in(sampler, wo, alpha, eta, nodes, weights):
    """(2 CELLS, CELLS) integrals of the density over the cells."""
    cells = np.zeros((2 * CELLS, CELLS))
    for i in range(2 * CELLS):
        for j in range(CELLS):
            for a in range(len(nodes)):
                root = (i + 0.5 + 0.5 * nodes[a]) / CELLS - 1.0
                z = root * abs(root)
                sine = math.sqrt(1.0 - z * z)
                for b in range(len(nodes)):
                    azimuth = 2.0 * math.pi * (j + 0.5 + 0.5 * nodes[b]) / CELLS - math.pi
                    w = (sine * math.cos(azimuth), sine * math.sin(azimuth), z)
                    share = weights[a] * weights[b] * abs(root) * math.pi / (CELLS * CELLS)
                    cells[i, j] += pdf_of(sampler, wo, alpha, eta, w) * share
    return cells


@pytest.mark.parametrize(("sampler", "alpha", "cosine", "eta"), SAMPLERS)
def test_a_million_draws_have_their_density(sampler, alpha, cosine, eta, assert_fits):
    wo = slanted(cosine)
    counts = counted(sampler, wo, alpha, eta)
    expected = DRAWS * expected_in(sampler, wo, alpha, eta, NODES, NODE_WEIGHTS)
    lost = max(0.0, DRAWS - expected.sum())
    counts = np.append(counts[:-1].ravel(), counts[-1, 0])
    assert_fits(counts, np.append(expected.ravel(), lost), len(SAMPLERS))


@compiled
def hemisphere_mean(alpha, cosine, nodes, weights):
    """f cos of a white gloss integrated over the hemisphere, with many points in z and azimuth."""
    sine, total = math.sqrt(1.0 - cosine * cosine), 0.0
    wo = (sine, 0.0, cosine)
    for a in range(len(nodes)):
        root = 0.5 + 0.5 * nodes[a]
        z = root * root
        for b in range(len(nodes)):
            azimuth = math.pi * (0.5 + 0.5 * nodes[b])
            wi = (math.sqrt(1.0 - z * z) * math.cos(azimuth), math.sqrt(1.0 - z * z) * math.sin(azimuth), z)
            total += gloss_value(WHITE, alpha, wi, wo)[0] * z * weights[a] * weights[b] * root * math.pi
    return total


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("cosine", [0.1, 0.5, 1.0])
def test_a_white_metal_reflects_everything(alpha, cosine):
    assert hemisphere_mean(alpha, cosine, *np.polynomial.legendre.leggauss(160)) == pytest.approx(1.0, abs=2.5e-3)
    assert gloss_albedo(WHITE, alpha, cosine) == pytest.approx(WHITE, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("gloss", [(0.0, 0.04, 0.2), GOLD])
def test_coat_and_white_base_reflect_everything_together(alpha, gloss):
    """What the coat lets in comes out, whole, as the base's reflectance times the mean of what enters says."""
    bsdf = Bsdf(WHITE, BLACK, BLACK, BLACK, 0.0, 1.0, gloss, alpha)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    root = 0.5 + 0.5 * nodes
    entering = np.array([entering_share(bsdf, slanted(r * r)) for r in root])
    mean_entering = np.einsum("i,ik->k", 2.0 * root**3 * weights, entering)  # 2 z dz = 4 r^3 dr
    for cosine in (0.05, 0.4, 1.0):
        base = np.array(base_reflectance(bsdf, slanted(cosine))) * mean_entering
        total = base + gloss_albedo(gloss, alpha, cosine)
        is_open = np.array(gloss) < 1.0
        np.testing.assert_allclose(total[is_open], 1.0, atol=2e-4)
        assert np.all(total <= 1.0 + 2e-4)


def test_more_bounces_are_a_geometric_series():
    out = sum(mean_shares(0.7))
    kept = np.array([f + (1.0 - f) / 21.0 for f in GOLD])
    expected = sum(kept ** (n + 1) * (1.0 - out) ** (n - 1) * out for n in range(1, 200))
    np.testing.assert_allclose(more_bounces(GOLD, 0.7), expected, rtol=1e-9)
    assert more_bounces(WHITE, 0.7) == pytest.approx(WHITE)


def directions(above):
    """Pairs of unit directions, of which the second is below the surface unless `above`."""
    pairs = np.random.default_rng(3).normal(size=(300, 2, 3))
    pairs[:, :, 2] = np.abs(pairs[:, :, 2])
    pairs[:, 1, 2] *= 1.0 if above else -1.0
    pairs /= np.linalg.norm(pairs, axis=2, keepdims=True)
    return [tuple(tuple(map(float, w)) for w in pair) for pair in pairs]


@pytest.mark.parametrize("alpha", [0.1, 0.6])
def test_reflection_is_reciprocal(alpha):
    for wi, wo in directions(above=True):
        np.testing.assert_allclose(gloss_value(GOLD, alpha, wi, wo), gloss_value(GOLD, alpha, wo, wi))
        there, back = (rough_glass_value(a, b, 1.5, alpha) for a, b in ((wi, wo), (wo, wi)))
        assert there == pytest.approx(back)


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_refraction_is_reciprocal_but_for_the_square_of_the_index(alpha):
    """Values of flux: f(wi, wo) is eta^2 times the other way round; seen from the other side, below is above."""
    met = 0
    for wo, wi in directions(above=False):
        there = rough_glass_value(wi, wo, 1.5, alpha)
        turned_wi, turned_wo = ((w[0], w[1], -w[2]) for w in (wi, wo))
        back = rough_glass_value(turned_wo, turned_wi, 1.0 / 1.5, alpha)
        assert there == pytest.approx(1.5**2 * back)
        met += there > 0.0
    assert met > 50


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_facets_cover_the_surface_once(alpha):
    """The projected area of all facets is that of the surface."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    root = 0.5 + 0.5 * nodes
    z = 1.0 - root**4
    values = np.array([density((math.sqrt(1.0 - c * c), 0.0, c), alpha) for c in z])
    assert np.sum(values * z * 4.0 * root**3 * 0.5 * weights) * 2.0 * math.pi == pytest.approx(1.0, abs=1e-6)


def test_grazing_light_is_reflected_whole_and_straight_light_as_the_gloss_says():
    assert schlick(GOLD, 1.0) == GOLD
    assert schlick(GOLD, 0.0) == WHITE
    assert sum(shares_at(0.0, 0.3)) == pytest.approx(1.0)
