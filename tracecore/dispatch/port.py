"""How compiled loops reach a tracer: slots for rays, and no interpreter in between.

A driver's loop runs in one thread and owns some slots. It writes rays into a slot's columns, calls `submit`, goes on
with other slots, and finds the hits in place when `next_batch` names the slot. Any function compiled by Numba may do
so:

    batch = next_batch(port, live, ONE_SLOT)
    while batch >= 0:
        ...                                     # read port.hits[batch], write port.rays[batch]
        submit(port, batch, count, ENDLESS)  # or live[batch] = 0 when the batch has no more work
        batch = next_batch(port, live, ONE_SLOT)
    return batch                                 # DONE, or what Python has to see to (`tracecore.workers.pool`)
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.clock import give_way, nanoseconds
from tracecore.compilation.vector import address, fetch_add, load_acquire, store_release
from tracecore.cpu.traversal import CpuTree, WordTable, trace
from tracecore.cutouts import NO_CUTOUTS
from tracecore.dispatch.ring import RingMemory, ring_doorbell
from tracecore.errors import KernelError
from tracecore.kernels.launch_records import describe_faults
from tracecore.kernels.ring_records import ANY_HIT_BIT, COUNT_MASK, ENDLESS_BIT, FAULT_SHIFT, NO_UV_BIT
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Floats

#: What is asked of the rays of a slot, to be added up, see `ring`. Typed: for each literal Numba would compile `submit`
#: anew.
NO_OPTIONS, ANY_HIT, ENDLESS, NO_UV = np.int64(0), np.int64(ANY_HIT_BIT), np.int64(ENDLESS_BIT), np.int64(NO_UV_BIT)
ONE_SLOT = np.int64(1)

#: Who answers: the submitting thread itself, Python when it is asked to (`OpenPort.poll`), or a device that listens.
DIRECT, POLLED, LISTENING = range(3)

#: Why a loop ends or pauses. ASK: Python is to poll the slots. FULL: a loop's own memory is. STOPPED: somebody wants
#: the thread to end. LATE: nothing comes back. FAULTY: the kernel reports an error.
DONE, ASK, FULL, STOPPED, LATE, FAULTY = -1, -2, -3, -4, -5, -6

#: What a port counts. PORT_LEFT is when the loop last came from `next_batch`. PORT_WAITED, PORT_SHADED and PORT_TRACED
#: are nanoseconds in which the thread waited for hits, did its own work, and traced. PORT_LOGGED and PORT_UNLOGGED are
#: rows of the log, and those that it had no room for. PORT_BYTES_UP are those of rays that a device has to read, and
#: PORT_BYTES_DOWN those of hits that it has to write.
PORT_BATCHES, PORT_RAYS, PORT_INVALID, PORT_FAULTS, PORT_LEFT, PORT_LAST_BATCH = range(6)
PORT_WAITED, PORT_SHADED, PORT_TRACED, PORT_LOGGED, PORT_UNLOGGED = range(6, 11)
PORT_BYTES_UP, PORT_BYTES_DOWN, PORT_COUNTERS = range(11, 14)

#: Bytes of a ray, and of one without ends; of a hit, and of one without u and v.
RAY_BYTES, ENDLESS_RAY_BYTES = 4 * RAY_FLOATS, 4 * (RAY_FLOATS - 2)
HIT_BYTES, BARE_HIT_BYTES = 4 * HIT_FLOATS, 4 * (HIT_FLOATS - 2)

#: Rows of a log: kind, slot or batch, start and end in nanoseconds, rays. A batch is on its way from the doorbell to
#: the moment when the thread sees its hits.
LOG_SHADING, LOG_WAITING, LOG_IN_FLIGHT, LOG_COLUMNS = 0, 1, 2, 5

#: Looks at all batches before others get a chance at the core, and between two looks at the clock.
PATIENCE = 256

Counters = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]


class Port(NamedTuple):
    """What compiled loops need, for one thread.

    rays: (slots, 8, column) float32, words of `RAY` in columns. hits: (slots, 4, column) float32, words of `HIT`.
    doorbells, flags: (slots,) uint64, see `ring`. stop: (1,) int64, not 0 when the thread is to end. counters:
    (PORT_COUNTERS,) int64. sent: (slots, 2) int64, nanoseconds and rays. log: (rows, LOG_COLUMNS) int64. tree: of a
    DIRECT port. capacity: rays of a slot. timeout: nanoseconds that a batch may take.
    """

    rays: Floats
    hits: Floats
    doorbells: Words
    flags: Words
    stop: Counters
    counters: Counters
    sent: Counters
    log: Counters
    tree: CpuTree
    kind: int
    capacity: int
    timeout: int


@compiled
def submit(port: Port, slot: int, count: int, options: int) -> None:
    """Have the first `count` rays of a slot traced, count > 0. options: NO_OPTIONS or a sum of ANY_HIT, ENDLESS, NO_UV.

    The slot must not be touched until `next_batch` names its batch.
    """
    port.counters[PORT_BATCHES] += 1
    port.counters[PORT_RAYS] += count
    port.counters[PORT_BYTES_UP] += count * (ENDLESS_RAY_BYTES if options & ENDLESS != 0 else RAY_BYTES)
    port.counters[PORT_BYTES_DOWN] += count * (BARE_HIT_BYTES if options & NO_UV != 0 else HIT_BYTES)
    number = (port.doorbells[slot] >> np.uint64(32)) % np.uint64(0xFFFFFFFF) + np.uint64(1)
    if port.kind == DIRECT:
        _trace_here(port, slot, number, count, options)
        return
    port.sent[slot, 0], port.sent[slot, 1] = nanoseconds(), count
    ring_doorbell(port.doorbells, slot, number, np.uint64(count) | np.uint64(options))


@inlined
def _trace_here(port: Port, slot: int, number: Any, count: int, options: int) -> None:
    start = nanoseconds()
    _end_shading(port, start)
    column = 4 * port.rays.shape[2]
    rays = WordTable(address(port.rays) + slot * 8 * column, 4, column)
    hits = WordTable(address(port.hits) + slot * 4 * column, 4, column)
    invalid = trace(port.tree, rays, hits, count, options & ANY_HIT != 0, options & ENDLESS != 0)
    port.doorbells[slot] = number << np.uint64(32)
    port.flags[slot] = (number << np.uint64(32)) | np.uint64(invalid)
    end = nanoseconds()
    port.counters[PORT_TRACED] += end - start
    port.counters[PORT_LEFT] = end
    _note(port, LOG_IN_FLIGHT, slot, start, end, count)


@compiled
def next_batch(port: Port, live: Counters, slots: int) -> int:
    """A batch that is live and whose hits are all there, or why there is none: DONE, ASK, STOPPED, LATE or FAULTY.

    live: (batches,) int64, not 0 for those that have work. Batch i has the slots from i * slots on.
    """
    counters = port.counters
    entered = nanoseconds()
    _end_shading(port, entered)
    index = STOPPED if port.stop[0] != 0 else _ready_batch(port, live, slots)
    if index == ASK and port.kind == LISTENING:
        index = _await_batch(port, live, slots)
        counters[PORT_LEFT] = nanoseconds()
        counters[PORT_WAITED] += counters[PORT_LEFT] - entered
        _note(port, LOG_WAITING, index, entered, counters[PORT_LEFT], 0)
    if index < 0:
        return index
    counters[PORT_LAST_BATCH] = index
    return _receive(port, index, slots)


@inlined
def _end_shading(port: Port, now: int) -> None:
    counters = port.counters
    counters[PORT_SHADED] += now - counters[PORT_LEFT]
    _note(port, LOG_SHADING, counters[PORT_LAST_BATCH], counters[PORT_LEFT], now, 0)
    counters[PORT_LEFT] = now


@inlined
def _ready_batch(port: Port, live: Counters, slots: int) -> int:
    """The next batch that is ready, ASK if all that are live are on their way, DONE if none is live."""
    batches = len(live)
    answer = DONE
    for step in range(batches):
        index = (port.counters[PORT_LAST_BATCH] + 1 + step) % batches
        if live[index] != 0:
            if _is_ready(port, index * slots, slots):
                return index
            answer = ASK
    return answer


@inlined
def _is_ready(port: Port, first: int, slots: int) -> bool:
    for slot in range(first, first + slots):
        if load_acquire(address(port.flags) + 8 * slot) >> np.uint64(32) != port.doorbells[slot] >> np.uint64(32):
            return False
    return True


@inlined
def _await_batch(port: Port, live: Counters, slots: int) -> int:
    deadline = nanoseconds() + port.timeout
    looks = 0
    while True:
        index = _ready_batch(port, live, slots)
        if index != ASK:
            return index
        if port.stop[0] != 0:
            return STOPPED
        looks += 1
        if looks % PATIENCE == 0:
            if nanoseconds() > deadline:
                return LATE
            give_way()


@inlined
def _receive(port: Port, index: int, slots: int) -> int:
    """Count what a batch's flags tell, and take them down. Returns the batch, or FAULTY."""
    answer = index
    for slot in range(index * slots, (index + 1) * slots):
        low = np.int64(port.flags[slot] & np.uint64(0xFFFFFFFF))
        if low != 0:
            port.flags[slot] ^= np.uint64(low)  # counted once
            port.counters[PORT_INVALID] += low & ((1 << FAULT_SHIFT) - 1)
            port.counters[PORT_FAULTS] |= low >> FAULT_SHIFT
            answer = FAULTY if low >> FAULT_SHIFT != 0 else answer
        if port.sent[slot, 1] != 0:
            _note(port, LOG_IN_FLIGHT, slot, port.sent[slot, 0], port.counters[PORT_LEFT], port.sent[slot, 1])
            port.sent[slot, 1] = 0
    return answer


