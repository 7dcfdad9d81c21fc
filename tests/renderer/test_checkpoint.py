"""A picture goes on from its checkpoint with the same bits, and from nothing that is not its own checkpoint."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from command_line import run
from data_files import data_text
from driver_passes import opened
from hypothesis import given, settings
from hypothesis import strategies as st
from small_scenes import lamp_in_box

from renderer import cli
from renderer.drivers import DRIVERS
from renderer.drivers.driver import Carried, Driver, Radiance, RayCounts, RenderSettings, Work
from renderer.drivers.path import PathDriver
from renderer.errors import CheckpointError
from renderer.film.film import Film
from renderer.film.layers import LAYER_COLUMNS
from renderer.photons.counts import PhotonCounts
from renderer.run.picture.make_picture import expose
from renderer.run.picture.picture_files import statistics_path
from renderer.run.plan import PassLimits
from renderer.run.resuming import checkpoints, sealed_file
from renderer.run.resuming.checkpoints import Checkpoint, Spent
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer, TracerStatistics


class RememberingDriver(Driver):
    """Pass i is a flat picture of i + 1 and half of the pass before, which it has to remember."""

    name: ClassVar[str] = "remembering"
    is_sequential: ClassVar[bool] = True
    at_pass: ClassVar[Callable[[int], None]] = staticmethod(lambda index: None)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        self.work, self.settings = Work(), settings
        self.last = 0.0

    def render_pass(self, index: int) -> Radiance:
        type(self).at_pass(index)
        self.work.rays.camera += self.settings.width * self.settings.height
        self.last = index + 1.0 + 0.5 * self.last
        return np.full((self.settings.height, self.settings.width, LAYER_COLUMNS["beauty"]), self.last)

    def carries(self) -> Carried:
        return {"last": np.array([self.last])}

    def take_up(self, passes: int, carried: Carried) -> None:
        self.last = float(carried["last"][0])

    def close(self) -> None:
        pass


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> type[RememberingDriver]:
    class Remembering(RememberingDriver):
        pass

    monkeypatch.setitem(DRIVERS, "remembering", Remembering)
    return Remembering


def render(path: Path, *more: object) -> int:
    size = ("--device", "cpu", "--size", "4x3", "--passes", "6")
    return run("render", "cornell", "--driver", "remembering", *size, "-o", path, *more)


def interrupt_at(driver: type[RememberingDriver], pass_index: int) -> None:
    def interrupt(index: int) -> None:
        if index == pass_index:
            raise KeyboardInterrupt

    driver.at_pass = staticmethod(interrupt)


@pytest.fixture
def interrupted(driver: type[RememberingDriver], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A picture that was interrupted after four of six passes, and has a checkpoint."""
    path = tmp_path / "a.png"
    interrupt_at(driver, 4)
    assert render(path, "--checkpoint", "1000") == 130
    assert f"interrupted: 4 passes saved in {path}; the same command with --resume goes on\n" in capsys.readouterr().err
    interrupt_at(driver, -1)
    return path


def files(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_resumed_picture_is_as_if_nothing_had_been(interrupted, tmp_path, capsys):
    whole = tmp_path / "whole.png"
    assert render(whole) == 0
    assert render(interrupted, "--resume", "--threads", "1", "--preview", "1000") == 0
    assert "note: going on after pass 4 of" in capsys.readouterr().err
    for suffix in (".png", ".npy"):
        assert interrupted.with_suffix(suffix).read_bytes() == whole.with_suffix(suffix).read_bytes()
    one, other = (json.loads(statistics_path(path).read_text()) for path in (interrupted, whole))
    assert one["rays.total"] == other["rays.total"] == 6 * 12
    assert one["passes"] == other["passes"] == 6
    assert files(tmp_path) == [f"{stem}.{suffix}" for stem in ("a", "whole") for suffix in ("npy", "png", "png.json")]


@pytest.mark.parametrize("other", [("--seed", "5"), ("--passes", "7"), ("--exposure", "1"), ("--filter", "tent")])
def test_a_checkpoint_of_other_settings_is_refused(other, interrupted, capsys):
    saved = checkpoints.checkpoint_path(interrupted)
    before = saved.read_bytes()
    assert render(interrupted, "--resume", *other) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        f"tracecore: error: cannot resume: '{saved}' is of another scene, other settings or another"
    )
    assert error.count("\n") == 1
    assert saved.read_bytes() == before


