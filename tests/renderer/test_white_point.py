"""What is taken for white: known chromaticities, and what becomes of colours."""

import numpy as np
import pytest

import scenes
from renderer import Settings
from renderer.drivers.path import PathDriver
from renderer.errors import UsageError
from renderer.film.tone_mapping import ToneMapping, adaptation, adapted, chromaticity_of
from renderer.run.plan import Plan
from scenes.colors.spectra import RGB_OF_XYZ

D65 = (0.31272, 0.32903)


def rgb_of(x: float, y: float) -> np.ndarray:
    """Linear sRGB of a chromaticity at luminance 1."""
    return RGB_OF_XYZ @ np.array([x / y, 1.0, (1.0 - x - y) / y])


@pytest.mark.parametrize(
    ("kelvin", "x", "y"),
    [(2000, 0.5267, 0.4133), (2856, 0.4476, 0.4074), (5000, 0.3451, 0.3516), (6500, 0.3135, 0.3237)],
)
def test_black_bodies(kelvin: float, x: float, y: float) -> None:
    assert chromaticity_of(kelvin) == pytest.approx((x, y), abs=8e-4)


def test_the_white_point_becomes_grey_and_d65_changes_nothing() -> None:
    lamp = rgb_of(0.4476, 0.4074)
    assert lamp.max() / lamp.min() > 2.0
    np.testing.assert_allclose(adapted(lamp, (0.4476, 0.4074)), 1.0, atol=1e-9)
    np.testing.assert_allclose(adaptation(D65), np.eye(3), atol=2e-3)
    assert (adapted(np.array([1.0, 0.0, 0.0]), (0.25, 0.25)) >= 0.0).all()
    assert len(set(ToneMapping(white_point=(0.4476, 0.4074))(lamp.reshape(1, 1, 3)).ravel().tolist())) == 1


def test_the_published_matrix_of_bradford() -> None:
    """From illuminant A to D65, in XYZ (Lindbloom: Chromatic Adaptation, 2003)."""
    xyz = np.linalg.inv(RGB_OF_XYZ) @ adaptation((0.44757, 0.40745)) @ RGB_OF_XYZ
    expected = [
        [0.8446965, -0.1179225, 0.3948108],
        [-0.1366303, 1.1041226, 0.1291718],
        [0.0798489, -0.1348999, 3.1924009],
    ]
    np.testing.assert_allclose(xyz, expected, atol=4e-3)


@pytest.mark.parametrize("value", [100.0, (0.5, 0.5), (0.05, 0.3), (0.3,), "white", True])
def test_values_that_are_none(value: object) -> None:
    with pytest.raises(UsageError, match="white_point: expected a chromaticity"):
        Settings(white_point=value)  # type: ignore[arg-type]


def test_a_draft_is_smaller_and_has_few_passes() -> None:
    snapshot = scenes.load("cornell").at(0)
    draft, chosen = (
        Plan(scene=snapshot, settings=Settings(draft=True, size=(100, 3), passes=passes), driver=PathDriver)
        for passes in (None, 9)
    )
    made = draft.driver_settings(snapshot)
    assert (made.width, made.height) == (25, 1)
    assert (draft.settings.passes, chosen.settings.passes) == (4, 9)
