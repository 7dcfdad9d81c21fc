"""Photon maps that are traced, sorted and kept on a GPU, for the eye paths of `renderer.gpu.eye_waves`."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.gpu.eye_kernel import MAP
from renderer.gpu.map_kernel import (
    BOUND_WARPS,
    DEAL_OUT,
    FIND_BOUNDS,
    FIND_KEYS,
    FIND_STARTS,
    KNOWN_PART,
    MOVE_PHOTONS,
    PART,
    TAKE_INDICES,
    KnownWork,
    MapWork,
    know_irradiance,
    make_map,
)
from renderer.gpu.photon_waves import PhotonWaves
from renderer.gpu.waves import launch_of
from renderer.photons.batch import PhotonTask
from renderer.photons.irradiance import CELLS_PER_RADIUS, CHANNELS, EVERY, IrradianceMap
from renderer.photons.lookup import empty_map
from renderer.photons.photon_map import PHOTON_WORDS, Grid, PhotonMap, grid_over, most_cells
from renderer.photons.store import PHOTON_COUNTERS, STORE_COLUMNS
from renderer.scene.packed_scene import PackedScene
from renderer.simd.columns import ELEMENTS, WORD_BYTES
from shaders.float32 import Longs
from tracecore.compilation.lanes import LANES, NO_PARTS
from tracecore.cuda.device import Stream
from tracecore.cuda.device_arrays import array_on_device, laid_out, put_order
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.cuda.warp_kernel import WarpKernel
from tracecore.rays import Floats
from tracecore.tracers.gpu import GpuTracer

#: Bytes of a photon in a map, with its cell.
SORTED_BYTES = WORD_BYTES * (PHOTON_WORDS + 1)

#: Passes whose photons are traced together at most, and then sorted: enough that the last bounces of the last ones are
#: little beside all. The cells of all their maps can be counted in 31 bits.
MAPS_TOGETHER = 32

#: Photons that are sorted together at most, unless those of a map are more.
ROW_PHOTONS = 1 << 24

#: Photons at which irradiance is known, and those that it comes from.
SAMPLES, OTHERS = "samples", "others"

#: Where no irradiance is to be known.
NO_RADII: Mapping[str, Sequence[float]] = {}

#: Photons in columns on a GPU, and how many they are.
Stored = tuple[Any, int]


class Unsorted(NamedTuple):
    """Says of what a map is made.

    owner: whose memory it takes.
    cell: least edge of its cells, world units.
    scale: of `PhotonMap`.
    """

    owner: tuple[Any, ...]
    given: Stored
    cell: float
    scale: float


#: What is traced for the maps of a pass, by their names.
Requests = Mapping[str, tuple[PackedScene, PhotonTask]]


class GpuMaps(NamedTuple):
    """Holds the maps of some passes.

    maps: of each pass, MAP each, by the names of its requests; none of those without light.
    counters: (passes, PHOTON_COUNTERS) int64, see `renderer.photons.store`.
    seconds, traced_seconds: wall time that photons took, and in which they were traced.
    """

    maps: list[dict[str, npt.NDArray[np.void]]]
    counters: Longs
    seconds: float
    traced_seconds: float


class PhotonMaps:
    """Traces photons of passes on a tracer's GPU, and sorts them there.

    scene, task: of some of the photons.
    passes: whose photons are under way together, at most.

    Raises `DeviceError` where the GPU has no room, and what its driver and compiler raise.
    """

    def __init__(self, tracer: GpuTracer, scene: PackedScene, task: PhotonTask, passes: int) -> None:
        self._tracer, self._memory, self._passes = tracer, dict[Any, DeviceMemory](), min(passes, MAPS_TOGETHER)
        self._knowing: WarpKernel | None = None
        self.photons = PhotonWaves(tracer, scene, task, passes)
        with tracer.vacant_gpu("cannot begin to sort photons"):
            self._stream = Stream(tracer.gpu)
            self._bounds = tracer.gpu.pinned((MAPS_TOGETHER, 6, BOUND_WARPS * LANES), np.float32)
            self._kernel = WarpKernel(tracer.gpu, launch_of(make_map, no_work()), NO_PARTS, 0)

    def of_passes(
        self,
        requests: Sequence[Requests],
        emitted: int,
        cells: Sequence[Mapping[str, float]],
        far: Mapping[str, Sequence[float]] = NO_RADII,
    ) -> GpuMaps:
        """Returns the maps of passes, which are there until others are made.

        requests: of each pass, which photons are traced for its maps; their tasks differ by their sequences alone.
        emitted: how many are sent out for each map.
        cells: of each pass, by the names of its maps, the least edge of cells, world units.
        far: by the names of photons at some of which irradiance is to be known, of each pass the radius of the search
            behind it, world units: there are two maps of them, by the names SAMPLES and OTHERS.

        Raises as `PhotonWaves.store`.
        """
        maps: list[dict[str, npt.NDArray[np.void]]] = [{} for _ in requests]
        counters, spent = np.zeros((len(requests), PHOTON_COUNTERS), np.int64), np.zeros(2)
        for first in range(0, len(requests), self._passes):
            rows = range(first, min(first + self._passes, len(requests)))
            for name, (scene, task) in requests[first].items():
                if scene.lights.power <= 0.0:
                    continue
                stored = self.photons.store(scene, [requests[row][name][1] for row in rows], range(emitted))
                counters[first : rows.stop] += stored.counters
                spent += (stored.seconds, stored.traced_seconds)
                scale, photons = task.watts / emitted, map(int, stored.photons)
                given = dict(zip(rows, zip(stored.columns, photons, strict=False), strict=True))
                if name in far:
                    for row in rows:
                        maps[row] |= self._known(row, given[row], far[name][row], scale)
                else:
                    sorted_ = self._sorted([Unsorted((row, name), given[row], cells[row][name], scale) for row in rows])
                    for row, made in zip(rows, sorted_, strict=True):
                        maps[row][name] = made
        return GpuMaps(maps, counters, *spent.tolist())

    def _sorted(self, unsorted: Sequence[Unsorted]) -> list[npt.NDArray[np.void]]:
        """Returns photons in maps, MAPS_TOGETHER of them at most."""
        there = [one for one in unsorted if one.given[1] > 0]
        with self._tracer.vacant_gpu("cannot sort photons"):
            made = iter(self._sorted_there(there) if there else [])
        return [next(made) if one.given[1] > 0 else no_map() for one in unsorted]

    def _known(self, row: int, given: Stored, radius: float, scale: float) -> dict[str, npt.NDArray[np.void]]:
        """Returns the maps of `irradiance_map`. row: whose memory they take. radius: of the search, world units."""
        stored, photons = given
        count = -(-photons // EVERY)
        if photons == 0:
            return {}
        with self._tracer.vacant_gpu("cannot deal photons out"):
            step = (count * EVERY + 2 * ELEMENTS - 1) & -ELEMENTS
            stores = [self._room(("dealt", k), WORD_BYTES * STORE_COLUMNS * step) for k in range(2)]
            work = no_work()._replace(
                stored=stored.ctypes.data,
                step=WORD_BYTES * stored.shape[1],
                photons=photons,
                keys=self._room("keys", 8 * photons),
                order=self._room("order", 8 * photons),
                columns=stores[0],
                map_step=WORD_BYTES * step,
                starts=stores[1],
            )
            self._launch(work, TAKE_INDICES, photons)
            put_order(work.keys, photons, work.order, self._stream)
            self._launch(work, DEAL_OUT, photons)
            self._stream.finish(self)
        of_samples, of_others = (array_on_device(one, (STORE_COLUMNS, step), np.uint32) for one in stores)
        scale = scale * EVERY / (EVERY - 1)  # in this order, as `irradiance_map` does
        samples, others = self._sorted(
            [
                Unsorted((row, SAMPLES), (of_samples, count), radius, 0.0),
                Unsorted((row, OTHERS), (of_others, photons - count), radius / CELLS_PER_RADIUS, scale),
            ]
        )
        samples["values"] = self._values(row, map_on_device(samples), map_on_device(others), radius)
        return {SAMPLES: samples, OTHERS: others}

    def _values(self, row: int, samples: PhotonMap, others: PhotonMap, radius: float) -> int:
        """Returns the address of the irradiance at samples."""
        size = 8 * CHANNELS * samples.photons
        address = self._room((row, "values"), size)
        with self._tracer.vacant_gpu("cannot work out irradiance"):
            values = array_on_device(address, (samples.photons, CHANNELS), np.float64)
            work = KnownWork(IrradianceMap(samples, others, values, radius))
            if self._knowing is None:
                self._knowing = WarpKernel(self._tracer.gpu, launch_of(know_irradiance, work), NO_PARTS, 0)
            if others.photons == 0:
                self._stream.clear(address, size)
            else:
                self._knowing.start(-(-samples.photons // KNOWN_PART), laid_out(work), self._stream)
                self._stream.finish(self)
        return address

    def _sorted_there(self, unsorted: list[Unsorted]) -> list[npt.NDArray[np.void]]:
        works, size = [], self._bounds[0].nbytes
        bounds = self._room("bounds", self._bounds.nbytes)
        for k, (_, (stored, photons), _, _) in enumerate(unsorted):
            step = WORD_BYTES * stored.shape[1]
            works.append(
                no_work()._replace(stored=stored.ctypes.data, step=step, photons=photons, bounds=bounds + k * size)
            )
            self._launch(works[k], FIND_BOUNDS, PART * BOUND_WARPS)
        self._stream.copy_down(self._bounds.ctypes.data, bounds, size * len(works))
        self._stream.finish(self)
        lows, highs = self._bounds[: len(works), :3].min(axis=2), self._bounds[: len(works), 3:].max(axis=2)
        works = [self._with_map(*each) for each in zip(unsorted, works, lows, highs, strict=True)]
        rows = rows_to_sort(works)
        most = max(sum(works[place].photons for place in row) for row in rows)
        keys, order = self._room("keys", 8 * most), self._room("order", 8 * most)  # those of a row are still in use
        for row in rows:
            self._sort([works[place]._replace(keys=keys, order=order) for place in row])
        self._stream.finish(self)
        return [
            map_record(work.grid, (work.columns, work.map_step // WORD_BYTES, work.starts), work.photons, one.scale)
            for one, work in zip(unsorted, works, strict=True)
        ]

    def _with_map(self, one: Unsorted, work: MapWork, low: Floats, high: Floats) -> MapWork:
        """Returns work with the grid of its map, and room for it. low, high: corners of the box around its photons."""
        grid = grid_over(low, high, one.cell, most_cells(work.photons))
        step = (work.photons + 2 * ELEMENTS - 1) & -ELEMENTS
        return work._replace(
            columns=self._room((*one.owner, "columns"), SORTED_BYTES * step),
            map_step=WORD_BYTES * step,
            starts=self._room((*one.owner, "starts"), WORD_BYTES * (grid.cells + 1)),
            grid=grid,
        )

    def _sort(self, works: list[MapWork]) -> None:
        """Launches what puts the photons of some maps in order, all of them in one row, whose keys and order they
        have."""
        in_row, before, cells = list[MapWork](), 0, 0
        for work in works:
            keys, order = work.keys + 8 * before, work.order + 8 * before
            in_row.append(work._replace(keys=keys, order=order, photons_before=before, cells_before=cells))
            before, cells = before + work.photons, cells + work.grid.cells
            self._launch(in_row[-1], FIND_KEYS, work.photons)
        put_order(works[0].keys, before, works[0].order, self._stream)
        for work in in_row:
            self._launch(work, MOVE_PHOTONS, work.photons)
            self._launch(work, FIND_STARTS, work.grid.cells + 1)

    def _launch(self, work: MapWork, stage: int, elements: int) -> None:
        """Starts a step. elements: that it looks at."""
        self._kernel.start(-(-elements // PART), laid_out(work._replace(stage=stage)), self._stream)

    def _room(self, name: Any, size: int) -> int:
        """Returns the address of memory that is kept under a name."""
        if name not in self._memory or self._memory[name].size < size:
            self._memory.pop(name, None)
            self._memory[name] = DeviceMemory(self._tracer.gpu, size + size // 8)
        return self._memory[name].address


def rows_to_sort(works: Sequence[MapWork]) -> list[list[int]]:
    """Returns which maps are sorted in one row each: to begin a sort takes longer than to sort few photons."""
    rows: list[list[int]] = []
    photons = 0
    for place, work in enumerate(works):
        photons += work.photons
        if not rows or photons > ROW_PHOTONS:
            rows.append([])
            photons = work.photons
        rows[-1].append(place)
    return rows


def no_work() -> MapWork:
    """Returns a step of what nothing takes."""
    return MapWork(*11 * (0,), empty_map().grid, 0)


def no_map() -> npt.NDArray[np.void]:
    """Returns a map without photons, in which nobody looks."""
    return map_record(empty_map().grid, (0, 0, 0), 0, 0.0)


def map_on_device(record: npt.NDArray[np.void]) -> PhotonMap:
    """Returns a map whose arrays are on a GPU. record: (1,) MAP."""
    (one,) = record
    grid = Grid(tuple(one["low"]), tuple(one["shape"]), float(one["cell"]), one["per_cell"])
    columns = array_on_device(int(one["columns"]), (PHOTON_WORDS, int(one["step"])), np.uint32)
    starts = array_on_device(int(one["starts"]), (int(grid.cells) + 1,), np.int32)
    return PhotonMap(columns, starts, grid, int(one["photons"]), float(one["scale"]))


def map_record(grid: Grid, memory: tuple[int, int, int], photons: int, scale: float) -> npt.NDArray[np.void]:
    """Returns a map, (1,) MAP. memory: addresses of its columns, `step` words each, and of the starts."""
    columns, step, starts = memory
    return np.array([(grid.low, grid.shape, grid.per_cell, step, columns, starts, grid.cell, photons, scale, 0)], MAP)
