"""The tree of a scene on its way to members, so that it is built and packed once."""

from __future__ import annotations

from typing import NamedTuple, Self

from renderer.settings.setting import LOCAL
from tracecore.bvh.tree import BinaryTree
from tracecore.dispatch.tracer import Tracer
from tracecore.layout.ahead import leave_packed
from tracecore.layout.bvh8 import Bvh8, on_cache_lines
from tracecore.tracers.cpu import CpuTracer, pack_wide


class SentTree(NamedTuple):
    """Is the tree of a scene. wide: the same as a CPU walks it, where members are on this host and share its memory."""

    tree: BinaryTree
    wide: Bvh8 | None

    @classmethod
    def of(cls, tracer: Tracer, cluster: str | None) -> Self | None:
        """Returns the tree of a tracer; None where it has none. cluster: as of `Settings`."""
        is_local = cluster is not None and cluster.startswith(LOCAL)
        wide = tracer.wide if is_local and isinstance(tracer, CpuTracer) else None
        return None if tracer.tree is None else cls(tracer.tree, wide)

    def taken(self) -> BinaryTree:
        """Returns the tree, for the tracer that is opened with it next."""
        if self.wide is not None:
            leave_packed(pack_wide, self.tree, on_cache_lines(self.wide))
        return self.tree
