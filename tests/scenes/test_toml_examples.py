"""Every example of a key of a scene file: what it says arrives in the scene, and does not without the key."""

import math
import tomllib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from scenes import Scene, SceneFileError
from scenes.keys.tables import Table, Triple
from scenes.keys.values import Key
from scenes.materials.metals import METALS
from scenes.toml_scene import read
from scenes.toml_scene.keys import own_tables
from scenes.toml_scene.manual import TABLES
from scenes.toml_scene.writer import toml

RED = "materials.red = {}\nmaterials.blue = {}\n"
TRIANGLE = 'shape = "triangles"\nmaterial = "red"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\n'
OBJECT = RED + "[[object]]\n" + TRIANGLE
METAL = 'materials.red = { kind = "metal" }\n[[object]]\n' + TRIANGLE
TABLE = '[[group]]\nname = "table"\ntranslate = [0, 3, 0]\n'
QUAD = "[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]"
TURNED_SKY = [[0, 0, -1], [0, 1, 0], [1, 0, 0]]
COSINE, SINE = math.cos(math.radians(30.0)), math.sin(math.radians(30.0))

#: A sky without haze.
CLEAR = "[environment.sky]\nhaze = 1000000\n"

See = Callable[[Scene], Any]


class Example(NamedTuple):
    """What is seen of a scene with the example, and in which file, if not in that of its table."""

    see: See
    seen: Any
    text: str | None = None


def bounds(time: float = 0.0, decimals: int = 6) -> See:
    """The least and the greatest coordinates of all triangles; to two decimals round shapes have theirs, as fine as
    they are seen."""

    def see(scene: Scene) -> Any:
        corners = scene.at(time).positions.reshape(-1, 3)
        return np.round([corners.min(axis=0), corners.max(axis=0)], decimals) if len(corners) else []

    return see


def corners(time: float = 0.0) -> See:
    return lambda scene: scene.at(time).positions[0]


def count(*times: float) -> See:
    """How many triangles there are at some times."""
    return lambda scene: [len(scene.at(time).positions) for time in times or (0.0,)]


def material(name: str) -> See:
    return lambda scene: getattr(scene.document.materials[0], name)


def picture(name: str) -> See:
    """Colour of the only texel of a material's texture, and how it is looked at."""

    def see(scene: Scene) -> Any:
        texture = scene.document.textures[getattr(scene.document.materials[0], name)]
        return [*texture.pixels[0, 0].tolist(), texture.wrap, texture.filter, texture.is_linear]

    return see


def light(name: str) -> See:
    return lambda scene: getattr(scene.document.lights[0], name)


def lit(name: str, time: float = 0.0) -> See:
    return lambda scene: getattr(scene.at(time).lights[0], name)


def camera(name: str) -> See:
    return lambda scene: getattr(scene.at(0.0).camera, name)


def setting(name: str) -> See:
    return lambda scene: scene.document.settings.get(name)


def texel_of_sky(row: int, column: int, decimals: int = 6) -> See:
    """Radiance of the environment in a direction."""
    return lambda scene: np.round(scene.at(0.0).environment.radiance[row, column], decimals)  # type: ignore[union-attr]


def sky(name: str) -> See:
    return lambda scene: getattr(scene.at(0.0).environment, name)


def shape_of(part: str) -> See:
    """Tension, continuity and bias of the second key of a track, before whose first one there is one more."""
    return lambda scene: getattr(scene.document.tracks["t"], part).shapes[2]


def front(scene: Scene) -> Any:
    """1 where the front side looks away from the origin, -1 where it looks at it."""
    p = scene.at(0.0).positions.astype(float)
    outward = np.einsum("ij,ij->i", np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), p.mean(axis=1))
    return np.sign(outward[np.abs(outward) > 1e-6]).mean()


def heights(scene: Scene) -> Any:
    return np.unique(np.round(scene.at(0.0).positions[..., 1], 3))


def slants(scene: Scene) -> bool:
    """Whether a normal is half way between level and upright."""
    return bool(np.isclose(np.abs(scene.at(0.0).normals[..., 1]), np.sqrt(0.5)).any())


def texel(name: str) -> list[int]:
    """Colour of the picture of that name, see `folder`."""
    return list(zlib.crc32(name.encode()).to_bytes(4, "big")[:3])


def moved(x: float, y: float, z: float) -> list[Any]:
    """Bounds of the triangle when it has been moved."""
    return [[x, y, z], [x + 1, y + 1, z]]


def of_shape(lines: str) -> str:
    return RED + '[[object]]\nmaterial = "red"\n' + lines


