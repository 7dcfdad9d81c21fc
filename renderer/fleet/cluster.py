"""A fleet of the workers of a Dask cluster (extra cluster), on this host or on others.

Each worker's process is a member. What the members are opened with is sent to each once; items are Dask's tasks, under
names that its dashboard shows. Dask gives the items of a worker that is lost to others; one whose GPU fails ends its
process, so that Dask's nanny starts it anew. Results come with a checksum of their arrays, and what does not fit it is
made again.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import subprocess
import threading
import time
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from renderer.errors import FleetError, UsageError
from renderer.fleet.cluster_access import INSTALL, NO_CERTIFICATES, Certificates, connected
from renderer.fleet.ending import await_end
from renderer.fleet.fleet import MOST_TRIES, Common, FleetShares, Maker, Opening, Supply
from renderer.fleet.seats import Seat, device_of, workers_of
from renderer.plugins import load_installed, load_plugin
from renderer.settings.setting import LOCAL
from tracecore.child_process import start_python
from tracecore.compilation.private_folder import private_folder
from tracecore.errors import TraceError
from tracecore.threads import usable_cores

if TYPE_CHECKING:
    from distributed import Client, Security

#: Where nobody else's machine can reach what is started here.
LOOPBACK = "127.0.0.1"

#: Items that a worker is given at once: Dask's threads of a worker, where it is started here.
LOCAL_THREADS = 4

#: Seconds to wait for a scheduler, and for its workers.
PATIENCE = 30.0

#: Seconds after which something is sent again that a worker which is lost did not take.
RETRY_SECONDS = 0.5

#: Seconds after which it is looked whether a worker that begins is still there.
CHECK_SECONDS = 1.0


#: Why a cluster cannot go on, in words.
NO_SCHEDULER = f"the scheduler of the cluster is lost, and has not come back for {PATIENCE:g} s"
NO_WORKERS = "the cluster has had no workers"

log = logging.getLogger(__name__)


class Sealed(NamedTuple):
    """Is a result on its way. checksum: of its arrays."""

    result: Any
    checksum: int


class WorkerPlace(NamedTuple):
    """Says which of the workers of its host a worker is, and how many there are."""

    number: int
    of: int


@dataclass(frozen=True, eq=False)
class Posting:
    """Is what is sent to each worker once.

    key: says which fleet and which opening.
    plugins: files that are loaded before the opening is read.
    opening: as `pickle` writes it.
    device, threads: of each member, as `ClusterFleet` takes them.
    places: of the workers, by their addresses.
    """

    key: str
    plugins: tuple[Path, ...]
    opening: bytes
    device: str
    threads: int | None
    places: dict[str, WorkerPlace]


class UnderWay(NamedTuple):
    """Is an item that is being made. address: of the worker. needs: what stands for what it needs there."""

    item: Hashable
    address: str
    needs: tuple[Any, ...]


class ClusterFleet:
    """Members on a Dask cluster; see `renderer.fleet.fleet.Fleet`.

    address: of a scheduler, such as tcp://10.0.0.1:8786 or tls://..., or "local:N" for N workers on this host.
    device: what each member traces with, as `tracecore.open_tracer` takes it.
    threads: of each member, or None for its share of its host's cores.
    certificates: of a cluster with TLS.

    Those on this host know each other by a certificate of this run.

    Raises `UsageError` where there is no such cluster, or no worker.
    """

    def __init__(
        self, address: str, device: str, threads: int | None, certificates: Certificates = NO_CERTIFICATES
    ) -> None:
        self.shares = FleetShares()
        self._stack = ExitStack()
        self._expected = workers_of(address) if address.startswith(LOCAL) else 1
        self._client = self._connected(address, certificates)
        self._device, self._threads = device, threads
        self._key, self._openings = uuid.uuid4().hex[:8], itertools.count()
        self._posting: Posting | None = None
        self._sent: WeakKeyDictionary[Posting | Common[Any], Any] = WeakKeyDictionary()
        self._widths: dict[str, int] = {}

    def open(self, opening: Opening) -> list[Any]:
        """Has all members begin anew, as `Fleet` says."""
        content = pickle.dumps(opening, protocol=5)
        key = f"{self._key}-{next(self._openings)}"
        for _ in range(MOST_TRIES):
            places = self._places()
            self._posting = Posting(key, opening.plugins, content, self._device, self._threads, places)
            begun_members = self._begun(self._posting)
            if len(begun_members) == len(places):
                break
            log.warning("note: a worker of the cluster was lost before it began; those that are there begin")
        if not begun_members:
            raise FleetError("the workers of the cluster are lost before they begin")
        self._widths = {one: max(1, min(window, threads)) for one, (_, window, threads, _) in begun_members.items()}
        self.shares.made = {name: self.shares.made.get(name, 0) for name, *_ in begun_members.values()}
        return [report for *_, report in begun_members.values()]

    def results(self, supply: Supply) -> Generator[tuple[Any, str, Any]]:
        """Yields what is made of all items, as `Fleet` says. What is under way when the caller leaves is given up."""
        under_way: dict[Any, UnderWay] = {}
        finished: SimpleQueue[Any] = SimpleQueue()
        tries: Counter[Hashable] = Counter()
        with self._cancelled_in_the_end(under_way):
            self._hand_out(supply, under_way, finished)
            while under_way:
                future = self._next(finished)
                item, address, needs = under_way.pop(future)
                sealed, name = self._outcome(future, item, needs)
                if sealed is None:
                    tries[item] += 1
                    if tries[item] >= MOST_TRIES:
                        raise FleetError(f"{item} failed {MOST_TRIES} times: {name}")
                    self._submit(item, address, under_way, finished)
                    continue
                self.shares.made[name] = self.shares.made.get(name, 0) + 1
                yield item, name, sealed
                self._hand_out(supply, under_way, finished)

    def close(self) -> None:
        """Leaves the cluster, and ends the workers that were started here."""
        self._stack.close()

    @contextmanager
    def _cancelled_in_the_end(self, under_way: dict[Any, UnderWay]) -> Iterator[None]:
        """Gives up what is under way then. Raises `FleetError` where anything fails as the scheduler is lost."""
        try:
            yield
        except Exception as error:
            if self._client.status == "running":
                raise
            raise FleetError(NO_SCHEDULER) from error
        finally:
            if self._client.status == "running":
                self._client.cancel(list(under_way))

    def _next(self, finished: SimpleQueue[Any]) -> Any:
        """Returns the next of what is under way that is finished. Raises `FleetError` where all workers are lost."""
        seen = time.monotonic()
        while True:
            with suppress(Empty):
                return finished.get(timeout=CHECK_SECONDS)
            if self._workers():
                seen = time.monotonic()
            elif time.monotonic() - seen >= PATIENCE:
                raise FleetError(f"{NO_WORKERS} for {PATIENCE:g} s")

    def _connected(self, address: str, certificates: Certificates) -> Client:
        try:
            from distributed import LocalCluster, Security
        except ImportError as error:
            raise UsageError(INSTALL) from error
        certificates.check(address)
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what is lost is told here
        try:
            security = certificates.security()
            if address.startswith(LOCAL):
                security = Security.temporary()  # a certificate that nobody else has, and that ends with this process
                scratch = self._stack.enter_context(_scratch_folder())
                with _alone(scratch):
                    cluster = _patiently(
                        LocalCluster,
                        n_workers=0,
                        host=LOOPBACK,
                        dashboard_address=f"{LOOPBACK}:0",
                        scheduler_kwargs={"dashboard": False},
                        silence_logs=logging.ERROR,
                        security=security,
                    )
                self._stack.enter_context(cluster)
                for _ in range(self._expected):
                    self._stack.callback(_end, _started_worker(cluster.scheduler_address, scratch, security))
                address = cluster.scheduler_address
            client: Client = _patiently(connected, address, security, PATIENCE)
            return self._stack.enter_context(client)
        except ImportError as error:
            raise UsageError(INSTALL) from error
        except (OSError, ValueError, TimeoutError, TypeError) as error:  # the last one where certificates are missing
            self._stack.close()
            raise UsageError(f"--cluster {address}: {error or 'no answer'}") from error

    def _places(self) -> dict[str, WorkerPlace]:
        """Returns the places of the workers by their addresses. Raises `FleetError` where none comes."""
        try:
            self._client.wait_for_workers(self._expected, timeout=PATIENCE)
        except TimeoutError as error:
            if not self._workers():
                raise FleetError(f"{NO_WORKERS} for {PATIENCE:g} s") from error
            log.warning("note: %d of %d workers have come in %g s", len(self._workers()), self._expected, PATIENCE)
            self._expected = 1
        hosts: dict[str, list[str]] = {}
        for address, worker in sorted(self._workers().items()):
            hosts.setdefault(worker["host"], []).append(address)
        return {
            address: WorkerPlace(number, len(addresses))
            for addresses in hosts.values()
            for number, address in enumerate(addresses)
        }

    def _workers(self) -> dict[str, Any]:
        """Returns what the scheduler knows of the workers that are there, by their addresses."""
        known: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return known

    def _begun(self, posting: Posting) -> dict[str, tuple[str, int, int, Any]]:
        """Has all workers begin. Returns what `begun` says of each, by its address, but for those that are lost."""
        posted, number = self._at_workers(posting), next(self._openings)
        asked = {
            address: self._client.submit(
                begun, posted, workers=[address], key=f"begin-{posting.key}-{number}-{address}"
            )
            for address in posting.places
        }
        answers = {address: self._answer(address, future) for address, future in asked.items()}
        return {address: answer for address, answer in answers.items() if answer is not None}

    def _answer(self, address: str, future: Any) -> tuple[str, int, int, Any] | None:
        """Returns what a worker says that begins; None where it is lost meanwhile, or what it needs is."""
        while True:
            try:
                answer: tuple[str, int, int, Any] = future.result(timeout=CHECK_SECONDS)
                return answer
            except CancelledError:
                return None
            except Exception as error:
                if future.status == "error":
                    raise FleetError(
                        f"a member of the cluster cannot begin: {type(error).__name__}: {error}"
                    ) from error
                if address not in self._workers():  # Dask would wait for it without end
                    future.cancel()
                    return None

    def _hand_out(self, supply: Supply, under_way: dict[Any, UnderWay], finished: SimpleQueue[Any]) -> None:
        """Have as many items under way as keep all members busy, each with the member that has the most room."""
        room = Counter(self._widths)
        room.subtract(one.address for one in under_way.values())
        while True:
            address, left = room.most_common(1)[0]
            item = supply.take() if left > 0 else None
            if item is None:
                return
            self._submit(item, address, under_way, finished)
            room[address] -= 1

    def _submit(self, item: Hashable, address: str, under_way: dict[Any, UnderWay], finished: SimpleQueue[Any]) -> None:
        """Have an item made by a worker, or by another one if that is lost."""
        key = f"{str(item).replace(' ', '-')}-{uuid.uuid4().hex[:8]}"
        given: Common[Any] | None = getattr(item, "given", None)
        bare: Any = item if given is None else replace(item, given=None)  # type: ignore[type-var]
        needs = self._at_workers(self._posting), self._at_workers(given)
        where = {"workers": [address], "allow_other_workers": True}
        future = self._client.submit(made, needs[0], bare, needs[1], key=key, pure=False, **where)
        under_way[future] = UnderWay(item, address, needs)
        future.add_done_callback(finished.put)

    def _at_workers(self, needed: Posting | Common[Any] | None) -> Any:
        """Returns what stands for something that is with a worker; others get it there once they need it."""
        if needed is None:
            return None
        if needed not in self._sent:
            self._sent[needed] = self._scattered(needed)
        return self._sent[needed]

    def _scattered(self, needed: Posting | Common[Any]) -> Any:
        """Send something to a worker, and to another one where that is lost meanwhile."""
        tries = 0
        while True:
            try:
                return self._client.scatter(needed, hash=False)
            except Exception as error:
                tries += 1
                if tries == MOST_TRIES:
                    raise FleetError(f"what members need cannot be sent: {type(error).__name__}: {error}") from error
                log.warning("note: what members need is sent again: %s: %s", type(error).__name__, error)
                time.sleep(RETRY_SECONDS)

    def _outcome(self, future: Any, item: Hashable, needs: tuple[Any, ...]) -> tuple[Any | None, str]:
        """Returns what was made and by whom; None and the reason where it was not."""
        try:
            sealed, name = future.result()
        except CancelledError:
            left = {one: sent for one, sent in self._sent.items() if sent not in needs}
            if len(left) < len(self._sent):
                log.warning("note: what %s and others need was lost with a worker or the scheduler; sent again", item)
            self._sent = WeakKeyDictionary(left)
            self._rejoin()
            return None, "what it needs was lost"
        except Exception as error:
            log.warning("note: %s failed, and is made again: %s: %s", item, type(error).__name__, error)
            return None, f"{type(error).__name__}: {error}"
        if checksum(sealed.result) != sealed.checksum:
            log.warning("note: %s was damaged on its way, and is made again", item)
            return None, "its checksum is wrong"
        return sealed.result, name

    def _rejoin(self) -> None:
        """Waits until the scheduler and a worker are there again. Raises `FleetError` where they do not come."""
        end = time.monotonic() + PATIENCE
        while self._client.status == "connecting" and time.monotonic() < end:
            time.sleep(RETRY_SECONDS)
        if self._client.status != "running":
            raise FleetError(NO_SCHEDULER)
        self._expected = 1
        self._places()


def _scratch_folder() -> AbstractContextManager[str]:
    """Returns a folder that ends with the block. Dask's processes look for modules in theirs before all other places,
    and without one they would take /tmp/dask-scratch-space, whosever that is.

    Raises `UsageError` where there is no folder of this user's alone.
    """
    folder = private_folder("cluster")
    if folder is None:
        raise UsageError(f"--cluster {LOCAL}N needs a folder of your own; set TRACECORE_CACHE to one")
    with folder:
        return TemporaryDirectory(dir=folder.path, ignore_cleanup_errors=True)


def _alone(scratch: str) -> AbstractContextManager[Any]:
    """Has a scheduler that is started meanwhile keep its files in a folder, and answer nothing on the port of its
    dashboard, which has no password.
    """
    import dask

    return dask.config.set({"distributed.scheduler.http.routes": [], "temporary-directory": scratch})


def _patiently(make: Callable[..., Any], *words: Any, **named: Any) -> Any:
    """Returns what is made, a client or a cluster. Dask waits 10 s for its thread to begin, too few on a busy host, and
    then fails with an AssertionError; it is made again.
    """
    for _ in range(MOST_TRIES - 1):
        with suppress(AssertionError):
            return make(*words, **named)
    return make(*words, **named)


def _started_worker(scheduler: str, scratch: str, security: Security | None = None) -> subprocess.Popen[bytes]:
    """Starts a worker on this host, as a user would. It ends by itself where the scheduler is gone.

    scratch: a folder that nobody else can write to.
    security: what it shows the scheduler, or None for what Dask's configuration says. It is handed over in the
    environment, which this user alone can read.
    """
    # A worker has a page of its figures also without a dashboard.
    nowhere_else = ["--host", LOOPBACK, "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0"]
    # Dask would end a worker that takes more of the memory than its threads are of the cores.
    limits = ["--memory-limit", "0", "--death-timeout", str(int(PATIENCE))]
    options = ["--nthreads", str(LOCAL_THREADS), *nowhere_else, *limits]
    environment = {"DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]", "DASK_TEMPORARY_DIRECTORY": scratch}
    if security is not None:
        environment |= {
            "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": security.tls_ca_file,
            "DASK_DISTRIBUTED__COMM__TLS__WORKER__KEY": security.tls_worker_key,
            "DASK_DISTRIBUTED__COMM__TLS__WORKER__CERT": security.tls_worker_cert,
        }
    started: subprocess.Popen[bytes] = start_python(
        ["-m", "distributed.cli.dask_worker", scheduler, *options],
        environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for this process alone
    )
    return started


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    await_end(worker)


def checksum(result: Any) -> int:
    """Returns a number that stands for the arrays in a result, which may lie in tuples and dictionaries."""
    if isinstance(result, np.ndarray):
        return zlib.crc32(np.ascontiguousarray(result).reshape(-1).view(np.uint8).data)
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else ()
    total = 0
    for part in parts:
        total = zlib.crc32(checksum(part).to_bytes(4, "little"), total)
    return total


# What follows runs in the workers.

_lock = threading.Lock()
_members: dict[str, tuple[Maker, Seat]] = {}


def begun(posting: Posting) -> tuple[str, int, int, Any]:
    """Begins as a member. Returns its name, how many items keep it busy, Dask's threads of the worker, its report."""
    from distributed import get_worker

    maker, seat = _member(posting)
    return seat.name, maker.window, get_worker().state.nthreads, maker.report()


