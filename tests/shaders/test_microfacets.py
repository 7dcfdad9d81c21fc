"""Microfacets: a million draws of every sampler against its density, reciprocity, and light that is not lost."""

import math

import numpy as np
import pytest

from shaders.albedo_table import FILE, mean_shares, shares_at, tabulated
from shaders.bsdf import Bsdf, base_reflectance, entering_share
from shaders.compilation import compiled
from shaders.conductor import conductor_fresnel
from shaders.dielectric import fresnel
from shaders.ggx import density, sample_seen, seen_density
from shaders.random import random4
from shaders.rough_glass import rough_glass_pdf, rough_glass_value, sample_rough_glass, value_of_more
from shaders.rough_glass_missed import MISSED, mean_missed_share, missed_share
from shaders.rough_glass_table import ALPHAS, COSINES, UNIT, eta_at, missed_at_once
from shaders.specular_lobe import (
    SpecularLobe,
    more_bounces,
    sample_specular_lobe,
    schlick,
    specular_albedo,
    specular_pdf,
    specular_value,
)
from shaders.vector import BLACK

DRAWS, CELLS = 500_000, 12
SEEN, SPECULAR_LOBE, GLASS = range(3)
WHITE, GOLD = (1.0, 1.0, 1.0), (1.0, 0.766, 0.336)
#: By a colour alone; by an index; and by one so large that everything is reflected.
WHITE_GLOSS, GOLD_GLOSS = SpecularLobe(WHITE, BLACK, BLACK), SpecularLobe(GOLD, BLACK, BLACK)
IRON = SpecularLobe((1.0, 1.0, 0.5), (2.9, 2.9, 2.5), (3.1, 2.9, 2.7))
IDEAL = SpecularLobe(WHITE, WHITE, (1e6, 1e6, 1e6))
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)

#: Sampler, alpha, cosine of wo, index of the far side over the near one.
SAMPLERS = [
    *[(SEEN, alpha, cosine, 1.0) for alpha, cosine in ((0.15, 0.9), (0.6, 0.2), (1.0, 0.5))],
    *[(SPECULAR_LOBE, alpha, cosine, 1.0) for alpha, cosine in ((0.15, 0.95), (0.3, 0.3), (0.5, 0.5), (1.0, 0.8))],
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
    if sampler == SPECULAR_LOBE:
        return sample_specular_lobe(IRON, alpha, wo, u)
    return sample_rough_glass(wo, eta, alpha, u)


@compiled
def pdf_of(sampler, wo, alpha, eta, w):
    """Density in solid angle of what is drawn."""
    if sampler == GLASS:
        return rough_glass_pdf(w, wo, eta, alpha)
    if w[2] <= 0.0:
        return 0.0
    return seen_density(wo, w, alpha) if sampler == SEEN else specular_pdf(IRON, alpha, w, wo)


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
def test_draws_have_their_density(sampler, alpha, cosine, eta, assert_fits):
    wo = slanted(cosine)
    counts = counted(sampler, wo, alpha, eta)
    expected = DRAWS * expected_in(sampler, wo, alpha, eta, NODES, NODE_WEIGHTS)
    lost = max(0.0, DRAWS - expected.sum())
    counts = np.append(counts[:-1].ravel(), counts[-1, 0])
    assert_fits(counts, np.append(expected.ravel(), lost), len(SAMPLERS))


@compiled
def hemisphere_mean(specular_lobe, alpha, cosine, nodes, weights):
    """f cos of the first channel integrated over the hemisphere, with many points in z and azimuth."""
    sine, total = math.sqrt(1.0 - cosine * cosine), 0.0
    wo = (sine, 0.0, cosine)
    for a in range(len(nodes)):
        root = 0.5 + 0.5 * nodes[a]
        z = root * root
        for b in range(len(nodes)):
            azimuth = math.pi * (0.5 + 0.5 * nodes[b])
            wi = (math.sqrt(1.0 - z * z) * math.cos(azimuth), math.sqrt(1.0 - z * z) * math.sin(azimuth), z)
            total += specular_value(specular_lobe, alpha, wi, wo)[0] * z * weights[a] * weights[b] * root * math.pi
    return total


FINE = np.polynomial.legendre.leggauss(160)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("cosine", [0.1, 0.5, 1.0])
def test_a_white_metal_reflects_everything(alpha, cosine):
    for specular_lobe in (WHITE_GLOSS, IDEAL):
        assert hemisphere_mean(specular_lobe, alpha, cosine, *FINE) == pytest.approx(1.0, abs=2.5e-3)
        assert specular_albedo(specular_lobe, alpha, cosine) == pytest.approx(WHITE, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.2, 1.0])