PLACING = {
    "parent": Example(bounds(), moved(0, 3, 0)),
    "translate": Example(bounds(), moved(0, 0.75, 0)),
    "rotate": Example(corners(), [[0, 0, 0], [COSINE, 0, -SINE], [0, 1, 0]]),
    "scale": Example(bounds(), [[0, 0, 0], [1, 2, 0]]),
    "matrix": Example(bounds(), moved(2, 0, 0)),
    "track": Example(bounds(), moved(0, 0, 4)),
}
SPIN = "[tracks.spin]\ntranslate = [{ time = 0, value = [0, 0, 4] }]\n"
FLY = "[tracks.fly]\ntranslate = [{ time = 0, value = [0, 5, 0] }]\n"
#: Keys at times 0, 1 and 2; the example is in the second.
TRACK = OBJECT + 'track = "t"\n[tracks.t]\n'
SHIFTS = (
    "translate = [{ time = 0, value = [0, 0, 0] }, { time = 1, value = [1, 0, 0] }, { time = 2, value = [5, 0, 0] }]"
)
TURNED = math.radians(40.0)
TURNS = (
    "rotate = [{ time = 0, axis = [0, 0, 1], degrees = 0 }, { time = 1, axis = [0, 0, 1], degrees = 40 }, "
    "{ time = 2, axis = [0, 1, 0], degrees = 30 }]"
)
SCALES = "scale = [{ time = 0, value = 1 }, { time = 1, value = 3 }, { time = 2, value = 4 }]"


def half_way(incoming: float) -> Example:
    """Between the first two keys of SHIFTS, by Hermite's polynomial: the slopes are half a step, and the second key's.

    Kochanek, Bartels: Interpolating Splines with Local Tension, Continuity, and Bias Control, 1984.
    """
    x = 0.5 + (0.5 - incoming) / 8.0
    return Example(bounds(0.5), moved(x, 0, 0))


SHAPING = {"tension": [0.5, 0, 0], "continuity": [0, -1, 0], "bias": [0, 0, 0.2]}

