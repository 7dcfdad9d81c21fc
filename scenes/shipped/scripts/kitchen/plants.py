"""This module builds potted plants."""

import math

import numpy as np

from scenes.document import Part
from scenes.meshes.shapes import grid, lathe
from scenes.model import Mesh
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.surfaces import placed

#: Degrees from one leaf to the next (Vogel: A Better Way to Construct the Sunflower Head, 1979).
GOLDEN_ANGLE = 137.508


def potted(offset: tuple[float, float, float], height: float, leaves: int) -> list[Part]:
    """Returns a plant whose leaves stand around it in some tiers, steep ones in the middle.

    height: of the pot, metres.
    """
    tiers = [leaf(1.6 * height, slope) for slope in (75.0, 58.0, 38.0, 18.0)]
    parts = placed(pot(height), offset)
    for k in range(leaves):
        foot = np.array(offset) + [0.0, (0.84 + 0.10 * (k % 3)) * height, 0.0]
        parts += placed([tiers[4 * k // leaves]], foot, GOLDEN_ANGLE * k)
    return parts


def pot(height: float) -> list[Mesh]:
    """Returns a clay pot with a thick rim, filled with soil."""
    outline = np.array(
        [[0.0, 0.0], [0.32, 0.0], [0.42, 0.76], [0.47, 0.76], [0.49, 1.0], [0.43, 1.0], [0.40, 0.80], [0.0, 0.80]]
    )
    soil = np.array([[0.0, 0.81], [0.405, 0.81], [0.405, 0.86], [0.2, 0.88], [0.0, 0.88]])
    return [lathe(height * outline, 32, of("terracotta")), lathe(height * soil, 24, of("soil"))]


def leaf(length: float, degrees: float) -> Mesh:
    """Returns a bent leaf on its stalk, outward along +x from the origin. degrees: its slope at the foot."""
    t = np.linspace(0.0, 1.0, 8)
    slope = np.radians(degrees - 55.0 * t**1.5)
    steps = length / 7.0 * np.stack([np.cos(slope), np.sin(slope)], axis=-1)
    middle = np.cumsum(np.vstack([[0.0, 0.0], steps[:-1]]), axis=0)
    width = length * (0.015 + 0.17 * np.sin(math.pi * np.clip((t - 0.22) / 0.78, 0.0, 1.0)) ** 0.8)
    rows = []
    for side in np.linspace(-1.0, 1.0, 5):
        lift = 0.35 * width * side**2
        rows.append(
            np.stack([middle[:, 0] - lift * np.sin(slope), middle[:, 1] + lift * np.cos(slope), -side * width], axis=-1)
        )
    return grid(rows, of("leaf"), 80.0)
