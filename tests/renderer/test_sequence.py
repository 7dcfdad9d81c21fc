"""Sequences of frames: files, what is kept on resuming, and the same bits whatever happened on the way."""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from command_line import run
from data_files import data_text
from PIL import Image
from small_scenes import LAMP_BEHIND_A_WALL

from renderer.drivers import DRIVERS
from renderer.drivers.path import PathDriver
from renderer.film.animation import animation_of
from renderer.film.image_file import read_texts, write_png
from renderer.film.tone_mapping import ToneMapping
from renderer.run.plan import Plan
from renderer.run.render_call import plan_picture
from renderer.run.sequence import make_sequence
from renderer.run.sequence.exposure_pilot import PILOT_PASSES, pilot_settings
from renderer.run.sequence.frame_maker import FrameMaker, OpenedFrame
from renderer.settings.picture import Settings
from renderer.version import SOFTWARE
from scenes.errors import SceneError
from scenes.files.marks import is_own

#: A square that moves to the right from time 0 to 10, one frame a second, beyond a floor, under a lamp.
MOVING = data_text("aff/moving.aff")


class CountedDriver(PathDriver):
    """Counts the frames that it begins, and may be interrupted at a pass of one."""

    name = "counted"
    begun: ClassVar[int] = 0
    at_pass: ClassVar[Callable[[int, int], None]] = staticmethod(lambda frame, index: None)

    def passes(self, indices, carried=None):
        type(self).begun += 1
        first = next(indices)
        for index, made in enumerate(super().passes(chain([first], indices), carried), first):
            type(self).at_pass(type(self).begun - 1, index)
            yield made


@pytest.fixture
def counted(monkeypatch) -> Iterator[type[CountedDriver]]:
    class Counted(CountedDriver):
        pass

    monkeypatch.setitem(DRIVERS, "counted", Counted)
    return Counted


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    return write_moving(tmp_path, 1.0)


def write_moving(folder: Path, end: float) -> Path:
    path = folder / "moving.aff"
    path.write_text(MOVING.format(end=end))
    return path


def render(scene: object, chosen: str, output: Path, *more: object) -> int:
    common = ("--driver", "counted", "--device", "cpu", "--size", "12x9", "--passes", "2", "--exposure", "0")
    return run("render", scene, "--frames", chosen, *common, "-o", output, *more)


def pixels(path: Path) -> list[np.ndarray]:
    with Image.open(path) as image:
        found = []
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            found.append(np.array(image.convert("RGB")))
        return found


def test_frames_are_numbered_and_told_of(moving, counted, tmp_path, capsys):
    assert render(moving, "0:4:2", tmp_path / "a.png") == 0
    names = sorted(path.name for path in tmp_path.glob("a*"))
    assert names == [*(f"a-000{i}.{kind}" for i in (0, 2, 4) for kind in ("png", "png.json")), "a.png.json"]
    figures = json.loads((tmp_path / "a.png.json").read_text())
    assert figures["frames"] == [0, 2, 4]
    assert figures["triangles"] == [3, 3, 3]
    assert figures["bvh.update"][0] == "built"
    assert all(len(figures[key]) == 3 for key in ("bvh.sah_cost", "bvh.update_seconds", "seconds.total", "rays.total"))
    out = capsys.readouterr().out
    assert [line.split()[:2] for line in out.splitlines()[1:4]] == [["0", "3"], ["2", "3"], ["4", "3"]]
    assert "frames 0 to 4, 3 in all" in out
    assert not np.array_equal(pixels(tmp_path / "a-0000.png"), pixels(tmp_path / "a-0004.png"))


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".apng"])
def test_one_file_of_all(suffix, moving, counted, tmp_path):
    assert render(moving, "0:3", tmp_path / f"a{suffix}", "--fps", "10", "--quiet") == 0
    with Image.open(tmp_path / f"a{suffix}") as image:
        assert (image.n_frames, image.size) == (4, (12, 9))
        image.seek(1)
        image.load()
        assert image.info["duration"] == 100
    stills = [pixels(tmp_path / f"a-000{i}.png")[0] for i in range(4)]
    animated = pixels(tmp_path / f"a{suffix}")
    error = [np.abs(one.astype(int) - other).mean() for one, other in zip(stills, animated, strict=True)]
    assert max(error) <= {".gif": 6.0, ".webp": 6.0, ".apng": 0.0}[suffix]
    assert np.abs(stills[0].astype(int) - stills[3]).mean() > 8.0