#: Of each table: a file, where in it the table is, and what is seen of its keys.
CASES: dict[str, tuple[str, tuple[str | int, ...], dict[str, Example]]] = {
    "(the file)": (
        OBJECT,
        (),
        {
            "scene": Example(bounds(), [[0, 0, 0], [0.01, 0.01, 0]]),
            "render": Example(setting("passes"), 16),
            "animation": Example(lambda scene: [scene.animation.end, scene.animation.frames], [2.0, 49]),
            "materials": Example(material("diffuse"), [0.6, 0.1, 0.1]),
            "object": Example(bounds(decimals=2), [[-1, -1, -1], [1, 1, 1]]),
            "group": Example(bounds(), moved(0, 0, 0), OBJECT + 'parent = "table"\n'),
            "light": Example(light("strength"), [60 / (4 * math.pi)] * 3),
            "environment": Example(sky("radiance"), [[[0.8, 0.9, 1.0]]], OBJECT),
            "cameras": Example(camera("eye"), [0, 1, 4]),
            "tracks": Example(count(0.0, 2.0), [1, 0], OBJECT + 'track = "blink"\n'),
        },
    ),
    "scene": (
        OBJECT + "[materials.grey]\nbackdrop = 1\n[scene]\n",
        ("scene",),
        {
            "name": Example(lambda scene: scene.name, "hall"),
            "units": Example(bounds(), [[0, 0, 0], [0.01, 0.01, 0]]),
            "up": Example(bounds(), [[0, 0, -1], [1, 0, 0]]),
            "background": Example(lambda scene: scene.at(0.0).background, [0.35, 0.45, 0.6]),
            "ambient": Example(lambda scene: scene.at(0.0).materials[2].backdrop, [0.5] * 3),
        },
    ),
    "render": (
        OBJECT + "[render]\n",
        ("render",),
        {
            "driver": Example(setting("driver"), "path"),
            "size": Example(setting("size"), [400, 300]),
            "passes": Example(setting("passes"), 64),
            "photons": Example(setting("photons"), 300_000),
            "radius": Example(setting("radius"), 0.02),
            "max_bounces": Example(setting("max_bounces"), 16),
            "exposure": Example(setting("exposure"), 0.5),
            "tone_map": Example(setting("tone_map"), "linear"),
            "seed": Example(setting("seed"), 7),
        },
    ),
    "animation": (
        OBJECT + "[animation]\nend = 5\nframes = 5\n",
        ("animation",),
        {
            "start": Example(lambda scene: scene.at_frame(0).time, 1.0),
            "end": Example(lambda scene: scene.at_frame(4).time, 4.0),
            "frames": Example(lambda scene: scene.at_frame(1).time, 5.0 / 96.0),
        },
    ),
    "materials.NAME": (
        OBJECT,
        ("materials", "red"),
        {
            "kind": Example(material("specular"), [1, 1, 1]),
            "diffuse": Example(material("diffuse"), [0.63, 0.06, 0.05]),
            "specular": Example(material("specular"), [0.9] * 3),
            "shine": Example(material("exponent"), 30),
            "mirror_share": Example(material("mirror_share"), 0.8),
            "transmittance": Example(material("transmittance"), 1),
            "ior": Example(material("ior"), 1.33),
            "roughness": Example(material("roughness"), 0.4),
            "metal": Example(material("eta"), METALS["gold"].eta, METAL),
            "eta": Example(material("eta"), [0.2, 0.9, 1.1], METAL),
            "k": Example(material("k"), [3.9, 2.5, 2.1], METAL.replace(" }", ", eta = [1, 1, 1] }")),
            "absorption": Example(material("absorption"), [12, 2, 4]),
            "scattering": Example(material("scattering"), [0.5] * 3),
            "mean_cosine": Example(material("mean_cosine"), 0.8),
            "priority": Example(material("priority"), 1),
            "emission": Example(material("emission"), [30, 28, 25]),
            "group": Example(material("group"), "window"),
            "backdrop": Example(material("backdrop"), [0.8] * 3),
            "ambient": Example(material("ambient"), [0.2] * 3),
            "texture": Example(picture("texture"), [*texel("wood.png"), "repeat", "bilinear", False]),
            "cutout": Example(picture("cutout"), [*texel("leaf.png"), "repeat", "bilinear", False]),
            "specular_texture": Example(picture("specular_map"), [*texel("scratches.png"), "repeat", "mip", False]),
            "roughness_texture": Example(picture("roughness_map"), [*texel("worn.png"), "repeat", "bilinear", True]),
            "metalness_texture": Example(picture("metalness_map"), [*texel("rust.png"), "repeat", "bilinear", True]),
            "transmission_texture": Example(
                picture("transmission_map"), [*texel("window.png"), "repeat", "bilinear", False]
            ),
            "emission_texture": Example(picture("emission_map"), [*texel("screen.png"), "repeat", "bilinear", False]),
            "normal_texture": Example(picture("normal_map"), [*texel("bricks-normal.png"), "repeat", "bilinear", True]),
            "normal_scale": Example(material("normal_scale"), 0.5),
            "bump_texture": Example(picture("bump_map"), [*texel("bricks-height.png"), "clamp", "bilinear", True]),
            "bump_scale": Example(material("bump_scale"), 0.005),
        },
    ),
    "materials.NAME.texture": (
        'materials.red = { texture = { file = "leaf.png" } }\n[[object]]\n' + TRIANGLE,
        ("materials", "red", "texture"),
        {
            "file": Example(picture("texture"), [*texel("wood.png"), "repeat", "bilinear", False]),
            "wrap": Example(picture("texture"), [*texel("leaf.png"), "clamp", "bilinear", False]),
            "filter": Example(picture("texture"), [*texel("leaf.png"), "repeat", "mip", False]),
            "linear": Example(picture("texture"), [*texel("leaf.png"), "repeat", "bilinear", True]),
        },
    ),
    "object": (
        OBJECT + TABLE + SPIN,
        ("object", 0),
        PLACING
        | {
            "name": Example(
                bounds(), [[0, 0, 0], [6, 1, 0]], OBJECT + '[[object]]\ninstance_of = "chair"\ntranslate = [5, 0, 0]\n'
            ),
            "at": Example(bounds(), [[0, 0, 0], [2.5, 1, 0]]),
            "grid": Example(bounds(), [[0, 0, 0], [2.5, 1, 1.6]]),
        },
    ),
    "rotate": (
        OBJECT + "rotate = { axis = [0, 0, 1], degrees = 90 }\n",
        ("object", 0, "rotate"),
        {
            "axis": Example(corners(), [[0, 0, 0], [0, 0, -1], [0, 1, 0]]),
            "degrees": Example(corners(), [[0, 0, 0], [COSINE, SINE, 0], [-SINE, COSINE, 0]]),
        },
    ),
    "object.grid": (
        OBJECT + "grid = { counts = [2, 2, 2], steps = [1, 1, 1] }\n",
        ("object", 0, "grid"),
        {"counts": Example(bounds(), [[0, 0, 0], [4, 1, 2]]), "steps": Example(bounds(), [[0, 0, 0], [1.5, 1, 0.8]])},
    ),
    "object with file": (
        RED + '[[object]]\nfile = "pose1.obj"\n',
        ("object", 0),
        {
            "file": Example(bounds(), [[0, 0, 2], [1, 1, 2]]),
            "mesh": Example(bounds(), [[0, 0, 12], [1, 1, 12]], of_shape('file = "meshes.npz"\n')),
            "material": Example(lambda scene: scene.at(0.0).materials[scene.at(0.0).material_ids[0]].name, "red"),
            "units": Example(bounds(), [[0, 0, 0.002], [0.001, 0.001, 0.002]]),
            "up": Example(bounds(), [[0, 2, -1], [1, 2, 0]]),
        },
    ),
    "object with instance_of": (
        OBJECT.replace('material = "red"', 'material = "blue"\nname = "chair"')
        + '[[object]]\ninstance_of = "chair"\ntranslate = [5, 0, 0]\n',
        ("object", 1),
        {
            "instance_of": Example(bounds(), [[0, 0, 0], [6, 1, 0]]),
            "material": Example(lambda scene: scene.at(0.0).material_ids, [1, 0]),
        },
    ),
    "object with shape": (
        RED + "[[object]]\n" + 'shape = "box"\nmaterial = "blue"\n',
        ("object", 0),
        {
            "shape": Example(bounds(decimals=2), [[-1, -1, -1], [1, 1, 1]]),
            "material": Example(lambda scene: scene.at(0.0).material_ids[0], 0),
        },
    ),
    'object with shape = "sphere"': (
        of_shape('shape = "sphere"\n'),
        ("object", 0),
        {
            "center": Example(bounds(decimals=2), [[-1, 0, -1], [1, 2, 1]]),
            "radius": Example(bounds(decimals=2), [[-0.5] * 3, [0.5] * 3]),
            "segments": Example(count(), [64 * 62]),
            "inside": Example(front, -1),
        },
    ),
    'object with shape = "cone"': (
        of_shape('shape = "cone"\nbase = [0, -1, 0]\napex = [0, 3, 0]\n'),
        ("object", 0),
        {
            "base": Example(bounds(decimals=2), [[-1, 0, -1], [1, 3, 1]]),
            "apex": Example(bounds(decimals=2), [[-1, -1, -1], [1, 1, 1]]),
            "base_radius": Example(bounds(decimals=2), [[-0.5, -1, -0.5], [0.5, 3, 0.5]]),
            "apex_radius": Example(lambda scene: top(scene.at(0.0).positions), [[-0.1, 3, -0.1], [0.1, 3, 0.1]]),
            "inside": Example(front, -1),
        },
    ),
    'object with shape = "cylinder"': (
        of_shape('shape = "cylinder"\nbase = [0, -1, 0]\napex = [0, 3, 0]\n'),
        ("object", 0),
        {
            "base": Example(bounds(decimals=2), [[-1, 0, -1], [1, 3, 1]]),
            "apex": Example(bounds(decimals=2), [[-1, -1, -1], [1, 1, 1]]),
            "radius": Example(bounds(decimals=2), [[-0.5, -1, -0.5], [0.5, 3, 0.5]]),
            "inside": Example(front, -1),
        },
    ),
    'object with shape = "box"': (
        of_shape('shape = "box"\n'),
        ("object", 0),
        {
            "center": Example(bounds(), [[-0.5, 0.5, -0.5], [0.5, 1.5, 0.5]]),
            "size": Example(bounds(), [[-0.5, -0.1, -0.5], [0.5, 0.1, 0.5]]),
            "bevel": Example(count(), [44]),
            "inside": Example(front, -1),
        },
    ),
    'object with shape = "lathe"': (
        of_shape('shape = "lathe"\nprofile = [[1, 0], [2, 0], [2, 1]]\nsegments = 4\n'),
        ("object", 0),
        {
            "profile": Example(bounds(), [[-0.6, 0, -0.6], [0.6, 0.2, 0.6]]),
            "closed": Example(count(), [3 * 8]),
            "segments": Example(count(), [2 * 256]),
            "crease": Example(slants, True),
        },
    ),
    'object with shape = "sheet"': (
        of_shape('shape = "sheet"\nprofile = [[1, 0], [0, 0], [0, 1]]\n'),
        ("object", 0),
        {
            "profile": Example(bounds(), [[-0.5, 0, 0], [0.5, 0.2, 0.6]]),
            "width": Example(bounds(), [[-1.25, 0, 0], [1.25, 1, 1]]),
            "crease": Example(slants, True),
        },
    ),
    "object.profile with arc": (
        of_shape('shape = "sheet"\nprofile = [[0, -9], { arc = [0, 0], steps = 4 }]\n'),
        ("object", 0, "profile", 1),
        {
            "arc": Example(bounds(), [[-0.5, -9, 0], [0.5, 1.1, 1.5]]),
            "radius": Example(bounds(), [[-0.5, -9, 0], [0.5, 0.5, 0.5]]),
            "from": Example(heights, [-9, 0, 0.383, 0.707, 0.924, 1]),
            "to": Example(heights, [-9, -1, -0.383, 0, 0.707, 0.924]),
            "steps": Example(count(), [2 * 17]),
        },
    ),
    "object.profile with curve": (
        of_shape('shape = "sheet"\nprofile = [{ curve = [[1, 0], [0, 0]] }]\n'),
        ("object", 0, "profile", 0),
        {"curve": Example(count(), [2 * 16]), "steps": Example(count(), [2 * 16])},
    ),
    'object with shape = "rectangle"': (
        of_shape('shape = "rectangle"\nedges = [[2, 0, 0], [0, 0, 3]]\n'),
        ("object", 0),
        {"corner": Example(bounds(), [[0, 1, 0], [2, 1, 3]]), "edges": Example(bounds(), [[0, 0, -1], [1, 0, 0]])},
    ),
    'object with shape = "triangles"': (
        of_shape(f'shape = "triangles"\nvertices = {QUAD}\ntriangles = [[0, 3, 1], [1, 3, 2]]\n'),
        ("object", 0),
        {
            "vertices": Example(bounds(), [[0, 0, 0], [1, 1, 0]], OBJECT + "triangles = [[0, 1, 2], [0, 2, 3]]\n"),
            "triangles": Example(corners(), [[0, 0, 0], [1, 0, 0], [1, 1, 0]]),
            "normals": Example(
                lambda scene: scene.at(0.0).normals.reshape(-1, 3),
                [[0, 0, 1]] * 6,
                of_shape(
                    f'shape = "triangles"\nvertices = {QUAD}\ntriangles = [[0, 3, 1], [1, 3, 2]]\n'
                    "normal_triangles = [[0, 0, 0], [0, 0, 0]]\n"
                ),
            ),
            "normal_triangles": Example(
                lambda scene: scene.at(0.0).normals.reshape(-1, 3),
                [[1, 0, 0]] * 6,
                of_shape(
                    f'shape = "triangles"\nvertices = {QUAD}\ntriangles = [[0, 3, 1], [1, 3, 2]]\n'
                    "normals = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]\n"
                ),
            ),
            "uvs": Example(lambda scene: scene.at(0.0).uvs[0], [[0, 1], [0, 0], [1, 1]]),
            "uv_triangles": Example(
                lambda scene: scene.at(0.0).uvs[0],
                [[0, 0], [1, 0], [1, 1]],
                of_shape(
                    f'shape = "triangles"\nvertices = {QUAD}\ntriangles = [[0, 3, 1], [1, 3, 2]]\n'
                    "uvs = [[0, 0], [1, 0], [1, 1], [0, 1]]\n"
                ),
            ),
        },
    ),
    'object with shape = "keyed"': (
        of_shape(f'shape = "keyed"\ntriangles = [[0, 3, 1], [1, 3, 2]]\nkeys = [{{ time = 0, vertices = {QUAD} }}]\n'),
        ("object", 0),
        {
            "triangles": Example(corners(), [[0, 0, 0], [1, 0, 0], [1, 1, 0]]),
            "keys": Example(
                corners(), [[0, 0, 0], [1, 0, 0], [0, 1, 0]], of_shape('shape = "keyed"\ntriangles = [[0, 1, 2]]\n')
            ),
        },
    ),
    "object.keys with shape keyed": (
        of_shape(
            'shape = "keyed"\nkeys = [{ time = 0, vertices = [[0, 0, 5], [1, 0, 5], [0, 1, 5]] }, '
            "{ time = 2, vertices = [[0, 0, 9], [1, 0, 9], [0, 1, 9]] }]\n"
        ),
        ("object", 0, "keys", 1),
        {
            "time": Example(bounds(0.5), moved(0, 0, 9)),
            "vertices": Example(bounds(2.0), moved(0, 0, 0)),
            "normals": Example(
                lambda scene: scene.at(2.0).normals[0],
                [[0, 0, 1]] * 3,
                of_shape(
                    'shape = "keyed"\nkeys = [{ time = 0, vertices = [[0, 0, 5], [0, 1, 5], [1, 0, 5]] }, '
                    "{ time = 2, vertices = [[0, 0, 9], [0, 1, 9], [1, 0, 9]] }]\n"
                ),
            ),
            "file": Example(
                bounds(2.0),
                moved(0, 0, 2),
                of_shape(
                    'shape = "keyed"\n[[object.keys]]\ntime = 0\nvertices = [[0, 0, 5], [1, 0, 5], [0, 1, 5]]\n'
                    "[[object.keys]]\ntime = 2\n"
                ),
            ),
        },
    ),
    "group": (
        OBJECT + 'parent = "outer"\n[[group]]\nname = "outer"\n' + TABLE + SPIN,
        ("group", 0),
        PLACING | {"name": Example(bounds(), moved(0, 3, 0), OBJECT + 'parent = "table"\n' + TABLE)},
    ),
    "light": (
        OBJECT + TABLE + "[[light]]\npower = 1\n",
        ("light", 0),
        {
            "kind": Example(lit("direction"), [0, 0, 1], OBJECT + "[[light]]\npower = 1\ndirection = [0, 0, 2]\n"),
            "parent": Example(lit("position"), [0, 3, 0]),
            "group": Example(lambda scene: scene.at(0.0).light_groups[0], "key"),
        },
    ),
    'light with kind = "point"': (
        OBJECT + FLY + "[[light]]\nintensity = 1\n",
        ("light", 0),
        {
            "position": Example(lit("position"), [0, 2.2, 0]),
            "intensity": Example(lit("intensity"), [20, 18, 15]),
            "power": Example(lit("intensity"), [60 / (4 * math.pi)] * 3, OBJECT + "[[light]]\n"),
            "fades": Example(light("fades"), False),
            "track": Example(lit("position"), [0, 5, 0]),
        },
    ),
    'light with kind = "spot"': (
        OBJECT + FLY + '[[light]]\nkind = "spot"\nintensity = 1\ndirection = [0, 0, 1]\n',
        ("light", 0),
        {
            "position": Example(lit("position"), [0, 2.2, 0]),
            "direction": Example(lit("direction"), [0, -1, 0]),
            "intensity": Example(lit("intensity"), [200, 180, 150]),
            "power": Example(
                lit("intensity"),
                [60 / (math.pi * (2 - math.cos(math.radians(20)) - math.cos(math.radians(30))))] * 3,
                OBJECT + '[[light]]\nkind = "spot"\ndirection = [0, 0, 1]\n',
            ),
            "inner_angle": Example(lit("inner_angle"), 15),
            "outer_angle": Example(lit("outer_angle"), 25),
            "track": Example(lit("position"), [0, 5, 0]),
        },
    ),
    'light with kind = "distant"': (
        OBJECT + '[[light]]\nkind = "distant"\nirradiance = 1\ndirection = [0, 0, 1]\n',
        ("light", 0),
        {
            "direction": Example(lit("direction"), [0, -1, 0]),
            "irradiance": Example(lit("irradiance"), [900, 850, 750]),
            "angular_radius": Example(lit("angular_radius"), 0.27),
        },
    ),
    "environment": (
        OBJECT + '[environment]\ncolor = 1\n[[group]]\nname = "orbit"\nrotate = { axis = [0, 1, 0], degrees = 90 }\n',
        ("environment",),
        {
            "image": Example(sky("radiance"), [[[1, 2, 3], [4, 5, 6]]], OBJECT + "[environment]\n"),
            "color": Example(sky("radiance"), [[[0.8, 0.9, 1.0]]]),
            "scale": Example(sky("radiance"), [[[2, 2, 2]]]),
            "sky": Example(texel_of_sky(0, 0, 1), [0.1, 0.2, 0.4], OBJECT + "[environment]\n"),
            "degrees": Example(sky("axes"), TURNED_SKY),
            "parent": Example(sky("axes"), TURNED_SKY),
            "group": Example(lambda scene: scene.at(0.0).environment_group, "sky"),
        },
    ),
    "environment.sky": (
        OBJECT + "[environment.sky]\nzenith = 0\nhorizon = 0\nglow = 1\n",
        ("environment", "sky"),
        {
            "zenith": Example(texel_of_sky(0, 0), [0.2, 0.3, 0.6], OBJECT + CLEAR),
            "horizon": Example(texel_of_sky(127, 0), [0.8, 0.7, 0.6], OBJECT + "[environment.sky]\nhaze = 0\n"),
            "ground": Example(texel_of_sky(255, 0), [0.2, 0.15, 0.1], OBJECT + CLEAR),
            "haze": Example(
                texel_of_sky(0, 0),
                [math.exp(-2.5 * math.cos(math.pi * 0.5 / 256.0))] * 3,
                OBJECT + "[environment.sky]\nzenith = 0\nhorizon = 1\n",
            ),
            "glow": Example(texel_of_sky(0, 0), [0.5 * math.cos(math.pi * 0.5 / 256.0) ** 40] * 3),
            "glow_power": Example(texel_of_sky(16, 0), [math.cos(math.pi * 16.5 / 256.0) ** 90] * 3),
            "sun": Example(texel_of_sky(64, 384, 2), [1, 1, 1]),
        },
    ),
    "cameras.NAME": (
        OBJECT + "[cameras.c]\neye = [0, 1, 4]\nforward = [1, 0, 0]\nfocus = 3\naperture = 0.5\n",
        ("cameras", "c"),
        {
            "eye": Example(camera("eye"), [0, 1.6, 4]),
            "target": Example(camera("forward"), [0, 0, -1], OBJECT + "[cameras.c]\neye = [0, 1, 4]\n"),
            "forward": Example(camera("forward"), [0, 0, -1]),
            # Of a file with z up, where up in the scene is another direction.
            "up": Example(
                camera("up"),
                [0, 0, -1],
                'scene.up = "z"\n' + OBJECT + "[cameras.c]\neye = [0, 0, 0]\nforward = [1, 0, 0]\n",
            ),
            "vertical_fov": Example(camera("vertical_fov"), 50),
            "fov_axis": Example(camera("fov_axis"), "x"),
            "near": Example(camera("near"), 0.1),
            "resolution": Example(camera("resolution"), [400, 300]),
            "aperture": Example(camera("aperture"), 0.02),
            "focus": Example(camera("focus"), 2.5),
            "height": Example(camera("height"), 3),
        },
    ),
    "tracks.NAME": (
        TRACK + SHIFTS,
        ("tracks", "t"),
        {
            "interpolation": Example(bounds(1.25), moved(2, 0, 0)),
            "translate": Example(bounds(1.0), moved(0, 1, 0)),
            "rotate": Example(corners(1.0), [[0, 0, 0], [0, 0, -1], [0, 1, 0]], TRACK),
            "scale": Example(bounds(1.0), [[0, 0, 0], [1, 2, 0]], TRACK),
            "visible": Example(count(0.4, 0.5), [1, 0], TRACK),
            "file": Example(bounds(1.0), moved(0, 4, 0), TRACK),
        },
    ),
    "tracks.NAME.translate": (
        TRACK + SHIFTS,
        ("tracks", "t", "translate", 1),
        {
            "time": Example(bounds(0.5), moved(1, 0, 0)),
            "value": Example(bounds(1.0), moved(0, 1, 0)),
            "tension": half_way(0.5 * (0.5 * 1 + 0.5 * 4)),
            "continuity": half_way(1.0 * 1 + 0.0 * 4),
            "bias": half_way(0.6 * 1 + 0.4 * 4),
        },
    ),
    "tracks.NAME.rotate": (
        TRACK + TURNS,
        ("tracks", "t", "rotate", 1),
        {
            "time": Example(
                corners(0.5),
                [[0, 0, 0], [math.cos(TURNED), math.sin(TURNED), 0], [-math.sin(TURNED), math.cos(TURNED), 0]],
            ),
            "axis": Example(lambda scene: scene.document.tracks["t"].rot.axes[2], [0, 1, 0]),  # type: ignore[union-attr]
            "degrees": Example(corners(1.0), [[0, 0, 0], [COSINE, SINE, 0], [-SINE, COSINE, 0]]),
        }
        | {name: Example(shape_of("rot"), shape) for name, shape in SHAPING.items()},
    ),
    "tracks.NAME.scale": (
        TRACK + SCALES,
        ("tracks", "t", "scale", 1),
        {"time": Example(bounds(0.5), [[0, 0, 0], [3, 3, 0]]), "value": Example(bounds(1.0), [[0, 0, 0], [1, 2, 0]])}
        | {name: Example(shape_of("scale"), shape) for name, shape in SHAPING.items()},
    ),
    "tracks.NAME.visible": (
        TRACK + "visible = [{ time = 0, value = true }, { time = 2, value = true }]",
        ("tracks", "t", "visible", 1),
        {
            "time": Example(
                count(0.4, 0.5), [1, 0], TRACK + "visible = [{ time = 0, value = true }, { time = 2, value = false }]"
            ),
            "value": Example(count(1.0, 2.0), [1, 0]),
        },
    ),
}


