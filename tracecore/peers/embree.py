"""Asks Embree on the CPU, through embreex: one ray at a time, in its robust mode, which leaves no gaps between
triangles.

Wald, Woop, Benthin, Johnson, Ernst: Embree: A Kernel Framework for Efficient CPU Ray Tracing, 2014.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene

from tracecore.peers.peer import Peer, Rounds
from tracecore.rays import BATCH_RAYS, Floats, Query


class Embree:
    """Answers queries about (t, 3, 3) float32 triangles; many threads may ask at once."""

    def __init__(self, triangles: Floats) -> None:
        self._scene = EmbreeScene()
        self._mesh = TriangleMesh(self._scene, triangles)

    def closest_hit(self, rays: Floats) -> dict[str, Any]:
        """Returns t (`tfar`), u, v, `primID` of every ray, and what else Embree gives at no cost."""
        return self._scene.run(rays[:, 0:3], rays[:, 4:7], output=True)

    def distance(self, rays: Floats, reach: Floats) -> Floats:
        """Returns how far each ray comes: `reach` itself, or what is left of it where something is hit.

        rays: (n, 8) float32.
        reach: (n,) float32, how far each ray goes; it is overwritten.
        """
        return self._scene.run(rays[:, 0:3], rays[:, 4:7], dists=reach, query="DISTANCE")

    def any_hit(self, rays: Floats, reach: Floats | None = None) -> Any:
        """Returns 0 where something is hit, else -1.

        rays: (n, 8) float32.
        reach: (n,) float32, how far each ray goes; it is overwritten. None: without end.
        """
        return self._scene.run(rays[:, 0:3], rays[:, 4:7], dists=reach, query="OCCLUDED")


class EmbreePeer:
    """Traces with Embree on so many threads, each of which takes the next batch of rays; embreex lets go of the
    interpreter.
    """

    name = "embree"

    def __init__(self, triangles: Floats, threads: int) -> None:
        self.clock = f"wall time of {threads} CPU thread{'s' if threads > 1 else ''}"
        self._embree = Embree(triangles)
        self._threads = threads

    def trace(self, rays: Floats, query: Query, repeats: int) -> Rounds:
        """Traces rays in rounds, as `Peer.trace` says.

        rays: (n, 8) float32, as from `for_peers`.
        query: what is asked of each ray.
        repeats: rounds that count.
        """
        answers = np.empty(len(rays), np.float32)
        seconds = []
        with ThreadPoolExecutor(self._threads) as pool:
            for _ in range(repeats + 1):
                reach = rays[:, 7].copy()
                start = time.perf_counter()
                self._trace_all(pool, (rays, reach, answers), query)
                seconds.append(time.perf_counter() - start)
        is_hit = answers < rays[:, 7] if query == Query.CLOSEST else answers == 0.0
        return Rounds(seconds[1:], np.where(is_hit, answers, np.float32(np.inf)))

    def _trace_all(self, pool: ThreadPoolExecutor, arrays: tuple[Floats, Floats, Floats], query: Query) -> None:
        starts = iter(range(0, len(arrays[0]), BATCH_RAYS))  # shared: each thread takes the next batch

        def trace_batches() -> None:
            for start in starts:
                rays, reach, answers = (array[start : start + BATCH_RAYS] for array in arrays)
                ask = self._embree.distance if query == Query.CLOSEST else self._embree.any_hit
                answers[:] = ask(rays, reach)

        for worker in [pool.submit(trace_batches) for _ in range(self._threads)]:
            worker.result()


def open_way(_way: str, triangles: Floats, threads: int) -> Peer:
    """Opens Embree on so many threads."""
    return EmbreePeer(triangles, threads)