@pytest.mark.parametrize(
    ("suffix", "size", "fps"), [(".mp4", "64x48", "10"), (".webm", "64x48", "29.97"), (".webm", "15x13", "25")]
)
def test_a_film_is_read_back(suffix, size, fps, moving, counted, tmp_path):
    av = pytest.importorskip("av")
    film = tmp_path / f"a{suffix}"
    common = ("--size", size, "--fps", fps, "--quiet")
    assert render(moving, "0:3", film, *common) == 0
    with av.open(str(film)) as container:
        stream = container.streams.video[0]
        found = [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]
        assert (stream.width, stream.height, float(stream.average_rate)) == (*found[0].shape[1::-1], float(fps))
    stills = [pixels(tmp_path / f"a-000{i}.png")[0] for i in range(4)]
    assert [one.shape for one in found] == [one.shape for one in stills]
    error = [np.abs(one - other).mean() for one, other in zip(found, stills, strict=True)]
    assert max(error) < 8.0
    assert max(error) < np.abs(found[0] - stills[3]).mean()
    whole = film.read_bytes()
    assert is_own(film)
    assert render(moving, "0:3", film, *common, "--resume") == 0
    assert film.read_bytes() == whole


def test_the_same_frames_are_the_same_film_in_every_process(tmp_path):
    pytest.importorskip("av")
    stills = [tmp_path / f"a-{i}.png" for i in range(20)]
    for shift, path in enumerate(stills):
        write_png(path, bar_before_gradient(80, 60, shift), {})
    code = "import sys; from PIL import Image; from renderer.film.video import write_video\n"
    code += "junk = [bytes([i % 256]) * 977 * i for i in range(30 * int(sys.argv[1]))]; del junk\n"
    code += "with open(sys.argv[2], 'wb+') as file: write_video(file, '.mp4', map(Image.open, sys.argv[3:]), 10.0)"
    films = [tmp_path / f"{number}.mp4" for number in range(8)]
    for number, film in enumerate(films):
        subprocess.run([sys.executable, "-c", code, str(number), str(film), *map(str, stills)], check=True)
    assert len({film.read_bytes() for film in films}) == 1


def bar_before_gradient(width: int, height: int, column: int) -> np.ndarray:
    shown = np.full((height, width, 3), (0, 200, 0), np.uint8)
    shown[..., 0] = np.linspace(0, 255, width)
    shown[:, column : column + 8] = (250, 20, 30)
    return shown


@pytest.mark.parametrize(
    ("fps", "rate", "code"),
    [(25, "25", (0, 0, 3, 2)), (23.976, "2997/125", (0, 0, 3, 5)), (2.5, "5/2", ()), (48, "48", ())],
)
def test_frames_of_linear_light_know_their_time(fps, rate, code, moving, counted, tmp_path):
    exr = pytest.importorskip("OpenEXR")
    moving.write_text(MOVING.format(end=1.0).replace("10 11\n", "10 100\n"))
    output = tmp_path / "a.exr"
    common = ("--driver", "path", "--device", "cpu", "--size", "8x6", "--passes", "1", "--quiet", "--fps", str(fps))
    assert run("render", moving, "--frames", "77:77", *common, "-o", output) == 0
    header = exr.File(str(tmp_path / "a-0077.exr")).header()
    found = header.get("timeCode")
    assert str(header["framesPerSecond"]) == rate
    assert code == (() if found is None else (found.hours, found.minutes, found.seconds, found.frame))


def test_films_that_cannot_be_are_refused_before_anything_is_made(moving, counted, tmp_path, monkeypatch, capsys):
    pytest.importorskip("av")
    assert render(moving, "0:1", tmp_path / "a.mp4", "--size", "13x10") == 2
    assert "width and height of an .mp4 are even, and frames would have 13x10 pixels; choose 14x10" in (
        capsys.readouterr().err
    )
    monkeypatch.setitem(sys.modules, "av", None)
    for name in ("a.mp4", "a.webm"):
        assert render(moving, "0:1", tmp_path / name) == 2
        error = capsys.readouterr().err
        assert "needs PyAV, which is not installed; install it with: pip install 'tracecore[film]'" in error
        assert error.count("\n") == 1
    assert counted.begun == 0
    assert list(tmp_path.glob("a*")) == []


