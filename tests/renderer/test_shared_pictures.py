"""Pictures, frames and photons that several processes make together have the bits that one process gives them."""

import json
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from small_scenes import LAMP_BEHIND_A_WALL

import renderer
import tracecore
from renderer import cli, drivers
from renderer.drivers.driver import Radiance, Work
from renderer.drivers.pass_site import PassSite
from renderer.drivers.path import PathDriver
from renderer.drivers.shares import MapShare, PhotonShare, Share
from renderer.errors import FleetError, UsageError
from renderer.film.film import Film
from renderer.fleet import processes
from renderer.fleet import seats as fleet_seats
from renderer.fleet.processes import HostFleet, Member
from renderer.fleet.seats import Seat
from renderer.photons.ranges import RANGE_PHOTONS
from renderer.run.members import fleet_driver
from renderer.run.members.fleet_driver import shared_driver
from renderer.run.members.open_fleet import members_ahead, open_fleet
from renderer.run.members.pass_supply import PassSupply
from renderer.run.members.photon_member import SharedTracing
from renderer.run.members.picture_member import MemberOrder, PictureMember
from renderer.run.members.sent_tree import SentTree
from renderer.run.photon_run.photon_parts import read_photon_part
from renderer.run.photon_run.rounds import PILOT_PHOTONS
from renderer.run.picture.picture_files import statistics_path
from renderer.run.plan import Plan
from renderer.run.render_call import opened, plan_picture
from renderer.settings.picture import Settings
from tracecore.layout.bvh8 import CACHE_LINE
from tracecore.tracers.cpu import CpuTracer

#: Seconds after which a test that waits for other threads has failed.
LONG = 30.0

SIZE = (48, 32)
CHOSEN = Settings(size=SIZE, passes=5, quiet=True, seed=3)


def seats(count: int) -> list[Seat]:
    return [Seat(number, "cpu", 1) for number in range(count)]


@pytest.fixture(scope="module")
def fleet() -> Iterator[HostFleet]:
    with closing(HostFleet(seats(2))) as members:
        yield members


