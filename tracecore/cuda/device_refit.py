"""Fits a packed tree on a GPU to triangles that have moved, where it lies, however it was built."""

from typing import Any

import numpy as np

from tracecore.cuda.device import CudaDevice, Stream
from tracecore.cuda.device_memory import DeviceMemory
from tracecore.cuda.device_program import DeviceProgram
from tracecore.kernels.refit_records import PROGRAMS

INDEX_BYTES, BOUNDS_BYTES = 4, 24

#: Pieces of memory that all moves share.
USED = 4

#: Blocks that look for the largest coordinate at most.
MEASURE_BLOCKS = 1024


class DeviceRefit:
    """Fits one tree, time and again.

    device: where it lies; the calling thread is attached to it.
    layout: name of its layout, one of `refit_records.PROGRAMS`.
    scene: memory of its nodes and of its triangles.
    counts: of nodes, and of triangles.
    """

    def __init__(
        self, device: CudaDevice, layout: str, scene: tuple[DeviceMemory, DeviceMemory], counts: tuple[int, int]
    ) -> None:
        self._stream, self._scene = Stream(device), scene
        self._program = DeviceProgram(device, PROGRAMS[layout])
        self._nodes, self._triangles = counts
        size = self._nodes * (2 * INDEX_BYTES + BOUNDS_BYTES)
        device.check_room(self._triangles, "triangles that a GPU moves", size)
        self._extent = DeviceMemory(device, INDEX_BYTES)
        parent, arrivals, boxes = (
            DeviceMemory(device, self._nodes * of_node) for of_node in (INDEX_BYTES, INDEX_BYTES, BOUNDS_BYTES)
        )
        self._used: list[Any] = [self._extent, parent, arrivals, boxes]
        self._record = self._program.record(
            "link",
            nodes=scene[0].address,
            packed_triangles=scene[1].address,
            parent=parent,
            arrivals=arrivals,
            boxes=boxes,
            extent=self._extent,
            node_count=self._nodes,
            triangle_count=self._triangles,
        )

    def extent_of(self, triangles: int, used: Any) -> float:
        """Returns the largest coordinate by magnitude of triangles at an address on the device, (t, 3, 3) float32; NaN
        or infinite where one of them is.

        used: what they are, kept until they have moved.
        """
        self._used[USED:] = [used]
        self._record["triangles"] = triangles
        self._stream.clear(self._extent.address, self._extent.size)
        self._launch("measure", min(self._triangles, MEASURE_BLOCKS * self._program.block_size))
        self._stream.finish(self)
        return float(self._extent.copied().view(np.float32)[0])

    def move(self) -> None:
        """Moves the triangles to where those are whose extent was asked for last, and fits all boxes."""
        self._launch("move_triangles", self._triangles)
        for entry in ("link", "fit_nodes"):
            self._launch(entry, self._nodes)
        self._stream.finish(self)
        del self._used[USED:]

    def _launch(self, entry: str, threads: int) -> None:
        self._program.launch(entry, self._program.blocks_for(threads), self._stream, self._record)
