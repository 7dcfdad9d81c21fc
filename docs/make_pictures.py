"""Makes the pictures of the documentation: one of each driver, material and light, in docs/pictures.

python docs/make_pictures.py            makes all of them, on any machine, in minutes
python docs/make_pictures.py driver-   makes those whose names begin so
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

import renderer
from renderer.drivers import DRIVERS

PICTURES = Path(__file__).parent / "pictures"
SIZE = (160, 120)

#: Tables of materials, as a scene file has them.
MATERIALS = {
    "diffuse": '{ kind = "diffuse", diffuse = [0.6, 0.12, 0.1] }',
    "mirror": '{ kind = "mirror", specular = 0.9 }',
    "metal": '{ kind = "metal", metal = "gold" }',
    "metal-rough": '{ kind = "metal", metal = "copper", roughness = 0.5 }',
    "plastic": '{ kind = "plastic", diffuse = [0.08, 0.35, 0.12] }',
    "plastic-rough": '{ kind = "plastic", diffuse = [0.08, 0.35, 0.12], roughness = 0.5 }',
    "principled": '{ kind = "principled", diffuse = [0.6, 0.12, 0.1], metalness = 0.5, roughness = 0.5, coat = 1 }',
    "oren_nayar": '{ kind = "oren_nayar", diffuse = [0.6, 0.3, 0.15], roughness = 1 }',
    "anisotropic": '{ kind = "anisotropic", metal = "copper", roughness = 0.5, anisotropy = 0.9 }',
    "measured": '{ kind = "measured", file = "satin.binary" }',
    "sheen": '{ kind = "sheen", diffuse = [0.05, 0.08, 0.3], sheen = [0.7, 0.7, 0.9], roughness = 0.6 }',
    "dielectric": '{ kind = "dielectric" }',
    "dielectric-rough": '{ kind = "dielectric", roughness = 0.4 }',
    "dielectric-absorbing": '{ kind = "dielectric", absorption = [0.2, 1.4, 2.4] }',
    "dielectric-scattering": '{ kind = "dielectric", ior = 1, scattering = [3, 5, 8] }',
    "nff": '{ kind = "nff", diffuse = [0.1, 0.2, 0.5], specular = 0.4, shine = 30 }',
}

#: A room without a front wall, a ball and a block in it. The ball has the material `ball`; lights come below.
ROOM = """
[render]
size = [160, 120]

[cameras.front]
eye = [0, 1.5, 5.2]
target = [0, 0.85, 0]
vertical_fov = 36

[materials]
floor = { diffuse = 0.6 }
wall = { diffuse = [0.55, 0.6, 0.65] }
block = { diffuse = [0.75, 0.45, 0.15] }
ball = BALL

[[object]]
shape = "rectangle"
material = "floor"
corner = [-4, 0, 4]
edges = [[8, 0, 0], [0, 0, -6]]

[[object]]
shape = "rectangle"
material = "wall"
corner = [-4, 0, -2]
edges = [[8, 0, 0], [0, 4, 0]]

[[object]]
shape = "sphere"
material = "ball"
center = [-0.35, 0.8, 0.2]
radius = 0.8
segments = 128

[[object]]
shape = "box"
material = "block"
center = [1.15, 0.45, -0.2]
size = 0.9
rotate = { axis = [0, 1, 0], degrees = 25 }
"""

PANEL = """
[materials.panel]
diffuse = 0
emission = 12
EMISSION

[[object]]
shape = "triangles"
material = "panel"
vertices = [[-1.6, 3, 2], [0.4, 3, 2], [0.4, 3, 0.4], [-1.6, 3, 0.4]]
triangles = [[0, 3, 2], [0, 2, 1]]
uvs = [[0, 0], [1, 0], [1, 1], [0, 1]]
"""

BULB = """
[materials.bulb]
diffuse = 0
emission = 30

[[object]]
shape = "sphere"
material = "bulb"
center = [-1.6, 2.4, 0.8]
radius = 0.3
"""

WINDOW = """
[materials.window]
diffuse = 0
emission = 6
emission_texture = { file = "window.png", filter = "nearest" }

