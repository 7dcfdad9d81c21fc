"""Processes that share out work: everything is made once, whatever becomes of the processes."""

import gc
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fleet_toys import MANY, Heap, Heaps, Importers, Marks, Squares, Total, Trouble, import_slowly

from renderer.errors import FleetError, UsageError
from renderer.fleet import ending, processes
from renderer.fleet.ending import await_end
from renderer.fleet.fleet import MOST_TRIES, Common, Items, Opening
from renderer.fleet.messages import MessagePlace, SharedView, receive, send
from renderer.fleet.processes import HostFleet, Member
from renderer.fleet.seats import Seat, seated, seats_of_gpus, seats_of_workers, shared_out
from tracecore.child_process import start_python
from tracecore.cuda import topology
from tracecore.threads import usable_cores

HERE = Path(__file__).parent
ITEMS, KILLS = 40, 10


@pytest.fixture(autouse=True)
def toys_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are processes of their own, which find the modules of these tests by the environment."""
    paths = [str(HERE), str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def seats(count: int) -> list[Seat]:
    return [Seat(number, "cpu", 1) for number in range(count)]


@pytest.fixture
def fleet() -> Iterator[HostFleet]:
    with closing(HostFleet(seats(2))) as members:
        yield members


def squares(fleet: HostFleet, trouble: Trouble) -> dict[int, float]:
    fleet.open(Opening(Squares, trouble))
    found: dict[int, float] = {}
    for item, _, square in fleet.results(Items(range(ITEMS))):
        assert item not in found
        assert (square == square[0]).all()
        found[item] = square[0]
    return found


ALL = {item: float(item) ** 2 for item in range(ITEMS)}


def test_no_two_threads_of_a_member_import_at_once() -> None:
    # The modules of Numba import each other, and a second thread would see some that are made by half.
    with closing(HostFleet(seats(2), code_of=import_slowly)) as members:
        assert members.open(Opening(Importers, None)) == [["MainThread"], ["MainThread"]]


def test_messages_come_as_they_were_sent() -> None:
    one, other = socket.socketpair()
    message = {"small": np.arange(5), "large": np.random.default_rng(1).random((700, 900)), "none": None}
    sender = threading.Thread(target=send, args=(one, message))
    sender.start()
    came = receive(other)
    sender.join()
    assert came["none"] is None
    assert all(np.array_equal(came[name], message[name]) for name in ("small", "large"))  # type: ignore[arg-type]
    one.close()
    with pytest.raises(EOFError):
        receive(other)
    other.close()


def test_everything_is_made_once_by_both(fleet: HostFleet) -> None:
    assert squares(fleet, Trouble()) == ALL
    assert set(fleet.shares.made) == {"0 (cpu)", "1 (cpu)"}
    assert sum(fleet.shares.made.values()) == ITEMS
    assert min(fleet.shares.made.values()) >= ITEMS // 4
    assert not fleet.shares.lost


@pytest.mark.parametrize("kind", ["device", "kill"])
def test_a_member_that_is_lost_is_left_out_and_its_work_made_again(fleet, kind, caplog):
    assert squares(fleet, Trouble(item=None, members=(0,), kind=kind)) == ALL
    assert fleet.shares.made == {"0 (cpu)": 0, "1 (cpu)": ITEMS}
    assert "member 0 (cpu) of the fleet is left out" in caplog.text
    assert ("no square of" if kind == "device" else "status -9") in fleet.shares.lost["0 (cpu)"]
    assert squares(fleet, Trouble()) == ALL  # the other one begins anew


def test_a_member_that_is_lost_while_an_opening_is_lent_is_left_out(fleet, monkeypatch):
    lend = fleet._memory.lend

    def lend_late(opening: Opening) -> object:
        lost, place_of = fleet._members[0], lend(opening)
        lost.process.kill()
        while lost in fleet._members:
            time.sleep(0.01)
        return place_of

    monkeypatch.setattr(fleet._memory, "lend", lend_late)
    assert squares(fleet, Trouble()) == ALL
    assert fleet.shares.made == {"0 (cpu)": 0, "1 (cpu)": ITEMS}


def test_members_killed_at_random_times_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `tests/kill_members.py` does it with pictures. Items come until ten members are killed."""
    kill_members = pytest.importorskip("kill_members", reason="psutil is not installed")
    monkeypatch.setitem(kill_members.SECONDS, "host", 0.05)
    with closing(HostFleet(seats(KILLS + 1))) as fleet, kill_members.killing("host", KILLS, random.Random(0)) as killed:
        fleet.open(Opening(Squares, Trouble()))
        items = itertools.takewhile(lambda item: item < 100 or len(killed) < KILLS, itertools.count())
        supply = SimpleNamespace(take=lambda: next(items, None), left=lambda: None)
        made = {item: square[0] for item, _, square in fleet.results(supply)}
    assert made == {item: float(item) ** 2 for item in range(len(made))}
    assert len(made) >= 100
    assert len(killed) == len(fleet.shares.lost) == KILLS


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("error", f"^7 failed {MOST_TRIES} times: ValueError: no square of 7"),
        ("kill", "^no member of the fleet is left: .* status -9.*; .*7.* was with each of them$"),
    ],
)
def test_an_item_that_fails_everywhere_ends_the_run_by_its_name(fleet, kind, words, monkeypatch):
    ask, asked = Member.ask, []

    def asking(member: Member, *words: object) -> None:
        asked.append(words[-1])
        ask(member, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(Member, "ask", asking)
    fleet.open(Opening(Squares, Trouble(item=7, members=(0, 1), kind=kind)))
    with pytest.raises(FleetError, match=words):
        list(fleet.results(Items(range(ITEMS))))
    assert asked.count(7) == (MOST_TRIES if kind == "error" else 2)


def test_a_member_that_cannot_begin_is_left_out(fleet: HostFleet) -> None:
    assert squares(fleet, Trouble(kind="start")) == ALL
    assert fleet.shares.made == {"0 (cpu)": 0, "1 (cpu)": ITEMS}
    assert fleet.shares.lost == {"0 (cpu)": "ValueError: no start for 0"}
    with pytest.raises(FleetError, match=r"no member of the fleet is left: .*no start for 0.*no start for 1"):
        fleet.open(Opening(Squares, Trouble(members=(1,), kind="start")))


def test_a_member_that_is_lost_right_after_its_beginning_is_left_out(fleet, monkeypatch):
    wait = fleet._wait

    def waiting(is_enough: object) -> None:
        wait(is_enough)
        monkeypatch.undo()
        fleet._leave_out(fleet._members[0], "lost")

    monkeypatch.setattr(fleet, "_wait", waiting)
    assert squares(fleet, Trouble()) == ALL
    assert fleet.shares.made == {"0 (cpu)": 0, "1 (cpu)": ITEMS}


def test_without_members_nothing_is_made() -> None:
    with closing(HostFleet(seats(1))) as fleet:
        fleet.open(Opening(Squares, Trouble(item=3, kind="device")))
        with pytest.raises(FleetError, match=r"no member of the fleet is left: 0 .cpu.: KernelError: no square of 3"):
            list(fleet.results(Items(range(ITEMS))))


def test_a_fleet_goes_on_after_a_caller_that_left_early(fleet: HostFleet) -> None:
    fleet.open(Opening(Squares, Trouble()))
    with closing(fleet.results(Items(range(ITEMS)))) as results:
        next(results)
    assert squares(fleet, Trouble()) == ALL
    again = {item: square[0] for item, _, square in fleet.results(Items(range(ITEMS)))}  # not opened anew
    assert again == ALL


def memory_taken(fleet: HostFleet) -> int:
    return sum(os.fstat(file).st_size for file in fleet._memory.files if file is not None)


def test_what_one_member_has_made_others_get_without_a_copy(fleet: HostFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what a member has made that is lost by then."""
    place_of, places = SharedView.place_of, []

    def finding(view: SharedView, content: memoryview) -> MessagePlace:
        places.append(place_of(view, content))
        return places[-1]

    monkeypatch.setattr(SharedView, "place_of", finding)
    fleet.open(Opening(Heaps, None))
    made = {heap.number: (name, many) for heap, name, many in fleet.results(Items(Heap(k, 0.1) for k in range(8)))}
    assert {name for name, _ in made.values()} == {"0 (cpu)", "1 (cpu)"}
    taken, given = memory_taken(fleet), Common(tuple(many for _, many in made.values()))
    fleet._members[0].process.kill()
    places.clear()
    totals = {item.number: total for item, _, total in fleet.results(Items(Total(k, given) for k in range(6)))}
    assert {place.file for place in places} == {0, 1}
    assert len(places) >= 6 * 8
    assert totals == {k: MANY * sum(range(8)) for k in range(6)}
    assert list(fleet.shares.lost) == ["0 (cpu)"]
    assert memory_taken(fleet) == taken >= 8 * 8 * MANY


def test_what_all_members_need_lies_in_memory_once(fleet: HostFleet) -> None:
    """Each sees what the other one writes there; an opening that follows has memory of its own."""
    for size in (MANY, MANY // 2):
        fleet.open(Opening(Marks, np.zeros(size)))
        marked = [(name, marks) for _, name, marks in fleet.results(Items(range(20)))]
        assert {name for name, _ in marked} == {"0 (cpu)", "1 (cpu)"}
        assert max(marks for _, marks in marked) == 20.0


def test_members_with_a_full_disk_and_no_memory_to_share_make_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    full = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
    monkeypatch.setattr(processes, "start_python", lambda *words, **how: start_python(*words, **how, preexec_fn=full))
    with closing(HostFleet(seats(2))) as fleet:
        fleet.open(Opening(Heaps, None))
        made = {heap.number: float(many.sum()) for heap, _, many in fleet.results(Items(Heap(k) for k in range(4)))}
        assert made == {k: float(k * MANY) for k in range(4)}
        assert not fleet.shares.lost
        assert memory_taken(fleet) == 0


def test_all_members_are_told_to_end_before_one_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, done = HostFleet(seats(2)), list[str]()
    for name in ("dismiss", "end"):
        step = getattr(processes.Member, name)
        monkeypatch.setattr(processes.Member, name, lambda one, step=step, name=name: done.append(name) or step(one))
    fleet.close()
    assert done[:3] == ["dismiss", "dismiss", "end"]


def test_memory_that_a_member_may_still_read_is_not_used_again(fleet: HostFleet, tmp_path: Path) -> None:
    """Where nobody waits for what it makes any more."""
    fleet.open(Opening(Heaps, None))
    heaps = tuple(many for *_, many in fleet.results(Items([Heap(1.0)])))
    is_there = weakref.ref(heaps[0])
    slow = Total(0, Common(heaps), file=tmp_path / "go")
    results = fleet.results(Items([slow, Heap(2.0)]))
    assert next(results)[0] == Heap(2.0)
    results.close()
    del heaps, slow, results
    gc.collect()
    assert is_there() is not None
    (tmp_path / "go").touch()
    await_(lambda: not any(member._lent for member in fleet._members), 60.0)
    assert is_there() is None
    assert squares(fleet, Trouble()) == ALL


def test_a_member_without_a_sign_of_life_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 6.0)
    with closing(HostFleet(seats(2))) as fleet:
        fleet.open(Opening(Squares, Trouble()))
        os.kill(fleet.process_numbers[0], signal.SIGSTOP)
        try:
            found = {item: square[0] for item, _, square in fleet.results(Items(range(ITEMS)))}
        finally:
            for number in fleet.process_numbers[:1]:
                os.kill(number, signal.SIGCONT)
        assert found == ALL
        assert "no sign of life for 6 s" in fleet.shares.lost["0 (cpu)"]


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_members_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    """Also where that is killed hard."""
    told = tmp_path / "numbers"
    owner = subprocess.Popen([sys.executable, str(HERE / "fleet_toys.py"), str(told)])
    await_(lambda: told.exists() and len(told.read_text().split()) == 2, 60.0)
    numbers = [int(text) for text in told.read_text().split()]
    assert all(map(is_alive, numbers))
    owner.kill()
    owner.wait()
    await_(lambda: not any(map(is_alive, numbers)), 20.0)


def await_(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("seconds", "status"), [(0.0, 0), (600.0, -signal.SIGKILL)])
def test_a_process_that_does_not_end_by_itself_is_killed(seconds, status, monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"])
    if seconds > 0.0:
        monkeypatch.setattr(ending, "END_SECONDS", 0.1)
    await_end(process)
    assert process.returncode == status


def test_cores_are_shared_out_near_their_devices() -> None:
    cores = frozenset(range(16))
    low, high = frozenset(range(8)), frozenset(range(8, 16))
    assert shared_out([high, low], cores) == [high, low]
    assert shared_out([low, low, high, high], cores) == [frozenset(range(first, first + 4)) for first in (0, 4, 8, 12)]
    assert shared_out([frozenset(), frozenset()], cores) == [low, high]
    assert shared_out([low, low], frozenset({0, 1, 2})) == [frozenset({0}), frozenset({1})]
    assert shared_out([low, low], frozenset({5})) == [frozenset({5}), frozenset({5})]


def test_workers_of_this_host_share_its_cores_and_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    own = max(1, usable_cores() // 3)
    assert seats_of_workers("local:3", "cpu", None) == [Seat(k, "cpu", own, neighbours=3) for k in range(3)]
    assert [seat.threads for seat in seats_of_workers("local:2", "emulator", 5)] == [5, 5]
    monkeypatch.setattr("tracecore.cuda.device.gpu_unavailable_reason", lambda index=None: None)
    monkeypatch.setattr("tracecore.cuda.device.gpu_count", lambda: 2)
    assert [seat.device for seat in seats_of_workers("local:3", "auto", 1)] == ["gpu:0", "gpu:1", "gpu:0"]


def test_threads_are_shared_out() -> None:
    places = seated(["gpu:0", "gpu:1"], [frozenset(), frozenset()], 7)
    assert [(seat.number, seat.device, seat.threads) for seat in places] == [(0, "gpu:0", 3), (1, "gpu:1", 3)]
    assert [seat.threads for seat in seated(["gpu:0", "gpu:1"], [frozenset(), frozenset()], 1)] == [1, 1]


def test_cores_near_a_device_are_read_from_the_bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Driver:
        def bus_address(self, index: int) -> str:
            return ["0000:1A:00.0", "0000:3b:00.0"][index]

    monkeypatch.setattr(topology, "installed_driver", Driver)
    folder = tmp_path / "0000:1a:00.0"
    folder.mkdir()
    (folder / "local_cpulist").write_text("0-2,8,10-11\n")
    assert topology.cores_near(0, tmp_path) == {0, 1, 2, 8, 10, 11}
    assert topology.cores_near(1, tmp_path) == frozenset()


@pytest.mark.parametrize("gpus", [1, 5, "all"])
def test_gpus_that_are_not_there_are_told(gpus: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracecore.cuda.device.gpu_unavailable_reason", lambda index=None: "no driver")
    with pytest.raises(UsageError, match=rf"--gpus {gpus}: there are 0 GPUs here \(no driver\)"):
        seats_of_gpus(gpus, None)
