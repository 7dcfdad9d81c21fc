"""Traces on the CPU: an 8-wide tree, traversed on all cores (`cpu/traversal.py`)."""

import time

import numpy as np

from tracecore.bvh.builders import build_by
from tracecore.bvh.refit import refit
from tracecore.bvh.tree import BinaryTree
from tracecore.bvh.wide import collapse
from tracecore.cpu.traversal import BLOCK_BYTES, LONG_BYTES, RAY_BYTES, CpuTree, table, trace
from tracecore.cutouts import NO_CUTOUTS, CutoutTables
from tracecore.dispatch.direct import DirectTracer
from tracecore.dispatch.tracer import BvhStatistics
from tracecore.layout.ahead import packed
from tracecore.layout.bvh8 import BLOCK, WIDTH, Bvh8, pack
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Floats, Query


def pack_wide(tree: BinaryTree, triangles: Floats) -> Bvh8:
    """Returns a tree as this tracer walks it. triangles: (t, 3, 3) float32, those that it is over."""
    return pack(tree, collapse(tree, width=WIDTH, max_leaf=BLOCK), triangles)


class CpuTracer(DirectTracer):
    """Traces on the CPU, in the calling thread or, for whole arrays, on several threads.

    triangles: (t, 3, 3) float32, checked.
    threads: how many threads trace whole arrays; by default all usable cores.
    tree: over the triangles, of this kind of tracer; by default it is built.
    builder: how it is built, a name of `bvh.builders.BUILDERS`, None for the default.
    cutouts: of the triangles, None if all are solid.
    """

    name = "bvh8"
    device = "cpu"

    tree: BinaryTree

    def __init__(
        self,
        triangles: Floats,
        *,
        threads: int | None = None,
        tree: BinaryTree | None = None,
        builder: str | None = None,
        cutouts: CutoutTables | None = None,
    ) -> None:
        super().__init__(threads, len(triangles))
        start = time.perf_counter()
        self.tree = tree = tree or build_by(builder, triangles, max_leaf=BLOCK)
        #: The tree as it is walked.
        self.wide = wide = packed(pack_wide, tree, triangles)
        self._cutouts = tables = cutouts or NO_CUTOUTS
        self.bvh = BvhStatistics(
            nodes=len(wide.nodes),
            bytes=wide.nodes.nbytes + wide.blocks.nbytes + tables.bytes,
            sah_cost=tree.sah_cost,
            build_seconds=time.perf_counter() - start,
            tree_seconds=tree.seconds,
            is_cached=tree.is_cached,
        )
        self._tree = self._walked()

    def _walked(self) -> CpuTree:
        """Returns the tree as compiled code takes it."""
        wide = self.wide
        nodes = wide.nodes.view(np.float32).reshape(len(wide.nodes), -1)
        blocks = wide.blocks.view(np.float32).reshape(-1, BLOCK_BYTES // 4)
        stack = np.empty(RAY_BYTES // LONG_BYTES + wide.stack, np.int64)
        return CpuTree(nodes, blocks, wide.extent, stack, self._cutouts)

    def _move(self, triangles: Floats) -> None:
        self.tree = refit(self.tree, triangles)
        self.wide = pack_wide(self.tree, triangles)
        self._tree = self._walked()

    def thread_tree(self) -> CpuTree:
        """Returns the tree with a stack of its own, for one more thread."""
        return self._tree._replace(stack=np.empty_like(self._tree.stack))

    def _trace(self, rays: Floats, hits: Floats, query: Query) -> int:
        whole_rays, whole_hits = table(rays.ctypes.data, RAY_FLOATS), table(hits.ctypes.data, HIT_FLOATS)
        return int(trace(self.thread_tree(), whole_rays, whole_hits, len(rays), query == Query.ANY, False))
