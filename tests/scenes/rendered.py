"""Tiny pictures of scene files, for tests that compare them with what is known of them."""

import numpy as np

import renderer

#: The drivers that show all light, by paths from the eye and by photons.
DRIVERS = ("path", "photon")
SIDE = 12


def picture(path, driver, **settings):
    """The radiance (SIDE, SIDE, 3) of a scene file."""
    given = {"size": (SIDE, SIDE), "passes": 32, "device": "cpu", "quiet": True} | settings
    return renderer.render(path, driver=driver, **given).image.astype(np.float64)  # type: ignore[arg-type]


def mean(path, driver, **settings):
    """The mean radiance (3,) of a picture of a scene file."""
    return picture(path, driver, **settings).mean(axis=(0, 1))
