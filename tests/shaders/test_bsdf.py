"""Scattering: what `sample` draws is what `evaluate_*` and `pdf_solid_angle` say, and no energy is made.

Every lobe and every registered shader goes through the same tests.
"""

import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from shaders.bsdf import (
    LOBE_ABSORBED,
    LOBE_DIFFUSE,
    LOBE_ROUGH,
    LOBE_SPECULAR,
    Bsdf,
    choice,
    evaluate_diffuse,
    evaluate_phong,
    evaluate_rough,
    is_rough_glass,
    pdf_solid_angle,
    sample,
    specular_lobe_of,
)

from shaders.compilation import compiled
from shaders.dielectric import fresnel
from shaders.ggx import LEAST_ALPHA
from shaders.random import random4
from shaders.registry import get_shader, shader_names
from shaders.specular_lobe import specular_albedo
from shaders.vector import BLACK, add

#: Draws of tests of means, and of those of counts.
DRAWS, MANY_DRAWS = 25_000, 160_000
WI, WEIGHT, PDF, LOBE, RADIANCE_SCALE, SAMPLE_COLUMNS = slice(0, 3), slice(3, 6), 6, 7, 8, 9

#: Directions of wo: straight, slanted, grazing.
COSINES = [1.0, 0.6, 0.1, 1e-3]

#: Cells of each hemisphere for counts of directions, and points of Gauss in each along z and azimuth.
CELLS = 12
RULE, FINE_RULE = np.polynomial.legendre.leggauss(16), np.polynomial.legendre.leggauss(48)


@dataclass(frozen=True)
class Numbers:
    """A material's numbers, as a shader takes them."""

    diffuse: tuple[float, float, float] = (0.2, 0.5, 0.1)
    specular: tuple[float, float, float] = (0.4, 0.3, 0.2)
    exponent: float = 20.0
    transmittance: float = 0.2
    ior: float = 1.5
    roughness: float = 0.7
    mirror_share: float | None = None
    eta: tuple[float, float, float] = BLACK
    k: tuple[float, float, float] = BLACK


WHITE = (1.0, 1.0, 1.0)
GOLD_ETA, GOLD_K = (0.11, 0.49, 1.48), (3.5, 2.3, 1.8)
MATERIALS = {
    "plastic": Numbers(),
    "dull": Numbers(exponent=0.0, transmittance=0.0, ior=0.0),
    "too bright": Numbers(diffuse=WHITE, specular=WHITE, exponent=5.0, transmittance=1.0),
    "metal": Numbers(diffuse=BLACK, specular=WHITE, exponent=97.0, transmittance=0.0, eta=GOLD_ETA, k=GOLD_K),
    "clear": Numbers(diffuse=BLACK, specular=BLACK, transmittance=1.0, ior=1.33),
}


def lobes(diffuse=BLACK, phong=BLACK, mirror=BLACK, transmission=BLACK, exponent=0.0, ior=1.0, **microfacets):
    """A Bsdf of which all but the named lobes are black."""
    return Bsdf(diffuse, phong, mirror, transmission, exponent, ior, **microfacets)


