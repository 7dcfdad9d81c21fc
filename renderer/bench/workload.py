"""A workload is what kernels and peers are compared on: sets of rays, and the hits that are right, which are the CPU's.

Kernels have to find them bit for bit. Peers have other tests of triangles, so that they differ from us at edges and
where two triangles are equally near: of them `MOST_DIFFERING` of the rays may have other answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from renderer.errors import UsageError
from renderer.scene.render_context import TracerChoice, context_of
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.peers import differing, from_start
from tracecore.rays import Floats, Query
from tracecore.tracers.verified import hit_words, trace, wrong_hits

Indices = npt.NDArray[np.int64]

#: Stands for the view point of rays that do not depend on one.
NO_VIEW = "none"

#: Rays of a set that are compared with the CPU, at most: it traces one or two million a second on a core.
COMPARED_RAYS = 1 << 22

#: Share of the rays that a peer may answer otherwise: those that meet edges, some in a hundred thousand of most scenes
#: (docs/comparing-kernels.md). So many rays may differ in any case, as in a small set one is a large share.
MOST_DIFFERING, FEW_DIFFERING = 1e-3, 4


@dataclass(frozen=True, kw_only=True)
class WrongRay:
    """Holds the first ray of a set whose hit is not the CPU's, as `figure_keys.COMPARISON` explains it."""

    ray: int
    origin: tuple[float, ...]
    direction: tuple[float, ...]
    expected: str
    found: str
    differing: int

    def __str__(self) -> str:
        places = ("(" + ", ".join(f"{x:.9g}" for x in vector) + ")" for vector in (self.origin, self.direction))
        return "ray {} from {} along {} {}, by the CPU it {}; {} rays differ".format(
            self.ray, *places, self.found, self.expected, self.differing
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RaySet:
    """Holds rays of a kind, what is asked of them, and the view point that they come from, or NO_VIEW.

    rays: (n, 8) float32, n > 0.
    right: (m, 4) float32, what the CPU hits with every `step`-th of them; None where that is not known.
    """

    kind: str
    query: Query
    rays: Floats
    view: str = "camera"
    right: Floats | None = None

    @property
    def step(self) -> int:
        """Returns the distance of rays that are compared: odd, so that they come from all lanes of a warp; 1 where what
        all of them hit is known.
        """
        if self.right is not None and len(self.right) == len(self.rays):
            return 1
        return -(-len(self.rays) // COMPARED_RAYS) | 1

    @property
    def compared(self) -> int:
        """Returns how many rays are compared with the CPU."""
        return 0 if self.right is None else len(self.right)

    def judged(self, tracer: Tracer) -> Self:
        """Returns the set with what a tracer hits, by which others are judged."""
        return replace(self, right=trace(tracer, np.ascontiguousarray(self.rays[:: self.step]), self.query))

    def wrong_ray(self, hits: Floats, indices: Indices | None = None) -> WrongRay | None:
        """Returns the first ray that a kernel traced wrongly, or None.

        hits: (k, 4) float32, of all rays, or of those of the indices.
        indices: (k,) of rays.
        """
        right = self._right
        if indices is None:
            hits, numbers = hits[:: self.step], np.arange(len(right))
        else:
            is_compared = indices % self.step == 0
            hits, numbers = hits[is_compared], indices[is_compared] // self.step
        wrong = wrong_hits(hits, right[numbers])
        if len(wrong) == 0:
            return None
        number, hit = int(numbers[wrong[0]]), hits[wrong[0]]
        return self._wrong_ray(number, len(wrong), hit_words(right[number]), hit_words(hit))

    def peer_answers(self, t: Floats) -> tuple[float, WrongRay | None]:
        """Returns the share of rays that a peer answers as the CPU does, and the first that it does not where these are
        too many.

        t: (n,) float32, as in `tracecore.peers.peer.Rounds`.
        """
        t, ours = t[:: self.step], from_start(self._right, self.rays[:: self.step], self.query)
        wrong = np.flatnonzero(differing(t, ours))
        agreement = 1.0 - len(wrong) / len(ours)
        if len(wrong) <= max(MOST_DIFFERING * len(ours), FEW_DIFFERING):
            return agreement, None
        number = int(wrong[0])
        words = (_peer_words(answer, self.query) for answer in (ours[number], t[number]))
        return agreement, self._wrong_ray(number, len(wrong), *words)

    @property
    def _right(self) -> Floats:
        if self.right is None:
            raise ValueError(f"nothing says what {self.kind} rays hit; see judged")
        return self.right

    def _wrong_ray(self, number: int, differing: int, expected: str, found: str) -> WrongRay:
        """Returns what is told of the ray of a number among those compared."""
        ray = number * self.step
        values = tuple(self.rays[ray].tolist())
        return WrongRay(
            ray=ray, origin=values[0:3], direction=values[4:7], expected=expected, found=found, differing=differing
        )


def _peer_words(t: float, query: Query) -> str:
    """Returns an answer as in `tracecore.peers.peer.Rounds` in words."""
    if np.isinf(t):
        return "hits nothing"
    return "hits something" if query == Query.ANY else f"hits something {float(t)!r} lengths after its start"


class Workload:
    """Sets of rays, made by the CPU, which says what is right."""

    def __init__(self, make: Callable[[Tracer], Sequence[RaySet]]) -> None:
        self._make = make
        self.sets: Sequence[RaySet] = ()

    def prepare(self, snapshot: Snapshot, threads: int | None) -> None:
        """Makes what is not there yet. Raises `UsageError` if there are no rays.

        threads: of the CPU that trace, None for all cores.
        """
        if self.sets:
            return
        with context_of(snapshot, TracerChoice(device="cpu", threads=threads), load_seconds=0.0) as context:
            sets = self._make(context.tracer)
            if not sets:
                raise UsageError("there are no rays of these kinds: nothing is hit, or there is no light")
            self.sets = [one.judged(context.tracer) for one in sets]
