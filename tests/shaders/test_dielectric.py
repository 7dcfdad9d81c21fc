"""Fresnel and Snell against textbook answers."""

import math

import numpy as np
import pytest

from shaders.fresnel import fresnel, refract

INDICES = [1.0 / 2.4, 1.0 / 1.5, 1.0 / 1.33, 1.0, 1.33, 1.5, 2.4]
ANGLES = [0.0, 0.05, 0.3, 0.6, 0.9, 1.2, 1.5, 1.57]


def arriving(angle, azimuth=0.7):
    return (math.sin(angle) * math.cos(azimuth), math.sin(angle) * math.sin(azimuth), math.cos(angle))


def is_total(angle, eta):
    return math.sin(angle) >= eta


def test_what_is_not_reflected_is_let_through():
    """Transmittance from the amplitudes of the refracted waves: R + T = 1."""
    for eta in INDICES:
        for angle in ANGLES:
            if is_total(angle, eta):
                continue
            cosine, cosine_t = math.cos(angle), math.sqrt(1.0 - (math.sin(angle) / eta) ** 2)
            perpendicular = 2.0 * cosine / (cosine + eta * cosine_t)
            parallel = 2.0 * cosine / (eta * cosine + cosine_t)
            transmittance = eta * cosine_t / cosine * 0.5 * (perpendicular**2 + parallel**2)
            assert fresnel(cosine, eta) + transmittance == pytest.approx(1.0)


def test_reflection_is_total_beyond_the_critical_angle():
    critical = math.asin(1.0 / 1.5)
    assert fresnel(math.cos(critical + 1e-6), 1.0 / 1.5) == 1.0
    assert fresnel(math.cos(1.5), 1.0 / 1.5) == 1.0
    assert 0.9 < fresnel(math.cos(critical - 1e-6), 1.0 / 1.5) < 1.0
    assert fresnel(math.cos(critical - 0.1), 1.0 / 1.5) < 0.2


@pytest.mark.parametrize("eta", INDICES)
def test_refraction_obeys_snell_in_the_plane_of_incidence(eta):
    for angle in ANGLES:
        if is_total(angle, eta):
            continue
        wo = arriving(angle)
        wi = refract(wo, eta)
        assert np.linalg.norm(wi) == pytest.approx(1.0)
        assert wi[2] < 0.0
        assert eta * math.hypot(wi[0], wi[1]) == pytest.approx(math.sin(angle))
        assert wo[0] * wi[1] - wo[1] * wi[0] == pytest.approx(0.0, abs=1e-15)
        assert wo[0] * wi[0] + wo[1] * wi[1] <= 0.0
