"""Photon maps that are traced, sorted and kept on a GPU, for the eye paths of `renderer.gpu.eye_waves`."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from renderer.gpu.eye_kernel import MAP
from renderer.gpu.map_kernel import (
    BOUND_WARPS,
    FIND_BOUNDS,
    FIND_KEYS,
    FIND_STARTS,
    MOVE_PHOTONS,
    PART,
    STAGES,
    MapWork,
    make_map,
)
from renderer.gpu.photon_waves import PhotonWaves
from renderer.photons.batch import PhotonTask
from renderer.photons.counts import PhotonCounts
from renderer.photons.lookup import empty_map
from renderer.photons.photon_map import PHOTON_WORDS, Grid, grid_over, most_cells
from renderer.photons.store import PHOTON_RAYS
from renderer.scene.packed_scene import PackedScene
from renderer.simd.columns import ELEMENTS, WORD_BYTES
from tracecore.compilation.borrowing import Borrowed
from tracecore.compilation.lanes import LANES, Parts
from tracecore.cuda.device import DeviceMemory, Stream
from tracecore.cuda.device_arrays import lay_out, put_order
from tracecore.cuda.warp_kernel import WarpKernel
from tracecore.tracers.gpu import GpuTracer

#: Bytes of a photon in a map, with its cell, and room for what the kernel takes.
MAP_BYTES, WORK_BYTES = WORD_BYTES * (PHOTON_WORDS + 1), 256


#: What is traced for the maps of a pass, by their names.
Requests = Mapping[str, tuple[PackedScene, PhotonTask]]


class GpuMaps(NamedTuple):
    """Holds the maps of a pass.

    maps: by their names, MAP each, whose memory is there until as many passes were made as are under way together.
    counts: fates of the photons that were traced for them.
    rays: how many were traced for them.
    seconds, traced_seconds: of the wall time that they took, and of what rays were traced in.
    """

    maps: Mapping[str, npt.NDArray[np.void]]
    counts: PhotonCounts
    rays: int
    seconds: float
    traced_seconds: float


class PhotonMaps:
    """Traces photons of passes on a tracer's GPU, and sorts them there.

    requests: which photons are traced for a pass, by the names of the maps.

    Raises `DeviceError` where the GPU has no room, and what its driver and compiler raise.
    """

    def __init__(self, tracer: GpuTracer, requests: Requests) -> None:
        self._tracer, self._memory = tracer, dict[Any, DeviceMemory]()
        self._photons = PhotonWaves(tracer, *max(requests.values(), key=targets_of))
        with tracer.vacant_gpu("cannot begin to sort photons"):
            self._stream = Stream(tracer.gpu)
            self._host = tracer.gpu.pinned((STAGES, WORK_BYTES), np.uint8)
            self._bounds = tracer.gpu.pinned((BOUND_WARPS * LANES, 6), np.float32)
            self._works = DeviceMemory(tracer.gpu, STAGES * WORK_BYTES)
            kind = Borrowed(numba.typeof(no_work()))
            self._kernel = WarpKernel(tracer.gpu, make_map, kind, Parts((), frozenset()), 0)

    def of_pass(self, row: int, requests: Requests, emitted: int, cell: float) -> GpuMaps:
        """Returns the maps of a pass, by the names of the requests.

        row: whose memory they take: which of the passes under way it is.
        requests: which photons are traced for each.
        emitted: how many are sent out for each.
        cell: the least edge of cells, world units.

        Raises as `PhotonWaves.store`.
        """
        made, counters, seconds, traced = {}, np.zeros(PHOTON_RAYS + 1, np.int64), 0.0, 0.0
        for name, (scene, task) in requests.items():
            scale = task.flux_unit / emitted
            if scene.lights.power <= 0.0:
                made[name] = no_map()
                continue
            stored = self._photons.store(scene, task, range(emitted))
            with self._tracer.vacant_gpu("cannot sort photons"):
                made[name] = self._sorted((row, name), stored.columns, stored.photons, cell, scale)
            counters += stored.counters[: PHOTON_RAYS + 1]
            seconds, traced = seconds + stored.seconds, traced + stored.traced_seconds
        counts = PhotonCounts(*counters[:PHOTON_RAYS].tolist())
        return GpuMaps(made, counts, int(counters[PHOTON_RAYS]), seconds, traced)

    def _sorted(self, owner: Any, stored: Any, photons: int, cell: float, scale: float) -> npt.NDArray[np.void]:
        """Returns photons, which are stored in columns, in a map. owner: whose memory it takes."""
        if photons == 0:
            return no_map()
        work = no_work()._replace(
            stored=stored.ctypes.data,
            step=WORD_BYTES * stored.shape[1],
            photons=photons,
            bounds=self._room("bounds", self._bounds.nbytes),
        )
        self._launch(work, FIND_BOUNDS, PART * BOUND_WARPS)
        self._stream.copy_down(self._bounds.ctypes.data, work.bounds, self._bounds.nbytes)
        self._stream.finish(self)
        low, high = self._bounds[:, :3].min(axis=0), self._bounds[:, 3:].max(axis=0)
        grid = grid_over(low, high, cell, most_cells(photons))
        step = (photons + 2 * ELEMENTS - 1) & -ELEMENTS
        work = work._replace(
            keys=self._room("keys", 8 * photons),
            order=self._room("order", 8 * photons),
            columns=self._room((*owner, "columns"), MAP_BYTES * step),
            map_step=WORD_BYTES * step,
            starts=self._room((*owner, "starts"), WORD_BYTES * (grid.cells + 1)),
            grid=grid,
        )
        self._launch(work, FIND_KEYS, photons)
        put_order(work.keys, photons, work.order, self._stream)
        self._launch(work, MOVE_PHOTONS, photons)
        self._launch(work, FIND_STARTS, grid.cells + 1)
        self._stream.finish(self)
        return map_record(grid, (work.columns, step, work.starts), photons, scale)

    def _launch(self, work: MapWork, stage: int, elements: int) -> None:
        """Starts a step. elements: that it looks at."""
        lay_out(work._replace(stage=stage), self._host[stage].ctypes.data)
        place = stage * WORK_BYTES
        self._stream.copy_up(self._works.address + place, self._host.ctypes.data + place, WORK_BYTES)
        self._kernel.start(-(-elements // PART), self._works.address + place, self._stream)

    def _room(self, name: Any, size: int) -> int:
        """Returns the address of memory that is kept under a name."""
        if name not in self._memory or self._memory[name].size < size:
            self._memory.pop(name, None)
            self._memory[name] = DeviceMemory(self._tracer.gpu, size + size // 8)
        return self._memory[name].address


def targets_of(request: tuple[PackedScene, PhotonTask]) -> int:
    """Returns how many targets photons are sent to."""
    return len(request[0].photon_scene.projection.targets)


def no_work() -> MapWork:
    """Returns a step of what nothing takes."""
    return MapWork(*9 * (0,), empty_map().grid, 0)


def no_map() -> npt.NDArray[np.void]:
    """Returns a map without photons, in which nobody looks."""
    return map_record(empty_map().grid, (0, 0, 0), 0, 0.0)


def map_record(grid: Grid, memory: tuple[int, int, int], photons: int, scale: float) -> npt.NDArray[np.void]:
    """Returns a map, (1,) MAP. memory: addresses of its columns, `step` words each, and of the starts."""
    columns, step, starts = memory
    return np.array([(grid.low, grid.shape, grid.per_cell, step, columns, starts, grid.cell, photons, scale)], MAP)
