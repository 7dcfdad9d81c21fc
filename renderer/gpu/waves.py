"""Waves: launches of a kernel that shades, and of kernels that trace, which the host looks after."""

# Numba's interface for extensions carries no types.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

from renderer.scene.packed_scene import PackedScene
from renderer.simd.bsdf_kinds import kinds_of
from tracecore.compilation.borrowing import Borrowed
from tracecore.compilation.lanes import Loops
from tracecore.cuda.device import Stream
from tracecore.cuda.device_arrays import DeviceArrays
from tracecore.cuda.warp_kernel import WarpKernel
from tracecore.rays import Query
from tracecore.tracers.gpu import GpuTracer

#: Waves that are launched before the host looks what became of them.
AHEAD = 8


class Shader(NamedTuple):
    """Is a kernel that shades a wave.

    function: takes the wave.
    loops: of BSDFs, that it calls.
    scratch: bytes that each warp has beside its core.
    """

    function: Callable[[Any], None]
    loops: Loops
    scratch: int


class Traced(NamedTuple):
    """Says what a wave has traced. rays, hits: on the GPU, (n, 8) and (n, 4) float32."""

    rays: Any
    hits: Any
    query: Query


class Waves:
    """Launches waves of a kind, whose arrays are on a GPU; `vacant_gpu` of the tracer is entered meanwhile.

    arrays: has the memory of the wave.
    wave: a named tuple, with the fields that the shader takes.
    traced: what is traced after it was shaded.
    """

    def __init__(
        self, tracer: GpuTracer, arrays: DeviceArrays, shader: Shader, wave: Any, traced: Sequence[Traced]
    ) -> None:
        self._device, self._arrays, self._stream = tracer.gpu, arrays, Stream(tracer.gpu)
        kind = Borrowed(numba.typeof(wave))
        self._kernel = WarpKernel(self._device, shader.function, kind, shader.loops, shader.scratch)
        self._launches = [
            [(tracer.launch_at(one.rays.ctypes.data, one.hits.ctypes.data), len(one.rays), one.query) for one in traced]
            for _ in range(AHEAD)
        ]
        self._host: dict[tuple[str, Any], Any] = {}
        self.use(wave)

    def use(self, wave: Any) -> None:
        """Has the waves to come work on a tuple of the same type."""
        self.wave, self._record = wave, self._arrays.structure(wave)

    def launch(self, count: int = AHEAD) -> None:
        """Launches waves, AHEAD at most."""
        for launches in self._launches[:count]:
            self._kernel.start(len(self.wave.active), self._record.address, self._stream)
            for launch, rays, query in launches:
                launch.start(rays, query, self._stream)

    def traced_seconds(self) -> float:
        """Returns how long the last AHEAD waves, which are done, traced. Raises `KernelError` where a kernel
        complains."""
        reports = [launch.report() for launches in self._launches for launch, _, _ in launches]
        return 1e-9 * sum(end - start for start, end, _ in reports)

    def put(self, name: str, values: Any) -> None:
        """Writes an array of the wave's."""
        there, here = getattr(self.wave, name), self._pinned(name)
        here[:] = values
        self._stream.copy_up(there.ctypes.data, here.ctypes.data, here.nbytes)

    def clear(self, *names: str) -> None:
        """Writes zeros to arrays of the wave's."""
        for name in names:
            there = getattr(self.wave, name)
            self._stream.clear(there.ctypes.data, there.nbytes)

    def fetch(self, name: str, index: int | None = None) -> Any:
        """Returns an array of the wave's, or one of its rows, once all that was launched is done. The next call
        overwrites it."""
        there = getattr(self.wave, name)
        there, here = (there, self._pinned(name)) if index is None else (there[index], self._pinned(name, index))
        self._stream.copy_down(here.ctypes.data, there.ctypes.data, here.nbytes)
        self._stream.finish(self, here)
        return here

    def _pinned(self, name: str, index: int | None = None) -> Any:
        array = getattr(self.wave, name)
        shape = array.shape if index is None else array.shape[1:]
        if (name, shape) not in self._host:
            self._host[name, shape] = self._device.pinned(shape, array.dtype)
        return self._host[name, shape]


def with_loops(scene: PackedScene, units: Mapping[int, tuple[Any, tuple[Any, ...]]]) -> tuple[PackedScene, Loops]:
    """Returns a scene that knows loops of its BSDFs by their numbers, and these loops.

    units: by column of a BSDF's loops, the unit, and Numba's types of its arguments but for the kind.
    """
    table = scene.bsdfs
    bsdfs, numbers = sorted(set(table.bsdfs.tolist())), np.zeros_like(table.loops)
    loops: list[tuple[int, Any, tuple[Any, ...]]] = []
    for which, (unit, arguments) in units.items():
        numbers[bsdfs, which] = range(len(loops), len(loops) + len(bsdfs))
        loops += [(which, unit, (kind, *arguments)) for kind in kinds_of(bsdfs)]
    return scene._replace(bsdfs=table._replace(loops=numbers)), loops