@inlined
def _note(port: Port, kind: int, place: int, start: int, end: int, rays: int) -> None:
    """A row of the log, as long as there is room."""
    row, log = port.counters[PORT_LOGGED], port.log
    if end <= start:
        return
    if row >= len(log):
        port.counters[PORT_UNLOGGED] += 1
        return
    log[row, 0], log[row, 1], log[row, 2], log[row, 3], log[row, 4] = kind, place, start, end, rays
    port.counters[PORT_LOGGED] = row + 1


@compiled
def resume(port: Port, waited: bool) -> None:
    """Python hands over to the loop: what it did meanwhile was waiting for hits, or counts for nothing."""
    now = nanoseconds()
    if waited:
        port.counters[PORT_WAITED] += now - port.counters[PORT_LEFT]
        _note(port, LOG_WAITING, 0, port.counters[PORT_LEFT], now, 0)
    port.counters[PORT_LEFT] = now


@compiled
def pass_gate(port: Port, gate: Counters, threads: int) -> None:
    """Wait until so many threads are here, so that their loops begin together.

    gate: (2,) int64, zeros: how many are here, and when the last one came, in nanoseconds.
    """
    if fetch_add(address(gate), 1) == threads - 1:
        store_release(address(gate) + 8, np.uint64(nanoseconds()))
    while load_acquire(address(gate) + 8) == np.uint64(0) and port.stop[0] == 0:
        give_way()
    port.counters[PORT_LEFT] = nanoseconds()


