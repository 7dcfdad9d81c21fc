"""How much of what surfaces of AFF and NFF reflect is a mirror image."""

from itertools import pairwise

import pytest

from scenes import Material
from scenes.aff.mirrors import MOST, mirror_share


def share(diffuse, specular, exponent, is_textured=False, transmittance=0.0):
    material = Material(
        kind="nff", diffuse=(diffuse,) * 3, specular=(specular,) * 3, exponent=exponent, transmittance=transmittance
    )
    return mirror_share(material, is_textured=is_textured)


@pytest.mark.parametrize(
    ("diffuse", "specular", "exponent", "is_textured"),
    [(0.5, 0.5, 20.0, False), (0.3, 0.6, 50.0, False), (0.0, 0.9, 97.0, False), (0.4, 0.5, 255.0, True)],
    ids=["ball of gold", "knot", "metal", "polished floor"],
)
def test_what_pictures_show_as_mirrors(diffuse, specular, exponent, is_textured):
    assert share(diffuse, specular, exponent, is_textured) == pytest.approx(MOST)


@pytest.mark.parametrize(
    ("diffuse", "specular", "exponent", "is_textured"),
    [(0.8, 0.11, 76.5, False), (0.65, 0.03, 97.0, False), (0.7, 0.3, 30.0, True), (0.8, 0.1, 10.0, False)],
    ids=["ceiling", "door", "wall of brick", "plastic"],
)
def test_what_pictures_show_without_reflections(diffuse, specular, exponent, is_textured):
    assert share(diffuse, specular, exponent, is_textured) * specular < 0.02


def test_it_grows_smoothly_with_all_that_counts():
    by_specular = [share(0.5, 0.005 * k, 60.0) for k in range(101)]
    by_exponent = [share(0.7, 0.2, float(k)) for k in range(500)]
    by_texture = [share(0.3, 0.4, float(k), is_textured=True) for k in range(500)]
    for row in (by_specular, by_exponent, by_texture):
        steps = [after - before for before, after in pairwise(row)]
        assert min(steps) >= 0.0
        assert max(steps) < 0.1
        assert row[-1] > 0.8 > 0.01 > row[0]
