"""Asks NVIDIA Warp's ray queries against a mesh, by each of its ways to build a tree.

Macklin: Warp: A High-performance Python Framework for GPU Simulation and Graphics, 2022.
"""

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tracecore.cuda.device import find_device
from tracecore.peers.peer import Peer, Rounds
from tracecore.rays import Floats, Query

#: Builders of trees, and the triangles of a leaf where Warp's own choice is slower.
CONSTRUCTORS = {"cubql": None, "sah": 1, "lbvh": None}

wp.config.log_level = wp.LOG_WARNING  # no word on standard output


@wp.kernel(enable_backward=False)
def trace_closest(
    mesh: wp.uint64,
    origin: wp.array[wp.vec3],
    direction: wp.array[wp.vec3],
    reach: wp.array[wp.float32],
    t: wp.array[wp.float32],
    uv: wp.array[wp.vec2],
    prim_id: wp.array[wp.int32],
) -> None:
    """Finds the nearest hit, with all that our tracers say of it."""
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, origin[i], direction[i], reach[i])
    t[i] = wp.where(hit.result, hit.t, wp.inf)
    uv[i] = wp.vec2(hit.u, hit.v)
    prim_id[i] = wp.where(hit.result, hit.face, -1)


@wp.kernel(enable_backward=False)
def trace_any(
    mesh: wp.uint64,
    origin: wp.array[wp.vec3],
    direction: wp.array[wp.vec3],
    reach: wp.array[wp.float32],
    t: wp.array[wp.float32],
) -> None:
    """Finds whether there is a hit."""
    i = wp.tid()
    t[i] = wp.where(wp.mesh_query_ray_anyhit(mesh, origin[i], direction[i], reach[i]), 0.0, wp.inf)


class WarpPeer:
    """Traces with Warp's kernels.

    triangles: (t, 3, 3) float32.
    constructor: one of `CONSTRUCTORS`.
    device: as Warp names it: `cuda:0` or `cpu`, there one thread.
    """

    def __init__(self, triangles: Floats, constructor: str, device: str) -> None:
        self.name = f"warp:{constructor}"
        self._device = wp.get_device(device)
        self.clock = "kernel alone, by the GPU's clock" if self._device.is_cuda else "wall time of one CPU thread"
        self._mesh = wp.Mesh(
            points=self._array(triangles.reshape(-1, 3), wp.vec3),
            indices=self._array(np.arange(3 * len(triangles), dtype=np.int32), wp.int32),
            bvh_constructor=constructor,
            bvh_leaf_size=CONSTRUCTORS[constructor],
        )

    def trace(self, rays: Floats, query: Query, repeats: int) -> Rounds:
        """Traces rays in rounds, as `Peer.trace` says.

        rays: (n, 8) float32, as from `for_peers`.
        query: what is asked of each ray.
        repeats: rounds that count.
        """
        inputs = [self._mesh.id, self._array(rays[:, 0:3], wp.vec3), self._array(rays[:, 4:7], wp.vec3)]
        inputs.append(self._array(rays[:, 7], wp.float32))
        t = wp.empty(len(rays), wp.float32, device=self._device)
        kernel, outputs = trace_any, [t]
        if query == Query.CLOSEST:
            kernel = trace_closest
            outputs += [wp.empty(len(rays), kind, device=self._device) for kind in (wp.vec2, wp.int32)]
        command = wp.launch(kernel, dim=len(rays), inputs=inputs, outputs=outputs, device=self._device, record_cmd=True)
        return Rounds([self._timed(command) for _ in range(repeats + 1)][1:], t.numpy())

    def _timed(self, command: wp.Launch) -> float:
        """Returns the seconds of one launch. On a GPU it is the second of two: while the first runs, the other is made
        ready.
        """
        if not self._device.is_cuda:
            start = time.perf_counter()
            command.launch()
            return time.perf_counter() - start
        with wp.ScopedDevice(self._device):
            before, after = (wp.Event(self._device, enable_timing=True) for _ in range(2))
            command.launch()
            wp.record_event(before)
            command.launch()
            wp.record_event(after)
            return 1e-3 * wp.get_event_elapsed_time(before, after)

    def _array(self, values: npt.NDArray[Any], kind: type) -> wp.array:
        return wp.array(np.ascontiguousarray(values), dtype=kind, device=self._device)


def open_way(way: str, triangles: Floats, _threads: int) -> Peer:
    """Opens Warp on the current GPU. way: `warp:` and a constructor."""
    return WarpPeer(triangles, way.removeprefix("warp:"), f"cuda:{find_device().index}")