def of_kind(name: str) -> str:
    return OBJECT.replace(
        "red = {}",
        f'red = {{ kind = "{name}", file = "other.binary" }}' if name == "measured" else f'red = {{ kind = "{name}" }}',
    )


def own(key: Key) -> Example:
    """What a key that only materials of one kind have says: its number, its grey, or the name of its file."""
    value = tomllib.loads(f"x = {key.example}")["x"]

    def see(scene: Scene) -> Any:
        seen = scene.document.materials[0].own.get(key.name)
        return Path(seen).name if isinstance(seen, str) else seen

    return Example(see, [value] * 3 if isinstance(key.kind, Triple) else value)


CASES |= {
    table.title: (of_kind(table.title.split('"')[1]), ("materials", "red"), {key.name: own(key) for key in table.keys})
    for table in own_tables()
}


def top(positions: Any) -> Any:
    """Bounds of the corners that are highest."""
    corners = positions.reshape(-1, 3)
    highest = corners[corners[:, 1] > corners[:, 1].max() - 1e-6]
    return np.round([highest.min(axis=0), highest.max(axis=0)], 2)


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same within rounding; numbers in lists, in tuples and in arrays compare."""
    try:
        first, second = np.array(one, float), np.array(other, float)
    except (TypeError, ValueError):
        return bool(one == other)
    return first.shape == second.shape and np.allclose(first, second, atol=1e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files that the examples name."""
    path = tmp_path_factory.mktemp("examples")
    for table in TABLES:
        for key in table.keys:
            for part in key.example.split('"'):
                if part.endswith(".png"):
                    Image.new("RGB", (1, 1), tuple(texel(part))).save(path / part)
    for name in ("surface", "other"):
        (path / f"{name}.binary").write_bytes(b"measured")
    triangle = "v 0 0 {0}\nv 1 0 {0}\nv 0 1 {0}\nf 1 2 3\n"
    (path / "pose1.obj").write_text(triangle.format(2))
    (path / "chair.obj").write_text(triangle.format(2))
    corners, triangles = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]], np.int32)
    meshes = {"12": 12.0, "other": 0.0}
    arrays = {f"{name}.vertices": corners + [0.0, 0.0, z] for name, z in meshes.items()}
    tracks = {"t.translate": np.array([[0.0] * 7, [1, 0, 4, 0, 0, 0, 0]])}
    np.savez(path / "robots-tracks.npz", **tracks)  # type: ignore[arg-type]
    np.savez(path / "meshes.npz", **arrays, **{f"{name}.triangles": triangles for name in meshes})  # type: ignore[arg-type]
    return path


