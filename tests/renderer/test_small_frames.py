"""Frames that are small are shared out to processes of this host without a word, with the bits of one process."""

import json
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from renderer import cli
from renderer.errors import UsageError
from renderer.film.picture import PngPicture
from renderer.fleet.processes import HostFleet
from renderer.fleet.seats import Seat
from renderer.run import memory
from renderer.run.members import open_fleet, small_frames
from renderer.run.members.frame_member import FrameMember, FramesOrder, SequenceFrame
from renderer.run.members.picture_member import MemberOrder
from renderer.run.members.small_frames import begun_ahead, shared_out, with_members
from renderer.run.render_call import plan_picture
from renderer.run.sequence import exposure_pilot, frame_maker
from renderer.scene.packed_scene import pack_ahead
from renderer.settings.picture import Settings

SIZE = (400, 300)
ON_GPU: dict[str, Any] = {"device": "gpu", "shading": "gpu"}


def shared(frames: int = 40, size: tuple[int, int] | None = SIZE, **chosen: Any) -> tuple[str | None, str, int | None]:
    """Returns who shares frames of 8 passes out, with which device and how many threads each."""
    given: dict[str, Any] = {"passes": 8, "device": "cpu"} | chosen
    settings = with_members(Settings(**given), size, frames)
    return settings.cluster, settings.device, settings.threads


@pytest.fixture
def sixteen_cores(monkeypatch):
    monkeypatch.setattr(small_frames, "usable_cores", lambda: 16)


@pytest.mark.usefixtures("sixteen_cores")
def test_as_many_processes_share_a_film_out_as_gain_by_it():
    assert shared() == ("local:8", "cpu", None)
    assert shared(**ON_GPU) == ("local:4", "gpu:0", None)
    assert shared(device="gpu:1", shading="auto") == ("local:4", "gpu:1", None)
    assert shared(frames=19) == ("local:4", "cpu", None)
    assert shared(threads=8) == ("local:4", "cpu", 2)


@pytest.mark.usefixtures("sixteen_cores")
@pytest.mark.parametrize(
    "alone",
    [
        {"frames": 15},
        {"frames": 7, **ON_GPU},
        {"threads": 7},
        {"device": "gpu", "shading": "cpu"},  # a GPU takes batches of one scene at a time
        {"device": "cpu", "shading": "gpu"},
        {"device": "emulator"},
        {"size": None},
        {"passes": 1000},
        {"passes": None, "size": (1000, 1000)},
        {"checkpoint": 60.0},
        {"timeline": Path("a.json")},
        {"time_limit": 1.0, "passes": None},
        {"target_noise": 0.1, "passes": None},
        {"verify": 0.1},
        {"fallback": "cpu"},
    ],
)
def test_one_process_makes_what_would_not_gain(alone: dict[str, Any]) -> None:
    chosen = {name: value for name, value in alone.items() if name not in ("frames", "size")}
    device = chosen.get("device", "cpu")
    assert shared(**alone) == (None, device, chosen.get("threads"))


@pytest.mark.usefixtures("sixteen_cores")
def test_who_says_who_makes_frames_is_heard():
    assert shared(cluster="local:2")[0] == "local:2"
    assert shared(gpus=1, device="auto") == (None, "auto", None)


def test_two_cores_share_nothing_out(monkeypatch):
    monkeypatch.setattr(small_frames, "usable_cores", lambda: 2)
    assert shared()[0] is shared(**ON_GPU)[0] is None


@pytest.mark.usefixtures("sixteen_cores")
def test_a_film_for_which_there_is_no_memory_or_no_gpu_is_made_by_one_process(monkeypatch):
    plan = plan_picture("cornell", Settings(size=SIZE, passes=8, device="cpu", quiet=True), is_sequence=True)
    first = plan.snapshot(frame=0)
    assert shared_out(plan, first, 40).settings.cluster == "local:8"
    monkeypatch.setattr(small_frames, "_is_there", lambda device: False)
    assert shared_out(plan, first, 40) is plan
    monkeypatch.undo()
    monkeypatch.setattr(small_frames, "usable_cores", lambda: 16)
    asked = []

    def refused(estimate):
        asked.append(estimate.processes)
        raise UsageError("too much")

    monkeypatch.setattr(memory, "check_fits", refused)
    assert shared_out(plan, first, 40) is plan
    assert asked == [9]