@pytest.mark.parametrize("cosine", [0.3, 1.0])
def test_the_albedo_of_a_measured_metal_is_about_what_it_reflects(alpha, cosine):
    """It is that of what is most like it by Schlick, who does not know the dip before grazing angles."""
    assert hemisphere_mean(IRON, alpha, cosine, *FINE) == pytest.approx(
        specular_albedo(IRON, alpha, cosine)[0], abs=0.035
    )


@compiled
def sphere_mean(alpha, cosine, eta, nodes, weights):
    """f |cos| of rough glass integrated over both hemispheres, with many points in z and azimuth."""
    sine, total = math.sqrt(1.0 - cosine * cosine), 0.0
    wo = (sine, 0.0, cosine)
    for a in range(len(nodes)):
        root = 0.5 + 0.5 * nodes[a]
        z = root * root
        for b in range(len(nodes)):
            azimuth = math.pi * (0.5 + 0.5 * nodes[b])
            x, y = math.sqrt(1.0 - z * z) * math.cos(azimuth), math.sqrt(1.0 - z * z) * math.sin(azimuth)
            value = rough_glass_value((x, y, z), wo, eta, alpha) + rough_glass_value((x, y, -z), wo, eta, alpha)
            total += value * z * weights[a] * weights[b] * root * math.pi
    return total


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("ior", [1.33, 1.5, 2.4])
@pytest.mark.parametrize("from_inside", [False, True])
def test_rough_glass_reflects_or_lets_through_everything(alpha, ior, from_inside):
    """By quadrature over all directions, which knows nothing of the sampler, for light at five cosines."""
    eta, rule = 1.0 / ior if from_inside else ior, np.polynomial.legendre.leggauss(120)
    kept = [sphere_mean(alpha, cosine, eta, *rule) for cosine in (1.0, 0.8, 0.5, 0.25, 0.1)]
    np.testing.assert_allclose(kept, 1.0, atol=0.01)


@compiled
def mean_weight(alpha, cosine, eta, count):
    """The mean of f |cos| / pdf over so many draws of rough glass."""
    wo, total = (math.sqrt(1.0 - cosine * cosine), 0.0, cosine), 0.0
    for i in range(count):
        u = random4(np.uint64(17), 0, i, 0, 0)
        wi = sample_rough_glass(wo, eta, alpha, (u[0], u[1], u[2]))
        if wi[2] != 0.0:
            total += rough_glass_value(wi, wo, eta, alpha) * abs(wi[2]) / rough_glass_pdf(wi, wo, eta, alpha)
    return total / count


@pytest.mark.parametrize("ior", [1.1, 1.5, 2.4])
@pytest.mark.parametrize("from_inside", [False, True])
def test_draws_of_rough_glass_lose_nothing_however_narrow_its_lobes_are(ior, from_inside):
    """What refracts at an index close to 1, or at facets that are almost level, is a needle that quadrature misses."""
    eta = 1.0 / ior if from_inside else ior
    kept = [mean_weight(alpha, cosine, eta, 1 << 16) for alpha in (0.02, 0.1, 0.3) for cosine in (1.0, 0.5, 0.1)]
    np.testing.assert_allclose(kept, 1.0, atol=0.01)


def test_the_table_of_rough_glass_is_what_its_code_makes():
    for place, row in ((0, 3), (10, 19), (23, 8), (25, 5), (31, 12), (48, 19)):
        made = missed_at_once(eta_at(place), (row / (ALPHAS - 1)) ** 2, np.linspace(0.0, 1.0, COSINES) ** 2)
        np.testing.assert_allclose(UNIT * MISSED[place, row], made, atol=UNIT)


