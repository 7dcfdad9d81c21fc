"""A measured surface, as a file of the MERL database has it."""

import numpy as np

from shaders.bsdfs import measured


def middles():
    """The middles of the bins of a file of MERL: directions wi and wo, each (90, 90, 180, 3)."""
    half = (np.arange(90)[:, None, None] + 0.5) ** 2 / 90**2 * np.pi / 2.0
    difference = (np.arange(90)[None, :, None] + 0.5) / 90 * np.pi / 2.0
    azimuth = (np.arange(180)[None, None] + 0.5) / 180 * np.pi
    d = np.stack(np.broadcast_arrays(
        np.sin(difference) * np.cos(azimuth), np.sin(difference) * np.sin(azimuth), np.cos(difference)
    ), axis=-1)  # fmt: skip
    ways = []
    for sign in (1.0, -1.0):
        x, y, z = sign * d[..., 0], sign * d[..., 1], d[..., 2]
        ways.append(
            np.stack([x * np.cos(half) + z * np.sin(half), y + 0.0 * half, z * np.cos(half) - x * np.sin(half)], -1)
        )
    return ways


def phong_like(wi, wo):
    """A broad highlight over a tinted Lambert surface, (..., 3)."""
    cosine = np.maximum(0.0, wi[..., 2] * wo[..., 2] - wi[..., 0] * wo[..., 0] - wi[..., 1] * wo[..., 1])
    return np.array([0.4, 0.2, 0.1]) / np.pi + np.array([0.1, 0.2, 0.3]) * (cosine**20)[..., None]


def joined(*tables):
    """What `Seen.tables` is the address of."""
    return np.concatenate([np.array([len(tables)], np.float32), *tables])


#: What is measured is kept as long as addresses of it are.
PHONG_LIKE, PHONG_TABLE = measured.fitted(phong_like(*middles()).astype(np.float32))
ALL_TABLES = joined(PHONG_TABLE)
TABLES = ALL_TABLES.ctypes.data