def interrupt_at(frame: int, index: int) -> Callable[[int, int], None]:
    def at_pass(begun, passed):
        if (begun, passed) == (frame, index):
            raise KeyboardInterrupt

    return at_pass


@pytest.mark.parametrize(("frame", "index"), [(0, 0), (2, 0), (2, 1), (3, 1)])
def test_what_was_interrupted_ends_with_the_same_bits(frame, index, moving, counted, tmp_path, capsys):
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    assert render(moving, "0:3", tmp_path / "whole" / "a.gif", "--quiet") == 0
    counted.begun = 0
    counted.at_pass = staticmethod(interrupt_at(frame, index))
    assert render(moving, "0:3", tmp_path / "parts" / "a.gif", "--quiet") == 130
    assert f"interrupted: {frame} of 4 frames are finished; go on with --resume" in capsys.readouterr().err
    assert not (tmp_path / "parts" / "a.gif").exists()
    counted.begun = 0
    counted.at_pass = staticmethod(lambda begun, passed: None)
    assert render(moving, "0:3", tmp_path / "parts" / "a.gif", "--resume") == 0
    assert counted.begun == 4 - frame
    assert capsys.readouterr().out.count("(kept)") == frame
    for name in ("a-0000.png", "a-0001.png", "a-0002.png", "a-0003.png", "a.gif"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("last", [0, 3])
def test_frames_before_one_that_cannot_be_played_are_finished(last, moving, counted, tmp_path, monkeypatch, capsys):
    played = Plan.snapshot

    def snapshot(plan, **view):
        if view.get("frame", 0) > last:
            raise SceneError("too far out")
        return played(plan, **view)

    monkeypatch.setattr(Plan, "snapshot", snapshot)
    assert render(moving, "0:9", tmp_path / "film.gif") == 2
    printed = capsys.readouterr()
    assert printed.err == "tracecore: error: too far out\n"
    names = [f"film-{frame:04}.png" for frame in range(last + 1)]
    assert sorted(path.name for path in tmp_path.glob("film*")) == sorted([*names, *(f"{name}.json" for name in names)])
    assert printed.out.count("\n") == 1 + len(names)
    assert counted.begun == len(names)


class Watched(FrameMaker):
    """Notes in what order frames are opened, rendered and closed."""

    seen: ClassVar[list[tuple[str, int]]] = []
    waits: ClassVar[bool] = False

    def open(self, plan, played):
        opened = super().open(plan, played)
        self.seen.append(("opened", played.frame))
        opened.closing.callback(lambda: self.seen.append(("closed", played.frame)))
        return opened

    def render(self, opened, path=None):
        frame, end = opened.played.frame, time.monotonic() + 60.0
        while self.waits and frame < 3 and ("opened", frame + 1) not in self.seen:
            assert time.monotonic() < end, "the next frame is not opened meanwhile"
            time.sleep(0.001)
        self.seen.append(("rendered", frame))
        return super().render(opened, path)


@pytest.fixture
def watched(monkeypatch) -> type[Watched]:
    monkeypatch.setattr(Watched, "seen", [])
    monkeypatch.setattr(make_sequence, "FrameMaker", Watched)
    return Watched


def test_the_next_frame_is_opened_while_passes_of_one_are_made(moving, counted, watched, tmp_path, monkeypatch):
    monkeypatch.setattr(watched, "waits", True)
    assert render(moving, "0:3", tmp_path / "a.png", "--quiet") == 0
    order = watched.seen.index
    assert order(("opened", 1)) < order(("rendered", 0)) < order(("closed", 0)) < order(("rendered", 1))
    assert sorted(watched.seen) == sorted(itertools.product(("opened", "rendered", "closed"), range(4)))
    film = json.loads((tmp_path / "a.png.json").read_text())
    assert film["seconds.opener.driver"] > 0.0
    own = sum(seconds for key, seconds in film.items() if key.startswith("seconds.main."))
    assert own == pytest.approx(film["seconds.wall"], rel=1e-6)


def test_a_gpu_that_threads_stream_to_has_one_frame_at_a_time(moving, counted, watched, tmp_path, monkeypatch):
    monkeypatch.setattr(OpenedFrame, "may_share", False)
    assert render(moving, "0:3", tmp_path / "a.png", "--quiet") == 0
    assert watched.seen == [(what, frame) for frame in range(4) for what in ("opened", "rendered", "closed")]


def test_a_frame_that_is_opened_in_vain_is_closed(moving, counted, watched, tmp_path, monkeypatch):
    monkeypatch.setattr(watched, "waits", True)
    counted.at_pass = staticmethod(interrupt_at(1, 0))
    assert render(moving, "0:3", tmp_path / "a.gif", "--quiet") == 130
    assert ("rendered", 2) not in watched.seen
    assert {("opened", 2), ("closed", 0), ("closed", 1), ("closed", 2)} <= set(watched.seen)


def test_a_frame_that_cannot_be_begun_is_closed_too(moving, counted, watched, tmp_path, monkeypatch, capsys):
    def fail(maker, opened, path=None):
        raise OSError("no room")

    monkeypatch.setattr(watched, "render", fail)
    assert render(moving, "0:3", tmp_path / "a.gif", "--quiet") == 1
    assert "no room" in capsys.readouterr().err
    opened = {frame for what, frame in watched.seen if what == "opened"}
    assert opened == {frame for what, frame in watched.seen if what == "closed"} != set()


def test_only_what_is_as_asked_for_is_kept(moving, counted, tmp_path):
    output = tmp_path / "a.png"

    def made(*more) -> int:
        counted.begun = 0
        assert render(moving, "0:3", output, "--quiet", *more) == 0
        return counted.begun

    assert made() == 4
    assert made() == 4  # nothing is kept unless asked for
    assert made("--resume") == 0
    assert made("--resume", "--seed", "5") == 4
    assert made("--resume", "--seed", "5", "--exposure", "1") == 4
    assert made("--resume", "--seed", "5", "--exposure", "1", "--threads", "1", "--update", "rebuild") == 0
    assert made("--resume", "--seed", "5", "--exposure", "1", "--frame-seeds", "own") == 4
    (tmp_path / "a-0002.png").write_bytes((tmp_path / "a-0002.png").read_bytes()[:-1])
    (tmp_path / "a-0001.png.json").write_text('{"software": "tracecore 0')
    assert made("--resume", "--seed", "5", "--exposure", "1", "--frame-seeds", "own") == 2
    write_moving(tmp_path, 2.0)  # frame 0 is as before
    assert made("--resume", "--seed", "5", "--exposure", "1", "--frame-seeds", "own") == 3


@pytest.mark.parametrize("name", ["a.gif", "a.gif.json", "a-0001.png", "a-0001.png.json"])
def test_frames_replace_those_of_other_commands_and_nothing_else(name, moving, counted, tmp_path, capsys):
    assert render(moving, "0:1", tmp_path / "a.gif", "--quiet") == 0
    assert render(moving, "1:2", tmp_path / "a.gif", "--quiet", "--seed", "5") == 0
    for option in ("--quiet", "--resume"):
        (tmp_path / name).write_bytes(b"of somebody else")
        assert render(moving, "0:2", tmp_path / "a.gif", option) == 2
        assert f"{name}': it is there already, and tracecore did not write it" in capsys.readouterr().err
        assert (tmp_path / name).read_bytes() == b"of somebody else"
    assert render(moving, "2:2", tmp_path / "b.gif", "--quiet", "--no-clobber") == 0
    assert render(moving, "2:2", tmp_path / "b.gif", "--quiet", "--no-clobber") == 2
    assert render(moving, "0:2", tmp_path / "a.gif", "--quiet", "--force") == 0


def test_a_frame_under_another_sky_is_not_kept(counted, tmp_path):
    """A texel has changed, or the sky has been turned."""
    sky, path = np.ones((20, 40, 3), np.float32), tmp_path / "open.toml"
    text = "materials.red = {}\n[[object]]\nshape = 'sphere'\nmaterial = 'red'\n[environment]\nimage = 'sky.npy'\n"

    def made(text) -> int:
        np.save(tmp_path / "sky.npy", sky)
        path.write_text(text)
        counted.begun = 0
        assert render(path, "0:0", tmp_path / "a.png", "--quiet", "--resume") == 0
        return counted.begun

    assert made(text) == 1
    assert made(text) == 0
    sky[10, 20] = 2.0
    assert made(text) == 1
    assert made(f"{text}degrees = 1\n") == 1


def test_what_was_begun_anew_is_not_kept(moving, counted, tmp_path):
    """A process that dies after it has written an unfinished picture over a finished one."""

    def die(begun, passed):
        write_png(tmp_path / "a-0000.png", np.zeros((9, 12, 3), np.uint8), {"Software": SOFTWARE})
        raise RuntimeError

    assert render(moving, "0:0", tmp_path / "a.png", "--quiet") == 0
    whole = (tmp_path / "a-0000.png").read_bytes()
    counted.at_pass = staticmethod(die)
    with pytest.raises(RuntimeError):
        render(moving, "0:0", tmp_path / "a.png", "--quiet", "--seed", "5")
    counted.at_pass = staticmethod(lambda begun, passed: None)
    assert render(moving, "0:0", tmp_path / "a.png", "--quiet", "--resume") == 0
    assert (tmp_path / "a-0000.png").read_bytes() == whole


DIM = ("--driver", "path", "--device", "cpu", "--size", "16x12", "--passes", "4", "--quiet")


@pytest.fixture
def dim(tmp_path: Path) -> Path:
    """The moving square under a lamp of a ten-thousandth of the light."""
    path = tmp_path / "dim.aff"
    path.write_text(MOVING.format(end=1.0).replace("l 0 4 4", "l 0 4 4 0.0001 0.0001 0.0001"))
    return path


def shown_as(path: Path) -> tuple[float, float]:
    """Exposure and white of a .png, as its text has them."""
    settings = json.loads(read_texts(path)["settings"])
    return settings["exposure"], settings.get("white", ToneMapping.white)


def test_a_film_of_a_dim_scene_is_visible_in_one_exposure(dim, tmp_path, capsys):
    assert run("render", dim, "--frames", "0:8:4", *DIM[:-1], "-o", tmp_path / "a.png") == 0
    (told,) = (line for line in capsys.readouterr().err.splitlines() if "exposure" in line)
    ((exposure, _),) = {shown_as(path) for path in tmp_path.glob("a-*.png")}
    assert told.endswith(f"note: exposure {exposure:g} for all frames, metered on 5 of them")
    assert exposure > 8.0
    lit = [shown[shown > 0] for path in tmp_path.glob("a-*.png") for shown in pixels(path)]
    assert all(60 < np.median(one) < 200 for one in lit)
    assert run("render", dim, "--frames", "0:1", *DIM, "--exposure", "1", "-o", tmp_path / "b.png") == 0
    assert shown_as(tmp_path / "b-0001.png") == (1.0, ToneMapping.white)


def test_parts_of_a_film_have_the_exposure_of_the_whole(dim, tmp_path):
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    assert run("render", dim, "--frames", "0:9:3", *DIM, "-o", tmp_path / "whole" / "a.png") == 0
    for part in ("0:3:3", "6:9:3"):
        assert run("render", dim, "--frames", part, *DIM, "--threads", "1", "-o", tmp_path / "parts" / "a.png") == 0
    (tmp_path / "parts" / "a-0003.png").unlink()
    resumed = tmp_path / "parts" / "a.png"
    assert run("render", dim, "--frames", "0:9:3", *DIM[:-1], "-o", resumed, "--resume") == 0
    for frame in (0, 3, 6, 9):
        name = f"a-000{frame}.png"
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_the_pilot_of_a_film_is_the_same_whatever_only_noise_depends_on(dim):
    def pilot(**chosen: Any) -> Settings:
        return pilot_settings(plan_picture(dim, Settings(size=(160, 120), **chosen), is_sequence=True))

    usual = pilot()
    assert (usual.size, usual.passes, usual.seed) == ((96, 72), PILOT_PASSES, 0)
    more = {"passes": 1, "seed": 7, "photons": 9, "radius": 0.1, "guide_share": 0.5, "time_limit": 1.0}
    more |= {"crop": (0, 0, 4, 4), "draft": True, "shutter": 0.5, "denoise": False, "target_noise": 0.1, "quiet": True}
    assert pilot(**more) == usual
    traced = {"kernel": "while-while", "device": "gpu", "shading": "gpu"}
    assert pilot(cluster="local:2", **traced) == pilot(**traced) == replace(usual, **traced)
    elsewhere = pilot(cluster="tcp://127.0.0.1:8786", **traced)  # where this process may have no such device
    assert elsewhere == replace(usual, device="cpu")


def test_white_is_that_of_the_pilot(tmp_path):
    """Frames in which a lamp is hidden have the white that it needs where it is seen."""
    path = tmp_path / "lamp.toml"
    path.write_text(LAMP_BEHIND_A_WALL)
    assert run("render", path, "--frames", "0:20:20", *DIM, "-o", tmp_path / "a.png") == 0
    ((_, white),) = {shown_as(one) for one in tmp_path.glob("a-*.png")}
    assert run("render", path, "--frame", "0", *DIM, "-o", tmp_path / "one.png") == 0
    assert white > 2 * shown_as(tmp_path / "one.png")[1]


def test_each_frame_has_the_passes_that_its_noise_takes(tmp_path):
    path = tmp_path / "lamp.toml"
    path.write_text(LAMP_BEHIND_A_WALL)
    for name, option in (("film", "--film-noise"), ("target", "--target-noise")):
        (tmp_path / name).mkdir()
        common = ("--driver", "path", "--device", "cpu", "--size", "16x12", "--exposure", "0", "--quiet")
        assert run("render", path, "--frames", "0:20:20", *common, option, "0.2", "-o", tmp_path / name / "a.png") == 0
    figures = [json.loads((tmp_path / "film" / f"a-00{frame}.png.json").read_text()) for frame in ("00", "20")]
    assert figures[0]["passes"] != figures[1]["passes"]
    assert all(figure["noise"] <= 0.2 for figure in figures)
    for frame in ("00", "20"):
        one, other = (tmp_path / name / f"a-00{frame}.png" for name in ("film", "target"))
        assert one.read_bytes() == other.read_bytes()


def test_a_frame_is_the_same_whatever_became_of_the_tree(moving, counted, tmp_path):
    found = {}
    for update in ("refit", "rebuild", "auto"):
        (tmp_path / update).mkdir()
        assert render(moving, "0:10:5", tmp_path / update / "a.png", "--update", update, "--quiet") == 0
        found[update] = [(tmp_path / update / f"a-{i:04}.png").read_bytes() for i in (0, 5, 10)]
    assert found["refit"] == found["rebuild"] == found["auto"]
    updates = [json.loads((tmp_path / name / "a.png.json").read_text())["bvh.update"] for name in ("refit", "rebuild")]
    assert updates == [["built", "refitted", "refitted"], ["built", "built", "built"]]


def test_noise_stands_still_or_not(counted, tmp_path):
    for seeds in ("same", "own"):
        assert render("cornell", "0:2", tmp_path / f"{seeds}.png", "--frame-seeds", seeds, "--quiet") == 0
    same, own = ([pixels(tmp_path / f"{seeds}-000{i}.png") for i in range(3)] for seeds in ("same", "own"))
    assert np.array_equal(same[0], same[1])
    assert np.array_equal(same[0], same[2])
    assert all(not np.array_equal(one, other) for one, other in itertools.combinations(own, 2))
    assert render("cornell", "2:2", tmp_path / "last.png", "--frame-seeds", "own", "--quiet") == 0
    assert np.array_equal(pixels(tmp_path / "last-0002.png"), own[2])


def test_frames_are_kept_if_the_whole_shutter_time_is_as_it_was(counted, moving, tmp_path, capsys):
    shutter = ("--shutter", "0.4", "--resume")
    assert render(moving, "0:1", tmp_path / "a.png", *shutter) == 0
    assert render(moving, "0:1", tmp_path / "a.png", *shutter) == 0
    assert capsys.readouterr().out.count("(kept)") == 2
    assert render(moving, "0:1", tmp_path / "a.png", "--shutter", "0.5", "--resume") == 0
    write_moving(tmp_path, 2.0)  # frame 0 is the same, and what comes after it is not
    assert render(moving, "0:0", tmp_path / "a.png", *shutter) == 0
    assert "(kept)" not in capsys.readouterr().out


def test_an_animation_is_there_in_full_or_not_at_all(tmp_path):
    Image.new("RGB", (3, 2), (255, 0, 0)).save(tmp_path / "a-0000.png")
    (tmp_path / "a.gif").write_bytes(b"as it was")
    animation = animation_of(tmp_path / "a.gif", 25.0)
    for still in ("a-0000.png", "a-0001.png"):
        animation.add(tmp_path / still)
    with pytest.raises(FileNotFoundError):
        animation.write()
    assert (tmp_path / "a.gif").read_bytes() == b"as it was"
    assert len(list(tmp_path.iterdir())) == 2