@compiled
def are_ready(port: Port, nanoseconds_left: int) -> bool:
    """Returns whether all slots are answered, or will be within so long."""
    deadline = nanoseconds() + nanoseconds_left
    while not _is_ready(port, 0, len(port.doorbells)):
        if nanoseconds() > deadline:
            return False
        give_way()
    return True


@compiled
def is_answered(port: Port, slot: int) -> bool:
    """Returns whether the hits of a slot are there, or nothing was ever asked of it."""
    return _is_ready(port, slot, ONE_SLOT)


@compiled
def receive(port: Port, slot: int) -> int:
    """Count what the flag of an answered slot tells. Returns the slot, or FAULTY."""
    return _receive(port, slot, ONE_SLOT)


@compiled
def await_answer(port: Port, nanoseconds_left: int) -> bool:
    """Return True when one more slot is answered, or none waits; False after so long."""
    deadline = nanoseconds() + nanoseconds_left
    waiting = _waiting(port)
    while waiting != 0 and _waiting(port) == waiting:
        if nanoseconds() > deadline:
            return False
        give_way()
    return True


@inlined
def _waiting(port: Port) -> int:
    """How many slots wait for an answer."""
    waiting = 0
    for slot in range(len(port.doorbells)):
        waiting += not _is_ready(port, slot, ONE_SLOT)
    return waiting


