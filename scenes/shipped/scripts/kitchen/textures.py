"""This module paints images for the kitchen's surfaces, each of one square metre, that fit together where they
repeat."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from scenes.colors.srgb import encoded
from scenes.model import Color, Doubles, Texture
from scenes.shipped.scripts.painting import painted

#: Pixels along an edge.
SIZE = 512


def noise(smoothness: tuple[float, float], seed: int) -> Doubles:
    """Returns smooth random numbers (SIZE, SIZE) with mean 0 and deviation 1 that repeat.

    smoothness: pixels along v and u.
    """
    white = np.random.default_rng(seed).normal(size=(SIZE, SIZE))
    along_v, along_u = (2.0 * np.pi * np.fft.fftfreq(SIZE) * pixels for pixels in smoothness)
    blur = np.exp(-0.5 * (along_v[:, None] ** 2 + along_u[None, :] ** 2))
    smooth = np.fft.ifft2(np.fft.fft2(white) * blur).real
    return (smooth - smooth.mean()) / smooth.std()


def image(name: str, reflectance: Doubles) -> Texture:
    """Returns linear reflectances (SIZE, SIZE, 3) as an sRGB texture."""
    linear = np.clip(reflectance, 0.04, 0.82)
    return painted(name, encoded(linear))


def blend(first: Color, second: Color, share: npt.ArrayLike) -> Doubles:
    """Returns colours (..., 3) between the first and the second. share: (...) of the second."""
    return np.array(first) + np.clip(np.asarray(share), 0.0, 1.0)[..., None] * (np.array(second) - np.array(first))


def cells(count: int, joint: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Returns which of count x count square tiles each pixel lies in, and whether it is in a joint.

    joint: share of a tile.
    """
    place = (np.arange(SIZE) + 0.5) * count / SIZE
    index, inside = np.floor(place).astype(np.int64), np.abs(place % 1.0 - 0.5)
    in_joint = inside > 0.5 - joint / 2.0
    return count * index[:, None] + index[None, :], in_joint[:, None] | in_joint[None, :]


def floor_tiles() -> Texture:
    """Returns a texture of cream and blue-grey tiles like a chessboard, each of a shade of its own."""
    count = 4
    cell, joint = cells(count, 0.025)
    dark = (cell // count + cell % count) % 2 == 1
    shade = 1.0 + 0.10 * np.random.default_rng(1).uniform(-1.0, 1.0, count**2)[cell] + 0.05 * noise((6.0, 6.0), 2)
    color = np.where(dark[..., None], (0.15, 0.22, 0.24), (0.68, 0.62, 0.52)) * shade[..., None]
    return image("floor tiles", np.where(joint[..., None], (0.33, 0.31, 0.28), color))


def wall_tiles() -> Texture:
    """Returns a texture of small off-white tiles; some are pale green."""
    count = 10
    cell, joint = cells(count, 0.05)
    rng = np.random.default_rng(3)
    green = rng.uniform(size=count**2) < 0.18
    tiles = np.where(green[:, None], (0.46, 0.62, 0.52), (0.74, 0.73, 0.68)) * rng.uniform(0.93, 1.05, (count**2, 1))
    color = tiles[cell] * (1.0 + 0.012 * noise((5.0, 5.0), 4))[..., None]
    return image("wall tiles", np.where(joint[..., None], (0.42, 0.41, 0.38), color))


def wood(name: str, light: Color, dark: Color, planks: int) -> Texture:
    """Returns a texture of planks along u with grain. The darker colour is that of the grain."""
    rows = np.arange(SIZE) * planks // SIZE
    rng = np.random.default_rng(planks)
    shift = rng.integers(0, SIZE, planks)[rows]
    columns = (np.arange(SIZE)[None, :] + shift[:, None]) % SIZE
    row = np.arange(SIZE)[:, None]
    rings = np.sin(9.0 * noise((14.0, 150.0), planks + 1)[row, columns])
    fibres = noise((0.8, 40.0), planks + 2)[row, columns]
    share = 0.40 + 0.22 * rings + 0.13 * fibres + rng.uniform(-0.16, 0.16, planks)[rows][:, None]
    edge = (np.arange(SIZE) * planks % SIZE < planks)[:, None]
    return image(name, blend(light, dark, np.where(edge, 1.0, share)))


def gingham() -> Texture:
    """Returns a texture of woven red and white squares of 4 cm."""
    stripe = (np.arange(SIZE) * 25 // SIZE % 2).astype(np.float64)
    thread = 0.05 * noise((0.7, 0.7), 5)
    return image("gingham", blend((0.74, 0.71, 0.66), (0.55, 0.07, 0.06), 0.5 * (stripe[:, None] + stripe) + thread))


def linen() -> Texture:
    """Returns a texture of pale cloth with woven bands of ochre."""
    band = (np.arange(SIZE) * 6 / SIZE % 1.0 < 0.16).astype(np.float64)
    thread = 0.04 * (noise((0.7, 6.0), 6) + noise((6.0, 0.7), 7))
    return image("linen", blend((0.74, 0.71, 0.63), (0.60, 0.38, 0.12), 0.75 * band + thread))


def oak() -> Texture:
    """Returns a texture of oiled oak in narrow planks."""
    return wood("oak", (0.62, 0.41, 0.22), (0.36, 0.20, 0.09), 8)


def walnut() -> Texture:
    """Returns a texture of dark wood."""
    return wood("walnut", (0.24, 0.13, 0.07), (0.10, 0.05, 0.03), 6)


#: What makes each texture, by its name. They take a while, so only a scene that is wanted makes them.
PAINTERS: dict[str, Callable[[], Texture]] = {
    "floor tiles": floor_tiles,
    "wall tiles": wall_tiles,
    "oak": oak,
    "walnut": walnut,
    "gingham": gingham,
    "linen": linen,
}
