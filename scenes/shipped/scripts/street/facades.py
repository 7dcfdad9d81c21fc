"""This module paints the textures of the street: facades of several storeys, a piece of road, and roofs."""

from dataclasses import dataclass

import numpy as np

from scenes.model import Color, Doubles, Texture
from scenes.shipped.scripts.painting import painted
from scenes.shipped.scripts.robots.materials import courses, slabs, speckled

#: Metres of a storey and of a bay, which is as wide as one window and the wall beside it; bays of a picture.
STOREY, BAY, BAYS = 3.2, 3.0, 4
#: Pixels along the edges of a bay.
PIXELS = 64
#: Of a piece of road between two crossings: its length and width in metres, and the pixels of its picture.
ROAD_LENGTH, ROAD_WIDTH = 54.0, 10.0
ROAD_PIXELS = (1080, 256)


@dataclass(frozen=True)
class Facade:
    """Describes a kind of facade, whose picture is as high as the house.

    wall: sRGB encoded colour.
    window: shares of a bay's width and of a storey's height.
    awning: sRGB encoded colour above the shops.
    is_brick: whether bricks are seen.
    """

    name: str
    storeys: int
    wall: Color
    window: tuple[float, float]
    awning: Color
    is_brick: bool = False

    @property
    def height(self) -> float:
        """Returns the height of a house in metres."""
        return self.storeys * STOREY

    def picture(self) -> Doubles:
        """Paints the texture (height, width, 3), the eaves in its first row."""
        rows, columns = self.storeys * PIXELS, BAYS * PIXELS
        y, x = np.mgrid[0:rows, 0:columns] / PIXELS
        storey, bay = np.floor(y), np.floor(x)
        across, up = np.abs(x - bay - 0.5), np.abs(y - storey - 0.5)
        wide, high = 0.5 * self.window[0], 0.5 * self.window[1]
        picture = self.masonry(rows, columns)
        picture[(up > 0.47) & (storey < self.storeys - 1)] *= 0.86
        picture[(across < wide + 0.05) & (up < high + 0.04)] = np.minimum(1.15 * np.array(self.wall), 0.92)
        is_pane = (across < wide) & (up < high) & (across > 0.015)
        picture[is_pane] = glass(storey, bay, self.storeys)[is_pane]
        picture[y < 0.14] = 0.8 * np.array(self.wall)
        self.add_shops(picture, y - (self.storeys - 1), across)
        return picture

    def masonry(self, rows: int, columns: int) -> Doubles:
        """Returns the wall without its windows."""
        if not self.is_brick:
            return np.array(self.wall) + np.random.default_rng(2).normal(0.0, 0.012, (rows, columns, 1))
        bricks = courses(6, 16, self.wall, (0.66, 0.62, 0.57))
        return np.tile(bricks[::4, ::4], (self.storeys, BAYS, 1))

    def add_shops(self, picture: Doubles, down: Doubles, across: Doubles) -> None:
        """Paints the ground floor: windows to the ground below awnings with stripes.

        down: storeys below the ceiling of the ground floor, of each pixel.
        across: bays from the middle of a bay.
        """
        picture[down > 0.0] = 0.62 * np.array(self.wall)
        picture[(down > 0.3) & (down < 0.92) & (across < 0.42) & (across > 0.01)] = (0.17, 0.21, 0.24)
        picture[(down > 0.36) & (down < 0.62) & (across < 0.36) & (across > 0.02)] = (0.42, 0.38, 0.30)
        is_awning = (down > 0.1) & (down < 0.3)
        picture[is_awning] = self.awning
        picture[is_awning & (np.floor(across * 16) % 2 == 0)] = (0.86, 0.84, 0.78)


def glass(storey: Doubles, bay: Doubles, storeys: int) -> Doubles:
    """Returns the colour of the window panes at each pixel: each window has its own, and some have curtains."""
    random = np.random.default_rng(storeys)
    shade = random.uniform(0.20, 0.42, (storeys, BAYS))
    has_curtain = random.uniform(size=(storeys, BAYS)) < 0.3
    tints = shade[..., None] * np.array((0.80, 0.95, 1.10))
    tints[has_curtain] = (0.66, 0.62, 0.54)
    return tints[storey.astype(int), bay.astype(int)]


#: The kinds of facades, the lowest first.
FACADES = (
    Facade("ochre plaster", 4, (0.82, 0.70, 0.48), (0.40, 0.56), (0.55, 0.16, 0.14)),
    Facade("brick", 5, (0.64, 0.38, 0.30), (0.44, 0.60), (0.16, 0.32, 0.24), is_brick=True),
    Facade("pale stone", 6, (0.80, 0.79, 0.74), (0.36, 0.62), (0.20, 0.26, 0.48)),
    Facade("ribbon windows", 8, (0.66, 0.68, 0.69), (0.94, 0.48), (0.70, 0.46, 0.14)),
    Facade("curtain wall", 11, (0.52, 0.58, 0.62), (0.90, 0.86), (0.30, 0.30, 0.34)),
)


def road() -> Doubles:
    """Returns a piece of road between two crossings, from one (first row) to the other: asphalt with dashes along its
    middle, lines beside its kerbs, and stripes for walkers at both ends."""
    rows, columns = ROAD_PIXELS
    along, across = np.mgrid[0:rows, 0:columns] + 0.5
    along = ROAD_LENGTH * along / rows
    across = ROAD_WIDTH * (across / columns - 0.5)
    ahead = np.minimum(along, ROAD_LENGTH - along)
    picture = asphalt(rows, columns) - 0.03 * np.exp(-((np.abs(np.abs(across) - 2.5) - 0.8) ** 2) / 0.1)[..., None]
    is_dash = (np.abs(across) < 0.08) & (ahead > 6.0) & (along % 6.0 < 3.0)
    is_edge = (np.abs(np.abs(across) - 4.6) < 0.06) & (ahead > 5.0)
    is_stripe = (np.abs(ahead - 2.4) < 1.3) & (across % 1.0 < 0.5)
    is_stop = (np.abs(ahead - 4.6) < 0.2) & ((across > 0.0) == (along > ROAD_LENGTH / 2))
    picture[is_dash | is_edge | is_stripe | is_stop] = (0.84, 0.84, 0.81)
    return picture


def asphalt(rows: int, columns: int) -> Doubles:
    """Returns grey with grain (rows, columns, 3)."""
    return np.array((0.49, 0.48, 0.48)) + np.random.default_rng(3).normal(0.0, 0.03, (rows, columns, 1))


def textures() -> list[Texture]:
    """Returns the textures of facades, then those of the road, crossings, pavements and roofs."""
    pictures = {
        **{facade.name: facade.picture() for facade in FACADES},
        "road": road(),
        "crossing": asphalt(128, 128),
        "slabs": slabs(),
        "gravel": speckled((0.58, 0.57, 0.55), 0.06, 128),
    }
    return [painted(name, colors) for name, colors in pictures.items()]
