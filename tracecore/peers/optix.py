"""Asks NVIDIA OptiX through Mitsuba 3, whose kernels are compiled by Dr.Jit.

Parker et al.: OptiX: A General Purpose Ray Tracing Engine, 2010. Jakob, Speierer, Roussel, Vicini: Dr.Jit: A
Just-In-Time Compiler for Differentiable Rendering, 2022.
"""

from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np

from tracecore.errors import PeerError
from tracecore.peers.peer import Peer, Rounds
from tracecore.rays import Floats, Query

#: Mitsuba's variant on OptiX.
OPTIX = "cuda_ad_rgb"


class MitsubaPeer:
    """Traces a mesh in a scene of Mitsuba's.

    triangles: (t, 3, 3) float32.
    variant: `OPTIX`, or one that begins with llvm for the CPU, by Embree. It is Mitsuba's for the whole process.
    """

    def __init__(self, triangles: Floats, variant: str = OPTIX) -> None:
        mi.set_variant(variant)
        is_gpu = variant.startswith("cuda")
        self.name = "optix" if is_gpu else f"mitsuba:{variant}"
        self.clock = "kernel alone, by the GPU's clock" if is_gpu else "wall time of Mitsuba's CPU threads"
        mesh = mi.Mesh("triangles", vertex_count=3 * len(triangles), face_count=len(triangles))
        parameters = mi.traverse(mesh)
        parameters["vertex_positions"] = triangles.ravel()
        parameters["faces"] = np.arange(3 * len(triangles), dtype=np.uint32)
        parameters.update()
        self._scene = mi.load_dict({"type": "scene", "mesh": mesh})

    def trace(self, rays: Floats, query: Query, repeats: int) -> Rounds:
        """Traces rays in rounds, as `Peer.trace` says.

        rays: (n, 8) float32, as from `for_peers`.
        query: what is asked of each ray.
        repeats: rounds that count.
        """
        ray = _packed(rays)
        seconds = []
        for _ in range(repeats + 1):
            of_round, found = self._timed(ray, query)
            seconds.append(of_round)
        t = np.asarray(found.t) if query == Query.CLOSEST else np.where(np.asarray(found), 0.0, np.inf)
        return Rounds(seconds[1:], t.astype(np.float32))

    def _timed(self, ray: Any, query: Query) -> tuple[float, Any]:
        """Returns the seconds of one kernel, and what it found."""
        dr.sync_thread()
        dr.kernel_history()  # forget what was before
        with dr.scoped_set_flag(dr.JitFlag.KernelHistory, True):
            if query == Query.CLOSEST:
                found = self._scene.ray_intersect_preliminary(ray)
                dr.eval(found.t, found.prim_uv, found.prim_index)
            else:
                found = self._scene.ray_test(ray)
                dr.eval(found)
            dr.sync_thread()
            kernels = dr.kernel_history([dr.KernelType.JIT])
        if not kernels:
            raise PeerError("peer 'optix' is left out: Dr.Jit reports no kernel; update it: pip install -U mitsuba")
        return 1e-3 * sum(kernel["execution_time"] for kernel in kernels), found


def _packed(rays: Floats) -> Any:
    """Returns rays as Mitsuba takes them, in its memory."""
    words = [mi.Float(np.ascontiguousarray(word)) for word in rays.T]
    ray = mi.Ray3f(o=mi.Point3f(*words[0:3]), d=mi.Vector3f(*words[4:7]), maxt=words[7], time=0.0, wavelengths=[])
    dr.make_opaque(ray)
    return ray


def open_way(_way: str, triangles: Floats, _threads: int) -> Peer:
    """Opens OptiX on the current GPU."""
    return MitsubaPeer(triangles)