GOLD, COAT = {"specular_lobe": (1.0, 0.9, 0.8), "eta": GOLD_ETA, "k": GOLD_K}, (0.04, 0.04, 0.04)
RED, GREY, BLUE = (0.7, 0.2, 0.1), (0.3, 0.3, 0.3), (0.1, 0.2, 0.4)
LOBE_BSDFS = {
    "lambert": lobes(diffuse=RED),
    "flat phong": lobes(phong=RED, exponent=0.0),
    "broad phong": lobes(phong=WHITE, exponent=3.0),
    "narrow phong": lobes(phong=GREY, exponent=60.0),
    "lambert and phong": lobes(diffuse=RED, phong=GREY, exponent=15.0),
    "mirror": lobes(mirror=RED),
    "glass": lobes(transmission=WHITE, ior=1.5),
    "satin gold": lobes(**GOLD, alpha=0.25),
    "dull white metal": lobes(specular_lobe=WHITE, alpha=0.9),
    "polished gold": lobes(**GOLD),
    "satin plastic": lobes(diffuse=RED, specular_lobe=COAT, alpha=0.3),
    "polished plastic": lobes(diffuse=WHITE, specular_lobe=COAT),
    "frosted glass": lobes(transmission=WHITE, ior=1.5, alpha=0.4),
    "all": lobes(diffuse=BLUE, phong=GREY, mirror=(0.2, 0.1, 0.0), transmission=(0.1, 0.1, 0.2), exponent=8.0, ior=1.5),
}
SHADER_BSDFS = {
    get_shader(shader).mixture(numbers): f"{shader} of {name}"
    for shader in shader_names()
    for name, numbers in MATERIALS.items()
}  # by value: most shaders make the same of several materials
BSDFS = LOBE_BSDFS | {name: bsdf for bsdf, name in SHADER_BSDFS.items()}

#: Whose directions are counted: all lobes in all directions, and shaders, which are made of these, in one.
COUNTED = {f"{name}-{cosine}": (bsdf, cosine) for name, bsdf in LOBE_BSDFS.items() for cosine in COSINES}
COUNTED |= {f"{name}-0.6": (bsdf, 0.6) for bsdf, name in SHADER_BSDFS.items()}

every_bsdf = pytest.mark.parametrize("bsdf", BSDFS.values(), ids=BSDFS.keys())
every_cosine = pytest.mark.parametrize("cosine", COSINES)


def slanted(cosine):
    """A unit direction above the surface, off the axes."""
    sine = math.sqrt(1.0 - cosine * cosine)
    return (0.6 * sine, -0.8 * sine, cosine)


@compiled
def drawn(bsdf, wo, flags, count):
    """Returns wi, weight, pdf_solid_angle, lobe and radiance_scale of samples: (count, SAMPLE_COLUMNS).

    flags: outside, flux, with_diffuse.
    """
    rows = np.empty((count, SAMPLE_COLUMNS))
    outside, flux, with_diffuse = flags
    for i in range(count):
        u = random4(np.uint64(3), 0, i, 0, 0)
        scattered = sample(bsdf, wo, outside, flux, with_diffuse, (u[0], u[1], u[2]))
        for axis in range(3):
            rows[i, axis] = scattered.wi[axis]
            rows[i, 3 + axis] = scattered.weight[axis]
        rows[i, PDF], rows[i, LOBE] = scattered.pdf_solid_angle, scattered.lobe
        rows[i, RADIANCE_SCALE] = scattered.radiance_scale
    return rows


class Tallies(NamedTuple):
    """How many of MANY_DRAWS directions fell where. cells: (2 CELLS, CELLS) of those with a spread, as `over_cells`.
    lobes: (4, 2), above and below the surface."""

    cells: np.ndarray
    lobes: np.ndarray


@compiled
def tallied(bsdf, wo, outside):
    """`Tallies`."""
    cells, lobe_counts = np.zeros((2 * CELLS, CELLS)), np.zeros((4, 2))
    for i in range(MANY_DRAWS):
        u = random4(np.uint64(5), 0, i, 0, 0)
        scattered = sample(bsdf, wo, outside, True, True, (u[0], u[1], u[2]))
        x, y, z = scattered.wi
        lobe_counts[scattered.lobe, 0 if z > 0.0 else 1] += 1.0
        if scattered.pdf_solid_angle > 0.0:
            row = min(int((math.copysign(math.sqrt(abs(z)), z) + 1.0) * CELLS), 2 * CELLS - 1)
            column = min(int((math.atan2(y, x) / (2.0 * math.pi) + 0.5) * CELLS), CELLS - 1)
            cells[row, column] += 1.0
    return Tallies(cells, lobe_counts)