def new_port(memory: RingMemory, slots: slice, kind: int, tree: CpuTree, timeout: float, log_rows: int = 0) -> Port:
    """Returns a port to some slots of a ring. timeout: seconds."""
    count = slots.stop - slots.start
    return Port(
        rays=memory.rays[slots],
        hits=memory.hits[slots],
        doorbells=memory.doorbells[slots],
        flags=memory.flags[slots],
        stop=np.zeros(1, np.int64),
        counters=np.zeros(PORT_COUNTERS, np.int64),
        sent=np.zeros((count, 2), np.int64),
        log=np.zeros((log_rows, LOG_COLUMNS), np.int64),
        tree=tree,
        kind=kind,
        capacity=memory.slot_rays,
        timeout=int(timeout * 1e9),
    )


def no_tree() -> CpuTree:
    """Returns the tree of a port that is not DIRECT."""
    nodes, blocks = np.zeros((0, 64), np.float32), np.zeros((0, 80), np.float32)
    return CpuTree(nodes, blocks, np.float32(0.0), np.zeros(0, np.int64), NO_CUTOUTS)


class Asked(NamedTuple):
    """A slot whose doorbell has rung and that nobody has answered. number: what its flag has to tell. rays: (n, 8)
    float32. is_any: whether a hit, wherever, is enough. is_endless: its rays were sent without `t_min` and `t_max`.
    has_uv: whether `u` and `v` are answered."""

    slot: int
    number: int
    rays: Floats
    is_any: bool
    is_endless: bool
    has_uv: bool = True


def asked_of(port: Port) -> Iterator[Asked]:
    """Yields what a POLLED port waits for, slot by slot."""
    for slot in waiting_slots(port):
        yield asked_at(port, slot)


def waiting_slots(port: Port) -> list[int]:
    """Returns the slots whose doorbells have rung and whose flags are not up."""
    waiting: list[int] = np.flatnonzero(port.doorbells >> np.uint64(32) != port.flags >> np.uint64(32)).tolist()
    return waiting


def asked_at(port: Port, slot: int) -> Asked:
    """Returns what a slot was asked last."""
    number, low = divmod(int(port.doorbells[slot]), 1 << 32)
    rays = np.ascontiguousarray(port.rays[slot, :, : low & COUNT_MASK].T)
    if low & ENDLESS_BIT:
        rays[:, 3], rays[:, 7] = 0.0, np.inf
    return Asked(slot, number, rays, bool(low & ANY_HIT_BIT), bool(low & ENDLESS_BIT), not low & NO_UV_BIT)


class OpenPort(Protocol):
    """A port that a tracer has opened for one thread."""

    port: Port

    def poll(self) -> None:
        """Answer slots whose doorbells have rung, some or all; for POLLED ports. Raises the tracer's errors."""

    def check(self) -> None:
        """See to it that the tracer answers: before a run, and now and then, from any thread. Raises if it cannot."""

    def drain(self) -> None:
        """Let all slots be free again, after a loop that stopped early. Raises `KernelError` if they never get so."""

    def close(self) -> None:
        """Give the slots back."""


def raise_status(status: int, port: Port, kernel: str) -> None:
    """Raises the error that a status of a loop stands for, if any."""
    if status == LATE:
        raise KernelError(
            f"kernel {kernel!r} has not answered in {port.timeout * 1e-9:g} s, so it may hang: end this process; or "
            "raise TRACECORE_GPU_TIMEOUT if the GPU is slow or shared"
        )
    if status == FAULTY:
        raise KernelError(f"kernel {kernel!r} failed: {describe_faults(int(port.counters[PORT_FAULTS]))}")