def made(posting: Posting, item: Any, given: Common[Any] | None) -> tuple[Sealed, str]:
    """Makes an item, with what it is given. Returns it, sealed, with the name of the member."""
    maker, seat = _member(posting)
    try:
        result = maker.make(item if given is None else replace(item, given=given))
    except TraceError:
        logging.getLogger(__name__).exception("the tracer failed; this process ends")
        os._exit(1)  # CUDA gives this process nothing more; Dask starts another one
    return Sealed(result, checksum(result)), seat.name


def _member(posting: Posting) -> tuple[Maker, Seat]:
    """Returns this process as a member, which it becomes if it is none yet, in place of what it was."""
    from distributed import get_worker

    with _lock:
        if posting.key not in _members:
            for maker, _ in _members.values():
                maker.close()
            _members.clear()
            load_installed()
            for path in posting.plugins:
                load_plugin(path)
            opening: Opening = pickle.loads(posting.opening)
            seat = _own_seat(posting, get_worker().address)
            _members[posting.key] = opening.make(opening.content, seat), seat
        return _members[posting.key]


def _own_seat(posting: Posting, address: str) -> Seat:
    """Returns the seat of this process: the workers of a host share its cores and GPUs out. One that came later, such
    as in place of one that was lost, may have to share with another.
    """
    usual = next(iter(posting.places.values()))
    number, workers = posting.places.get(address, WorkerPlace(os.getpid() % usual.of, usual.of))
    device = device_of(posting.device, number)
    threads = posting.threads or max(1, usable_cores() // workers)
    return Seat(number, device, threads, host=address.rpartition(":")[0].rpartition("/")[2], neighbours=workers)
