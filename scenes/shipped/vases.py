"""This scene shows seven vases of one shape in two rows, to compare surfaces: gold and copper, polished and rough;
plastic; glass that is clear, that absorbs, and that is frosted. They stand in the light of a window and of a soft sky.
"""

import numpy as np

from scenes.document import Document, EnvironmentSource, Part
from scenes.evaluator import scene_of
from scenes.metals import METALS
from scenes.model import Color, Doubles, Floats, Material, Mesh
from scenes.scene import Scene
from scenes.shapes import arc, curve, grid, lathe, rectangle
from scenes.shipped.modelling import placed
from scenes.shipped.viewpoint import viewpoint

#: Metres. Vases stand clear of the table by this.
GAP = 0.0005
#: A vase: its profile outside from the foot to the lip, and how thick it is.
PROFILE = [(0.030, 0.0), (0.034, 0.004), (0.052, 0.040), (0.058, 0.075), (0.038, 0.120), (0.026, 0.145), (0.036, 0.170)]
THICKNESS = 0.004
#: Where they stand: x of the front row of four and of the back row of three, and z of the rows.
FRONT_X, BACK_X, FRONT_Z, BACK_Z = (-0.225, -0.075, 0.075, 0.225), (-0.15, 0.0, 0.15), 0.06, -0.10

#: The window, a tall square beside the table, and the table, whose far end bends up into a wall.
WINDOW_CORNER, WINDOW_WIDTH, WINDOW_HEIGHT = (-0.75, 0.20, 0.50), 0.5, 0.6
TABLE_WIDTH, TABLE_FRONT, BEND_START, BEND_RADIUS, WALL_HEIGHT = 3.0, 0.9, 0.40, 0.30, 1.2

#: Radiance of the sky overhead, at the horizon and below it, W/(m^2 sr), and its rows and columns.
ZENITH, HORIZON, GROUND = (0.22, 0.25, 0.30), (0.55, 0.52, 0.48), (0.10, 0.09, 0.08)
SKY_SIZE = (32, 64)

BLACK: Color = (0.0, 0.0, 0.0)
CLEAR: Color = (1.0, 1.0, 1.0)


def metal(name: str, element: str, roughness: float) -> Material:
    """Returns a metal with its measured index. element: what `scenes.metals` calls it."""
    eta, k = METALS[element].eta, METALS[element].k
    return Material(name=name, kind="metal", diffuse=BLACK, specular=CLEAR, roughness=roughness, eta=eta, k=k)


def glass(name: str, roughness: float = 0.0, absorption: Color = BLACK) -> Material:
    """Returns glass that may absorb light. absorption: 1/m."""
    return Material(
        name=name,
        kind="dielectric",
        diffuse=BLACK,
        specular=CLEAR,
        transmittance=1.0,
        ior=1.5,
        roughness=roughness,
        absorption=absorption,
    )


MATERIALS = (
    Material(name="table", diffuse=(0.60, 0.58, 0.55)),
    Material(name="window", diffuse=BLACK, emission=(14.0, 13.5, 12.5)),
    metal("gold", "gold", 0.15),
    glass("clear glass"),
    Material(name="red plastic", kind="plastic", diffuse=(0.55, 0.05, 0.04), ior=1.5, roughness=0.1),
    metal("brushed copper", "copper", 0.5),
    glass("frosted glass", roughness=0.35),
    glass("bottle glass", absorption=(160.0, 30.0, 110.0)),
    metal("silver", "silver", 0.0),
)
TABLE, WINDOW = 0, 1
FRONT, BACK = (2, 3, 4, 5), (6, 7, 8)

#: The camera is where somebody who sits before the table has an eye; it has a lens that is sharp on the front row.
CAMERA = viewpoint((0.05, 0.32, 0.78), (0.0, 0.072, -0.02), 31.0, near=0.01)


def scene() -> Scene:
    """Makes the scene; nothing in it moves."""
    document = Document(
        parts=[Part(table()), Part(window()), *row(FRONT, FRONT_X, FRONT_Z), *row(BACK, BACK_X, BACK_Z)],
        materials=list(MATERIALS),
        environment=EnvironmentSource(sky()),
        cameras={"front": CAMERA},
    )
    return scene_of("vases", document, "shipped")


def row(materials: tuple[int, ...], places: tuple[float, ...], z: float) -> list[Part]:
    """Returns vases side by side, one for each material."""
    return [
        part for material, x in zip(materials, places, strict=True) for part in placed([vase(material)], (x, GAP, z))
    ]


def vase(material: int) -> Mesh:
    """Returns a hollow vase about the y axis, open at the top, with a rounded lip."""
    outside = curve([(0.0, 0.0), PROFILE[0], PROFILE[0], *PROFILE[1:]], 8)
    inside = curve([(radius - THICKNESS, height) for radius, height in PROFILE[:0:-1]], 8)
    lip_center = (PROFILE[-1][0] - 0.5 * THICKNESS, PROFILE[-1][1])
    lip = arc(lip_center, 0.5 * THICKNESS, (0.0, 180.0), 8)
    return lathe(np.concatenate([outside[:-1], lip, inside[1:], [(0.0, inside[-1][1])]]), 128, material)


def table() -> Mesh:
    """Returns the table and the wall that it bends into, seen from above and in front."""
    bend = arc((-BEND_START, BEND_RADIUS), BEND_RADIUS, (270.0, 180.0), 24)
    profile = np.array([[TABLE_FRONT, 0.0], *bend, [bend[-1, 0], WALL_HEIGHT]])
    sides = np.array([-0.5, 0.5]) * TABLE_WIDTH
    return grid([[[x, height, depth] for x in sides] for depth, height in profile], TABLE)


def window() -> Mesh:
    """Returns the window, which shines towards +x."""
    return rectangle(WINDOW_CORNER, (0.0, 0.0, -WINDOW_WIDTH), (0.0, WINDOW_HEIGHT, 0.0), WINDOW)


def sky() -> Floats:
    """Returns the radiance (height, width, 3) of a soft gradient, in the frame of an environment."""
    rows, columns = SKY_SIZE
    height: Doubles = np.cos(np.pi * (np.arange(rows) + 0.5) / rows)[:, None]
    above = np.array(HORIZON) + (np.array(ZENITH) - np.array(HORIZON)) * np.sqrt(np.maximum(height, 0.0))
    gradient = np.where(height > 0.0, above, np.array(GROUND))
    return np.repeat(gradient[:, None, :], columns, axis=1).astype(np.float32)
