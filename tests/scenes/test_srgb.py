"""The curve of sRGB: the standard's values, and one way undoes the other."""

import numpy as np
import pytest

from scenes.colors.srgb import decoded, encoded, encoded_bytes


@pytest.mark.parametrize(
    ("byte", "linear"),
    [(0, 0.0), (10, 0.0030352698), (11, 0.0033465358), (64, 0.0512694584), (128, 0.2158605001), (188, 0.5028864580)],
)
def test_srgb_is_decoded_by_the_standard(byte, linear):
    """IEC 61966-2-1: a line up to 0.04045 (byte 10), a power beyond."""
    assert decoded(np.array([byte], np.uint8))[0] == pytest.approx(linear, rel=1e-6)


@pytest.mark.parametrize(
    ("linear", "value"),
    [(0.0, 0.0), (0.0031308, 0.04044994), (0.18, 0.46135613), (0.21404114, 0.5), (1.0, 1.0), (7.0, 1.0), (-1.0, 0.0)],
)
def test_srgb_is_encoded_by_the_standard(linear: float, value: float) -> None:
    assert encoded(np.array([linear]))[0] == pytest.approx(value, abs=1e-6)


def test_encoding_undoes_decoding():
    """For all bytes to half a step and better."""
    values = np.arange(256, dtype=np.uint8)
    np.testing.assert_allclose(encoded(decoded(values)) * 255.0, values, atol=1e-2)


def test_bytes_of_linear_values_are_the_nearest():
    """Also right before and behind where each of them begins."""
    least = np.array([((k - 0.5) / 255.0 + 0.055) / 1.055 for k in range(11, 256)]) ** 2.4
    begins = np.concatenate([(np.arange(1, 11) - 0.5) / 255.0 / 12.92, least])
    random = np.random.default_rng(0).random(100_000) ** 3
    values = np.concatenate([random, begins * (1.0 - 1e-9), begins * (1.0 + 1e-9), [-1.0, -0.0, 0.0, 1.0, 1.1, 1e30]])
    np.testing.assert_array_equal(encoded_bytes(values), np.floor(255.0 * encoded(values) + 0.5).astype(np.uint8))
    assert encoded_bytes(begins * (1.0 + 1e-9)).tolist() == list(range(1, 256))
    assert encoded_bytes(np.array([np.inf])).tolist() == [255]
