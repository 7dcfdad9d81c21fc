"""What each built-in shader makes of a material's numbers."""

import numpy as np
import pytest
from shaders.bsdf import LOBE_SPECULAR, sample

from shaders.registry import get_shader
from shaders.vector import BLACK


class Numbers:
    """A material's numbers; `ambient` is one that no shader knows."""

    def __init__(self, **changes):
        self.diffuse, self.specular = (0.3, 0.2, 0.1), (0.4, 0.2, 0.0)
        self.exponent, self.transmittance, self.ior = 100.0, 0.25, 1.5
        self.roughness, self.mirror_share = 0.5, None
        self.ambient = BLACK
        vars(self).update(changes)


def mixture(shader, **changes):
    """Lobes of a shader."""
    return get_shader(shader).mixture(Numbers(**changes))


def total(bsdf):
    """(3,) sum of all reflectances."""
    return np.sum(bsdf[:4], axis=0)


def test_nff_below_one_is_taken_as_it_is():
    bsdf = mixture("nff")
    assert bsdf.diffuse == (0.3, 0.2, 0.1)
    assert np.add(bsdf.phong, bsdf.mirror) == pytest.approx((0.4, 0.2, 0.0))
    assert bsdf.transmission == (0.25, 0.25, 0.25)
    assert (bsdf.exponent, bsdf.ior) == (100.0, 1.5)


def test_nff_above_one_is_scaled_until_the_brightest_channel_is_one():
    bsdf = mixture("nff", diffuse=(0.9, 0.2, 0.1), specular=(0.85, 0.2, 0.0))
    assert total(bsdf) == pytest.approx((1.0, 0.65 / 2.0, 0.35 / 2.0))
    assert bsdf.diffuse == pytest.approx((0.45, 0.1, 0.05))
    assert bsdf.transmission == pytest.approx((0.125, 0.125, 0.125))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_nff_mirrors_the_share_that_it_is_told(share):
    bsdf = mixture("nff", mirror_share=share)
    assert bsdf.mirror == pytest.approx((0.4 * share, 0.2 * share, 0.0))
    assert np.add(bsdf.phong, bsdf.mirror) == pytest.approx((0.4, 0.2, 0.0))


def test_nff_never_sums_to_more_than_one():
    random = np.random.default_rng(5)
    for _ in range(200):
        diffuse, specular = (tuple(map(float, random.random(3))) for _ in range(2))
        exponent, through = 255.0 * random.random(), float(random.random())
        bsdf = mixture("nff", diffuse=diffuse, specular=specular, exponent=exponent, transmittance=through)
        given = np.array(diffuse) + specular + through
        assert total(bsdf) == pytest.approx(given / max(1.0, given.max()))
        assert min(map(min, bsdf[:4])) >= 0.0


@pytest.mark.parametrize(
    ("exponent", "mirror"), [(0.0, 0.0), (-1.0, 0.0), (10.0, 1.0 / 11.0), (100.0, 0.5), (300.0, 0.75)]
)
def test_nff_splits_specular_by_shine(exponent, mirror):
    bsdf = mixture("nff", exponent=exponent)
    assert bsdf.mirror == pytest.approx((0.4 * mirror, 0.2 * mirror, 0.0))
    assert bsdf.phong == pytest.approx((0.4 * (1.0 - mirror), 0.2 * (1.0 - mirror), 0.0))
    assert bsdf.exponent == max(0.0, exponent)


def test_nff_ignores_the_ambient_term():
    assert mixture("nff", ambient=(2.5, 2.5, 2.5)) == mixture("nff")


@pytest.mark.parametrize("shader", ["nff", "dielectric"])
@pytest.mark.parametrize("ior", [0.0, -1.0])
@pytest.mark.parametrize("outside", [True, False])
def test_without_an_index_light_goes_straight_through(shader, ior, outside):
    bsdf = mixture(shader, diffuse=BLACK, specular=BLACK, transmittance=0.5, ior=ior)
    for flux in (True, False):
        scattered = sample(bsdf, (0.6, 0.0, 0.8), outside, flux, True, (0.5, 0.5, 0.5))
        assert scattered.wi == pytest.approx((-0.6, 0.0, -0.8))
        assert scattered.weight == pytest.approx((0.5, 0.5, 0.5))
        assert scattered.radiance_scale == 1.0
        assert scattered.lobe == LOBE_SPECULAR


def test_nff_without_transmittance_lets_nothing_through():
    assert mixture("nff", transmittance=0.0).transmission == BLACK
    assert mixture("nff", transmittance=-0.5).transmission == BLACK


def test_simple_shaders_have_one_lobe_each():
    assert mixture("diffuse")[:4] == ((0.3, 0.2, 0.1), BLACK, BLACK, BLACK)
    assert mixture("mirror")[:4] == (BLACK, BLACK, (0.4, 0.2, 0.0), BLACK)
    assert mixture("dielectric")[:4] == (BLACK, BLACK, BLACK, (0.25, 0.25, 0.25))
    assert mixture("dielectric").ior == 1.5
