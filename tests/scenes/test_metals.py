"""Metals by their names: what they reflect is what others found of such measurements."""

import pytest

from scenes.materials.metals import METALS
from scenes.materials.microfacets import metal_normal_reflectance

#: Linear colours at normal incidence. Lagarde: Feeding a Physically Based Shading Model, 2011; they are cut off at 1.
LAGARDE = {
    "aluminium": (0.913, 0.921, 0.925),
    "chromium": (0.550, 0.556, 0.554),
    "copper": (0.955, 0.637, 0.538),
    "gold": (1.0, 0.766, 0.336),
    "silver": (0.972, 0.960, 0.915),
}


@pytest.mark.parametrize("name", LAGARDE)
def test_colors_of_metals(name):
    assert metal_normal_reflectance(METALS[name].eta, METALS[name].k) == pytest.approx(LAGARDE[name], abs=0.065)
