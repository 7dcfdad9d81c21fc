"""How much of each pixel its objects and materials cover: by the camera rays with which eye paths begin, through the
same points of pixels and lens."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.camera_rays import start_eye_paths
from renderer.camera_paths.loops import EYE_COUNTERS
from renderer.camera_paths.paths import EYE_COLUMNS, EYE_WORDS, SPARE_ROWS, EyeBatch
from renderer.camera_paths.task import FOLLOW, EyeTask
from renderer.photons.searching import SEARCH_COLUMNS
from renderer.scene.packed_scene import CameraArrays
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.ring_records import COLUMN_PAD
from tracecore.rays import HIT, HIT_FLOATS, MISS, RAY_FLOATS, Floats, as_records

#: Camera rays of each pixel: those of so many passes.
SAMPLES = 32

#: Objects, and materials, that are kept of a pixel, those that cover most of it.
RANKS = 6

#: So many rays at most are made at a time.
MOST_RAYS = 1 << 20


class PixelRays(NamedTuple):
    """Says which rays lead through the pixels of a picture.

    size: its width and height.
    crop: left column, upper row, width and height of the part that is wanted.
    seed, sampler: as `EyeTask` has them.
    """

    camera: CameraArrays
    size: tuple[int, int]
    crop: tuple[int, int, int, int]
    seed: int
    sampler: int

    def through(self, pixels: npt.NDArray[np.int32], sequence: int) -> Floats:
        """Returns the camera rays of a pass, (n, 8). pixels: (n,), row * width + column of the whole picture."""
        column = len(pixels) + COLUMN_PAD
        rays, hits = np.zeros((RAY_FLOATS, column), np.float32), np.zeros((HIT_FLOATS, column), np.float32)
        paths, spare = np.zeros((EYE_WORDS, column), np.uint32), np.zeros((SPARE_ROWS, column), np.uint32)
        scratch, search = np.zeros(1, EYE_COLUMNS), np.zeros(1, SEARCH_COLUMNS)
        counters = np.zeros(EYE_COUNTERS, np.int64)
        batch = EyeBatch(rays, hits, hits[3].view(np.uint32), paths, scratch, spare, search, counters)
        task = EyeTask(np.uint64(self.seed), sequence, FOLLOW, 1, 0, 0.0, self.sampler)
        start_eye_paths(self.camera, task, self.size, (pixels.ctypes.data, len(pixels)), batch, 0)
        return np.ascontiguousarray(rays[:, : len(pixels)].T)


def coverage(snapshot: Snapshot, tracer: Tracer, rays: PixelRays) -> Floats:
    """Returns which objects and materials cover most of each pixel, and how much: (height, width, 2, RANKS, 2) float32.

    Of each pixel and of its objects (0) and materials (1) there are numbers in the scene, exact up to 2^24, and shares
    of its camera rays, the greatest share first, and of equal ones the least number; -1 and 0 where there are no more.
    """
    left, upper, width, height = rays.crop
    row, column = np.mgrid[upper : upper + height, left : left + width]
    pixels = (row * rays.size[0] + column).astype(np.int32).ravel()
    found = np.empty((len(pixels), 2, RANKS, 2), np.float32)
    step = max(1, MOST_RAYS // SAMPLES)
    for first in range(0, len(pixels), step):
        some = slice(first, first + step)
        met = np.array([_met(tracer, rays.through(pixels[some], sequence)) for sequence in range(SAMPLES)])
        for which, numbers in enumerate((snapshot.object_ids, snapshot.material_ids)):
            found[some, which] = ranked(np.append(numbers, -1)[met])
    return found.reshape(height, width, 2, RANKS, 2)


def _met(tracer: Tracer, rays: Floats) -> npt.NDArray[np.int64]:
    """Returns the triangles that rays meet, (n,), -1 for none."""
    met = as_records(tracer.closest_hit(rays), HIT)["prim_id"]
    return np.where(met == MISS, -1, met.astype(np.int64))


def ranked(numbers: npt.NDArray[np.integer]) -> Floats:
    """Returns the numbers that are most of each column, and their shares: (columns, RANKS, 2) float32.

    numbers: (samples, columns), -1 for none, which is left out.
    """
    samples, columns = numbers.shape
    ordered = np.sort(numbers, axis=0)
    starts = np.ones(ordered.shape, np.bool_)  # of runs of the same number
    starts[1:] = ordered[1:] != ordered[:-1]
    ends = np.full((samples + 1, columns), samples)
    ends[:-1][starts] = np.nonzero(starts)[0]
    following = np.minimum.accumulate(ends[::-1], axis=0)[::-1][1:]  # where the next run begins
    counts = np.where(starts & (ordered >= 0), following - np.arange(samples)[:, None], 0)
    order = np.argsort(-counts, axis=0, kind="stable")[:RANKS]
    most = np.take_along_axis(counts, order, 0)
    named = np.where(most > 0, np.take_along_axis(ordered, order, 0), -1)
    found = np.empty((columns, RANKS, 2), np.float32)
    found[..., 0], found[..., 1] = named.T, most.T / samples
    return found
