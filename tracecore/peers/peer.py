"""Says what every peer is, and where it does not answer as we do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tracecore.errors import PeerError
from tracecore.rays import MISS, Floats, Query

#: Distances that differ by no more than this share are the same.
SAME_DISTANCE = 1e-4

#: Stands for no end of a ray, where infinity may not be welcome.
LARGEST_FLOAT = np.finfo(np.float32).max


@dataclass(frozen=True, eq=False)
class Rounds:
    """Holds what a peer measured and answered.

    seconds: of each round over the same rays.
    t: (n,) float32, where each ray hits something, in lengths of its direction; infinite where nothing is hit. An
    any-hit query has 0 for a hit.
    """

    seconds: list[float]
    t: Floats


class Peer(Protocol):
    """Holds triangles for another tracer. `name` says which and how; `clock` what its seconds are."""

    name: str
    clock: str

    def trace(self, rays: Floats, query: Query, repeats: int) -> Rounds:
        """Traces rays in so many rounds, after one that does not count, as ours are measured.

        rays: (n, 8) float32, as from `for_peers`.
        query: what is asked of each ray.
        repeats: rounds that count.
        """


@contextmanager
def peer_errors(name: str, remedy: str, kind: type[Exception] = Exception) -> Iterator[None]:
    """Raises what goes wrong in other people's programs as a `PeerError` of one line that ends with a remedy.

    name: what is left out.
    remedy: what the user may do about it.
    kind: only exceptions of this kind are caught.
    """
    try:
        yield
    except PeerError:
        raise
    except kind as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise PeerError(f"peer '{name}' is left out: {reason}; {remedy}") from error


def for_peers(rays: Floats) -> Floats:
    """Returns the same rays as peers take them, which always begin at 0: moved to their `t_min`, with a finite
    `t_max`.
    """
    t_min = rays[:, 3:4]
    moved = rays.copy()
    moved[:, 0:3] += t_min * rays[:, 4:7]
    moved[:, 3] = 0.0
    moved[:, 7] = np.minimum(rays[:, 7] - t_min[:, 0], LARGEST_FLOAT)
    return moved


def from_start(hits: Floats, rays: Floats, query: Query) -> Floats:
    """Returns what our hits, (n, 4) float32, are in the answers of a peer, see `Rounds`. rays: (n, 8) float32."""
    if query == Query.CLOSEST:
        return hits[:, 0] - rays[:, 3]
    return np.where(hits.view(np.uint32)[:, 3] != MISS, 0.0, np.inf).astype(np.float32)


def differing(t: Floats, ours: Floats) -> npt.NDArray[np.bool_]:
    """Returns which rays have other answers, (n,) bool: a hit for a miss, or another distance.

    t, ours: (n,), see `Rounds`.
    """
    is_miss = ours == np.inf
    differs = (t == np.inf) != is_miss
    both = ~(differs | is_miss)
    differs[both] = ~(np.abs(t[both] - ours[both]) <= SAME_DISTANCE * ours[both])
    return differs