def test_without_resume_it_begins_anew_and_says_so(interrupted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(interrupted, "--seed", "5") == 0
    assert "is left of a render that was not finished; --resume goes on with it" in capsys.readouterr().err
    assert not checkpoints.checkpoint_path(interrupted).exists()
    assert render(interrupted, "--resume") == 0
    assert "there is no" in capsys.readouterr().err


@pytest.mark.parametrize("passes", [1, 5])
def test_the_shortest_render_that_is_interrupted_goes_on(passes, driver, tmp_path, capsys):
    path, whole = tmp_path / "a.png", tmp_path / "whole.png"
    assert render(whole) == 0
    interrupt_at(driver, passes)
    assert render(path) == 130
    assert capsys.readouterr().err.endswith(f"saved in {path}; the same command with --resume goes on\n")
    interrupt_at(driver, -1)
    assert render(path, "--resume") == 0
    assert f"going on after pass {passes} of" in capsys.readouterr().err
    assert path.with_suffix(".npy").read_bytes() == whole.with_suffix(".npy").read_bytes()


def test_a_render_without_a_finished_pass_leaves_nothing(driver, tmp_path, capsys):
    interrupt_at(driver, 0)
    assert render(tmp_path / "a.png") == 130
    assert "interrupted: before the first pass was finished; nothing is saved\n" in capsys.readouterr().err
    assert files(tmp_path) == []


def test_a_pass_is_kept_while_another_is_waited_for(driver: type[RememberingDriver], tmp_path: Path) -> None:
    """Where time is limited, it is known after the next pass alone whether a pass was the last."""
    interrupt_at(driver, 1)
    assert render(tmp_path / "a.png", "--time-limit", "1000") == 130
    assert json.loads((tmp_path / "a.png.json").read_text())["passes"] == 1


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there are no devices")
def test_a_device_has_no_checkpoint(driver, tmp_path, capsys):
    path = tmp_path / "a.png"
    path.symlink_to("/dev/null")
    interrupt_at(driver, 2)
    assert render(path) == 130
    assert f"passes saved in {path}\n" in capsys.readouterr().err
    assert not checkpoints.checkpoint_path(path).exists()
    assert render(path, "--resume") == 2
    assert "checkpoint and resume need output, a file beside which" in capsys.readouterr().err


@pytest.fixture
def two_kept(driver: type[RememberingDriver], tmp_path: Path) -> Path:
    """A picture that was interrupted after four of six passes, and has checkpoints of three and of four."""
    path = tmp_path / "a.png"
    interrupt_at(driver, 3)
    assert render(path) == 130
    interrupt_at(driver, 4)
    assert render(path, "--resume") == 130
    interrupt_at(driver, -1)
    return path


def damaged(path: Path, how: str) -> None:
    """Truncates a file, turns one of its bits over, or removes it."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    match how:
        case "truncated":
            path.write_bytes(content[: len(content) // 2])
        case "flipped":
            path.write_bytes(content)
        case "missing":
            path.unlink()


@pytest.mark.parametrize("how", ["truncated", "flipped", "missing"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(how, two_kept, driver, tmp_path, capsys):
    newest, whole = checkpoints.checkpoint_path(two_kept), tmp_path / "whole.png"
    before = checkpoints.path_before(newest)
    kept = before.read_bytes()
    damaged(newest, how)
    interrupt_at(driver, 3)
    assert render(two_kept, "--resume") == 130
    why = f"there is no '{newest}'" if how == "missing" else f"'{newest}' is damaged"
    assert f"note: {why}; going on after pass 3 of '{before}'\n" in capsys.readouterr().err
    assert before.read_bytes() == kept  # and not what was damaged
    interrupt_at(driver, -1)
    assert render(whole) == 0
    assert render(two_kept, "--resume") == 0
    assert two_kept.with_suffix(".npy").read_bytes() == whole.with_suffix(".npy").read_bytes()
    assert not newest.exists()
    assert not before.exists()


def test_two_damaged_checkpoints_are_refused(two_kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newest = checkpoints.checkpoint_path(two_kept)
    for path in (newest, checkpoints.path_before(newest)):
        damaged(path, "flipped")
    there = files(two_kept.parent)
    assert render(two_kept, "--resume") == 2
    assert f"cannot resume: '{checkpoints.path_before(newest)}' is damaged" in capsys.readouterr().err
    assert files(two_kept.parent) == there


def test_a_checkpoint_that_cannot_be_written_is_a_note(driver, tmp_path, monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device", "a.png.checkpoint")

    monkeypatch.setattr(checkpoints, "write", fail)
    assert render(tmp_path / "a.png", "--checkpoint", "0") == 0
    assert capsys.readouterr().err.count("note: cannot save a checkpoint now, and render on:") == 1
    assert (tmp_path / "a.npy").is_file()


def test_a_driver_that_does_not_tell_what_it_keeps_cannot_be_resumed(driver, tmp_path, monkeypatch, capsys):
    class Secretive(PathDriver):
        name = "remembering"
        is_sequential = True

    monkeypatch.setitem(DRIVERS, "remembering", Secretive)
    assert render(tmp_path / "a.png", "--checkpoint", "5") == 2
    assert "driver remembering does not tell what it keeps from pass to pass" in capsys.readouterr().err


def test_a_checkpoint_of_a_picture_that_is_right_enough_gets_no_more_passes(driver: type[RememberingDriver]) -> None:
    """As it is left where a process dies after its last pass. The films have no noise at all."""
    film, made = Film(4, 3), driver(None, None, RenderSettings(width=4, height=3))  # type: ignore[arg-type]
    for _ in range(5):
        film.add(np.ones((3, 4, 3)))
    resumed = Film(4, 3)
    resumed.resume(5, film.sums())
    assert list(expose(made, resumed, PassLimits(noise=0.01))) == []


SPENT = Spent(
    seconds=1.5,
    film_seconds=0.25,
    work=Work(rays=RayCounts(camera=3), photons=PhotonCounts(emitted=2), trace_seconds=0.5, bytes_up=7),
    traced=TracerStatistics(batches=1, rays=2, busy_seconds=3.0, kernel_rays_per_second=4.0, invalid_rays=5),
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "a.checkpoint"
    numbers = np.linspace(0.1, 7.0, 24).reshape(2, 3, 4)
    sums = {"total": numbers, "second": numbers[..., :3]}
    made = Checkpoint(passes=3, spent=SPENT, sums=sums, carried={"radius2": numbers.ravel()})
    checkpoints.write(path, "key of 3", made)
    return path


def key_of(passes: int) -> str:
    return f"key of {passes}"


def test_what_was_written_is_read(written: Path) -> None:
    found = checkpoints.read(written, key_of)
    assert (found.passes, found.spent) == (3, SPENT)
    numbers = np.linspace(0.1, 7.0, 24).reshape(2, 3, 4)
    assert np.array_equal(found.sums["total"], numbers)
    assert np.array_equal(found.sums["second"], numbers[..., :3])
    assert np.array_equal(found.carried["radius2"], numbers.ravel())
    with pytest.raises(CheckpointError, match="is of another scene"):
        checkpoints.read(written, lambda passes: f"{passes}")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_files_are_refused(written: Path, data: st.DataObject) -> None:
    """A byte differs, the end is missing, or there is more than the end."""
    content = bytearray(written.read_bytes())
    match data.draw(st.sampled_from(["byte", "short", "long"])):
        case "byte":
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        case "short":
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        case "long":
            content += data.draw(st.binary(min_size=1, max_size=40))
    damaged = written.with_name("damaged")
    damaged.write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged, or no checkpoint of this version"):
        checkpoints.read(damaged, key_of)


def test_a_whole_file_of_an_older_version_is_refused(written: Path) -> None:
    content = written.read_bytes()[: -sealed_file.DIGEST_BYTES].replace(b"checkpoint 2", b"checkpoint 1", 1)
    older = written.with_name("older")
    older.write_bytes(content + hashlib.blake2b(content, digest_size=sealed_file.DIGEST_BYTES).digest())
    with pytest.raises(CheckpointError, match="no checkpoint of this version"):
        checkpoints.read(older, key_of)


def test_what_sppm_carries_is_of_the_passes_that_were_yielded() -> None:
    """Where time is limited a pass is yielded before the one before it is added, and others are under way."""
    few = {"photons": 2_000, "radius": 0.2}
    with opened(lamp_in_box(), "sppm", **few) as made:
        made.render_pass(0)
        made.render_pass(1)
        radii = made.discs.radius2
        third = made.render_pass(2)
    with opened(lamp_in_box(), "sppm", **few) as made, closing(made.passes(iter(range(5)))) as passes:
        carried = [next(passes).carried for _ in range(3)][1]
    assert np.array_equal(carried["radius2"], radii)
    with opened(lamp_in_box(), "sppm", **few) as made:
        made.take_up(2, carried)
        assert np.array_equal(made.render_pass(2), third)
        with pytest.raises(ValueError, match="expected the discs of 192 pixels"):
            made.take_up(2, {"radius2": carried["radius2"]})


#: Renders in children of a process, each of which a signal ends after its first checkpoint: the arguments are pairs of
#: driver and signal, and the options of all.
KILLED = data_text("programs/killed_render.py")

PAIRS = {"SIGINT": "photon", "SIGTERM": "sppm", "SIGHUP": "path", "SIGKILL": "sppm"}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what renders have left that signals have ended."""
    folder = tmp_path_factory.mktemp("killed")
    pairs = " ".join(f"{driver}:{name}" for name, driver in PAIRS.items())
    done = subprocess.run(
        [sys.executable, "-c", KILLED, pairs, *common(2)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[1])},
        timeout=1000,
    )
    assert done.stdout.split() == ["130", "143", "129", str(-signal.SIGKILL)], done.stderr
    return folder


def common(threads: int) -> list[str]:
    size = ["--device", "cpu", "--size", "12x9", "--passes", "5", "--quiet"]
    return ["cornell", *size, "--threads", str(threads)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("name", PAIRS)
def test_what_a_signal_has_ended_goes_on_with_the_same_bits(name: str, killed: Path) -> None:
    path, whole = killed / f"{name}.png", killed / f"whole-{name}.png"
    made = ["--driver", PAIRS[name]]
    assert checkpoints.checkpoint_path(path).is_file()
    assert run("render", *common(1), *made, "-o", path, "--resume") == 0
    assert run("render", *common(2), *made, "-o", whole) == 0
    for suffix in (".png", ".npy"):
        assert path.with_suffix(suffix).read_bytes() == whole.with_suffix(suffix).read_bytes()
    assert not checkpoints.checkpoint_path(path).exists()
    assert not checkpoints.path_before(checkpoints.checkpoint_path(path)).exists()
