"""Microfacets: what facets reflect, and tables of what one bounce keeps."""

import math

import numpy as np
import pytest

from shaders import albedo_table, coat_table, rough_glass_missed, rough_glass_table
from shaders.albedo_table import cell_at, column_cosines, grazing_at, mean_missed, missed_at, one_bounce
from shaders.coat_table import coat_albedo, layer_at, mean_coat_albedo, mean_of_smooth, reflected
from shaders.compilation import compiled
from shaders.conductor import conductor_fresnel, reflectance_alike
from shaders.dielectric import fresnel
from shaders.ggx import density, sample_seen, seen_density
from shaders.random import random4
from shaders.rough_glass_missed import mean_missed_share, missed_share
from shaders.rough_glass_table import UNIT, eta_at, missed_at_once
from shaders.specular_lobe import SpecularLobe, more_bounces, schlick, specular_albedo

DRAWS, CELLS = 500_000, 12
NOTHING, WHITE = (np.float32(0.0),) * 3, (np.float32(1.0),) * 3


def float32(*numbers):
    """Numbers as shading has them."""
    return tuple(map(np.float32, numbers))


GOLD = float32(1.0, 0.766, 0.336)
#: By a colour alone, and by an index.
GOLD_LOBE = SpecularLobe(GOLD, NOTHING, NOTHING, NOTHING)
IRON = SpecularLobe(
    float32(1.0, 1.0, 0.5),
    float32(2.9, 2.9, 2.5),
    float32(3.1, 2.9, 2.7),
    float32(*(reflectance_alike(*index) for index in ((2.9, 3.1), (2.9, 2.9), (2.5, 2.7)))),
)


@compiled
def counted(wo, alpha):
    """(CELLS, CELLS) facets that are drawn, in cells of equal size in the root of z and in azimuth."""
    counts = np.zeros((CELLS, CELLS))
    for i in range(DRAWS):
        u = random4(np.uint64(11), 0, i, 0, 0)
        h = sample_seen(wo, alpha, u[1], u[2])
        row = min(int(math.sqrt(h[2]) * CELLS), CELLS - 1)
        counts[row, min(int((math.atan2(h[1], h[0]) / (2.0 * math.pi) + 0.5) * CELLS), CELLS - 1)] += 1.0
    return counts


@compiled
def expected_in(wo, alpha, nodes, weights):
    """(CELLS, CELLS) integrals of the density over the cells."""
    cells = np.zeros((CELLS, CELLS))
    for i in range(CELLS):
        for j in range(CELLS):
            for a in range(len(nodes)):
                root = (i + 0.5 + 0.5 * nodes[a]) / CELLS
                z, sine = root * root, math.sqrt(1.0 - root**4)
                for b in range(len(nodes)):
                    azimuth = 2.0 * math.pi * (j + 0.5 + 0.5 * nodes[b]) / CELLS - math.pi
                    h = (sine * math.cos(azimuth), sine * math.sin(azimuth), z)
                    cells[i, j] += seen_density(wo, h, alpha) * weights[a] * weights[b] * root * math.pi / CELLS**2
    return cells


@pytest.mark.parametrize(("alpha", "cosine"), [(0.15, 0.9), (0.6, 0.2), (1.0, 0.5)])
def test_facets_that_are_seen_are_drawn_by_their_density(alpha, cosine, assert_fits):
    sine = math.sqrt(1.0 - cosine * cosine)
    wo, alpha = float32(0.6 * sine, -0.8 * sine, cosine), np.float32(alpha)
    assert_fits(counted(wo, alpha), DRAWS * expected_in(wo, alpha, *np.polynomial.legendre.leggauss(20)), 3)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_facets_cover_the_surface_once(alpha):
    """The projected area of all facets is that of the surface."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    root = 0.5 + 0.5 * nodes
    z = 1.0 - root**4
    values = np.array([density((math.sqrt(1.0 - c * c), 0.0, c), alpha) for c in z])
    assert np.sum(values * z * 4.0 * root**3 * 0.5 * weights) * 2.0 * math.pi == pytest.approx(1.0, abs=1e-6)


def reflected_by_metal(cosine, eta, k):
    """Fresnel's reflectance in complex numbers, which the code does without: (n,) for cosines (n,)."""
    index = eta + 1j * k
    inside = np.sqrt(index**2 - (1.0 - cosine**2))
    across = (cosine - inside) / (cosine + inside)
    along = (index**2 * cosine - inside) / (index**2 * cosine + inside)
    return 0.5 * (np.abs(across) ** 2 + np.abs(along) ** 2)


#: Metals, and indices without absorption that are more and less than one.
INDICES = [(0.108, 3.509), (1.478, 1.809), (3.67, 2.918), (0.05, 4.3), (1.5, 0.0), (1.0 / 1.5, 0.0), (1.0, 1.0)]


@pytest.mark.parametrize(("eta", "k"), INDICES)
def test_metals_reflect_by_fresnel(eta, k):
    cosines = np.append(np.linspace(0.01, 1.0, 100), 1e-9)
    found = np.array([conductor_fresnel(*float32(cosine, eta, k)) for cosine in cosines])
    np.testing.assert_allclose(found, reflected_by_metal(cosines, eta, k), atol=2e-6 if k else 2e-4)
    if k == 0.0:
        np.testing.assert_allclose(found, [fresnel(*float32(cosine, eta)) for cosine in cosines], atol=2e-4)
    lobe = SpecularLobe(float32(1.0, 0.5, 0.0), float32(eta, eta, eta), float32(k, k, k), NOTHING)
    polished = specular_albedo(lobe, *float32(0.0, 0.3))
    assert polished == pytest.approx(reflected_by_metal(0.3, eta, k) * np.array([1.0, 0.5, 0.0]), abs=1e-5)