@functools.cache
def counted_draws(bsdf, wo, outside=True):
    """`Tallies` of what is drawn for wo."""
    return tallied(bsdf, wo, outside)


@compiled
def at_direction(bsdf, wo, with_diffuse, z, azimuth):
    """f |cos| of flux per channel, and the pdf, outside of the solid."""
    sine = math.sqrt(1.0 - z * z)
    wi = (sine * math.cos(azimuth), sine * math.sin(azimuth), z)
    value = evaluate_rough(bsdf, wi, wo, True, True)
    if with_diffuse:
        value = add(value, evaluate_diffuse(bsdf, wi, wo))
    z = abs(z)
    return value[0] * z, value[1] * z, value[2] * z, pdf_solid_angle(bsdf, wi, wo, True, with_diffuse)


@compiled
def over_cells(bsdf, wo, with_diffuse, nodes, weights):
    """(2 CELLS, CELLS, 4) integrals of `at_direction` over cells of equal size in the root of |z| and in azimuth."""
    cells = np.zeros((2 * CELLS, CELLS, 4))
    for i in range(2 * CELLS):
        for j in range(CELLS):
            for a in range(len(nodes)):
                root = (i + 0.5 + 0.5 * nodes[a]) / CELLS - 1.0
                z = root * abs(root)
                for b in range(len(nodes)):
                    azimuth = 2.0 * math.pi * (j + 0.5 + 0.5 * nodes[b]) / CELLS - math.pi
                    values = at_direction(bsdf, wo, with_diffuse, z, azimuth)
                    share = weights[a] * weights[b] * abs(root) * math.pi / (CELLS * CELLS)
                    for k in range(4):
                        cells[i, j, k] += values[k] * share
    return cells


@functools.cache
def cells_by_quadrature(bsdf, wo, with_diffuse, is_fine):
    """(2 CELLS, CELLS, 4): f |cos| per channel and the pdf, integrated over each cell."""
    return over_cells(bsdf, wo, with_diffuse, *(FINE_RULE if is_fine else RULE))


def reflected_by_quadrature(bsdf, wo, with_diffuse=True):
    """Share of the light from wo that the lobes with a spread reflect, (3,), and the integral of the pdf."""
    is_pointed = wo[2] < 0.01 and bsdf.alpha >= LEAST_ALPHA
    total = cells_by_quadrature(bsdf, wo, with_diffuse, is_pointed).sum(axis=(0, 1))
    return total[:3], total[3]


def without_spread(bsdf, wo):
    """(3,) share of the light from wo that goes to directions without spread."""
    share = np.array(bsdf.mirror)
    if not is_rough_glass(bsdf):
        share += bsdf.transmission
    if max(bsdf.specular_lobe) > 0.0 and bsdf.alpha < LEAST_ALPHA:
        share += specular_albedo(specular_lobe_of(bsdf), bsdf.alpha, wo[2])
    return share


def samples(bsdf, wo, *, outside=True, flux=True, with_diffuse=True, count=DRAWS):
    """(count, SAMPLE_COLUMNS) rows of `drawn`."""
    return drawn(bsdf, wo, (outside, flux, with_diffuse), count)


def assert_mean(weights, expected, slack=1e-3):
    """Means of (n, 3) weights are as expected, within 4 sigma and the slack of a quadrature."""
    error = np.abs(weights.mean(axis=0) - expected)
    sigma = weights.std(axis=0) / math.sqrt(len(weights))
    assert np.all(error <= 4.0 * sigma + slack), (weights.mean(axis=0), expected, sigma)


@every_cosine
@every_bsdf
def test_the_mean_weight_is_the_integral_of_f_cos(bsdf, cosine):
    wo = slanted(cosine)
    rows = samples(bsdf, wo)
    spread = np.isin(rows[:, LOBE], (LOBE_DIFFUSE, LOBE_ROUGH))
    reflected, _ = reflected_by_quadrature(bsdf, wo)
    assert_mean(np.where(spread[:, None], rows[:, WEIGHT], 0.0), reflected)
    assert_mean(rows[:, WEIGHT], reflected + without_spread(bsdf, wo))


