"""Batches in flight: what queues have in common whose device traces while their thread goes on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, TypeVar

from tracecore.dispatch.batch import Batch
from tracecore.errors import KernelError, RayError, TraceError
from tracecore.rays import BATCH_RAYS, Floats, Query

#: Batches in flight for each thread that shades (NOTES.md): more of them only make the rays wait for their turn.
DEPTH = 4


def do_all(steps: Iterable[Callable[[], None]]) -> None:
    """Takes all steps of a clean-up, also those after one that fails, and then raises the first `TraceError`."""
    errors = []
    for step in steps:
        try:
            step()
        except TraceError as error:
            errors.append(error)
    if errors:
        raise errors[0]


class FlightBatch(Batch):
    """A batch that knows how many of its rays are being traced. in_flight: 0 while the thread may touch it."""

    def __init__(self, rays: Floats, hits: Floats) -> None:
        super().__init__(rays, hits)
        self.in_flight = 0


AnyBatch = TypeVar("AnyBatch", bound=FlightBatch)


class FlightQueue(ABC, Generic[AnyBatch]):
    """A queue for one thread. batch_type: of its batches.

    A subclass says how a batch is made, started, awaited and given up.
    """

    depth = DEPTH

    def __init__(self, batch_type: type[AnyBatch]) -> None:
        self._batch_type = batch_type
        self._batches: list[AnyBatch] = []
        self._is_open = True

    @abstractmethod
    def _make(self, capacity: int) -> AnyBatch:
        """A new batch, capacity > 0."""

    @abstractmethod
    def _start(self, batch: AnyBatch, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`, count > 0."""

    @abstractmethod
    def _land(self, batch: AnyBatch) -> None:
        """Return once the hits are there, and count them. Raises `KernelError` where they do not come."""

    @abstractmethod
    def _give_up(self, batch: AnyBatch) -> None:
        """Wait for a batch that is used no more and give back what it holds."""

    def batch(self, capacity: int = BATCH_RAYS) -> Batch:
        """A new batch. Raises `RayError` where capacity is below 1, `DeviceError` where the device has no room."""
        self._check_open()
        if capacity < 1:
            raise RayError(f"a batch needs a capacity of at least 1 ray, got {capacity}")
        batch = self._make(capacity)
        self._batches.append(batch)
        return batch

    def submit(self, batch: Batch, count: int, query: Query) -> None:
        """Start to trace `rays[:count]`.

        Raises `RayError` for a count that does not fit and for a batch in flight, `KernelError` where the queue is
        closed, `DeviceError` where CUDA refuses.
        """
        own = self._own(batch)
        self._check_open()
        if not 0 <= count <= own.capacity:
            raise RayError(f"a batch of capacity {own.capacity} cannot hold {count} rays")
        if own.in_flight:
            raise RayError("this batch is being traced; wait for it before submitting it again")
        if count > 0:
            self._start(own, count, query)
            own.in_flight = count

    def wait(self, batch: Batch) -> None:
        """Return once the hits are there; at once for a batch that is not in flight.

        Raises `KernelError` where the kernel complains or does not answer.
        """
        own = self._own(batch)
        if own.in_flight:
            self._land(own)

    def close(self) -> None:
        """Wait for what is in flight and give the memory back; of a device that does not answer, the memory stays.

        Every batch is given up. Raises the first error of them, and nothing where the queue is closed already.
        """
        self._is_open = False
        batches, self._batches = self._batches, []
        do_all(partial(self._give_up, batch) for batch in batches)

    def _check_open(self) -> None:
        if not self._is_open:
            raise KernelError("the queue is closed; open another one")

    def _own(self, batch: Batch) -> AnyBatch:
        if not isinstance(batch, self._batch_type):
            raise RayError("this batch was not made by a GPU's queue; get one from queue.batch()")
        return batch