def mean_reflected(lobe):
    """(3,) shares of light from all sides that facets reflect."""
    nodes, weights = np.polynomial.legendre.leggauss(100)
    cosine = 0.5 + 0.5 * nodes
    if max(lobe.eta) == 0.0:
        by_cosine = [f + (1.0 - f) * (1.0 - cosine) ** 5 for f in lobe.color]
    else:
        by_cosine = [f * reflected_by_metal(cosine, n, k) for f, n, k in zip(*lobe[:3], strict=True)]
    return np.array(by_cosine) @ (weights * cosine)


@pytest.mark.parametrize("lobe", [GOLD_LOBE, IRON])
def test_more_bounces_are_a_geometric_series(lobe):
    out = 1.0 - mean_missed(np.float32(0.7))
    kept = mean_reflected(lobe)
    expected = sum(kept ** (n + 1) * (1.0 - out) ** (n - 1) * out for n in range(1, 200))
    np.testing.assert_allclose(more_bounces(lobe, np.float32(0.7)), expected, rtol=1e-5)
    assert more_bounces(GOLD_LOBE._replace(color=WHITE), np.float32(0.7)) == pytest.approx(WHITE)


def test_grazing_light_is_reflected_whole_and_straight_light_as_the_gloss_says():
    assert schlick(GOLD, np.float32(1.0)) == GOLD
    assert schlick(GOLD, np.float32(0.0)) == WHITE
    assert missed_at(np.float32(0.0), cell_at(*float32(0.0, 0.3))) == 0.0


def test_files_hold_what_is_tabulated():
    np.testing.assert_allclose(np.load(albedo_table.FILE), albedo_table.tabulated(), rtol=1e-5, atol=1e-7)
    layer, row = 7, 12
    alpha = albedo_table.row_alphas()[row]
    facets = albedo_table.seen_facets(alpha, column_cosines(alpha))
    kept = albedo_table.kept_by_reflection(alpha, facets)
    share = facets.mean(kept * reflected(facets.at_facet, coat_table.ior_at(layer))) / facets.mean(kept)
    np.testing.assert_allclose(coat_table.REFLECTED[layer, row], share, atol=UNIT)
    for layer, row in ((0, 3), (13, 31), (40, 8), (64, 19)):
        alpha = albedo_table.row_alphas()[row]
        made = missed_at_once(eta_at(layer), alpha, column_cosines(alpha))
        np.testing.assert_allclose(rough_glass_missed.MISSED[layer, row], made, atol=UNIT)


ANGLES = (0.06, 0.1, 0.3, 0.7, 0.95)


@pytest.mark.parametrize("alpha", [0.03, 0.07, 0.15, 0.4, 0.9])
def test_tables_say_what_facets_reflect_between_their_numbers_too(alpha):
    width, cells = np.float32(alpha), [cell_at(*float32(alpha, cosine)) for cosine in ANGLES]
    missed, grazing = one_bounce(alpha, np.array(ANGLES))
    np.testing.assert_allclose([missed_at(width, cell) for cell in cells], missed, atol=1e-3)
    found = [grazing_at(width, np.float32(c), cell) for c, cell in zip(ANGLES, cells, strict=True)]
    np.testing.assert_allclose(found, grazing, atol=1.5e-3)
    facets = albedo_table.seen_facets(alpha, np.array(ANGLES))
    kept = albedo_table.kept_by_reflection(alpha, facets)
    for ior in (1.2, 1.5, 1.9):
        at_once = facets.mean(kept * reflected(facets.at_facet, ior))
        found = [coat_albedo(*float32(ior, alpha, cosine)) for cosine in ANGLES]
        more = coat_table.more_by_coat(*float32(ior, alpha))
        np.testing.assert_allclose(found, at_once + missed * more, atol=1e-3)
    for eta in (1.2, 1.7):
        found = [missed_share(np.float32(eta), cell) for cell in cells]
        np.testing.assert_allclose(found, missed_at_once(eta, alpha, np.array(ANGLES)), atol=1e-3)


@pytest.mark.parametrize("alpha", [0.02, 0.3, 0.77])
def test_means_are_those_over_cosines(alpha):
    root = albedo_table.even_roots(200)
    weights, width = 4.0 * root**3 / len(root), np.float32(alpha)
    cells = [cell_at(*float32(alpha, r * r)) for r in root]
    missed = np.array([missed_at(width, cell) for cell in cells])
    assert mean_missed(width) == pytest.approx(missed @ weights, rel=2e-3, abs=5e-5)
    coat = [coat_albedo(*float32(1.4, alpha, r * r)) for r in root]
    assert mean_coat_albedo(*float32(1.4, alpha)) == pytest.approx(coat @ weights, rel=2e-3, abs=5e-5)
    for eta in float32(0.6, 1.5):
        shares = [missed_share(eta, cell) for cell in cells]
        assert mean_missed_share(eta, width) == pytest.approx(shares @ weights, rel=2e-3, abs=5e-5)


def test_lacquer_has_a_layer_of_its_own():
    assert layer_at(coat_table.LACQUER) == (coat_table.LACQUER_LAYER, 0.0)
    smooth = [reflected(root**2, 1.5) * 4.0 * root**3 for root in (albedo_table.even_roots(5000),)]
    assert mean_of_smooth(coat_table.LACQUER) == pytest.approx(np.mean(smooth), abs=1e-5)
    assert rough_glass_table.eta_at(rough_glass_table.ETAS // 2) == 1.0
