"""This module builds the city: blocks of houses, all of them boxes, between streets along x and z, below a pane.

Crossings are where x and z are whole multiples of `PITCH`. The streets end at houses.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import numpy.typing as npt

from scenes.document import Part
from scenes.model import Color, Material, Mesh
from scenes.shipped.modelling import panel
from scenes.shipped.scripts.robots.materials import FIRST_PAINT, WALKER_MATERIALS
from scenes.shipped.scripts.street.facades import BAY, BAYS, FACADES, ROAD_LENGTH, ROAD_WIDTH
from scenes.shipped.scripts.surfaces import joined

#: From crossing to crossing, and blocks along a side of the city.
PITCH, BLOCKS = 64.0, 6
#: Width and height of a pavement, and metres by which a house may stand back from it.
PAVEMENT, KERB, SETBACK = 3.0, 0.12, 1.2
#: Height of the pane, half its edge and the ground's, and the share of light that it lets through.
PANE_HEIGHT, HALF, TRANSMITTANCE = 60.0, 500.0, 0.5
#: How many walk in it.
WALKERS = 5
#: Radiance of the ambient term of a white surface, W/(m^2 sr).
AMBIENT = 0.2

HALF_ROAD, HALF_CITY = ROAD_WIDTH / 2, PITCH * BLOCKS / 2
#: Where the streets are, x or z of their middles.
STREETS = tuple(PITCH * np.arange(1 - BLOCKS // 2, BLOCKS // 2))


def surface(name: str, texture: int = -1, color: Color = (0.9, 0.9, 0.9)) -> Material:
    """Returns a matt surface with its ambient term."""
    red, green, blue = color
    return Material(name=name, diffuse=color, ambient=(AMBIENT * red, AMBIENT * green, AMBIENT * blue), texture=texture)


#: Surfaces of the walkers, each of which has a paint of its own.
OF_WALKERS = WALKER_MATERIALS[: FIRST_PAINT + WALKERS]
FIRST_FACADE = len(OF_WALKERS)
ROAD, CROSSING, SLABS, ROOF, PLAIN, PANE = range(FIRST_FACADE + len(FACADES), FIRST_FACADE + len(FACADES) + 6)
NAMES = (*(facade.name for facade in FACADES), "road", "crossing", "slabs", "gravel roof")

MATERIALS = (
    *(replace(one, ambient=surface("", color=one.diffuse).ambient) for one in OF_WALKERS),
    *(surface(name, texture) for texture, name in enumerate(NAMES)),
    surface("plain", color=(0.24, 0.26, 0.18)),
    Material(name="pane", kind="nff", diffuse=(0.0, 0.0, 0.0), transmittance=TRANSMITTANCE, ior=1.0),
)


@dataclass(frozen=True)
class CityHouse:
    """Describes a house: its corners (x, z) with the least and the greatest coordinates, and its kind of facade."""

    lower: tuple[float, float]
    upper: tuple[float, float]
    facade: int

    @property
    def height(self) -> float:
        """Returns the height of its roof in metres."""
        return KERB + FACADES[self.facade].height


def houses() -> list[CityHouse]:
    """Returns all houses: four in each block, and one across each end of a street."""
    random = np.random.default_rng(11)
    return [*block_houses(random), *end_houses()]


def block_houses(random: np.random.Generator) -> Iterator[CityHouse]:
    """Yields the houses of the blocks, which stand back to back."""
    near = HALF_ROAD + PAVEMENT
    for x, z, east, south in product(range(BLOCKS), range(BLOCKS), (False, True), (False, True)):
        left, top = PITCH * x - HALF_CITY, PITCH * z - HALF_CITY
        back_x, back_z = near + random.uniform(0.0, SETBACK, 2)
        xs = (left + PITCH / 2, left + PITCH - back_x) if east else (left + back_x, left + PITCH / 2)
        zs = (top + PITCH / 2, top + PITCH - back_z) if south else (top + back_z, top + PITCH / 2)
        yield CityHouse(
            (xs[0], zs[0]), (xs[1], zs[1]), int(random.choice(len(FACADES), p=(0.2, 0.25, 0.3, 0.17, 0.08)))
        )


def end_houses() -> Iterator[CityHouse]:
    """Yields the houses at which the streets end."""
    wide, outer, inner = HALF_ROAD + PAVEMENT + SETBACK, HALF_CITY + 6.0, HALF_CITY - 12.0
    for number, (middle, side) in enumerate(product(STREETS, (-1.0, 1.0))):
        low, high = sorted((side * inner, side * outer))
        yield CityHouse((middle - wide, low), (middle + wide, high), number % 2 + 3)
        yield CityHouse((low, middle - wide), (high, middle + wide), 3)


def house_meshes(house: CityHouse) -> list[Mesh]:
    """Returns the walls of a house, each of a whole number of bays, and its roof."""
    (left, back), (right, front) = house.lower, house.upper
    corners = [(left, front), (right, front), (right, back), (left, back)]
    walls = [wall(start, end, house) for start, end in zip(corners, [*corners[1:], corners[0]], strict=True)]
    roof = panel((left, house.height, front), (right - left, 0.0, 0.0), (0.0, 0.0, back - front), ROOF)
    return [joined(walls), roof]


def wall(start: tuple[float, float], end: tuple[float, float], house: CityHouse) -> Mesh:
    """Returns a wall from one corner (x, z) to the next; its picture hangs from the eaves."""
    across = np.array([end[0] - start[0], 0.0, end[1] - start[1]])
    plain = panel((start[0], KERB, start[1]), across, (0.0, house.height - KERB, 0.0), FIRST_FACADE + house.facade)
    turns = max(1, round(float(np.linalg.norm(across)) / BAY)) / BAYS
    return replace(plain, uvs=np.array([[0.0, 1.0], [turns, 1.0], [turns, 0.0], [0.0, 0.0]]))


def slab(lower: npt.ArrayLike, upper: npt.ArrayLike) -> list[Mesh]:
    """Returns the pavement of a block between two corners (x, z): its kerbs and its top."""
    (left, back), (right, front) = np.array(lower), np.array(upper)
    corners = [(left, front), (right, front), (right, back), (left, back)]
    kerbs = [
        panel((x, 0.0, z), (next_x - x, 0.0, next_z - z), (0.0, KERB, 0.0), SLABS)
        for (x, z), (next_x, next_z) in zip(corners, [*corners[1:], corners[0]], strict=True)
    ]
    return [*kerbs, panel((left, KERB, front), (right - left, 0.0, 0.0), (0.0, 0.0, back - front), SLABS)]


def pavements() -> Mesh:
    """Returns the pavements of all blocks."""
    lows = PITCH * np.arange(BLOCKS) - HALF_CITY + HALF_ROAD
    size = PITCH - ROAD_WIDTH
    return joined([mesh for x, z in product(lows, lows) for mesh in slab((x, z), (x + size, z + size))])


def roads() -> list[Mesh]:
    """Returns the pieces of road between crossings, each with the whole picture of one, and the crossings."""
    uvs = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    half, pieces = HALF_ROAD, []
    for middle, start in product(STREETS, PITCH * np.arange(BLOCKS) - HALF_CITY + half):
        end = start + ROAD_LENGTH
        along_z = panel((middle + half, 0.0, start), (-ROAD_WIDTH, 0.0, 0.0), (0.0, 0.0, ROAD_LENGTH), ROAD)
        along_x = panel((end, 0.0, middle + half), (0.0, 0.0, -ROAD_WIDTH), (-ROAD_LENGTH, 0.0, 0.0), ROAD)
        pieces += [replace(piece, uvs=uvs) for piece in (along_z, along_x)]
    across = (ROAD_WIDTH, 0.0, 0.0), (0.0, 0.0, -ROAD_WIDTH)
    crossings = [panel((x - half, 0.0, z + half), *across, CROSSING) for x, z in product(STREETS, STREETS)]
    return [joined(pieces), joined(crossings)]


def level(height: float, material: int) -> Mesh:
    """Returns a square as large as the world that looks up."""
    return panel((-HALF, height, HALF), (2.0 * HALF, 0.0, 0.0), (0.0, 0.0, -2.0 * HALF), material)


def parts() -> list[Part]:
    """Returns everything that stands still: the ground, roads, pavements, houses, and the pane above them."""
    buildings = [mesh for house in houses() for mesh in house_meshes(house)]
    return [Part(mesh) for mesh in (level(-0.05, PLAIN), *roads(), pavements(), *buildings, level(PANE_HEIGHT, PANE))]