[[object]]
shape = "triangles"
material = "window"
vertices = [[-2.6, 0.2, 1.6], [-2.6, 0.2, -1.6], [-2.6, 2.6, -1.6], [-2.6, 2.6, 1.6]]
triangles = [[0, 1, 2], [0, 2, 3]]
uvs = [[0, 1], [1, 1], [1, 0], [0, 0]]
"""

#: The room full of fog, with a roof of boards, between which the sun comes.
FOG = """
[[light]]
kind = "distant"
direction = [0.5, -1, -0.15]
irradiance = 30

[materials.fog]
kind = "dielectric"
ior = 1
scattering = 0.12
mean_cosine = 0.2

[materials.board]
diffuse = 0.2

[[object]]
shape = "box"
material = "fog"
center = [0, 2, 1]
size = 10

[[object]]
shape = "box"
material = "board"
center = [0, 3.2, 0.5]
size = [1.7, 0.1, 7]
at = [[-5.2, 0, 0], [-3, 0, 0], [-1, 0, 0], [1, 0, 0], [3, 0, 0]]
"""

#: Lanterns above the ground, which turn from red to blue from left to right.
LANTERNS = "".join(
    f'[[light]]\nkind = "point"\nposition = [{x:.1f}, 0.7, {z:.1f}]\nintensity = [{red}, {0.25}, {0.5 - red}]\n'
    for x, red in zip((-3.0 + 0.3 * k for k in range(21)), (round(0.5 - 0.02 * k, 2) for k in range(21)), strict=True)
    for z in (-1.4 + 0.3 * k for k in range(20))
)

#: What lights the room.
LIGHTS = {
    "point": '[[light]]\nkind = "point"\nposition = [-1.6, 2.6, 2.2]\nintensity = 20\n',
    "spot": '[[light]]\nkind = "spot"\nposition = [-1.6, 3, 2.2]\ndirection = [1, -1.7, -1.7]\nintensity = 60\n'
    "inner_angle = 12\nouter_angle = 24\n",
    "distant": '[[light]]\nkind = "distant"\ndirection = [0.6, -1, -0.8]\nirradiance = 3\n',
    "distant-disc": '[[light]]\nkind = "distant"\ndirection = [0.6, -1, -0.8]\nirradiance = 3\nangular_radius = 6\n',
    "triangle": PANEL.replace("EMISSION", ""),
    "sphere": BULB,
    "picture": WINDOW,
    "many": LANTERNS,
    "fog": FOG,
    "sky": '[environment]\nimage = "sky.npy"\n',
}

#: Two light groups, and by what they are multiplied in a picture of other colours.
TWO_LAMPS = LIGHTS["spot"] + 'group = "spot"\n' + PANEL.replace("EMISSION", "")
FACTORS = ((0.3, 0.5, 1.0), (1.6, 0.8, 0.3))

#: Stops, where most of a picture is dark and the meter would take that for its subject.
EXPOSURES = {"spot": -1.0}


def main(prefix: str = "") -> None:
    """Makes the pictures whose names begin with a prefix."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        write_images(Path(folder))
        for name, scene, settings in pictures(Path(folder)):
            if name.startswith(prefix):
                picture = renderer.render(scene, device="cpu", quiet=True, **{"size": SIZE, **settings})
                save(SHOWN.get(name, lambda picture: picture.pixels)(picture), PICTURES / f"{name}.png")
                print(f"{name}: {picture.statistics['seconds.total']:.1f} s", flush=True)


def mattes(picture: renderer.Picture) -> Any:
    """Returns what covers the pixels of a picture, (height, 2 * width, 3) uint8: objects on the left, materials on the
    right, each in a color of its own."""
    numbers, shares = np.moveaxis(picture.layers["cryptomatte"], 4, 0)
    colors = np.random.default_rng(1).random((int(numbers.max()) + 1, 3))
    mixed = (colors[np.maximum(numbers, 0).astype(int)] * shares[..., None]).sum(axis=3)
    return np.rint(255.0 * np.concatenate([mixed[:, :, 0], mixed[:, :, 1]], axis=1)).astype(np.uint8)