@pytest.mark.parametrize(("bsdf", "cosine"), COUNTED.values(), ids=COUNTED.keys())
def test_directions_are_drawn_with_their_density(bsdf, cosine, assert_fits):
    """Where quadrature is at a loss, at edges and needles of the density, directions count as any others: mirrored,
    refracted or below the surface."""
    wo = slanted(cosine)
    counts = counted_draws(bsdf, wo).cells
    coarse, expected = (MANY_DRAWS * cells_by_quadrature(bsdf, wo, True, is_fine)[:, :, 3] for is_fine in (False, True))
    is_known = np.abs(expected - coarse) <= 0.5 * np.sqrt(expected)
    assert counts[is_known].sum() >= 0.8 * counts.sum()
    counts, expected = counts[is_known], expected[is_known]
    elsewhere = max(0.0, MANY_DRAWS - expected.sum())
    assert_fits(np.append(counts, MANY_DRAWS - counts.sum()), np.append(expected, elsewhere), len(COUNTED))


@every_bsdf
def test_a_sample_says_its_own_density_and_value(bsdf):
    wo = slanted(0.6)
    for row in samples(bsdf, wo, count=300):
        assert row[LOBE] == LOBE_ABSORBED or np.linalg.norm(row[WI]) == pytest.approx(1.0)
        if row[LOBE] not in (LOBE_DIFFUSE, LOBE_ROUGH):
            assert row[PDF] == 0.0
            continue
        wi = tuple(row[WI])
        value = np.add(evaluate_diffuse(bsdf, wi, wo), evaluate_rough(bsdf, wi, wo, True, True))
        assert wi[2] > 0.0 or is_rough_glass(bsdf)
        assert row[PDF] == pytest.approx(pdf_solid_angle(bsdf, wi, wo, True, True))
        np.testing.assert_allclose(row[WEIGHT], value * abs(wi[2]) / row[PDF])


@every_cosine
@every_bsdf
def test_no_energy_is_made(bsdf, cosine):
    wo = slanted(cosine)
    for outside in (True, False):
        weights = samples(bsdf, wo, outside=outside)[:, WEIGHT]
        assert np.all(weights >= 0.0)
        assert np.all(weights.mean(axis=0) <= 1.0 + 1e-9 + 4.0 * weights.std(axis=0) / math.sqrt(DRAWS))
    assert np.all(reflected_by_quadrature(bsdf, wo)[0] <= 1.0 + 2e-3)


@every_cosine
@every_bsdf
def test_the_density_integrates_to_no_more_than_one(bsdf, cosine):
    assert reflected_by_quadrature(bsdf, slanted(cosine))[1] <= 1.0 + 2e-3


@pytest.mark.parametrize("exponent", [0.0, 1.0, 20.0])
def test_the_density_integrates_to_one_where_nothing_goes_below_the_surface(exponent):
    bsdf = lobes(diffuse=GREY, phong=GREY, exponent=exponent)
    assert reflected_by_quadrature(bsdf, (0.0, 0.0, 1.0))[1] == pytest.approx(1.0, abs=1e-3)
    assert reflected_by_quadrature(BSDFS["lambert"], slanted(0.1))[1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 20.0])
def test_white_phong_reflects_everything_at_normal_incidence(exponent):
    """Lafortune, Willems 1994: (n + 2) / (2 pi) is the factor that makes this so."""
    reflected, _ = reflected_by_quadrature(lobes(phong=WHITE, exponent=exponent), (0.0, 0.0, 1.0))
    assert reflected == pytest.approx(WHITE, abs=1e-3)


