"""This module makes colours, linear sRGB, of spectra: of lists of wavelengths, and of what glows by its heat.

What the eye sees of a spectrum are the three integrals over the matching functions of CIE 1931, here by the fits of
Wyman, Sloan, Shirley: Simple Analytic Approximations to the CIE XYZ Color Matching Functions, 2013. A reflectance is
looked at in the daylight that is white in sRGB, D65 (CIE 15: Colorimetry, 2004), so that what reflects all light is
white. Light is looked at as it is: one that has as much of all wavelengths is a little red.
"""

import math

import numpy as np

from scenes.model import Color, Doubles

#: Nanometres at which spectra are looked at.
WAVELENGTHS: Doubles = np.arange(360.0, 831.0)
#: Linear sRGB of X, Y and Z (IEC 61966-2-1: Default RGB colour space - sRGB, 1999).
RGB_OF_XYZ: Doubles = np.array(
    [[3.240479, -1.537150, -0.498535], [-0.969256, 1.875991, 0.041556], [0.055648, -0.204043, 1.057311]]
)
#: Lobes of Wyman, Sloan and Shirley for x, y and z: height, middle, widths below and above it in nanometres.
LOBES = (
    ((1.056, 599.8, 37.9, 31.0), (0.362, 442.0, 16.0, 26.7), (-0.065, 501.1, 20.4, 26.2)),
    ((0.821, 568.8, 46.9, 40.5), (0.286, 530.9, 16.3, 31.1)),
    ((1.217, 437.0, 11.8, 36.0), (0.681, 459.0, 26.0, 13.8)),
)
#: Daylight of 6504 K, CIE 15, every ten nanometres from 360 to 830.
DAYLIGHT = (
    46.6383, 52.0891, 49.9755, 54.6482, 82.7549, 91.486, 93.4318, 86.6823, 104.865, 117.008, 117.812, 114.861,
    115.923, 108.811, 109.354, 107.802, 104.79, 107.689, 104.405, 104.046, 100.0, 96.3342, 95.788, 88.6856,
    90.0062, 89.5991, 87.6987, 83.2886, 83.6992, 80.0268, 80.2146, 82.2778, 78.2842, 69.7213, 71.6091, 74.349,
    61.604, 69.8856, 75.087, 63.5927, 46.4182, 66.8054, 63.3828, 64.304, 59.4519, 51.959, 57.4406, 60.3125,
)  # fmt: skip
#: Planck's constant times the speed of light, J m; Boltzmann's constant, J/K; and the speed of light, m/s.
PLANCK_LIGHT, BOLTZMANN, LIGHT_SPEED = 6.62607015e-34 * 299_792_458.0, 1.380649e-23, 299_792_458.0


def matching_functions() -> Doubles:
    """Returns the matching functions x, y and z at `WAVELENGTHS`, (3, n), so that the sum over y is 1."""
    rows = []
    for lobes in LOBES:
        row = np.zeros_like(WAVELENGTHS)
        for height, middle, below, above in lobes:
            offset = (WAVELENGTHS - middle) / np.where(middle > WAVELENGTHS, below, above)
            row += height * np.exp(-0.5 * offset * offset)
        rows.append(row)
    functions = np.array(rows)
    weighted: Doubles = functions / functions[1].sum()
    return weighted


_MATCHING = matching_functions()
_DAYLIGHT = np.interp(WAVELENGTHS, np.arange(360.0, 831.0, 10.0), DAYLIGHT)
_DAYLIGHT_COLOR = RGB_OF_XYZ @ (_MATCHING @ _DAYLIGHT)


def sampled(wavelengths: Doubles, values: Doubles) -> Doubles:
    """Returns a spectrum at `WAVELENGTHS`: linear between those given, which increase, and zero beyond them.

    wavelengths: (n,) nanometres.
    values: (n,).
    """
    return np.interp(WAVELENGTHS, wavelengths, values, left=0.0, right=0.0)


def light_color(spectrum: Doubles) -> Color:
    """Returns the colour of light, whose luminance is the mean of its spectrum as the eye weighs it.

    spectrum: (n,) at `WAVELENGTHS`, in the unit that the colour is to have.
    """
    red, green, blue = np.maximum(RGB_OF_XYZ @ (_MATCHING @ spectrum), 0.0).tolist()
    return (red, green, blue)


def reflectance_color(spectrum: Doubles) -> Color:
    """Returns the colour, each channel in 0..1, of a surface in daylight.

    spectrum: (n,) at `WAVELENGTHS`, shares of light that are reflected.
    """
    seen = RGB_OF_XYZ @ (_MATCHING @ (_DAYLIGHT * spectrum)) / _DAYLIGHT_COLOR
    red, green, blue = np.clip(seen, 0.0, 1.0).tolist()
    return (red, green, blue)


def mean_color(spectrum: Doubles) -> Color:
    """Returns the mean of what is neither light nor reflectance, such as an index, for red, green and blue.

    The weights of a channel are those of its light and sum up to 1, so that what is the same at all wavelengths stays.

    spectrum: (n,) at `WAVELENGTHS`.
    """
    weights = RGB_OF_XYZ @ _MATCHING
    red, green, blue = (weights @ spectrum / weights.sum(axis=1)).tolist()
    return (red, green, blue)


def blackbody(temperature: float) -> Doubles:
    """Returns the radiance, W/(m^2 sr nm), of a black body at `WAVELENGTHS` (Planck: Ueber das Gesetz der
    Energieverteilung im Normalspectrum, 1901).

    temperature: in kelvin, above 0; one at which nothing glows gives zeros.
    """
    metres = 1e-9 * WAVELENGTHS
    with np.errstate(over="ignore"):
        photons = np.expm1(PLANCK_LIGHT / (BOLTZMANN * temperature) / metres)
        radiance: Doubles = 2e-9 * PLANCK_LIGHT * LIGHT_SPEED / metres**5 / photons
    return radiance


def unit_blackbody(temperature: float) -> Color:
    """Returns the colour of a black body's light at a luminance of 1; black where nothing glows."""
    spectrum = blackbody(temperature)
    luminance = float(_MATCHING[1] @ spectrum)
    return light_color(spectrum / luminance) if math.isfinite(luminance) and luminance > 0.0 else (0.0, 0.0, 0.0)