def light_groups(picture: renderer.Picture) -> Any:
    """Returns the light of each group of a picture as a screen shows it, side by side, and in the end all of it with
    other colours, (height, n * width, 3) uint8."""
    groups = list(picture.layers.values())
    mixed = sum(group * np.float32(factor) for group, factor in zip(groups, FACTORS, strict=True))
    return np.concatenate([picture.mapping(one) for one in (picture.image, *groups, mixed)], axis=1)


def samples(picture: renderer.Picture) -> Any:
    """Returns a picture and, beside it, how many samples its pixels have, from black for the fewest to white for the
    most by their logarithm: (height, 2 * width, 3) uint8."""
    logarithms = np.log(picture.layers["samples"])
    shares = (logarithms - logarithms.min()) / np.ptp(logarithms)
    beside = np.repeat(np.rint(255.0 * shares).astype(np.uint8)[..., None], 3, axis=2)
    return np.concatenate([picture.pixels, beside], axis=1)


#: What is shown of pictures with layers.
SHOWN = {"mattes": mattes, "light-groups": light_groups, "adaptive": samples}


def save(pixels: Any, path: Path) -> None:
    """Writes a picture as small as PNG makes it."""
    Image.fromarray(pixels).save(path, optimize=True)


def pictures(folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields name, scene and settings of each picture. folder: for scene files."""
    for driver in DRIVERS:
        yield f"driver-{driver.replace('+', '-')}", "cornell", {"driver": driver, "passes": 64}
    for name, material in MATERIALS.items():
        scene = scene_file(folder / f"material-{name}.toml", material, PANEL.replace("EMISSION", ""))
        yield f"material-{name}", scene, {"driver": "photon", "passes": 64, "photons": 100_000}
    for name, lights in LIGHTS.items():
        scene = scene_file(folder / f"light-{name}.toml", MATERIALS["diffuse"], lights)
        how = {"driver": "photon", "passes": 400} if name == "fog" else {"driver": "path", "passes": 128}
        yield f"light-{name}", scene, how | {"exposure": EXPOSURES.get(name)}
    scene = scene_file(folder / "light-groups.toml", MATERIALS["plastic"], TWO_LAMPS)
    yield "light-groups", scene, {"driver": "path", "passes": 128, "layers": ("lights",)}
    noisy = {"driver": "path+caustics", "target_noise": 0.1, "adaptive": True}
    yield "adaptive", "kitchen", noisy | {"passes": 512, "size": (320, 240), "layers": ("samples",)}
    yield "mattes", "kitchen", {"driver": "ao", "passes": 1, "size": (320, 240), "layers": ("cryptomatte",)}


def scene_file(path: Path, ball: str, lights: str) -> str:
    """Writes a scene file of the room; returns its path."""
    path.write_text(ROOM.replace("BALL", ball) + lights, encoding="utf-8")
    return str(path)


def write_images(folder: Path) -> None:
    """Writes the picture of a stained window, a sky that is blue with a sun in it, and a file as of the MERL database:
    a satin that nobody has measured, blue with a highlight of gold."""
    colors = np.array([[230, 60, 40], [250, 200, 60], [60, 160, 90], [60, 90, 220]], np.uint8)
    rows, columns = np.indices((4, 4))
    window = np.kron(colors[(rows + columns) % 4], np.ones((8, 8, 1), np.uint8))
    window[::8] = window[:, ::8] = 10
    Image.fromarray(window).save(folder / "window.png")
    sky = np.zeros((64, 128, 3), np.float32)
    height = np.linspace(1.0, 0.0, 32, dtype=np.float32)[:, None, None]
    sky[:32] = (1.0 - height) * np.float32([0.9, 0.85, 0.8]) + height * np.float32([0.2, 0.4, 0.9])
    sky[14:16, 92:94] = 400.0
    np.save(folder / "sky.npy", sky)
    cosine = np.cos(((np.arange(90) + 0.5) / 90.0) ** 2 * np.pi / 2.0)[:, None]
    values = np.array([0.03, 0.06, 0.25]) / np.pi + np.array([0.9, 0.7, 0.3]) * cosine**40
    numbers = (values / (np.array([1.0, 1.15, 1.66]) / 1500.0)).T[..., None]
    shape = np.array([90, 90, 180], "<i4").tobytes()
    (folder / "satin.binary").write_bytes(shape + np.repeat(numbers, 90 * 180, axis=2).astype("<f8").tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
