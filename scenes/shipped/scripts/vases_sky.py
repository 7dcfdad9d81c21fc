"""This script makes the sky of the vases, a soft gradient: `python -m scenes.shipped.scripts.vases_sky` writes
`vases-sky.npy` beside the scene."""

import numpy as np

from scenes.shipped import FOLDER

#: Radiance overhead, at the horizon and below it, W/(m^2 sr), and the rows and columns of the image.
ZENITH, HORIZON, GROUND = np.array([[0.22, 0.25, 0.30], [0.55, 0.52, 0.48], [0.10, 0.09, 0.08]])
ROWS, COLUMNS = 32, 64

height = np.cos(np.pi * (np.arange(ROWS) + 0.5) / ROWS)[:, None]
above = HORIZON + (ZENITH - HORIZON) * np.sqrt(np.maximum(height, 0.0))
gradient = np.where(height > 0.0, above, GROUND)
sky = np.repeat(gradient[:, None, :], COLUMNS, axis=1).astype(np.float32)
np.save(FOLDER / "vases-sky.npy", sky)
