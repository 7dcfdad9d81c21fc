"""This module holds the surfaces of the town and its walkers."""

import numpy as np

from scenes.model import Color, Doubles, Material, Texture
from scenes.shipped.scripts.painting import painted

#: Paint of each walker.
PAINTS: tuple[Color, ...] = (
    (0.55, 0.08, 0.06),
    (0.07, 0.22, 0.52),
    (0.68, 0.42, 0.05),
    (0.10, 0.40, 0.16),
    (0.62, 0.62, 0.58),
    (0.62, 0.22, 0.04),
    (0.05, 0.38, 0.42),
    (0.34, 0.10, 0.40),
    (0.10, 0.11, 0.13),
    (0.52, 0.46, 0.30),
)
PLASTERS: tuple[Color, ...] = ((0.66, 0.56, 0.40), (0.60, 0.36, 0.27), (0.62, 0.62, 0.58), (0.42, 0.50, 0.54))
ASPHALT_TEXTURE, SLAB_TEXTURE, BRICK_TEXTURE, TILE_TEXTURE, SKY_TEXTURE = range(5)

#: Steel, rubber, eyes and paints: the first materials of every scene in which there are walkers.
WALKER_MATERIALS = (
    Material(name="steel", kind="nff", diffuse=(0.18, 0.18, 0.19), specular=(0.58, 0.58, 0.60), exponent=110.0),
    Material(name="rubber", kind="nff", diffuse=(0.035, 0.035, 0.04), specular=(0.04, 0.04, 0.04), exponent=15.0),
    Material(name="eyes", diffuse=(0.0, 0.0, 0.0), backdrop=(0.5, 2.4, 2.8)),
    *(
        Material(name=f"paint {index}", kind="nff", diffuse=color, specular=(0.16, 0.16, 0.16), exponent=120.0)
        for index, color in enumerate(PAINTS)
    ),
)
STEEL, RUBBER, EYES, FIRST_PAINT = range(4)

MATERIALS = (
    *WALKER_MATERIALS,
    Material(name="asphalt", diffuse=(0.9, 0.9, 0.9), texture=ASPHALT_TEXTURE),
    Material(name="slabs", diffuse=(0.9, 0.9, 0.9), texture=SLAB_TEXTURE),
    Material(name="marking", diffuse=(0.72, 0.72, 0.70)),
    Material(name="brick", diffuse=(0.9, 0.9, 0.9), texture=BRICK_TEXTURE),
    Material(name="roof tiles", diffuse=(0.9, 0.9, 0.9), texture=TILE_TEXTURE),
    Material(name="window frame", diffuse=(0.72, 0.70, 0.66)),
    Material(name="window pane", kind="nff", diffuse=(0.03, 0.04, 0.05), specular=(0.30, 0.32, 0.34), exponent=900.0),
    Material(name="door", kind="nff", diffuse=(0.16, 0.07, 0.04), specular=(0.08, 0.08, 0.08), exponent=60.0),
    Material(name="iron", kind="nff", diffuse=(0.05, 0.06, 0.06), specular=(0.12, 0.12, 0.12), exponent=40.0),
    Material(name="lamp", diffuse=(0.0, 0.0, 0.0), emission=(24.0, 19.0, 12.0)),
    Material(name="bark", diffuse=(0.17, 0.11, 0.07)),
    Material(name="leaves", diffuse=(0.16, 0.30, 0.07)),
    Material(name="sun", diffuse=(0.0, 0.0, 0.0), emission=(430.0, 340.0, 235.0)),
    Material(name="zenith", diffuse=(0.0, 0.0, 0.0), emission=(0.27, 0.42, 0.68)),
    Material(name="sky", diffuse=(0.0, 0.0, 0.0), backdrop=(1.0, 1.0, 1.0), texture=SKY_TEXTURE),
    *(Material(name=f"plaster {index}", diffuse=color) for index, color in enumerate(PLASTERS)),
)
FIRST = len(WALKER_MATERIALS)
ASPHALT, SLABS, MARKING, BRICK, ROOF, FRAME, PANE, DOOR, IRON, LAMP, BARK, LEAVES = range(FIRST, FIRST + 12)
SUN, ZENITH, SKY, FIRST_PLASTER = range(FIRST + 12, FIRST + 16)


def speckled(color: Color, spread: float, size: int) -> Doubles:
    """Returns a texture (size, size, 3) of one colour with random grain."""
    grain = np.random.default_rng(1).normal(0.0, spread, (size, size, 1))
    return np.array(color) + grain


def slabs() -> Doubles:
    """Returns two by two slabs in a metre, each of its own grey."""
    y, x = np.mgrid[0:128, 0:128] / 64
    tone = 0.03 * np.sin(2.1 + 3.0 * np.floor(x) + 5.0 * np.floor(y))
    is_joint = np.minimum(x % 1, y % 1) < 0.04
    return speckled((0.62, 0.60, 0.57), 0.02, 128) + tone[..., None] - 0.22 * is_joint[..., None]


def courses(across: int, rows: int, color: Color, joint: Color) -> Doubles:
    """Returns a texture (256, 256, 3) of bricks or tiles in a metre, each row half a brick further, each brick of a
    shade of its own."""
    y, x = np.mgrid[0:256, 0:256] / 256
    row = np.floor(y * rows)
    along = (x * across + 0.5 * (row % 2)) % across
    shade = 0.06 * np.sin(12.9898 * np.floor(along) + 78.233 * row)
    is_joint = ((along % 1 < 0.04 * across / 4) | (y * rows % 1 < 0.12))[..., None]
    return np.where(is_joint, np.array(joint), np.array(color) + shade[..., None])


def sky() -> Doubles:
    """Returns a texture (256, 512, 3) from the light of the zenith, in the first row, to the horizon, with streaks of
    cloud between."""
    v, u = np.mgrid[0:1:256j, 0:512]
    u = 2.0 * np.pi * u / 512
    stops = np.array([(0.557, 0.682, 0.844), (0.60, 0.72, 0.86), (0.72, 0.80, 0.87), (0.93, 0.85, 0.72)])
    clear = np.stack([np.interp(v, (0.0, 0.4, 0.75, 1.0), channel) for channel in stops.T], axis=-1)
    billows = sum(np.sin(f * u + g * np.pi * v + p) / f for f, g, p in ((3, 9, 0.3), (5, -16, 1.7), (8, 23, 4.0)))
    cover = (
        np.clip(1.6 * billows - 0.15, 0.0, 0.8) * np.clip(4.0 * v - 0.6, 0.0, 1.0) * np.clip(4.0 - 4.0 * v, 0.0, 1.0)
    )
    return clear + cover[..., None] * (np.array((0.97, 0.93, 0.88)) - clear)


def textures() -> list[Texture]:
    """Returns the textures that the materials refer to, in the order of their indices."""
    pictures = {
        "asphalt": speckled((0.49, 0.48, 0.48), 0.035, 128),
        "slabs": slabs(),
        "brick": courses(4, 12, (0.60, 0.36, 0.28), (0.72, 0.68, 0.62)),
        "tiles": courses(4, 4, (0.52, 0.30, 0.24), (0.36, 0.20, 0.16)),
        "sky": sky(),
    }
    return [painted(name, colors) for name, colors in pictures.items()]
