"""This module paints the textures of the museum by formulas: the floor, and the pictures on the walls.

Each is a function that gives sRGB encoded colours (height, width, 3).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from scenes.model import Doubles, Texture
from scenes.shipped.scripts.painting import painted

#: Pixels of a picture: height and width.
SIZE = (192, 256)


def canvas() -> tuple[Doubles, Doubles]:
    """Returns the coordinates of the pixels, each (height, width): x to the right in -4/3 .. 4/3, y upward in -1 ..
    1."""
    height, width = SIZE
    y, x = np.mgrid[1.0 : -1.0 : height * 1j, -4 / 3 : 4 / 3 : width * 1j]
    return x, y


def blend(shares: Doubles, colors: npt.ArrayLike) -> Doubles:
    """Returns colours (height, width, 3) that run from the first to the last of (n, 3) as shares (height, width) go
    from 0 to 1."""
    stops = np.array(colors, dtype=np.float64)
    places = np.linspace(0.0, 1.0, len(stops))
    return np.stack([np.interp(shares, places, channel) for channel in stops.T], axis=-1)


def marble_floor() -> Doubles:
    """Returns two by two tiles, light and dark, with veins and narrow joints."""
    size = 512
    y, x = np.mgrid[0:size, 0:size] / size
    turbulence = sum(
        np.sin(2 * np.pi * (f * x + g * y) + phase) / f
        for f, g, phase in ((1, 2, 0.4), (2, -3, 1.9), (4, 3, 3.1), (7, -5, 0.8), (11, 9, 2.2))
    )
    veins = np.abs(np.sin(np.pi * (2 * x + 2 * y) + 1.6 * turbulence)) ** 0.35
    light = blend(veins, [(0.62, 0.58, 0.54), (0.90, 0.88, 0.84)])
    dark = blend(veins, [(0.50, 0.46, 0.42), (0.23, 0.22, 0.24)])
    is_light = ((x < 0.5) == (y < 0.5))[..., None]
    is_joint = (np.minimum(x * 2 % 1, y * 2 % 1) < 0.008)[..., None]
    return np.where(is_joint, 0.35, np.where(is_light, light, dark))


def sunset() -> Doubles:
    """Returns a sun over a sea, with its path on the waves."""
    x, y = canvas()
    sky = blend((y + 0.2) / 1.2, [(0.98, 0.75, 0.35), (0.90, 0.42, 0.30), (0.35, 0.22, 0.45), (0.12, 0.14, 0.35)])
    sun = (np.hypot(x - 0.3, y - 0.05) < 0.22)[..., None]
    waves = 0.5 + 0.5 * np.sin(9.0 / (0.25 - y - 0.2) + 14.0 * x + 3.0 * np.sin(7.0 * x))
    glitter = np.exp(-(((x - 0.3) / (0.1 - 0.35 * (y + 0.2))) ** 2)) * waves
    sea = blend(np.clip(0.35 * waves + 0.8 * glitter, 0, 1), [(0.07, 0.12, 0.28), (0.35, 0.3, 0.42), (1.0, 0.8, 0.45)])
    return np.where((y > -0.2)[..., None], np.where(sun, (1.0, 0.93, 0.7), sky), sea)


def hills() -> Doubles:
    """Returns ranges of hills, each nearer one darker and greener."""
    x, y = canvas()
    picture = blend((y + 1) / 2, [(0.95, 0.9, 0.75), (0.75, 0.87, 0.93), (0.35, 0.6, 0.82)])
    for layer in range(6):
        crest = 0.35 - 0.24 * layer + (0.08 + 0.02 * layer) * np.sin((2.3 - 0.2 * layer) * x + 2.4 * layer)
        crest += 0.025 * np.sin(11.0 * x + 5.0 * layer)
        near = layer / 5
        color = (1 - near) * np.array([0.62, 0.72, 0.80]) + near * np.array([0.10, 0.26, 0.14])
        picture = np.where((y < crest)[..., None], color, picture)
    return picture


def rectangles() -> Doubles:
    """Returns fields of plain colours between black bars."""
    x, y = canvas()
    picture = np.full((*SIZE, 3), (0.93, 0.91, 0.86))
    fields = (
        (-4 / 3, -0.55, 0.1, 1.0, (0.78, 0.12, 0.10)),
        (0.55, 4 / 3, -1.0, -0.45, (0.12, 0.22, 0.58)),
        (-0.55, 0.1, -1.0, -0.6, (0.93, 0.76, 0.15)),
        (0.9, 4 / 3, 0.55, 1.0, (0.93, 0.76, 0.15)),
    )
    for left, right, low, high, color in fields:
        picture[(x >= left) & (x <= right) & (y >= low) & (y <= high)] = color
    for place in (-0.55, 0.1, 0.55, 0.9):
        picture[np.abs(x - place) < 0.025] = 0.06
    for place in (0.1, -0.45, -0.6, 0.55):
        picture[np.abs(y - place) < 0.03] = 0.06
    return picture


def circles() -> Doubles:
    """Returns rings around several centres that shine through one another."""
    x, y = canvas()
    picture = np.full((*SIZE, 3), (0.10, 0.11, 0.16))
    rings = (
        (-0.7, 0.3, 0.55, (0.95, 0.55, 0.20)),
        (0.2, -0.25, 0.70, (0.25, 0.65, 0.75)),
        (0.85, 0.45, 0.42, (0.90, 0.30, 0.40)),
        (-0.35, -0.6, 0.30, (0.85, 0.82, 0.50)),
    )
    for center_x, center_y, radius, color in rings:
        distance = np.hypot(x - center_x, y - center_y)
        stripes = (distance < radius) * (0.35 + 0.65 * (np.sin(28.0 * distance / radius) > 0.0))
        picture = picture + stripes[..., None] * np.array(color) * (1.0 - 0.7 * picture)
    return picture


def waves() -> Doubles:
    """Returns the pattern of three waves that cross."""
    x, y = canvas()
    sources = ((-1.1, -0.7), (1.2, -0.4), (0.1, 1.1))
    height = np.sum([np.cos(17.0 * np.hypot(x - a, y - b)) for a, b in sources], axis=0) / 6.0 + 0.5
    colors = [(0.05, 0.10, 0.22), (0.10, 0.40, 0.50), (0.90, 0.88, 0.75), (0.85, 0.45, 0.20), (0.35, 0.08, 0.12)]
    return blend(height, colors)


def flower() -> Doubles:
    """Returns three rings of petals around a dark middle."""
    x, y = canvas()
    picture = blend((y + 1) / 2, [(0.10, 0.20, 0.16), (0.30, 0.46, 0.38)])
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    rings = ((0.92, 0.0, (0.95, 0.62, 0.10)), (0.70, 0.4, (0.98, 0.80, 0.25)), (0.48, 0.9, (0.85, 0.35, 0.12)))
    for reach, turn, color in rings:
        edge = reach * (0.62 + 0.38 * np.abs(np.cos(5.0 * (angle + turn))) ** 0.7)
        shade = np.clip(0.55 + 0.55 * radius / edge, 0.0, 1.0)[..., None]
        picture = np.where((radius < edge)[..., None], shade * np.array(color), picture)
    return np.where((radius < 0.2)[..., None], (0.16, 0.09, 0.06), picture)


PICTURES: tuple[Callable[[], Doubles], ...] = (sunset, hills, rectangles, circles, waves, flower)


def textures() -> list[Texture]:
    """Returns the texture of the floor, then one for each of `PICTURES`."""
    return [painted(paint.__name__, paint()) for paint in (marble_floor, *PICTURES)]
