"""This module measures kernels in processes of their own, the members of a fleet: several at once, each on a GPU that
has nothing else to do. The GPUs are taken to be alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from renderer.bench.kernel_benchmark import KernelFacts, Measurement, facts_of, measure
from renderer.fleet.fleet import Items, Opening
from renderer.plugins import loaded_files
from renderer.scene.render_context import TracerChoice, context_of

if TYPE_CHECKING:
    from renderer.bench.workload import RaySet, Workload
    from renderer.fleet.fleet import Fleet
    from renderer.fleet.seats import Seat
    from scenes.model import Snapshot


@dataclass(frozen=True, kw_only=True)
class KernelsOrder:
    """Says what kernels are measured on: sets of rays of a scene, in so many rounds each."""

    snapshot: Snapshot
    sets: tuple[RaySet, ...]
    repeats: int


@dataclass(frozen=True)
class Kernel:
    """Is a kernel that is to be measured, by its name."""

    name: str

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"kernel {self.name}"


class MeasuredKernel(NamedTuple):
    """Is a kernel that was measured."""

    facts: KernelFacts
    measurements: list[Measurement]


class KernelMember:
    """Measures kernels, one after the other."""

    window = 1

    def __init__(self, order: KernelsOrder, seat: Seat) -> None:
        self._order, self._seat = order, seat

    def report(self) -> None:
        """Returns nothing: what a member has to say is in its measurements."""

    def make(self, kernel: Kernel) -> MeasuredKernel:
        """Returns what was measured of a kernel."""
        choice = TracerChoice(device=self._seat.device, kernel=kernel.name, threads=self._seat.threads)
        with context_of(self._order.snapshot, choice, load_seconds=0.0) as context:
            sets = [measure(context.tracer, rays, self._order.repeats) for rays in self._order.sets]
            return MeasuredKernel(facts_of(context.tracer), sets)

    def close(self) -> None:
        """Does nothing: a tracer is opened for each kernel."""


def compare_by(
    fleet: Fleet, snapshot: Snapshot, kernels: Sequence[str], workload: Workload, repeats: int
) -> Iterator[MeasuredKernel]:
    """Yields the kernels in order, each as a member of a fleet has measured it; the CPU finds the rays."""
    workload.prepare(snapshot, None)
    order = KernelsOrder(snapshot=snapshot, sets=tuple(workload.sets), repeats=repeats)
    fleet.open(Opening(KernelMember, order, loaded_files()))
    made: dict[str, MeasuredKernel] = {}
    with closing(fleet.results(Items(Kernel(name) for name in kernels))) as results:
        for name in kernels:
            while name not in made:
                kernel, _, one = next(results)
                made[kernel.name] = one
            yield made[name]
