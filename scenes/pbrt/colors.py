"""This module makes colours of the parameters that give them: three channels, a black body, a spectrum in numbers, by
name or in a file."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scenes.colors import spectra
from scenes.errors import SceneFileError
from scenes.files.source_file import read_bytes
from scenes.materials.metals import BY_SYMBOL, METALS
from scenes.materials.microfacets import WHITE, scaled
from scenes.model import Color, Doubles
from scenes.pbrt.files import MAX_NAME, MissingError, PbrtFiles
from scenes.pbrt.parameters import COLORS, Parameter, Parameters
from scenes.pictures.environment_file import MAX_RADIANCE

MAX_SPECTRUM_BYTES = 1 << 22
#: Chromaticities of standard illuminants: CIE 15: Colorimetry, 2004; of ACES: SMPTE ST 2065-1, 2012.
CHROMATICITIES = {
    "stdillum-A": (0.44758, 0.40745),
    "stdillum-D50": (0.34567, 0.35851),
    "stdillum-D65": (0.31272, 0.32903),
    "stdillum-F1": (0.3131, 0.3371),
    "stdillum-F2": (0.3721, 0.3751),
    "stdillum-F3": (0.4091, 0.3941),
    "stdillum-F4": (0.4402, 0.4031),
    "stdillum-F5": (0.3138, 0.3452),
    "stdillum-F6": (0.3779, 0.3882),
    "stdillum-F7": (0.3129, 0.3292),
    "stdillum-F8": (0.3458, 0.3586),
    "stdillum-F9": (0.3741, 0.3727),
    "stdillum-F10": (0.3458, 0.3588),
    "stdillum-F11": (0.3805, 0.3769),
    "stdillum-F12": (0.4370, 0.4042),
    "illum-acesD60": (0.32168, 0.33767),
}
#: Indices of refraction at 588 nm: glasses by SCHOTT: Optical Glass Data Sheets, 2017; magnesia by Stephens, Malitson:
#: Index of Refraction of Magnesium Oxide, 1952; rutile by Devore: Refractive Indices of Rutile and Sphalerite, 1951.
INDICES = {
    "glass-BK7": 1.5168,
    "glass-BAF10": 1.6700,
    "glass-FK51A": 1.4866,
    "glass-LASF9": 1.8503,
    "glass-F5": 1.6727,
    "glass-F10": 1.7283,
    "glass-F11": 1.7847,
    "metal-MgO-eta": 1.7375,
    "metal-TiO2-eta": 2.6142,
}
#: The indices and coefficients of metals, by their names there.
METAL_COLORS = {
    f"metal-{symbol}-{part}": color
    for symbol, metal in (BY_SYMBOL | {"CuZn": METALS["brass"]}).items()
    for part, color in (("eta", metal.eta), ("k", metal.k))
}
NAMED: dict[str, Color] = (
    METAL_COLORS
    | {name: scaled(WHITE, index) for name, index in INDICES.items()}
    | {"metal-MgO-k": scaled(WHITE, 0.0), "metal-TiO2-k": scaled(WHITE, 0.0)}
)


@dataclass(frozen=True)
class Quantity:
    """Says what a colour stands for.

    of: the colour of a spectrum (n,) at the wavelengths of `scenes.colors.spectra`.
    limit: the largest channel.
    """

    of: Callable[[Doubles], Color]
    limit: float


def light_of_luminance_one(spectrum: Doubles) -> Color:
    """Returns the colour of light whose spectrum counts up to a factor: its luminance is 1."""
    luminance = float(spectra.matching_functions()[1] @ spectrum)
    return spectra.light_color(spectrum / luminance) if luminance > 0.0 else (0.0, 0.0, 0.0)


LIGHT = Quantity(light_of_luminance_one, MAX_RADIANCE)
REFLECTANCE = Quantity(spectra.reflectance_color, 1e6)
INDEX = Quantity(spectra.mean_color, 1e6)


def color(parameters: Parameters, files: PbrtFiles, name: str, quantity: Quantity) -> Color | None:
    """Takes a colour; returns None where there is none, or where it is in a file that is not there, which is noted."""
    item = parameters.find(name, *COLORS, "float")
    return None if item is None else color_of(item, files, quantity)


def color_of(item: Parameter, files: PbrtFiles, quantity: Quantity) -> Color | None:
    """Returns the colour of a parameter, linear and not below 0; None where its file is not there, which is noted."""
    try:
        found = channels(item, files, quantity)
    except MissingError:
        files.lose(item.place, f"there is no spectrum {item.text()[:MAX_NAME]!r}: a usual one stands for it")
        return None
    if not 0.0 <= min(found) <= max(found) <= quantity.limit:
        values = ", ".join(f"{channel:g}" for channel in found)
        raise item.error(f"expected {item.called} to be a colour from 0 to {quantity.limit:g}, got {values}")
    return found


def channels(item: Parameter, files: PbrtFiles, quantity: Quantity) -> Color:
    """Returns red, green and blue of a parameter."""
    if item.type == "rgb":
        red, green, blue = item.numbers(3).tolist()
        return (red, green, blue)
    if item.type == "float":
        return scaled(WHITE, float(item.numbers(1)[0]))
    if item.type == "blackbody":
        return spectra.unit_blackbody(max(float(item.numbers(1)[0]), 1.0))
    if not isinstance(item.value, np.ndarray):
        return named_color(item, files, quantity)
    return spectrum_color(item, item.numbers(), quantity)


def named_color(item: Parameter, files: PbrtFiles, quantity: Quantity) -> Color:
    """Returns the colour of a spectrum by its name, or in a file of lines of a wavelength and a value."""
    name = item.text()
    if name in NAMED:
        return NAMED[name]
    if name in CHROMATICITIES:
        x, y = CHROMATICITIES[name]  # of the CIE's diagram of 1931, at a luminance of 1
        xyz = np.array([x / y, 1.0, (1.0 - x - y) / y])
        red, green, blue = np.maximum(spectra.RGB_OF_XYZ @ xyz, 0.0).tolist()
        return (red, green, blue)
    path = files.path(name, item.place, "a spectrum, or of a file of one,")
    lines = read_bytes(path, MAX_SPECTRUM_BYTES).splitlines()
    try:
        values = [float(word) for line in lines for word in line.partition(b"#")[0].split()]
    except ValueError as error:
        raise SceneFileError(path, None, "expected lines of a wavelength and a value") from error
    return spectrum_color(item, np.array(values), quantity)


def spectrum_color(item: Parameter, values: Doubles, quantity: Quantity) -> Color:
    """Returns the colour of a spectrum of wavelengths, nm, that increase, each with its value."""
    if len(values) % 2 or not len(values):
        raise item.error(f"expected {item.called} to have pairs of a wavelength and a value, got {len(values)} numbers")
    pairs = values.reshape(-1, 2)
    if not (np.isfinite(pairs).all() and (np.diff(pairs[:, 0]) > 0.0).all() and (pairs[:, 1] >= 0.0).all()):
        raise item.error(f"expected {item.called} to have wavelengths that increase, and values not below 0")
    return quantity.of(spectra.sampled(pairs[:, 0], pairs[:, 1]))
