"""This module reads colours: of three numbers, of one, as #rrggbb, and as spectra, by wavelengths or by temperature."""

from collections.abc import Callable

import numpy as np

from scenes.colors import srgb
from scenes.colors.spectra import WAVELENGTHS, blackbody, light_color, mean_color, reflectance_color, sampled
from scenes.errors import SceneFileError
from scenes.files.source_file import read_bytes
from scenes.mitsuba.elements import MAX_QUOTE, XmlElement, listed, numbers
from scenes.mitsuba.reading import Reading
from scenes.model import Color, Doubles

COLORS = ("rgb", "srgb", "spectrum", "blackbody", "float", "integer")
#: Bytes of a file of a spectrum.
MAX_SPECTRUM_BYTES = 1 << 20
MAX_TEMPERATURE = 1e6

#: From a spectrum at `scenes.colors.spectra.WAVELENGTHS` to a colour.
Observer = Callable[[Doubles], Color]


def color(element: XmlElement, reading: Reading) -> Color:
    """Returns a reflectance, linear and not below 0."""
    return seen(element, reading, reflectance_color)


def light(element: XmlElement, reading: Reading) -> Color:
    """Returns a radiance or intensity. One number of a <spectrum> is as much of all wavelengths, but in files of 0.6
    and before white."""
    found = seen(element, reading, light_color)
    text = element.attributes.get("value", "")
    is_one = element.tag == "spectrum" and ":" not in text and len(text.replace(",", " ").split()) == 1
    return light_color(np.full_like(WAVELENGTHS, found[0])) if is_one and not reading.is_old else found


def index(element: XmlElement, reading: Reading) -> Color:
    """Returns an index of refraction or extinction for each channel."""
    return seen(element, reading, mean_color)


def seen(element: XmlElement, reading: Reading, observer: Observer) -> Color:
    """Returns a colour, not below 0. observer: makes one of a spectrum."""
    if element.tag == "blackbody":
        return observer(glow(element, element.need("temperature"), element.attributes.get("scale", "1")))
    if element.tag == "spectrum" and "type" in element.attributes:
        return plugin(element, observer)
    if "filename" in element.attributes:
        return of_file(element, reading, observer)
    text = element.need("value").strip()
    if ":" not in text:
        return of_numbers(element)
    pairs = text.replace(",", " ").split()  # wavelengths in nanometres and values, as in `400:0.1, 700:0.3`
    rows = [numbers(element, pair.replace(":", " "), 2) for pair in pairs]
    return observer(spectrum(element, np.array(rows).T))


def of_numbers(element: XmlElement) -> Color:
    """Returns the colour of one number, of three, or of #rrggbb, not below 0."""
    text = element.need("value").strip()
    if text.startswith("#"):
        red, green, blue = hexadecimal(element, text)
    else:
        values = numbers(element, text, 1, 3)
        red, green, blue = values if len(values) == 3 else values * 3
    if min(red, green, blue) < 0.0:
        raise element.error(f"expected a colour not below 0, got {text[:MAX_QUOTE]!r}")
    return decoded((red, green, blue)) if element.tag == "srgb" else (red, green, blue)


def hexadecimal(element: XmlElement, text: str) -> Color:
    """Returns the channels of a colour written as #rrggbb, in 0..1."""
    try:
        red, green, blue = bytes.fromhex(text[1:])
    except ValueError as error:
        raise element.error(f"expected #rrggbb, got {text[:MAX_QUOTE]!r}") from error
    return (red / 255.0, green / 255.0, blue / 255.0)


def decoded(encoded: Color) -> Color:
    """Returns sRGB values in 0..1 as linear ones, to 8 bits."""
    levels = np.rint(np.clip(encoded, 0.0, 1.0) * 255.0).astype(np.uint8)
    red, green, blue = srgb.decoded(levels).tolist()
    return (red, green, blue)


# --- spectra ----------------------------------------------------------------------------------------------------------


def spectrum(element: XmlElement, rows: Doubles) -> Doubles:
    """Returns a spectrum at `scenes.colors.spectra.WAVELENGTHS`. rows: (2, n) wavelengths in nanometres, and values."""
    wavelengths, values = rows
    if not ((np.diff(wavelengths) > 0.0).all() and (values >= 0.0).all() and len(values) > 1):
        raise element.error("expected a spectrum of two or more wavelengths that increase, with values not below 0")
    return sampled(wavelengths, values)


def of_file(element: XmlElement, reading: Reading, observer: Observer) -> Color:
    """Returns the colour of a file that has a wavelength and a value on each line; # begins a comment."""
    path = reading.files.find(element, element.attributes["filename"])
    lines = read_bytes(path, MAX_SPECTRUM_BYTES).decode("latin-1").splitlines()
    rows = []
    for line, text in enumerate(lines, 1):
        words = text.partition("#")[0]
        if words.strip():
            try:
                rows.append(numbers(element, words, 2))
            except SceneFileError as error:
                message = f"expected a wavelength and a value, got {text.strip()[:MAX_QUOTE]!r}"
                raise SceneFileError(path, line, message) from error
    return observer(spectrum(element, np.array(rows).reshape(-1, 2).T))


def glow(element: XmlElement, temperature: str, scale: str) -> Doubles:
    """Returns what a black body of some kelvin radiates, W/(m^2 sr nm), times a scale, as 0.6 has it."""
    kelvin = numbers(element, temperature.strip().removesuffix("K"), 1)[0]
    factor = numbers(element, scale, 1)[0]
    if not (0.0 < kelvin <= MAX_TEMPERATURE and factor >= 0.0):
        wanted = f"a temperature above 0 and at most {MAX_TEMPERATURE:g} K, and a scale not below 0"
        raise element.error(f"expected {wanted}, got {kelvin:g} and {factor:g}")
    return factor * blackbody(kelvin)


def plugin(element: XmlElement, observer: Observer) -> Color:
    """Returns the colour of a <spectrum> of a type, as 3 has them."""
    kind = element.attributes["type"]
    if kind == "srgb" and element.children and element.children[0].tag in ("rgb", "srgb"):
        return of_numbers(element.children[0])
    values = {child.attributes.get("name", ""): child.need("value") for child in element.children}
    if kind == "blackbody":
        return observer(glow(element, values.get("temperature", "5000"), values.get("scale", "1")))
    if kind in ("d65", "uniform"):
        level = numbers(element, values.get("scale" if kind == "d65" else "value", "1"), 1)[0]
        if level < 0.0:
            raise element.error(f"expected a {kind} spectrum not below 0, got {level:g}")
        return (level, level, level)
    if kind not in ("irregular", "regular"):
        known = listed(("blackbody", "d65", "irregular", "regular", "srgb", "uniform"))
        raise element.error(f"unknown or unsupported {element.called}; there are: {known}")
    count = len(values.get("values", "").replace(",", " ").split())
    heights = numbers(element, values.get("values", ""), max(count, 2))
    if kind == "irregular":
        wavelengths = numbers(element, values.get("wavelengths", ""), count)
    else:
        first, last = (numbers(element, values.get(f"wavelength_{end}", ""), 1)[0] for end in ("min", "max"))
        wavelengths = np.linspace(first, last, count).tolist()
    return observer(spectrum(element, np.array([wavelengths, heights])))
