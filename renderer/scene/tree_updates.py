"""From frame to frame this module decides whether the tree of the last frame is refitted to the triangles of this one,
or a new one built.

A refitted tree is there at once, but what has moved apart makes it worse, and tracing slower. Lauterbach, Yoon, Tuft,
Manocha: RT-DEFORM: Interactive Ray Tracing of Dynamic Scenes using BVHs (2006) build anew where the tree has become too
bad. Here the measure is time: `auto` adds up the seconds that tracing has lost since the last tree was built, by the
growth of the expected cost of a ray, and builds when with this frame they would come to more than building takes. So it
never loses more than twice what the best choice of frames would (Karlin, Manasse, Rudolph, Sleator: Competitive Snoopy
Caching, 1988, on when to buy what one rents).
"""

from collections import deque
from typing import Literal, Protocol

import numpy as np

from tracecore.bvh.binned_sah import build
from tracecore.bvh.refit import refit
from tracecore.bvh.reinsertion import reinserted
from tracecore.bvh.tree import BinaryTree
from tracecore.dispatch.tracer import BvhStatistics
from tracecore.rays import Floats

Update = Literal["auto", "refit", "rebuild"]

#: Two triangles here and two there.
FOUR_TRIANGLES = np.eye(3, dtype=np.float32) + np.array([0, 1, 9, 10], np.float32)[:, None, None]


def _load_compiled_code() -> None:
    """Refits and improves a tree, so that loading the code of this does not count in the time of the first tree."""
    tree = build(FOUR_TRIANGLES, max_leaf=1)
    reinserted(refit(tree, FOUR_TRIANGLES[[0, 2, 1, 3]]))


class HasTree(Protocol):
    """Is a tracer, as far as it matters here."""

    @property
    def tree(self) -> BinaryTree | None:
        """As of `Tracer`."""

    @property
    def bvh(self) -> BvhStatistics:
        """As of `Tracer`."""


class TreeUpdates:
    """Keeps what is known of the trees of a sequence of frames."""

    def __init__(self, update: Update) -> None:
        _load_compiled_code()
        self._update = update
        self._tree: BinaryTree | None = None
        self._built_cost = self._build_seconds = 0.0
        self._trace_seconds = 0.0
        self._lost_seconds = 0.0
        self._is_building = False
        self._builds = 0
        self._traced: deque[tuple[int, float]] = deque()  # of frames that are not traced yet: which tree, its growth

    def tree_ahead(self, triangles: Floats) -> BinaryTree | None:
        """Returns what `tree_for` does, while the frame before is still traced; None too where that gets a new tree."""
        return None if self._is_building else self.tree_for(triangles)

    def tree_for(self, triangles: Floats) -> BinaryTree | None:
        """Returns the tree of the last frame, refitted, or None where a new one is to be built.

        triangles: (t, 3, 3) float32, checked.
        """
        self._is_building = True
        if self._tree is None or len(triangles) != len(self._tree.order):
            return None
        fitted = refit(self._tree, triangles)
        if self._update == "auto" and self._lost_seconds + self._loss(fitted) > self._build_seconds:
            return None
        self._is_building = False
        return fitted

    def note(self, tracer: HasTree, *, is_refitted: bool, trace_seconds: float) -> None:
        """Records that a frame has been made: both of what follows."""
        self.note_tree(tracer, is_refitted=is_refitted)
        self.note_seconds(trace_seconds)

    def note_tree(self, tracer: HasTree, *, is_refitted: bool) -> None:
        """Records that a frame is traced with the tree of a tracer, which may be on a device: it is not asked for where
        each frame gets a new one, as where a GPU builds one sooner than it could be refitted here.
        """
        if self._update == "rebuild" or (self._update == "auto" and tracer.bvh.is_of_gpu):
            return
        tree = self._tree = tracer.tree
        self._is_building = False
        if tree is not None and not is_refitted:
            self._builds, self._lost_seconds = self._builds + 1, 0.0
            self._built_cost, self._build_seconds = tree.sah_cost, tree.build_seconds
        self._traced.append((-1, 1.0) if tree is None else (self._builds, self._growth(tree)))

    def note_seconds(self, trace_seconds: float) -> None:
        """Records how long tracing took of the first frame that is noted with its tree alone."""
        if not self._traced:
            return
        build, growth = self._traced.popleft()
        if build == self._builds:  # or else what its tree has lost does not matter any more
            self._trace_seconds = trace_seconds / growth
            self._lost_seconds += self._trace_seconds * (growth - 1.0)

    def _growth(self, tree: BinaryTree) -> float:
        """Returns how much more a ray costs than in the tree that was built last; at least 1."""
        return max(tree.sah_cost / self._built_cost, 1.0) if self._built_cost > 0.0 else 1.0

    def _loss(self, tree: BinaryTree) -> float:
        """Returns how many seconds more a frame takes to trace."""
        return self._trace_seconds * (self._growth(tree) - 1.0)
