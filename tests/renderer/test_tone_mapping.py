"""Tone mapping against answers worked out by hand."""

import numpy as np
import numpy.typing as npt
import pytest

from renderer.film.tone_mapping import ToneMapping, luminance, reinhard
from scenes.colors.srgb import encoded


def grey(value: float) -> npt.NDArray[np.float32]:
    return np.full((1, 1, 3), value, np.float32)


def shown(mapping: ToneMapping, value: float) -> list[int]:
    pixels = mapping(grey(value))
    assert pixels.dtype == np.uint8
    return list(pixels[0, 0].tolist())


@pytest.mark.parametrize(("light", "shown"), [(0.0, 0.0), (1.0, 1.0625 / 2.0), (2.0, 2.0 * 1.125 / 3.0), (4.0, 1.0)])
def test_reinhard_equation_4(light: float, shown: float) -> None:
    """With white = 4, L (1 + L / 16) / (1 + L); white itself is shown as 1."""
    assert light * reinhard(np.array([light]), 4.0)[0] == pytest.approx(shown)


@pytest.mark.parametrize(
    ("curve", "exposure", "value", "byte"),
    [
        ("linear", 0.0, 0.5, 188),  # sRGB of 0.5 is 0.73536 -> 187.5
        ("linear", 1.0, 0.25, 188),
        ("linear", -1.0, 1.0, 188),
        ("linear", 0.0, 3.0, 255),
        ("reinhard", 0.0, 1.0, 193),  # 0.53125 -> 0.75491 -> 192.5
        ("reinhard", 2.0, 1.0, 255),
        ("reinhard", 0.0, 0.0, 0),
    ],
)
def test_whole_chain_on_grey(curve: str, exposure: float, value: float, byte: int) -> None:
    assert shown(ToneMapping(curve=curve, exposure=exposure), value) == [byte] * 3


def test_reinhard_keeps_hue() -> None:
    """Channels keep their ratios, where a curve for each channel would wash them out."""
    colour = np.array([[[2.0, 1.0, 0.5]]], np.float32)
    light = luminance(colour)
    pixel = ToneMapping()(colour)[0, 0]
    expected = encoded(colour[0, 0].astype(float) * float((1 + light / 16)[0, 0] / (1 + light)[0, 0]))
    assert pixel.tolist() == np.rint(255.0 * expected).tolist()
    assert pixel[0] > pixel[1] > pixel[2]


def test_luminance_of_primaries() -> None:
    np.testing.assert_allclose(luminance(np.eye(3)), [0.2126, 0.7152, 0.0722])
    assert luminance([1.0, 1.0, 1.0]) == pytest.approx(1.0)
