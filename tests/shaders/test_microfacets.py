"""Microfacets: how many there are, what metals reflect, and the tables of what one bounce misses."""

import math

import numpy as np
import pytest
from shading_tables import coat_means, coat_table_of, facet_means, facet_table, glass_means, missed_by_glass, row_alphas
from single_precision import float32

from shaders import albedo_table, coat_table, rough_glass
from shaders.coat_table import UNIT
from shaders.fresnel import conductor_fresnel, fresnel, reflectance_alike
from shaders.ggx import density
from shaders.rough_glass import MISSED, mean_missed_share, missed_share
from shaders.specular_lobe import SpecularLobe, more_bounces, schlick, specular_albedo
from shaders.vector import BLACK

WHITE, GOLD = (1.0, 1.0, 1.0), (1.0, 0.766, 0.336)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
#: Points and weights of quadrature over cosines, by which light from all sides counts twice its cosine.
COSINES, SHARES = 0.5 + 0.5 * NODES, WEIGHTS * (0.5 + 0.5 * NODES)


def lobe(color, eta=BLACK, k=BLACK):
    return float32(SpecularLobe(color, eta, k, tuple(reflectance_alike(*index) for index in zip(eta, k, strict=True))))


#: By a colour alone, and by an index.
GOLD_LOBE, IRON = lobe(GOLD), lobe((1.0, 1.0, 0.5), (2.9, 2.9, 2.5), (3.1, 2.9, 2.7))


def reflected_by_metal(cosine, eta, k):
    """Fresnel's reflectance in complex numbers, which the code does without: (n,) for cosines (n,)."""
    index = complex(eta, k)
    inside = np.sqrt(index**2 - (1.0 - cosine**2))
    across = (cosine - inside) / (cosine + inside)
    along = (index**2 * cosine - inside) / (index**2 * cosine + inside)
    return 0.5 * (np.abs(across) ** 2 + np.abs(along) ** 2)


#: Metals, and indices without absorption that are more and less than one.
INDICES = [(0.108, 3.509), (1.478, 1.809), (3.67, 2.918), (0.05, 4.3), (1.5, 0.0), (1.0 / 1.5, 0.0), (1.0, 1.0)]


@pytest.mark.parametrize(("eta", "k"), INDICES)
def test_metals_reflect_by_fresnel(eta, k):
    cosines = np.append(np.linspace(0.01, 1.0, 100), 1e-9)
    found = np.array([conductor_fresnel(float(cosine), eta, k) for cosine in cosines])
    np.testing.assert_allclose(found, reflected_by_metal(cosines, eta, k), atol=1e-7)
    assert conductor_fresnel(1.0, eta, k) == pytest.approx(((eta - 1.0) ** 2 + k**2) / ((eta + 1.0) ** 2 + k**2))
    assert found[-1] == pytest.approx(1.0, abs=1e-6)
    if k == 0.0:
        np.testing.assert_allclose(found, [fresnel(float(cosine), eta) for cosine in cosines], atol=1e-6)
    polished = specular_albedo(lobe((1.0, 0.5, 0.0), (eta,) * 3, (k,) * 3), np.float32(0.0), np.float32(0.3))
    assert polished == pytest.approx(reflected_by_metal(0.3, eta, k) * np.array([1.0, 0.5, 0.0]), rel=1e-4)


@pytest.mark.parametrize("specular_lobe", [GOLD_LOBE, IRON])
def test_more_bounces_are_a_geometric_series(specular_lobe):
    """Of light that does not get out at once facets reflect the mean, again and again, until it gets out."""
    alpha = np.float32(0.7)
    out = 1.0 - albedo_table.mean_missed(alpha)
    if max(specular_lobe.eta) == 0.0:
        by_cosine = [f + (1.0 - f) * (1.0 - COSINES) ** 5 for f in specular_lobe.color]
    else:
        by_cosine = [f * reflected_by_metal(COSINES, n, k) for f, n, k in zip(*specular_lobe[:3], strict=True)]
    kept = np.array(by_cosine) @ SHARES
    expected = sum(kept ** (n + 1) * (1.0 - out) ** (n - 1) * out for n in range(1, 200))
    np.testing.assert_allclose(more_bounces(specular_lobe, alpha), expected, rtol=1e-5)
    assert more_bounces(lobe(WHITE), alpha) == pytest.approx(WHITE)


def test_grazing_light_is_reflected_whole_and_straight_light_as_the_colour_says():
    assert schlick(GOLD, 1.0) == GOLD
    assert schlick(GOLD, 0.0) == WHITE


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_facets_cover_the_surface_once(alpha):
    """The projected area of all facets is that of the surface."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    root = 0.5 + 0.5 * nodes
    z = 1.0 - root**4
    values = np.array([density((math.sqrt(1.0 - c * c), 0.0, c), alpha) for c in z])
    assert np.sum(values * z * 4.0 * root**3 * 0.5 * weights) * 2.0 * math.pi == pytest.approx(1.0, abs=1e-6)


def test_files_hold_what_their_code_makes():
    """Some rows of them, as all take half a minute."""
    rows = [0, 3, 9, 14, albedo_table.ALPHAS - 1]
    alphas = row_alphas()[rows]
    np.testing.assert_allclose(np.load(albedo_table.FILE)[:, rows], facet_table(alphas), rtol=1e-5, atol=1e-7)
    made = coat_table_of(alphas).astype(int)
    np.testing.assert_allclose(np.load(coat_table.FILE)[:, rows].astype(int), made, atol=1)


@pytest.mark.parametrize(
    ("module", "means"), [(albedo_table, facet_means), (coat_table, coat_means), (rough_glass, glass_means)]
)
def test_means_are_those_of_the_tables(module, means):
    np.testing.assert_allclose(np.load(module.MEANS_FILE), means(), rtol=1e-6)


def test_the_file_of_rough_glass_holds_what_its_code_makes():
    """Some rows of it, as all take minutes."""
    alphas = row_alphas()
    for layer, row in ((0, 3), (10, 19), (31, 8), (33, 5), (42, 12), (64, 19)):
        np.testing.assert_allclose(MISSED[layer, row], missed_by_glass(layer, alphas[row]), atol=UNIT)


@pytest.mark.parametrize("eta", [0.6, 1.5])
def test_the_mean_of_what_rough_glass_misses_is_that_over_cosines(eta):
    eta, alpha = np.float32(eta), np.float32(0.6)
    shares = [missed_share(eta, albedo_table.cell_at(alpha, np.float32(cosine))) for cosine in COSINES]
    assert mean_missed_share(eta, alpha) == pytest.approx(np.sum(shares * SHARES), rel=1e-3)
