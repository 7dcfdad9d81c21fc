"""Waves: launches of a kernel that shades, and of kernels that trace, which the host looks after."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from renderer.scene.light_records import LAMPS_ONE_BY_ONE
from renderer.scene.light_tree import LIGHTS_BY_TREE
from renderer.scene.materials import MAPPED_SURFACES
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import (
    HAS_MEDIA,
    IN_MEDIUM,
    INSIDE_OF_FOG,
    INSIDE_OF_SOLIDS,
    MAPPED,
    SHEET,
    STRAIGHT_THROUGH_SHEETS,
)
from renderer.simd.bsdf_kinds import kinds_of
from tracecore.compilation.borrowing import lent_type
from tracecore.compilation.gpu_code import LEAST_CUDA
from tracecore.compilation.lanes import Parts
from tracecore.compilation.unit_calls import Call, call_of
from tracecore.cuda.device import Stream
from tracecore.cuda.device_arrays import DeviceArrays
from tracecore.cuda.device_kernel import Launch, new_counters
from tracecore.cuda.warp_kernel import WarpKernel
from tracecore.rays import Query
from tracecore.tracers.gpu import GpuTracer

#: Waves that are launched together: while the host looks what became of them, as many more are under way.
AHEAD = 4


class Shader(NamedTuple):
    """Is a kernel that shades a wave.

    function: takes the wave.
    made_of: loops of BSDFs, and needs of a scene.
    scratch: bytes that each warp has beside its core.
    """

    function: Callable[[Any], None]
    made_of: Parts
    scratch: int


class Traced(NamedTuple):
    """Says what a wave has traced.

    rays, hits: on the GPU, (n, 8) and (n, 4) float32.
    to_trace: on the GPU, (1,) int64, how many of the rays there are.
    """

    rays: Any
    to_trace: Any
    hits: Any
    query: Query


class Waves:
    """Launches waves of a kind, whose arrays are on a GPU; `vacant_gpu` of the tracer is entered meanwhile.

    arrays: has the memory of the wave.
    wave: a named tuple, with the fields that the shader takes; `to_trace` of it is zero before it shades.
    traced: what is traced after it was shaded.
    """

    def __init__(
        self, tracer: GpuTracer, arrays: DeviceArrays, shader: Shader, wave: Any, traced: Sequence[Traced]
    ) -> None:
        self._device, self._arrays = tracer.gpu, arrays
        self._stream, self._fetching = Stream(tracer.gpu), Stream(tracer.gpu)
        self._kernel = WarpKernel(self._device, launch_of(shader.function, wave), shader.made_of, shader.scratch)
        counters = new_counters(self._device)

        def launch(one: Traced) -> Launch:
            rays, hits, to_trace = (array.ctypes.data for array in (one.rays, one.hits, one.to_trace))
            return tracer.launch_at(rays, hits, counters, device_count=to_trace)

        self._launches = [
            [[(launch(one), len(one.rays), one.query) for one in traced] for _ in range(AHEAD)] for _ in range(2)
        ]
        self._host: dict[tuple[str, Any], Any] = {}
        self.use(wave)

    def use(self, wave: Any) -> None:
        """Has the waves to come work on a tuple of the same type."""
        self.wave, self._record = wave, self._arrays.structure(wave)

    def until_done(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Launches waves, AHEAD at a time, until there are no rays to trace.

        Yields in how many seconds those before the last traced, how many rays they left to trace, and arrays of the
        wave's by name as they left them. Raises `KernelError` where a kernel complains.
        """
        turn, is_over = 0, False
        self.launch()
        while not is_over:
            rays, *arrays = [self._copied_down(name) for name in ("to_trace", *names)]
            self._stream.mark()
            self.launch(turn=1 - turn)
            self._stream.await_mark(self)
            is_over = not rays.any()
            reports = [launch.report() for launches in self._launches[turn] for launch, _, _ in launches]
            yield 1e-9 * sum(end - start for start, end, _ in reports), int(rays.sum()), *arrays
            turn = 1 - turn

    def launch(self, count: int = AHEAD, turn: int = 0) -> None:
        """Launches so many waves, AHEAD at most. turn: 0 or 1; those of the other one may be under way."""
        for launches in self._launches[turn][:count]:
            self.clear("to_trace")
            self._kernel.start(len(self.wave.active), self._record, self._stream)
            for launch, rays, query in launches:
                launch.start(rays, query, self._stream)

    def put(self, name: str, values: Any) -> None:
        """Writes an array of the wave's. values: of all elements, or a list of rows."""
        there, here = getattr(self.wave, name), self._pinned(name)
        if isinstance(values, list):
            for k, row in enumerate(values):
                here[k] = row
        else:
            here[:] = values
        if here.nbytes > 0:
            self._stream.copy_up(there.ctypes.data, here.ctypes.data, here.nbytes)

    def clear(self, *names: str) -> None:
        """Writes zeros to arrays of the wave's."""
        for name in names:
            there = getattr(self.wave, name)
            if there.nbytes > 0:
                self._stream.clear(there.ctypes.data, there.nbytes)

    def fetch(self, name: str) -> Any:
        """Returns an array of the wave's, once all that was launched is done. The next call overwrites it."""
        here = self._copied_down(name)
        self._stream.finish(self, here)
        return here

    def rows(self, name: str) -> Iterator[Any]:
        """Returns the rows of an array of the wave's, which nobody writes before they are all seen. While one is looked
        at, the next one comes, which overwrites the one before; other waves may be under way."""
        return self._rows(name, getattr(self.wave, name))

    def _rows(self, name: str, there: Any) -> Iterator[Any]:
        here = [self._pinned(f"{name} {k}", there[0]) for k in range(2)]

        def fetched(row: int) -> Any:
            self._device.attach()
            self._fetching.copy_down(here[row % 2].ctypes.data, there[row].ctypes.data, there[row].nbytes)
            self._fetching.finish(self, here)
            return here[row % 2]

        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(fetched, 0)
            for row in range(len(there)):
                found = coming.result()
                if row + 1 < len(there):
                    coming = thread.submit(fetched, row + 1)
                yield found

    def _copied_down(self, name: str) -> Any:
        """Returns an array of the wave's that begins to come here."""
        there, here = getattr(self.wave, name), self._pinned(name)
        if here.nbytes > 0:
            self._stream.copy_down(here.ctypes.data, there.ctypes.data, here.nbytes)
        return here

    def _pinned(self, name: str, like: Any = None) -> Any:
        """Returns memory of the host for an array of the wave's, or for one that is like another."""
        array = getattr(self.wave, name) if like is None else like
        if (name, array.shape) not in self._host:
            made = self._device.pinned(array.shape, array.dtype) if array.size else np.empty(array.shape, array.dtype)
            self._host[name, array.shape] = made
        return self._host[name, array.shape]