@every_bsdf
def test_what_is_reflected_is_reciprocal(bsdf):
    directions = np.random.default_rng(4).normal(size=(50, 2, 3))
    directions[:, :, 2] = np.abs(directions[:, :, 2])
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    for pair in directions:
        wi, wo = (tuple(map(float, d)) for d in pair)
        there = np.add(evaluate_diffuse(bsdf, wi, wo), evaluate_rough(bsdf, wi, wo, True, True))
        back = np.add(evaluate_diffuse(bsdf, wo, wi), evaluate_rough(bsdf, wo, wi, True, True))
        np.testing.assert_allclose(there, back)


@every_bsdf
def test_nothing_with_a_spread_lies_below_the_surface_but_of_rough_glass(bsdf):
    wo = slanted(0.1)
    wi = (-wo[0], -wo[1], -wo[2])  # close to the mirror image
    assert evaluate_diffuse(bsdf, wi, wo) == BLACK
    assert evaluate_phong(bsdf, wi, wo) == BLACK
    assert (pdf_solid_angle(bsdf, wi, wo, True, True) > 0.0) == is_rough_glass(bsdf)
    assert (max(evaluate_rough(bsdf, wi, wo, True, True)) > 0.0) == is_rough_glass(bsdf)


@pytest.mark.parametrize("name", ["mirror", "glass", "polished gold"])
def test_lobes_without_spread_have_neither_density_nor_value(name):
    bsdf, wo = BSDFS[name], slanted(0.5)
    mirrored = (-wo[0], -wo[1], wo[2])
    assert pdf_solid_angle(bsdf, mirrored, wo, True, True) == 0.0
    assert evaluate_rough(bsdf, mirrored, wo, True, True) == BLACK
    rows = samples(bsdf, wo, count=500)
    assert set(rows[:, LOBE]) == {LOBE_SPECULAR}
    assert set(rows[:, PDF]) == {0.0}


def test_a_mirror_turns_the_direction_about_the_normal():
    wo = slanted(0.3)
    rows = samples(BSDFS["mirror"], wo, count=100)
    np.testing.assert_allclose(rows[:, WI], np.tile((-wo[0], -wo[1], wo[2]), (100, 1)))
    np.testing.assert_allclose(rows[:, WEIGHT], np.tile(RED, (100, 1)))


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("name", ["glass", "all"])
@every_cosine
def test_glass_lets_through_what_fresnel_does_not_reflect(cosine, name, outside, assert_fits):
    bsdf, wo = BSDFS[name], slanted(cosine)
    refracted = counted_draws(bsdf, wo, outside).lobes[LOBE_SPECULAR, 1]
    share = choice(bsdf, wo, True).transmission * (1.0 - fresnel(cosine, 1.5 if outside else 1.0 / 1.5))
    assert_fits([refracted, MANY_DRAWS - refracted], [MANY_DRAWS * share, MANY_DRAWS * (1.0 - share)])


@pytest.mark.parametrize("outside", [True, False])
def test_glass_bends_by_snell_towards_the_denser_side(outside):
    wo = slanted(0.8)
    rows = samples(BSDFS["glass"], wo, outside=outside, count=1000)
    refracted = rows[rows[:, 2] < 0.0]
    eta = 1.5 if outside else 1.0 / 1.5
    assert len(refracted) > 0
    np.testing.assert_allclose(refracted[:, :2] * eta, np.tile((-wo[0], -wo[1]), (len(refracted), 1)))


def test_crossing_a_border_scales_radiance_by_the_square_of_the_index_and_leaves_flux_alone():
    wo = slanted(0.8)
    for outside, eta in ((True, 1.5), (False, 1.0 / 1.5)):
        for flux, expected in ((True, 1.0), (False, 1.0 / eta**2)):
            rows = samples(BSDFS["glass"], wo, outside=outside, flux=flux, count=1000)
            through = rows[:, 2] < 0.0
            np.testing.assert_allclose(rows[:, WEIGHT], 1.0)
            np.testing.assert_allclose(rows[:, RADIANCE_SCALE], np.where(through, expected, 1.0))