@pytest.mark.usefixtures("sixteen_cores")
def test_members_begin_before_the_scene_is_read_where_the_device_is_known(monkeypatch):
    begun = []
    monkeypatch.setattr(small_frames, "members_ahead", lambda settings: begun.append(settings.cluster) or nullcontext())
    chosen = Settings(size=SIZE, passes=8, device="cpu")
    for settings, frames in ((chosen, range(40)), (chosen, None), (Settings(size=SIZE, passes=8), range(40))):
        with begun_ahead(settings, frames):
            pass
    assert begun == ["local:8", None, None]


def test_frames_of_members_are_those_of_one_process(tmp_path, monkeypatch, caplog):
    words = ["render", "museum:10k", "--frames", "0:7", "--size", "32x24", "--passes", "2", "--driver", "path"]
    words += ["--device", "cpu", "-o"]
    assert cli.main([*words, f"{tmp_path}/one.gif"]) == 0
    monkeypatch.setattr(small_frames, "usable_cores", lambda: 4)
    monkeypatch.setitem(small_frames.LEAST_MEMBERS, "cpu", 2)
    assert cli.main([*words, f"{tmp_path}/two.gif"]) == 0
    assert "note: 2 processes make the frames, as for --cluster local:2" in caplog.text
    one, two = (json.loads((tmp_path / f"{name}.gif.json").read_text()) for name in ("one", "two"))
    assert one["seconds.main.wait_members"] == 0.0 < two["seconds.main.wait_members"]
    assert sum(two[key] for key in two if ".main." in key) == pytest.approx(two["seconds.wall"])
    for name in (".gif", *(f"-{frame:04}.png" for frame in range(8))):
        assert (tmp_path / f"one{name}").read_bytes() == (tmp_path / f"two{name}").read_bytes()
    assert not open_fleet._ahead
    caplog.clear()
    assert cli.main([*words, f"{tmp_path}/three.gif", "--timeline", f"{tmp_path}/three.json"]) == 0
    assert "processes" not in caplog.text  # of which one knows what its threads do


def test_members_begin_while_the_exposure_is_metered(tmp_path, monkeypatch, caplog):
    words = ["render", "museum:10k", "--frames", "0:3", "--size", "16x12", "--passes", "1", "--driver", "path"]
    words += ["--device", "cpu", "--exposure", "auto", "-o"]
    assert cli.main([*words, f"{tmp_path}/one.gif"]) == 0
    begun, begin, meter = threading.Event(), HostFleet.open, exposure_pilot.with_exposure
    monkeypatch.setattr(HostFleet, "open", lambda fleet, opening: begun.set() or begin(fleet, opening))

    def late(plan, **shown):
        assert begun.wait(60.0)
        return meter(plan, **shown)

    monkeypatch.setattr(exposure_pilot, "with_exposure", late)
    assert cli.main([*words, f"{tmp_path}/two.gif", "--cluster", "local:2"]) == 0
    for name in (".gif", *(f"-{frame:04}.png" for frame in range(4))):
        assert (tmp_path / f"one{name}").read_bytes() == (tmp_path / f"two{name}").read_bytes()
    one, two = (json.loads((tmp_path / f"{name}-0003.png.json").read_text()) for name in ("one", "two"))
    assert one["request"] == two["request"]
    assert caplog.text.count("metered on") == 2


def test_a_member_packs_a_frame_by_the_one_before(monkeypatch):
    before = []
    monkeypatch.setattr(
        frame_maker, "pack_ahead", lambda snapshot, last: before.append(last) or pack_ahead(snapshot, last)
    )
    settings = Settings(size=(8, 6), passes=1, driver="whitted", quiet=True)
    picture = MemberOrder(scene=plan_picture("museum:10k", settings, is_sequence=True).scene, settings=settings)
    order = FramesOrder(picture=picture, seeds="same", suffix=".png", film_time=None)
    member = FrameMember(order, Seat(0, "cpu", 1))
    for number in (0, 4):
        made = member.make(SequenceFrame(number, 0.5, 1.0))
        assert made.figures["passes"] == 1
        assert isinstance(made.file, PngPicture)  # which is all that travels of what is shown
        assert made.file.content.startswith(b"\x89PNG")
    assert before[0] is None
    assert before[1] is not None
    assert member.window == 2