@pytest.fixture
def kept(fleet: HostFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands share out to the members that are there, and leave them."""
    monkeypatch.setattr(processes, "HostFleet", lambda *_: fleet)
    monkeypatch.setattr(fleet, "close", lambda: None)


@pytest.fixture(autouse=True)
def gpus_are_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members trace on the CPU, so that these tests need no GPU."""
    monkeypatch.setattr(fleet_seats, "seats_of_gpus", lambda gpus, threads: seats(gpus))


def plan(**changes: Any) -> Plan:
    return plan_picture("cornell", replace(CHOSEN, **changes))


def alone(**changes: Any) -> renderer.Picture:
    return renderer.render("cornell", replace(CHOSEN, device="cpu", threads=2), **changes)


def passes_of_two(fleet: HostFleet, chosen: Plan) -> Iterator[tuple[Any, Any]]:
    chosen = replace(chosen, settings=replace(chosen.settings, gpus=2))
    with opened(chosen) as context:
        driver = shared_driver(chosen, fleet)(context, chosen.driver_settings(context.snapshot))
        with closing(driver.passes(iter(range(chosen.settings.passes or 0)))) as passes:
            for made in passes:
                yield driver, made.values


class One(NamedTuple):
    """Is what one process makes. images: of the passes. work: of them. traced: rays that its tracer has traced.
    pilot: of these, before the first pass."""

    images: list[Any]
    work: Work
    traced: int
    pilot: int


def of_one(chosen: Plan) -> One:
    with opened(replace(chosen, settings=replace(chosen.settings, device="cpu"))) as context:
        driver = chosen.driver(context.snapshot, context.tracer, chosen.driver_settings(context.snapshot))
        with closing(driver):
            pilot = context.tracer.statistics().rays
            images = [driver.render_pass(index) for index in range(chosen.settings.passes or 0)]
            return One(images, driver.work, context.tracer.statistics().rays, pilot)


@contextmanager
def noted() -> Iterator[list[Any]]:
    """Returns the list to which shares of photons and maps come that are made within the block."""
    note, shares = PassSupply.note, []

    def noting(supply: PassSupply, share: Any, values: Any) -> None:
        shares.append(share)
        note(supply, share, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PassSupply, "note", noting)
        yield shares


DRIVERS = ("photon", "path", "path+caustics", "sppm", "photons-only", "gather", "whitted", "ao")


@pytest.mark.parametrize("driver", DRIVERS)
def test_two_processes_give_the_bits_of_one(fleet: HostFleet, driver: str) -> None:
    rays, photons = 0, 0
    total = 0.0
    for made_by, image in passes_of_two(fleet, plan(driver=driver)):
        total = total + image
        rays, photons = made_by.work.rays, made_by.work.photons
    one = alone(driver=driver)
    assert (total[..., :3] / CHOSEN.passes).astype(np.float32).tobytes() == one.image.tobytes()
    assert photons.stored == one.statistics["photons.stored"]
    assert (rays.camera, rays.bounce) == (one.statistics["rays.camera"], one.statistics["rays.bounce"])
    assert rays.photon == one.statistics["rays.photon"]


@pytest.mark.parametrize(
    "changes",
    [
        {"driver": "photon", "crop": (5, 3, 40, 27)},
        {"driver": "sppm", "crop": (5, 3, 40, 27)},
        {"driver": "sppm", "layers": True},
        {"driver": "path", "layers": True, "passes": 1},
    ],
)
def test_crops_and_layers_are_shared_too(fleet: HostFleet, changes: dict[str, Any], tmp_path: Path) -> None:
    chosen = plan(**changes, output=tmp_path / "a.exr")
    total = sum(
        image for index, (_, image) in enumerate(passes_of_two(fleet, chosen)) if index < chosen.settings.passes
    )
    assert total.tobytes() == sum(of_one(chosen).images).tobytes()


#: Photons of a pass, of which each of two members traces half.
TWO_RANGES = 2 * RANGE_PHOTONS


@pytest.mark.parametrize(
    ("driver", "passes", "maps"),
    [("sppm", 3, 3), ("photon", 3, 1), ("path+caustics", 1, 1), ("gather", 1, 1), ("photons-only", 3, 1)],
)
@pytest.mark.parametrize("layers", [False, True])
def test_photons_and_maps_of_what_is_cut_are_made_once(fleet, driver, passes, maps, layers, tmp_path):
    """By both members together; passes that are not cut trace their own."""
    chosen = plan(driver=driver, passes=passes, photons=TWO_RANGES, layers=layers, output=tmp_path / "a.exr")
    with noted() as shares:
        images = list(passes_of_two(fleet, chosen))
    one = of_one(chosen)
    assert sum(image for _, image in images).tobytes() == sum(one.images).tobytes()
    work = images[-1][0].work
    assert work.photons == one.work.photons
    assert work.rays == one.work.rays
    assert images[-1][0].traced.rays <= one.traced + one.pilot
    assert len([share for share in shares if isinstance(share, MapShare)]) == maps
    assert len([share for share in shares if isinstance(share, PhotonShare)]) == 2 * maps


@pytest.mark.parametrize("driver", ["sppm", "photons-only"])
@pytest.mark.parametrize("kind", [PhotonShare, MapShare, Share])
def test_a_member_killed_at_photons_maps_or_parts_changes_no_bit(driver, kind, monkeypatch):
    """What it was making is made again, of what others have made and of what it had made itself."""
    ask, asked, killed = Member.ask, [], []

    def killing(member: Member, *words: Any) -> None:
        ask(member, *words)
        if isinstance(words[-1], kind):
            asked.append(member)
            if len(asked) == (1 if driver == "photons-only" and kind is not Share else 3):
                member.process.kill()
                killed.append(member.name)

    monkeypatch.setattr(Member, "ask", killing)
    chosen = plan(driver=driver, passes=4, photons=TWO_RANGES)
    with closing(HostFleet(seats(2))) as fleet:
        images = list(passes_of_two(fleet, chosen))
        assert list(fleet.shares.lost) == killed
        assert len(killed) == 1
    one = of_one(chosen)
    assert sum(image for _, image in images).tobytes() == sum(one.images).tobytes()
    work = images[-1][0].work
    assert (work.photons, work.rays) == (one.work.photons, one.work.rays)


@pytest.mark.parametrize("driver", ["photon", "sppm"])
def test_a_member_killed_in_the_middle_changes_no_bit(driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that is asked for a third share is killed before it has made it."""
    ask, asked, killed = Member.ask, Counter[str](), list[str]()

    def killing(member: Member, *words: Any) -> None:
        ask(member, *words)
        if isinstance(words[-1], Share) and not killed:
            asked[member.name] += 1
            if asked[member.name] == 3:
                member.process.kill()
                killed.append(member.name)

    monkeypatch.setattr(Member, "ask", killing)
    total: Any = 0.0
    with closing(HostFleet(seats(2))) as fleet:
        for _, image in passes_of_two(fleet, plan(driver=driver, passes=40)):
            total = total + image
        assert list(fleet.shares.lost) == killed
        assert "status -9" in fleet.shares.lost[killed[0]]
        assert fleet.shares.made[killed[0]] < 40
    one = alone(driver=driver, passes=40)
    assert (total[..., :3] / 40).astype(np.float32).tobytes() == one.image.tobytes()


def run(*words: object) -> int:
    return cli.main([str(word) for word in ("render", "cornell", "--size", "48x32", "--quiet", *words)])


def test_the_command_shares_a_picture_out(tmp_path: Path) -> None:
    """Its statistics tell how; the files have the bytes of one process's."""
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    assert run("--driver", "photon", "--passes", 5, "--device", "cpu", "-o", one) == 0
    assert run("--driver", "photon", "--passes", 5, "--cluster", "local:2", "--threads", 1, "-o", two) == 0
    for suffix in (".png", ".npy"):
        assert one.with_suffix(suffix).read_bytes() == two.with_suffix(suffix).read_bytes()
    figures, expected = (json.loads(statistics_path(path).read_text()) for path in (two, one))
    for key in ("rays.total", "photons.emitted", "photons.stored", "passes", "noise", "kernel", "device"):
        assert figures[key] == expected[key]
    assert expected["members"] is None
    rows = figures["members"]
    assert [row["name"] for row in rows] == ["0 (cpu)", "1 (cpu)"]
    assert sum(row["items"] for row in rows) == 8  # four passes, and the photons, the maps and both parts of the last
    assert sum(row["rays"] for row in rows) == figures["rays.total"]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)


def no_gpus(*_: Any) -> list[Seat]:
    raise UsageError("there are 0 GPUs here")


def test_a_member_answers_as_soon_as_a_pass_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pass is asked for while the first is made, and waits for the first to be answered."""
    has_begun, is_asked, is_answered = threading.Event(), threading.Event(), threading.Event()

    def trace_pass(driver: PathDriver, index: int, site: PassSite) -> Radiance:
        has_begun.set()
        assert (is_answered if index else is_asked).wait(LONG)
        return traced(driver, index, site)

    traced = PathDriver.trace_pass
    monkeypatch.setattr(PathDriver, "trace_pass", trace_pass)
    chosen = plan(driver="path", device="cpu")
    member = PictureMember(MemberOrder(scene=chosen.scene, settings=chosen.settings), seats(1)[0])
    with closing(member), ThreadPoolExecutor(2) as threads:
        first = threads.submit(member.make, Share(0))
        assert has_begun.wait(LONG)
        second = threads.submit(member.make, Share(1))
        is_asked.set()
        assert first.result(LONG).made.values.any()
        is_answered.set()
        assert second.result(LONG).made.values.any()


def test_members_that_begin_ahead_are_taken_over_or_end(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    closed: list[Any] = []

    def fleet_of(places: list[Seat], *_: Any) -> Any:
        begun.append(SimpleNamespace(seats=places))
        begun[-1].close = partial(closed.append, begun[-1])
        return begun[-1]

    monkeypatch.setattr(processes, "HostFleet", fleet_of)
    local = Settings(cluster="local:2", threads=1, device="cpu")
    with members_ahead(local):
        with open_fleet(local) as taken:
            assert [taken] == begun
        with open_fleet(replace(local, threads=2)) as other:
            assert [taken, other] == begun
    with members_ahead(Settings(gpus=2)), members_ahead(Settings()):
        assert len(begun) == 3
    with monkeypatch.context() as none_there:
        none_there.setattr(fleet_seats, "seats_of_gpus", no_gpus)
        with members_ahead(Settings(gpus=2)):
            assert len(begun) == 3  # there are none, which is told when all else is known to be possible
    with pytest.raises(UsageError, match="does nothing for the driver ao"):
        renderer.render("cornell", local, driver="ao", photons=9)
    assert closed == begun
    assert len(begun) == 4


def test_a_tree_is_packed_once_for_members_that_see_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = plan(device="cpu").snapshot().positions
    with tracecore.open_tracer(positions, device="cpu") as tracer:
        sent, bare = (pickle.loads(pickle.dumps(SentTree.of(tracer, cluster))) for cluster in ("local:2", None))
    assert bare.wide is None
    monkeypatch.setattr("tracecore.tracers.cpu.collapse", lambda *_, **__: pytest.fail("it is packed again"))
    with CpuTracer(positions, tree=sent.taken()) as mine:
        assert mine.wide.nodes.tobytes() == sent.wide.nodes.tobytes()
        assert all(records.ctypes.data % CACHE_LINE == 0 for records in (mine.wide.nodes, mine.wide.blocks))


@pytest.mark.usefixtures("kept")
def test_members_make_the_passes_of_a_picture_that_is_yielded_pass_by_pass() -> None:
    *_, shared = renderer.render_passes("cornell", CHOSEN, driver="photon", gpus=2)
    assert shared.image.tobytes() == alone(driver="photon").image.tobytes()
    assert {row["name"] for row in shared.statistics["members"]} == {"0 (cpu)", "1 (cpu)"}


@pytest.mark.usefixtures("kept")
def test_members_send_runs_of_passes_that_they_have_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight passes as runs of three at most; the ninth is cut, so that both members end together."""
    monkeypatch.setattr(fleet_driver, "run_of", lambda passes, members: 3)
    changes: dict[str, Any] = {"driver": "photon", "passes": 9, "layers": True, "clamp": 0.3}
    pictures = list(renderer.render_passes("cornell", CHOSEN, gpus=2, **changes))
    assert [one.passes for one in pictures] == [3, 6, 8, 9]
    one = alone(**changes)
    assert pictures[-1].image.tobytes() == one.image.tobytes()
    assert {name: layer.tobytes() for name, layer in pictures[-1].layers.items()} == {
        name: layer.tobytes() for name, layer in one.layers.items()
    }
    for key in ("noise", "samples.clamped", "rays.total", "photons.stored"):
        assert pictures[-1].statistics[key] == one.statistics[key]
    assert one.statistics["samples.clamped"] > 0


def test_a_member_killed_at_a_run_of_passes_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first that is asked for a run other than the first one is killed before it has made it."""
    ask, killed = Member.ask, list[str]()

    def killing(member: Member, *words: Any) -> None:
        ask(member, *words)
        if isinstance(words[-1], Share) and words[-1].index > 0 and not killed:
            member.process.kill()
            killed.append(member.name)

    monkeypatch.setattr(Member, "ask", killing)
    monkeypatch.setattr(fleet_driver, "run_of", lambda passes, members: 4)
    *_, shared = renderer.render_passes("cornell", CHOSEN, gpus=2, driver="path", passes=12)
    assert len(killed) == 1
    assert shared.image.tobytes() == alone(driver="path", passes=12).image.tobytes()


def interrupted_after(passes: int) -> Callable[[Film, Any, Any], None]:
    """Returns `Film.add` as it is where the user presses Ctrl-C as so many passes have been added."""
    add, added = Film.add, []

    def interrupt(film: Film, radiance: Any, carried: Any) -> None:
        add(film, radiance, carried)
        added.append(film)
        if len(added) == passes:
            raise KeyboardInterrupt

    return interrupt


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("driver", ["path", "sppm"])
def test_one_process_goes_on_with_the_checkpoint_of_several(driver: str, tmp_path: Path) -> None:
    """And several with that of one."""
    whole, here = tmp_path / "whole.npy", ("--device", "cpu")
    assert run("--driver", driver, "--passes", 6, *here, "-o", whole) == 0
    for first, then in ((("--gpus", 2), here), (here, ("--gpus", 2))):
        path = tmp_path / "a.npy"
        words = ("--driver", driver, "--passes", 6, "-o", path, "--force")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Film, "add", interrupted_after(3))
            assert run(*words, *first, "--checkpoint", 1000) == 130
        assert run(*words, *then, "--resume") == 0
        assert path.read_bytes() == whole.read_bytes()


@pytest.mark.usefixtures("kept")
def test_frames_are_shared_out(tmp_path: Path) -> None:
    """Also those that a sequence misses; the files are those of one process."""
    words = ("render", "museum:10k", "--frames", "0:4", "--size", "32x24", "--passes", "2", "--driver", "path")
    assert cli.main([*words, "--device", "cpu", "--quiet", "-o", f"{tmp_path}/one.gif"]) == 0
    assert cli.main([*words, "--gpus", "2", "--quiet", "-o", f"{tmp_path}/two.gif"]) == 0
    figures = json.loads((tmp_path / "two.gif.json").read_text())
    assert sum(figures[key] for key in figures if ".main." in key) == pytest.approx(figures["seconds.wall"])
    assert min(figures[f"seconds.{name}"] for name in ("main.wait_members", "writer.writing")) > 0.0
    names = [".gif", *(f"-{frame:04}.png" for frame in range(5))]
    assert all((tmp_path / f"one{name}").read_bytes() == (tmp_path / f"two{name}").read_bytes() for name in names)
    (tmp_path / "two-0003.png").unlink()
    before = (tmp_path / "two-0002.png").stat().st_mtime_ns
    assert cli.main([*words, "--gpus", "2", "--quiet", "--resume", "-o", f"{tmp_path}/two.gif"]) == 0
    assert (tmp_path / "two-0003.png").read_bytes() == (tmp_path / "one-0003.png").read_bytes()
    assert (tmp_path / "two-0002.png").stat().st_mtime_ns == before


@pytest.mark.usefixtures("kept")
def test_frames_of_a_file_have_the_exposure_of_the_film(tmp_path: Path) -> None:
    """Exposure and white are metered before members make anything."""
    lamp = tmp_path / "lamp.toml"
    lamp.write_text(LAMP_BEHIND_A_WALL)
    words = ("render", str(lamp), "--frames", "0:1", "--size", "32x24", "--passes", "2", "--driver", "path", "--quiet")
    assert cli.main([*words, "--device", "cpu", "-o", f"{tmp_path}/one.png"]) == 0
    assert cli.main([*words, "--gpus", "2", "-o", f"{tmp_path}/two.png"]) == 0
    for frame in ("0000", "0001"):
        assert (tmp_path / f"one-{frame}.png").read_bytes() == (tmp_path / f"two-{frame}.png").read_bytes()


@pytest.mark.usefixtures("kept")
def test_photons_are_shared_out(tmp_path: Path) -> None:
    words = ("photons", "cornell", "--store", "60000", "--quiet")
    for name, where in (("one", ("--device", "cpu")), ("two", ("--gpus", "2"))):
        kept = ("--save-photons", f"{tmp_path}/{name}.npz", "--json", f"{tmp_path}/{name}.json")
        assert cli.main([*words, *where, *kept]) == 0
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    one, two = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("one", "two"))
    for key in ("photons.emitted", "photons.stored", "photons.absorbed", "photons.escaped", "rays.photon"):
        assert one[key] == two[key]
    assert sum(row["rays"] for row in two["members"]) == two["rays.photon"]


@pytest.mark.usefixtures("kept")
def test_photons_of_finished_rounds_are_kept_where_no_member_is_left(monkeypatch, tmp_path, capsys) -> None:
    trace, path = SharedTracing.trace, tmp_path / "a.photons"

    def failing(tracing: SharedTracing, photons: range, expected_rays: int = 0, *, is_kept: bool = True) -> Any:
        if photons.start > 0:
            raise FleetError("no member of the fleet is left")
        return trace(tracing, photons, expected_rays)

    monkeypatch.setattr(SharedTracing, "trace", failing)
    words = ["photons", "cornell", "--emit", "5000", "--part", "1/1", "--gpus", "2", "--quiet", "-o", str(path)]
    assert cli.main(words) == 1
    (done,) = read_photon_part(path).ranges
    assert (done.first, done.end) == (0, PILOT_PHOTONS[0])
    told = f"no member of the fleet is left; {done.stored} photons are stored; saved in {path}"
    assert capsys.readouterr().err == f"tracecore: error: {told}\n"


def test_a_driver_of_which_nobody_knows_what_it_keeps_is_not_shared(tmp_path, capsys):
    plugin = tmp_path / "flat.py"
    plugin.write_text(
        "from renderer.drivers import register_driver\n"
        "@register_driver\n"
        "class Flat:\n"
        "    name, summary, takes = 'flat', 'one colour for each pass', frozenset()\n"
        "    def render_pass(self, index): pass\n"
        "    def close(self): pass\n"
    )
    try:
        assert run("--plugin", plugin, "--driver", "flat", "--gpus", 2, "-o", tmp_path / "a.npy") == 2
    finally:
        drivers.DRIVERS.pop("flat", None)  # which the plugin has registered for good
    assert "driver flat makes its passes one after the other; leave out --gpus and --cluster" in capsys.readouterr().err


@pytest.mark.usefixtures("kept")
def test_motion_is_shared_by_whole_passes(tmp_path: Path) -> None:
    words = ("render", "museum:10k", "--size", "32x24", "--passes", "5", "--shutter", "5", "--motion-samples", "2")
    for name, where in (("one", ("--device", "cpu")), ("two", ("--gpus", "2"))):
        assert cli.main([*words, *where, "--driver", "path", "--quiet", "-o", f"{tmp_path}/{name}.npy"]) == 0
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "two.npy").read_bytes()