@pytest.mark.parametrize("flux", [True, False])
@every_bsdf
def test_only_refraction_scales_radiance(bsdf, flux):
    rows = samples(bsdf, slanted(0.6), flux=flux, count=1000)
    assert np.all(rows[rows[:, 2] > 0.0, RADIANCE_SCALE] == 1.0)


@every_bsdf
def test_lobes_are_chosen_in_proportion_to_reflectance(bsdf, assert_fits):
    chosen = choice(bsdf, (0.0, 0.0, 1.0), True)
    coat = (
        np.array(specular_albedo(specular_lobe_of(bsdf), bsdf.alpha, 1.0))
        if max(bsdf.specular_lobe) > 0.0
        else np.zeros(3)
    )
    weights = [np.mean(lobe) for lobe in (bsdf.diffuse * (1.0 - coat), *bsdf[1:3], coat, bsdf.transmission)]
    total = sum(weights)
    np.testing.assert_allclose(chosen, np.array(weights) / total if total > 0.0 else 0.0)
    if total > 0.0:
        counts = counted_draws(bsdf, (0.0, 0.0, 1.0)).lobes.sum(axis=1)
        smooth = bsdf.alpha < LEAST_ALPHA
        expected = [chosen.diffuse, chosen.mirror + (chosen.specular_lobe + chosen.transmission if smooth else 0.0)]
        counts = [counts[LOBE_DIFFUSE], counts[LOBE_SPECULAR], counts[LOBE_ROUGH] + counts[LOBE_ABSORBED]]
        assert_fits(counts, MANY_DRAWS * np.array([*expected, max(0.0, 1.0 - sum(expected))]))


@every_cosine
@every_bsdf
def test_without_the_diffuse_lobe_only_the_rest_is_drawn(bsdf, cosine):
    wo = slanted(cosine)
    rows = samples(bsdf, wo, with_diffuse=False)
    assert LOBE_DIFFUSE not in set(rows[:, LOBE])
    reflected, density = reflected_by_quadrature(bsdf, wo, with_diffuse=False)
    assert density <= 1.0 + 2e-3
    assert_mean(rows[:, WEIGHT], reflected + without_spread(bsdf, wo))


@pytest.mark.parametrize("with_diffuse", [True, False])
def test_black_absorbs(with_diffuse):
    rows = samples(lobes(), slanted(0.5), with_diffuse=with_diffuse, count=200)
    assert set(rows[:, LOBE]) == {LOBE_ABSORBED}
    assert not rows[:, WEIGHT].any()


def test_a_diffuse_surface_absorbs_where_its_only_lobe_takes_no_part():
    rows = samples(BSDFS["lambert"], slanted(0.5), with_diffuse=False, count=200)
    assert set(rows[:, LOBE]) == {LOBE_ABSORBED}


def test_known_values_of_the_lobes():
    wo = slanted(0.5)
    mirrored = (-wo[0], -wo[1], wo[2])
    bsdf = lobes(diffuse=(0.5, 0.25, 0.0), phong=(0.1, 0.2, 0.4), exponent=6.0)
    assert evaluate_diffuse(bsdf, mirrored, wo) == pytest.approx((0.5 / math.pi, 0.25 / math.pi, 0.0))
    assert evaluate_phong(bsdf, mirrored, wo) == pytest.approx((0.4 / math.pi, 0.8 / math.pi, 1.6 / math.pi))
    assert pdf_solid_angle(lobes(phong=WHITE, exponent=6.0), mirrored, wo, True, True) == pytest.approx(3.5 / math.pi)
    assert pdf_solid_angle(lobes(diffuse=WHITE), mirrored, wo, True, True) == pytest.approx(0.5 / math.pi)
