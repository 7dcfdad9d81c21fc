"""Spectra as colours: chromaticities and laws that are known."""

import numpy as np
import pytest

from scenes.colors.spectra import (
    RGB_OF_XYZ,
    WAVELENGTHS,
    blackbody,
    light_color,
    reflectance_color,
    sampled,
    unit_blackbody,
)


def chromaticity(color):
    """x and y of CIE 1931 of a colour in linear sRGB."""
    x, y, z = np.linalg.solve(RGB_OF_XYZ, color)
    return x / (x + y + z), y / (x + y + z)


def test_as_much_of_all_wavelengths_is_the_white_of_equal_energy():
    assert chromaticity(light_color(np.ones_like(WAVELENGTHS))) == pytest.approx((1 / 3, 1 / 3), abs=0.002)


def test_light_of_one_wavelength_has_the_colour_of_the_spectral_locus():
    """That of 580 nm, (0.5125, 0.4866), is beyond sRGB: no blue is left of it."""
    red, green, blue = light_color(sampled(np.array([579.0, 580.0, 581.0]), np.array([0.0, 1.0, 0.0])))
    assert red > green > blue == 0.0


@pytest.mark.parametrize(("temperature", "expected"), [(2856.0, (0.4476, 0.4074)), (6500.0, (0.3135, 0.3237))])
def test_black_bodies_lie_on_the_planckian_locus(temperature, expected):
    """Illuminant A is a black body of 2856 K."""
    assert chromaticity(unit_blackbody(temperature)) == pytest.approx(expected, abs=0.003)


def test_radiance_of_a_black_body():
    """Wien's displacement law; and 26.9 kW/(m^2 sr nm) at 500 nm of 5800 K."""
    spectrum = blackbody(5800.0)
    assert WAVELENGTHS[np.argmax(spectrum)] == pytest.approx(2.897772e6 / 5800.0, abs=1.0)
    assert spectrum[WAVELENGTHS == 500.0] == pytest.approx(2.686e4, rel=2e-3)
    assert not blackbody(1e-3).any()
    assert unit_blackbody(1e-3) == (0.0, 0.0, 0.0)


def test_reflectances_keep_what_is_even_and_stay_within_one():
    assert reflectance_color(np.full_like(WAVELENGTHS, 0.3)) == pytest.approx((0.3, 0.3, 0.3))
    red, green, blue = reflectance_color((WAVELENGTHS > 570.0).astype(float))
    assert red == 1.0
    assert 0.5 > green > blue == 0.0