@pytest.mark.parametrize("eta", [0.6, 1.5])
def test_the_mean_of_what_rough_glass_misses_is_that_over_cosines(eta):
    nodes, weights = np.polynomial.legendre.leggauss(200)
    shares = np.array([missed_share(eta, 0.6, 0.5 + 0.5 * node) for node in nodes])
    assert mean_missed_share(eta, 0.6) == pytest.approx(np.sum(shares * weights * (0.5 + 0.5 * nodes)), rel=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("specular_lobe", [(0.0, 0.04, 0.2), GOLD])
def test_coat_and_white_base_reflect_everything_together(alpha, specular_lobe):
    """What the coat lets in comes out, whole, as the base's reflectance times the mean of what enters says."""
    bsdf = Bsdf(WHITE, BLACK, BLACK, BLACK, 0.0, 1.0, specular_lobe, alpha)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    root = 0.5 + 0.5 * nodes
    entering = np.array([entering_share(bsdf, slanted(r * r)) for r in root])
    mean_entering = np.einsum("i,ik->k", 2.0 * root**3 * weights, entering)  # 2 z dz = 4 r^3 dr
    for cosine in (0.05, 0.4, 1.0):
        base = np.array(base_reflectance(bsdf, slanted(cosine))) * mean_entering
        total = base + specular_albedo(SpecularLobe(specular_lobe, BLACK, BLACK), alpha, cosine)
        is_open = np.array(specular_lobe) < 1.0
        np.testing.assert_allclose(total[is_open], 1.0, atol=2e-4)
        assert np.all(total <= 1.0 + 2e-4)


def reflected_by_metal(cosine, eta, k):
    """Fresnel's reflectance in complex numbers, which the code does without: (n,) for cosines (n,)."""
    index = eta + 1j * k
    inside = np.sqrt(index**2 - (1.0 - cosine**2))
    across = (cosine - inside) / (cosine + inside)
    along = (index**2 * cosine - inside) / (index**2 * cosine + inside)
    return 0.5 * (np.abs(across) ** 2 + np.abs(along) ** 2)


def mean_reflected(specular_lobe):
    """(3,) shares of light from all sides that facets reflect."""
    nodes, weights = np.polynomial.legendre.leggauss(100)
    cosine = 0.5 + 0.5 * nodes
    if specular_lobe.eta == BLACK:
        by_cosine = [f + (1.0 - f) * (1.0 - cosine) ** 5 for f in specular_lobe.color]
    else:
        by_cosine = [f * reflected_by_metal(cosine, n, k) for f, n, k in zip(*specular_lobe, strict=True)]
    return np.array(by_cosine) @ (weights * cosine)


@pytest.mark.parametrize("specular_lobe", [GOLD_GLOSS, IRON])
def test_more_bounces_are_a_geometric_series(specular_lobe):
    out = sum(mean_shares(0.7))
    kept = mean_reflected(specular_lobe)
    expected = sum(kept ** (n + 1) * (1.0 - out) ** (n - 1) * out for n in range(1, 200))
    np.testing.assert_allclose(
        more_bounces(specular_lobe, 0.7), expected, rtol=1e-9 if specular_lobe.eta == BLACK else 0.01
    )
    assert more_bounces(WHITE_GLOSS, 0.7) == pytest.approx(WHITE)


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
    polished = specular_albedo(SpecularLobe((1.0, 0.5, 0.0), (eta,) * 3, (k,) * 3), 0.0, 0.3)
    assert polished == pytest.approx(reflected_by_metal(0.3, eta, k) * np.array([1.0, 0.5, 0.0]))


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
        for specular_lobe in (GOLD_GLOSS, IRON):
            np.testing.assert_allclose(
                specular_value(specular_lobe, alpha, wi, wo), specular_value(specular_lobe, alpha, wo, wi)
            )
        there, back = (rough_glass_value(a, b, 1.5, alpha) for a, b in ((wi, wo), (wo, wi)))
        assert there == pytest.approx(back)


@pytest.mark.parametrize("alpha", [0.2, 0.6])
def test_refraction_is_reciprocal_but_for_the_square_of_the_index(alpha):
    """Values of flux: f(wi, wo) is eta^2 times the other way round; seen from the other side, below is above."""
    alike = 0
    for wo, wi in directions(above=False):
        there = rough_glass_value(wi, wo, 1.5, alpha)
        turned_wi, turned_wo = ((w[0], w[1], -w[2]) for w in (wi, wo))
        back = rough_glass_value(turned_wo, turned_wi, 1.0 / 1.5, alpha)
        assert there == pytest.approx(1.5**2 * back)
        assert there > 0.0
        alike += there == pytest.approx(value_of_more(wi, wo, 1.5, alpha))
    assert alike < 250  # elsewhere one facet turns light from one to the other


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


def test_the_file_of_albedos_holds_what_is_tabulated() -> None:
    np.testing.assert_allclose(np.load(FILE), tabulated(), rtol=1e-9, atol=1e-12)
