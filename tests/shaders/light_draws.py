"""What tests of lights share: samples of their light at a point, the photons that they emit, and a test of means."""

import math

import numpy as np

from shaders.compilation import compiled
from shaders.lights.registry import choose, emit_from, sample_light
from shaders.random import random4


@compiled
def sampled(lights, point, count):
    """(count, 8): direction, distance, pdf, irradiance across the direction."""
    rows = np.empty((count, 8))
    for i in range(count):
        u = random4(np.uint64(2), 0, i, 0, 0)
        light = sample_light(lights, point, (u[0], u[1], u[2]))
        for axis in range(3):
            rows[i, axis] = light.direction[axis]
            rows[i, 5 + axis] = light.irradiance[axis]
        rows[i, 3], rows[i, 4] = light.distance, light.pdf_solid_angle
    return rows


@compiled
def emitted(lights, index, count):
    """(count, 9): origin, direction, flux. index: of a light, or -1 for all of them."""
    rows = np.empty((count, 9))
    for i in range(count):
        light = index if index >= 0 else choose(lights, random4(np.uint64(4), 0, i, 0, 0)[0])
        photon = emit_from(lights, light, random4(np.uint64(4), 0, i, 0, 1))
        for axis in range(3):
            rows[i, axis] = photon.origin[axis]
            rows[i, 3 + axis] = photon.direction[axis]
            rows[i, 6 + axis] = photon.flux[axis]
    return rows


def assert_mean(values, expected):
    """The mean of (n, ...) values is as expected within 4 sigma."""
    found, sigma = values.mean(axis=0), values.std(axis=0) / math.sqrt(len(values))
    assert np.all(np.abs(found - expected) <= 4.0 * sigma + 1e-7 * np.abs(expected) + 1e-9), (found, expected)
