"""Rays of a camera as eye paths begin with them."""

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.camera_rays import start_eye_paths
from renderer.camera_paths.loops import EYE_COUNTERS
from renderer.camera_paths.paths import EYE_COLUMNS, EYE_WORDS, SPARE_ROWS, EyeBatch
from renderer.camera_paths.task import EyeTask
from renderer.photons.searching import SEARCH_COLUMNS
from renderer.scene.packed_scene import CameraArrays
from tracecore.kernels.ring_records import COLUMN_PAD


def camera_rays(camera: CameraArrays, task: EyeTask, size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """(8, pixels), one ray through each pixel, row by row."""
    pixels = np.arange(size[0] * size[1], dtype=np.int32)
    column = len(pixels) + COLUMN_PAD
    rays, hits = np.zeros((8, column), np.float32), np.zeros((4, column), np.float32)
    paths = np.zeros((EYE_WORDS, column), np.uint32)
    spare = np.zeros((SPARE_ROWS, column), np.uint32)
    scratch, search, counters = np.zeros(1, EYE_COLUMNS), np.zeros(1, SEARCH_COLUMNS), np.zeros(EYE_COUNTERS, np.int64)
    batch = EyeBatch(rays, hits, hits[3].view(np.uint32), paths, scratch, spare, search, counters)
    start_eye_paths(camera, task, size, (pixels.ctypes.data, len(pixels)), batch, 0)
    return rays[:, : len(pixels)]