def table_at(tables: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        tables = tables.setdefault(step, {}) if isinstance(step, str) else tables[step]
    return tables


@pytest.mark.parametrize(
    ("table", "key"),
    [(table, key) for table in TABLES for key in table.keys],
    ids=lambda item: item.title if isinstance(item, Table) else item.name,
)
def test_what_an_example_says_arrives_in_the_scene(table: Table, key: Key, folder: Path) -> None:
    text, path, examples = CASES[table.title]
    example = examples[key.name]
    if key.example == '"sky.exr"':
        write_sky(folder / "sky.exr")

    def seen(change: Callable[[dict[str, Any]], object]) -> Any:
        tables = tomllib.loads(text if example.text is None else example.text)
        change(table_at(tables, path))
        (folder / "scene.toml").write_text("".join(f"{name} = {toml(value)}\n" for name, value in tables.items()))
        return example.see(read(folder / "scene.toml"))

    value = tomllib.loads(f"x = {key.example}")["x"]
    found = seen(lambda found: found.update({key.name: value}))
    assert alike(found, example.seen), found
    try:
        without = seen(lambda found: found.pop(key.name, None))
    except (SceneFileError, AttributeError, IndexError):
        return  # without the key there is no scene, or nothing to see
    assert not alike(without, example.seen)


def write_sky(path: Path) -> None:
    openexr = pytest.importorskip("OpenEXR", reason="the extra exr is not installed")
    pixels = np.array([[[1, 2, 3], [4, 5, 6]]], np.float32)
    with openexr.File({"type": openexr.scanlineimage}, {"RGB": openexr.Channel("RGB", pixels)}) as file:
        file.write(str(path))
