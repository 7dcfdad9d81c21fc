"""Pictures by the workers of a Dask cluster, on this host: the same bits, also where a worker is killed."""

import gc
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fleet_toys import MANY, Heaps, Squares, Total, Trouble

import renderer
from renderer.errors import FleetError, UsageError
from renderer.fleet.fleet import MOST_TRIES, Common, Items, Opening

pytest.importorskip("distributed", reason="Dask is not installed; pip install 'tracecore[cluster]'")

import dask
import psutil
from distributed import Client, LocalCluster
from distributed.security import Security

from renderer.fleet import cluster
from renderer.fleet.cluster import ClusterFleet, WorkerPlace, checksum
from renderer.fleet.cluster_access import Certificates

HERE = Path(__file__).parent


@pytest.fixture(autouse=True, scope="module")
def toys_are_found() -> Iterator[None]:
    """Workers are processes of their own, which find the modules of these tests by the environment."""
    paths = [str(HERE), str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        yield


def listeners() -> set[tuple[str, int]]:
    """The addresses that this process and those that it has started listen to."""
    me = psutil.Process()
    connections = [one for process in (me, *me.children(recursive=True)) for one in process.net_connections()]
    return {tuple(one.laddr) for one in connections if one.status == psutil.CONN_LISTEN}


@pytest.fixture(scope="module")
def before() -> set[tuple[str, int]]:
    """Those that are there before there is a cluster."""
    return listeners()


@pytest.fixture(scope="module")
def two(before: set[tuple[str, int]]) -> Iterator[ClusterFleet]:
    with closing(ClusterFleet("local:2", "cpu", 1)) as fleet:
        yield fleet


def squares(fleet: ClusterFleet, trouble: Trouble, items: int = 30) -> dict[int, float]:
    fleet.open(Opening(Squares, trouble))
    return {item: square[0] for item, _, square in fleet.results(Items(range(items)))}


def test_everything_is_made_once_by_both(two: ClusterFleet) -> None:
    assert squares(two, Trouble()) == {item: float(item) ** 2 for item in range(30)}
    assert sum(two.shares.made.values()) == 30
    assert len(two.shares.made) == 2
    assert min(two.shares.made.values()) > 0


def test_what_is_started_here_listens_to_this_host_alone(two: ClusterFleet, before: set[tuple[str, int]]) -> None:
    """Whoever reaches a scheduler or a worker runs any code there."""
    two.open(Opening(Squares, Trouble()))
    started = listeners() - before
    assert len(started) >= 3  # of the scheduler and two workers
    assert {address for address, _ in started} == {"127.0.0.1"}


def test_workers_may_take_all_memory(two: ClusterFleet) -> None:
    """Dask would end one that takes more than its share; `renderer.run.memory` sees to what a picture takes."""
    two.open(Opening(Squares, Trouble()))
    workers = two._client.scheduler_info(n_workers=-1)["workers"].values()
    assert [worker["memory_limit"] for worker in workers] == [0, 0]


def test_an_item_that_fails_everywhere_ends_the_run_by_its_name(two, caplog):
    two.open(Opening(Squares, Trouble(item=7, members=(0, 1))))
    with pytest.raises(FleetError, match=f"7 failed {MOST_TRIES} times: ValueError: no square of 7"):
        list(two.results(Items(range(30))))
    assert caplog.text.count("note: 7 failed, and is made again") == MOST_TRIES


def test_what_was_damaged_on_its_way_is_made_again(two, monkeypatch, caplog):
    seen = []

    def damaged_once(result: Any) -> int:
        seen.append(result)
        return checksum(result) ^ (len(seen) == 3)

    monkeypatch.setattr(cluster, "checksum", damaged_once)  # in this process alone
    assert squares(two, Trouble()) == {item: float(item) ** 2 for item in range(30)}
    assert len(seen) == 31
    assert "was damaged on its way, and is made again" in caplog.text


def given_heaps() -> Common[Any]:
    return Common(tuple(np.full(MANY, float(number)) for number in range(3)))


def test_what_many_items_need_is_sent_once(two: ClusterFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    two.open(Opening(Heaps, None))
    scatter, sent = two._client.scatter, []

    def scattering(given: Any, **words: Any) -> Any:
        sent.append(given)
        return scatter(given, **words)

    monkeypatch.setattr(two._client, "scatter", scattering)
    given = given_heaps()
    totals = {item.number: total for item, _, total in two.results(Items(Total(k, given) for k in range(9)))}
    assert totals == dict.fromkeys(range(9), 3.0 * MANY)
    assert sent == [given]
    assert len(two._sent) == 2  # with the opening
    del given
    sent.clear()
    gc.collect()
    assert len(two._sent) == 1  # so that the workers forget it


def test_what_cannot_be_sent_ends_the_run(two: ClusterFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some tries: a worker that is lost just then does not."""
    two.open(Opening(Heaps, None))
    scatter, tries = two._client.scatter, []

    def failing(given: Any, *, most: int, **words: Any) -> Any:
        tries.append(given)
        if len(tries) < most:
            raise OSError("Stream is closed")
        return scatter(given, **words)

    monkeypatch.setattr(cluster, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(two._client, "scatter", partial(failing, most=MOST_TRIES))
    assert [total for *_, total in two.results(Items([Total(1, given_heaps())]))] == [3.0 * MANY]
    assert len(tries) == MOST_TRIES
    monkeypatch.setattr(two._client, "scatter", partial(failing, most=99))
    with pytest.raises(FleetError, match="what members need cannot be sent: OSError: Stream is closed"):
        list(two.results(Items([Total(1, given_heaps())])))


def test_what_items_need_is_sent_again_where_the_worker_that_had_it_is_killed(two: ClusterFleet) -> None:
    """Dask's nanny starts a new worker."""
    two.open(Opening(Heaps, None))
    given = given_heaps()
    processes = two._client.run(os.getpid)
    totals, killed = {}, False
    with closing(two.results(Items(Total(k, given, seconds=0.3) for k in range(24)))) as results:
        for item, _, total in results:
            totals[item.number] = total
            if not killed:
                (holders,) = two._client.who_has([two._sent[given]]).values()
                for address in holders:  # it may be both by now: then both have had it
                    os.kill(processes[address], signal.SIGKILL)
                killed = True
    assert totals == dict.fromkeys(range(24), 3.0 * MANY)


def test_a_worker_that_is_lost_as_it_begins_is_not_waited_for(two, monkeypatch):
    """Dask waits without end for a worker that was named and is gone."""
    monkeypatch.setattr(cluster, "CHECK_SECONDS", 0.01)
    places = two._places
    gone = dict.fromkeys(["tls://127.0.0.1:9"], WorkerPlace(2, 3))
    monkeypatch.setattr(two, "_places", lambda: places() | gone)
    assert squares(two, Trouble(), 5) == {item: float(item) ** 2 for item in range(5)}


def test_a_checksum_is_of_all_arrays() -> None:
    one = (np.arange(5), {"a": np.ones(3), "b": (np.zeros(2), "text")})
    assert checksum(one) == checksum((np.arange(5), {"a": np.ones(3), "b": (np.zeros(2), "other")}))
    assert checksum(one) != checksum((np.arange(5), {"a": np.ones(3), "b": (np.ones(2), "text")}))
    assert checksum(one) != checksum((np.arange(1, 6), {"a": np.ones(3), "b": (np.zeros(2), "text")}))


def test_a_connection_that_is_cut_is_made_again(two: ClusterFleet, caplog: pytest.LogCaptureFixture) -> None:
    """As where the network is cut for a moment, or the scheduler restarted; what was under way is made again."""
    two.open(Opening(Squares, Trouble()))
    client, squares = two._client, {}
    with closing(two.results(Items(range(60)))) as results:
        for item, _, square in results:
            squares[item] = square[0]
            if len(squares) == 5:
                client.loop.add_callback(client.scheduler_comm.comm.abort)
    assert squares == {item: float(item) ** 2 for item in range(60)}
    assert caplog.text.count("sent again") == 1


def test_a_cluster_that_loses_all_its_workers_ends_the_run(two: ClusterFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the last one that uses these workers. Where they are lost as they begin, three rounds of them are tried."""
    assert len(two._places()) == 2
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    monkeypatch.setattr(cluster, "CHECK_SECONDS", 0.05)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two, "_places", lambda: {"tls://127.0.0.1:9": WorkerPlace(0, 1)})
        with pytest.raises(FleetError, match="the workers of the cluster are lost before they begin"):
            two.open(Opening(Squares, Trouble()))
    two.open(Opening(Squares, Trouble()))
    with closing(two.results(Items(range(10_000)))) as results:
        made = [next(results)[0] for _ in range(5)]
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if "dask_worker" in (words := " ".join(process.cmdline())) or "multiprocessing.spawn" in words:
                    process.kill()
        with pytest.raises(FleetError, match=r"the cluster has had no workers for 0\.5 s"):
            made += [item for item, *_ in results]
    assert len(made) == len(set(made))


def test_a_scheduler_that_is_lost_is_told_whatever_fails(two: ClusterFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's client connects again, or closes after a while; then its calls fail in many ways."""
    monkeypatch.setattr(cluster, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(two, "_client", SimpleNamespace(status="closed"))
    with pytest.raises(FleetError, match="the scheduler of the cluster is lost"):
        two._rejoin()
    with pytest.raises(FleetError, match="the scheduler of the cluster is lost"):
        list(two.results(Items(range(3))))


def test_a_worker_killed_in_the_middle_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask gives what it was making to the other one."""
    chosen = {"driver": "sppm", "size": (48, 32), "passes": 40, "quiet": True, "device": "cpu"}
    one = renderer.render("cornell", **chosen, threads=2)  # type: ignore[arg-type]
    killed = []
    started: list[subprocess.Popen[bytes]] = []
    start = cluster._started_worker

    def started_worker(*words: Any) -> "subprocess.Popen[bytes]":
        started.append(start(*words))
        return started[-1]

    def add(film: Any, *made: Any, original: Any = renderer.film.film.Film.add) -> None:
        original(film, *made)
        if film.passes == 3:
            killed.append(kill_with_children(started[0].pid))

    monkeypatch.setattr("renderer.run.members.open_fleet.HAS_SOCKETS", False)  # so that it is one of Dask's
    monkeypatch.setattr(cluster, "_started_worker", started_worker)
    monkeypatch.setattr("renderer.film.film.Film.add", add)
    many = renderer.render("cornell", **chosen, cluster="local:2", threads=1)  # type: ignore[arg-type]
    assert killed == [True]
    assert many.image.tobytes() == one.image.tobytes()


def kill_with_children(number: int) -> bool:
    children = subprocess.run(["pgrep", "-P", str(number)], capture_output=True, text=True, check=False).stdout.split()
    for one in [number, *map(int, children)]:
        os.kill(one, signal.SIGKILL)
    return len(children) > 0


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with pytest.raises(UsageError, match=r"--cluster tcp://127\.0\.0\.1:9: "):
        ClusterFleet("tcp://127.0.0.1:9", "cpu", 1)
    for address in ("local:0", "local:x", "local:999"):
        with pytest.raises(UsageError, match="expected local:N with N from 1 to 64"):
            ClusterFleet(address, "cpu", 1)


@pytest.mark.parametrize("scheme", ["tcp", "tls"])
def test_a_client_that_finds_no_scheduler_is_closed(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's own closing, where it is collected, may wait for a lock that its thread has."""
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    made, start = [], Client.start
    monkeypatch.setattr(Client, "start", lambda client, **named: (made.append(client), start(client, **named)))
    with pytest.raises(UsageError):
        ClusterFleet(f"{scheme}://127.0.0.1:9", "cpu", 1)
    assert [client.status for client in made] == ["closed"]


def test_what_begins_late_on_a_busy_host_is_made_again() -> None:
    """Dask's client fails with an AssertionError where its thread does not begin in 10 s."""
    late = iter([AssertionError, AssertionError])

    def made(number: int, *, most: int) -> int:
        for error in late:
            raise error
        return number * most

    assert cluster._patiently(made, 6, most=7) == 42
    late = iter([AssertionError] * MOST_TRIES)
    with pytest.raises(AssertionError):
        cluster._patiently(made, 6, most=7)


def test_an_encrypted_cluster(tmp_path: Path) -> None:
    """Its certificates are named by options or in Dask's configuration."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tracecore"]
    try:
        made = subprocess.run(
            ["openssl", *words, "-keyout", key, "-out", certificate], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert made.returncode == 0
    files = {"ca-file": str(certificate)}
    for role in ("scheduler", "worker", "client"):
        files |= {f"{role}.key": str(key), f"{role}.cert": str(certificate)}
    settings = {f"distributed.comm.tls.{name}": value for name, value in files.items()}
    where = {"protocol": "tls://", "host": "127.0.0.1", "dashboard_address": None}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in files.items():  # for the worker, a process of its own
            words = name.upper().replace("-", "_").replace(".", "__")  # type: ignore[assignment]
            patch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{words}", value)
        with dask.config.set(settings):
            scheduler = LocalCluster(n_workers=0, security=Security(), **where)
        with scheduler:
            address = scheduler.scheduler_address
            assert address.startswith("tls://")
            worker = cluster._started_worker(address, str(tmp_path))
            try:
                with pytest.raises(UsageError, match="TLS"):
                    ClusterFleet(address, "cpu", 1)
                named = Certificates(ca=certificate, cert=certificate, key=key)
                with closing(ClusterFleet(address, "cpu", 1, named)) as fleet:
                    assert squares(fleet, Trouble()) == {item: float(item) ** 2 for item in range(30)}
                with dask.config.set(settings), closing(ClusterFleet(address, "cpu", 1)) as fleet:
                    assert squares(fleet, Trouble(), 1) == {0: 0.0}
            finally:
                cluster._end(worker)
