"""The pixels of a picture, in the order in which eye paths begin in them."""

import functools

import numpy as np
import numpy.typing as npt

from renderer.settings.picture import RenderSettings

#: Edge of the squares in which pixels are visited, so that neighbouring rays are traced together.
TILE = 8


@functools.lru_cache(maxsize=4)
def pixels_by_tile(width: int, height: int) -> npt.NDArray[np.int32]:
    """Returns the indices of the pixels, (width * height,) int32, row * width + column, tile after tile."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    row, column = np.ogrid[: rows * TILE, : columns * TILE]
    index = np.where((row < height) & (column < width), row * width + column, -1)
    by_tile = index.reshape(rows, TILE, columns, TILE).transpose(0, 2, 1, 3).ravel()
    return by_tile[by_tile >= 0].astype(np.int32)


def cropped(pixels: npt.NDArray[np.int32], settings: RenderSettings) -> npt.NDArray[np.int32]:
    """Returns those indices of pixels, in their order, that are in the part of the picture that is made."""
    if settings.crop is None:
        return pixels
    x, y, width, height = settings.crop
    rows, columns = np.divmod(pixels, settings.width)
    return pixels[(x <= columns) & (columns < x + width) & (y <= rows) & (rows < y + height)]