def launch_of(function: Callable[[Any], None], given: Any) -> Call:
    """Returns how a kernel's function is called with a named tuple."""
    return call_of(function, lent_type(given))


def why_not(scene: PackedScene, tracer: Any) -> str | None:
    """Returns why a scene cannot be shaded where a tracer traces, in words, or None where it can."""
    if not isinstance(tracer, GpuTracer):
        return "only the tracer of a GPU has one to shade on (--device gpu)"
    if tracer.gpu.driver.versions()[0] < LEAST_CUDA:
        return "kernels that shade need NVIDIA's driver 530 or a newer one"
    if len(scene.bsdfs.shaders) > 0:
        return "the scene has functions of your own that look at each hit, which only the CPU calls"
    return None


def with_loops(
    scene: PackedScene, units: Mapping[int, tuple[Any, tuple[Any, ...]]], needs: frozenset[str] = frozenset()
) -> tuple[PackedScene, Parts]:
    """Returns a scene that knows loops of its BSDFs by their numbers, and what code for it is made of.

    units: by column of a BSDF's loops, the unit, and Numba's types of its arguments but for the kind.
    needs: for what there are units beside those of the scene.
    """
    table = scene.bsdfs
    bsdfs, numbers = sorted(set(table.bsdfs.tolist())), np.zeros_like(table.loops)
    loops: list[tuple[int, Any]] = []
    for which, (unit, arguments) in units.items():
        numbers[bsdfs, which] = range(len(loops), len(loops) + len(bsdfs))
        loops += [(which, call_of(unit.py_func, kind, *arguments)) for kind in kinds_of(bsdfs)]
    return scene._replace(bsdfs=table._replace(loops=numbers)), Parts(tuple(loops), needs | needs_of(scene))


def needs_of(scene: PackedScene) -> frozenset[str]:
    """Returns for what of a scene there are units (`Unit.need`)."""
    flags = scene.photon_scene.flags
    is_there = {
        INSIDE_OF_SOLIDS: flags & HAS_MEDIA,
        INSIDE_OF_FOG: flags & IN_MEDIUM,
        MAPPED_SURFACES: flags & MAPPED,
        STRAIGHT_THROUGH_SHEETS: flags & SHEET,
        LAMPS_ONE_BY_ONE: scene.light_records.has_others,
        LIGHTS_BY_TREE: scene.light_records.tree.levels > 0,
    }
    return frozenset(name for name, there in is_there.items() if there)
