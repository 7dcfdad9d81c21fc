"""Files that are written: what is no file stays what it is, what fails is told, and nothing is lost that was there."""

import argparse
import errno
import io
import json
import os
import select
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from data_files import data_text
from PIL import Image

from renderer.atomic_file import atomic_file, check_outputs, check_replaceable, write_each, write_whole
from renderer.bench import picture_report, plot
from renderer.bench.figure_file import write_figures
from renderer.bench.page import Circumstances, Figure
from renderer.bench.ray_file import RayFile, write_rays
from renderer.cli import main, make_parser
from renderer.commands import simulate
from renderer.errors import UsageError
from renderer.film import image_file
from renderer.film.animation import animation_of
from renderer.film.film import Film
from renderer.photons.photon_file import save_photons
from renderer.photons.photon_map import PHOTON_WORDS
from renderer.run import statistics, timeline
from renderer.run.picture import picture_files
from renderer.run.picture.picture_files import PictureFiles, asked, files_of, statistics_path
from renderer.run.picture.picture_record import PictureRecord
from renderer.run.resuming import checkpoints
from renderer.run.resuming.checkpoints import Checkpoint, Checkpoints, Spent
from renderer.run.sequence.finished_frames import finished_frame, write_finished
from renderer.scene.render_context import READ, WRITTEN, load_for
from renderer.settings.picture import Settings
from renderer.version import SOFTWARE
from scenes import load
from scenes.document import Scene
from scenes.errors import SceneError
from scenes.export import WRITERS, export
from scenes.files.marks import is_own
from scenes.files.written_file import WriteError

resource = pytest.importorskip("resource", reason="no limits on files here")

posix_only = pytest.mark.skipif(os.name != "posix", reason="other systems have no such files")

NOISE = np.random.default_rng(1).random((40, 50, 3), np.float32)
PHOTONS = np.arange(600 * PHOTON_WORDS, dtype=np.uint32).reshape(600, PHOTON_WORDS)
ROWS = [{"dispatch": "direct", "batch_rays": 256, "in_flight": 1, "rays_per_second": 1e6}]
ERRORS = [{"driver": "path", "seconds": 1.0 + i, "error": 0.5, "passes": 1} for i in range(2)]
PICTURES = [{"driver": "path", "device": "cpu", "scene": "a", "errors": [{"seconds": 1.0, "error": 0.1}]}]


ABOUT = Circumstances(command_line=(), date="", scene="", triangles=0, machine={})
DRAWING = Figure(caption="", content=b"", media_type="image/svg+xml")


@cache
def cornell() -> Scene:
    return load("cornell")


def write_kept_photons(path: Path) -> None:
    driver = SimpleNamespace(save_photons=lambda temporary: save_photons(temporary, PHOTONS, 1.0))
    picture_files.save_photons(path, cast(Any, driver))


def write_animated(path: Path) -> None:
    still = path.with_name("still.png")
    animation = animation_of(path, 25.0)
    assert animation is not None
    animation.add(still)
    animation.add(still)
    animation.write()


def write_steps(path: Path) -> None:
    arrays = np.random.default_rng(1).integers(0, 256, 20000, np.uint8)
    simulate._write_steps(path, {"a/b": cast(Any, SimpleNamespace(kinds=arrays, useful=arrays, starts=arrays))})


#: Each kind of file that the program writes, by a name for it.
WRITES: dict[str, Callable[[Path], object]] = {
    "a.png": lambda path: image_file.write_png(path, (255 * NOISE).astype(np.uint8), {"Software": SOFTWARE}),
    "a.npy": lambda path: image_file.write_array(path, NOISE),
    "a.exr": lambda path: image_file.write_exr(path, {"beauty": NOISE}, {"Software": SOFTWARE}),
    "photons.npz": write_kept_photons,
    **dict.fromkeys(("a.gif", "a.webp", "a.apng"), write_animated),
    "steps.npz": write_steps,
    "rays.npz": lambda path: write_rays(path, RayFile(scene="a" * 9999, triangles="", origin={}, sets=())),
    "figures.json": lambda path: statistics.write(path, {"software": SOFTWARE, "key": "x" * 9999}),
    "bench.json": lambda path: write_figures(path, ABOUT, {"key": "x" * 9999}),
    "page.html": lambda path: write_whole(path, picture_report.page([], ABOUT, DRAWING).encode()),
    "a.checkpoint": lambda path: checkpoints.write(path, "", Checkpoint(passes=1, spent=Spent(), sums={}, carried={})),
    "timeline.json": lambda path: timeline.write(path, [log_of_a_thread()]),
    "dispatch.png": lambda path: write_whole(path, plot.plot_dispatch(cast(Any, ROWS), "", ".png")),
    "error.png": lambda path: write_whole(path, plot.plot_errors(ERRORS, "", ".png")),
    "pictures.svg": lambda path: write_whole(path, plot.plot_pictures(PICTURES, "", ".svg")),
    **{f"scene{suffix}": lambda path: export(cornell(), path, 0.0) for suffix in WRITERS},
}


def log_of_a_thread() -> Any:
    return SimpleNamespace(rows=np.ones((200, 5), np.int64), spans=[], dropped=0)


def needs(name: str) -> None:
    if name.endswith((".exr", ".xml")):
        pytest.importorskip("OpenEXR", reason="the extra [exr] is not installed")
    if name in ("dispatch.png", "error.png", "pictures.svg"):
        pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")


@contextmanager
def full_disk(most_bytes: int) -> Iterator[None]:
    """Lets no file grow beyond so many bytes, within the block."""
    limits, before = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python keeps what it imports first within the block, cut off too
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        sys.dont_write_bytecode = before


@posix_only
@pytest.mark.parametrize("name", WRITES)
def test_a_full_disk_is_told_with_the_name_and_leaves_the_old_file(name: str, tmp_path: Path) -> None:
    needs(name)
    path, still = tmp_path / name, tmp_path / "still.png"
    path.write_bytes(b"old")
    image_file.write_png(still, (255 * NOISE).astype(np.uint8), {})
    with full_disk(100), pytest.raises(WriteError) as raised:
        WRITES[name](path)
    assert str(raised.value).startswith(f"cannot write '{tmp_path}/{path.stem}")
    assert str(raised.value).endswith(("File too large", "File too large."))
    assert path.read_bytes() == b"old"
    assert set(tmp_path.iterdir()) == {path, still}


#: What a system says as a file is put in its place, or flushed to the disk.
FAULTS = [("replace", errno.EDQUOT), ("replace", errno.EROFS), ("replace", errno.ENOENT), ("fsync", errno.ENOSPC)]

#: Writers that take long, or leave it to the system when their bytes reach the disk, meet one of these.
SLOW = ("dispatch.png", "error.png", "pictures.svg", *(f"scene{suffix}" for suffix in WRITERS))
FAULTY = [
    (name, *fault)
    for turn, name in enumerate(WRITES)
    for fault in (FAULTS[turn % 3 : turn % 3 + 1] if name in SLOW else FAULTS)
]


@pytest.mark.parametrize(("name", "step", "number"), FAULTY, ids=lambda one: errno.errorcode.get(one, one))
def test_a_fault_at_the_end_is_told_with_the_name_and_leaves_the_old_file(name, step, number, tmp_path, monkeypatch):
    """A quota, a file system that is read-only, a folder that has gone, a full disk."""
    needs(name)
    path, still = tmp_path / name, tmp_path / "still.png"
    path.write_bytes(b"old")
    image_file.write_png(still, (255 * NOISE).astype(np.uint8), {})

    def fail(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(WriteError) as raised:
        WRITES[name](path)
    assert str(raised.value).startswith(f"cannot write '{tmp_path}/{path.stem}")
    assert str(raised.value).endswith(f"': {os.strerror(number)}")
    assert path.read_bytes() == b"old"
    assert set(tmp_path.iterdir()) == {path, still}


@pytest.mark.parametrize("name", ["a.png", "a.exr", "photons.npz", "figures.json"])
def test_a_folder_that_has_gone_is_told(name: str, tmp_path: Path) -> None:
    needs(name)
    with pytest.raises(WriteError, match=rf"cannot write '.*gone/{name}': "):
        WRITES[name](tmp_path / "gone" / name)


@posix_only
def test_what_a_link_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    for name, old in (("there.json", b"old"), ("missing.json", None)):
        target, link = tmp_path / "far" / name, tmp_path / name
        if old is not None:
            target.write_bytes(old)
        link.symlink_to(target)
        image_file.check_folder(link)
        write_whole(link, b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path / "far")) == ["missing.json", "there.json"]


@posix_only
def test_a_link_to_itself_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.symlink_to(path)
    with pytest.raises(UsageError, match=r"cannot write .*a\.json"):
        image_file.check_folder(path)
    with pytest.raises(WriteError, match=r"cannot write .*a\.json"):
        write_whole(path, b"new")


@posix_only
def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "a.npy"
    os.mkfifo(pipe)
    image_file.check_writable(pipe)
    with pytest.raises(WriteError, match=r"cannot write '.*a\.npy': nobody reads"):  # nobody reads
        image_file.write_array(pipe, NOISE)
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        writer = threading.Thread(target=image_file.write_array, args=(pipe, NOISE))
        writer.start()
        select.select([file], [], [])
        os.set_blocking(file.fileno(), True)
        found = np.load(io.BytesIO(file.read()))
        writer.join()
    np.testing.assert_array_equal(found, NOISE)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix_only
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    """The device is one of the test's own, so that a fault replaces nothing of the system."""
    device, link = tmp_path / "full", tmp_path / "link"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        os.close(os.open(device, os.O_WRONLY))
    except OSError as error:
        pytest.skip(f"no device can be made here: {error.strerror}")
    link.symlink_to(device)
    for path in (device, link):
        image_file.check_folder(path)
        with pytest.raises(WriteError, match=f"cannot write '{path}': No space left on device"):
            timeline.write(path, [log_of_a_thread()])
        assert stat.S_ISCHR(path.stat().st_mode)


@posix_only
def test_what_goes_to_standard_output_stands_between_what_is_printed(tmp_path: Path) -> None:
    path, before = tmp_path / "out", os.dup(1)
    with path.open("wb") as file:
        try:
            os.dup2(file.fileno(), 1)
            os.write(1, b"first\n")
            write_whole(path, b"content\n")
            os.write(1, b"last\n")
        finally:
            os.dup2(before, 1)
            os.close(before)
    assert path.read_bytes() == b"first\ncontent\nlast\n"


def test_all_are_tried() -> None:
    done: list[str] = []

    def fail(name: str) -> None:
        raise WriteError(name, OSError(28, "No space left on device"))

    with pytest.raises(WriteError, match="cannot write 'b'"):
        write_each(lambda: done.append("a"), lambda: fail("b"), lambda: done.append("c"))
    assert done == ["a", "c"]
    with pytest.raises(OSError, match=r"cannot write 'd': .*; cannot write 'e'"):
        write_each(lambda: fail("d"), lambda: fail("e"))


@dataclass(frozen=True)
class SmallPicture:
    """Is a picture of a few bytes, whose linear data are large."""

    figures: dict[str, Any]
    is_finished: bool = False
    image: Any = field(default_factory=lambda: NOISE)

    @property
    def statistics(self) -> dict[str, Any]:
        return self.figures

    def write(self, path: Path) -> None:
        write_whole(path, b"picture")


class Recorded:
    """Stands for the record of a picture whose statistics are small and whose linear data are large."""

    def __init__(self) -> None:
        self.plan = SimpleNamespace(settings=Settings(preview=1.0, quiet=True), part=None, pipe=None)

    def picture(self, film: Film) -> Any:
        return SmallPicture({"passes": film.passes, "darkness": ""})


@posix_only
def test_what_fits_on_the_disk_is_written(tmp_path: Path) -> None:
    record, film = cast(PictureRecord, Recorded()), Film(4, 3)
    files = PictureFiles(tmp_path / "a.png", record, Checkpoints(None, Settings(), str))
    with full_disk(1000), pytest.raises(WriteError, match=r"cannot write '.*a\.npy': File too large"):
        files.save_all(film, is_finished=True)
    assert sorted(os.listdir(tmp_path)) == ["a.png", "a.png.json"]
    with full_disk(3), pytest.raises(WriteError, match=r"cannot write '.*a\.png': File too large"):
        files.save_picture(film)
    assert (tmp_path / "a.png").read_bytes() == b"picture"


SKY = "materials.red = {}\n[[object]]\nshape = 'sphere'\nmaterial = 'red'\n[environment]\nimage = 'sky.npy'\n"


@pytest.fixture
def sky(tmp_path: Path) -> Path:
    path = tmp_path / "sky.toml"
    path.write_text(SKY)
    np.save(tmp_path / "sky.npy", np.ones((2, 4, 3), np.float32))
    return path


def test_a_scene_knows_its_files(sky: Path) -> None:
    assert load(sky).files == (sky, sky.with_name("sky.npy"))
    (sky.parent / "a.mtl").write_text("newmtl red\nKd 1 0 0\nmap_Kd a.png\n")
    Image.new("RGB", (2, 2)).save(sky.parent / "a.png")
    mesh = sky.with_suffix(".obj")
    mesh.write_text("mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl red\nf 1/1 2/2 3/3\n")
    assert {path.name for path in load(mesh).files} == {"sky.obj", "a.mtl", "a.png"}
    assert [path.name for path in load("cornell").files] == ["cornell.toml"]
    assert load("museum:10k").files == ()


@pytest.mark.parametrize("option", WRITTEN)
def test_no_command_writes_over_the_files_of_its_scene(option: str, sky: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sky.parent)
    for written in ("sky.npy", "../" + sky.parent.name + "/sky.toml"):
        with pytest.raises(UsageError, match=f"cannot write '{written}': the scene or the command reads it"):
            load_for(argparse.Namespace(scene="sky.toml", **{option: Path(written)}))
    load_for(argparse.Namespace(scene="sky.toml", **{option: Path("other.npy")}))


def test_no_two_files_of_a_command_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a.png.json")
    for other in (tmp_path / "a.png.json", tmp_path / "link", tmp_path / ".." / tmp_path.name / "a.png.json"):
        with pytest.raises(UsageError, match="another file of this command goes there"):
            check_outputs([*files_of(tmp_path / "a.png"), None, other], [])
    check_outputs([Path(os.devnull), Path(os.devnull)], [])


def test_every_option_that_names_a_file_is_known() -> None:
    """--to is checked by the export, the picture of a file by `check_output`, settings by `render`; --references is a
    folder, and the pictures of --reference and --compare are read."""
    files = {action.dest for one in all_parsers() for action in one._actions if "FILE" in str(action.metavar)}
    others = {"plugin", "picture", "parts", "reference", "compare", "to", "settings", "save_settings"}
    assert files == {*WRITTEN, *READ, *others}


def all_parsers() -> list[Any]:
    return list(parsers_of(make_parser()))


def parsers_of(parser: Any) -> Iterator[Any]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers_of(one)


def test_an_export_does_not_replace_what_it_was_read_from(sky: Path) -> None:
    scene, before = load(sky), sky.read_bytes()
    with pytest.raises(SceneError, match=r"sky\.toml would be replaced, which the scene is read from"):
        export(scene, sky, 0.0)
    assert sky.read_bytes() == before
    assert len(export(scene, sky.with_name("copy.toml"), 0.0).files) == 3


def asked_of(*words: str, folder: Path = Path("output")) -> dict[str, Any]:
    from renderer.commands.arguments import chosen_settings

    arguments = make_parser().parse_args(["render", *words])
    return asked(arguments.scene, chosen_settings(Settings, arguments), folder)


def test_what_is_asked_for_is_what_decides_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.aff").touch()
    assert asked_of("a.aff", "--size", "4x3") == {"scene": "../a.aff", "size": [4, 3]}
    assert asked_of("./a.aff", "--size", "4x3", "--threads", "3", "--quiet", "-o", "x.png") == asked_of(
        "a.aff", "--size", "4x3"
    )
    differing = ["--seed 1", "--passes 2", "--frame 3", "--camera b", "--exposure 1", "--driver ao", "--denoise"]
    found = [asked_of("a.aff", *words.split()) for words in ["", *differing]]
    assert all(one not in found[:index] for index, one in enumerate(found))


@pytest.mark.parametrize("name", WRITES)
def test_what_this_program_writes_it_knows_again(name: str, tmp_path: Path) -> None:
    needs(name)
    image_file.write_png(tmp_path / "still.png", (255 * NOISE).astype(np.uint8), {"Software": SOFTWARE})
    WRITES[name](tmp_path / name)
    assert [path.name for path in tmp_path.iterdir() if not is_own(path)] == []
    check_replaceable(tmp_path.iterdir(), "own")
    with pytest.raises(UsageError, match="it is there already; choose another name, or leave out --no-clobber"):
        check_replaceable([tmp_path / name], "none")


def write_archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, photons=NOISE)


#: Files of other programs; the texts tell of this one.
OTHERS: dict[str, Callable[[Path], object]] = {
    "a.png": lambda path: Image.new("RGB", (2, 2)).save(path),
    "a.gif": lambda path: Image.new("RGB", (2, 2)).save(path),
    "a.npy": lambda path: np.save(path, NOISE),
    "a.npz": write_archive,
    "a.json": lambda path: path.write_text(json.dumps({"asked": {"scene": "cornell"}, "version": "0.1.0"})),
    "a.md": lambda path: path.write_text("# Pictures\n\nThese are rendered by tracecore 0.1.0.\n"),
    "a.toml": lambda path: path.write_text("# for tracecore\n[scene]\nname = 'tracecore'\n"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_others_have_written_is_not_replaced(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    check_replaceable([path, None, tmp_path], "none")  # nothing is there
    OTHERS[name](path)
    statistics.write(statistics_path(path), {"software": SOFTWARE})
    message = rf"{name}': it is there already, and tracecore did not write it; choose another name, or replace it with"
    with pytest.raises(UsageError, match=message):
        check_replaceable([path], "own")
    check_replaceable([path], "any")
    path.write_bytes(b"")
    check_replaceable([path], "own")  # nothing is lost


@pytest.mark.parametrize(
    "words",
    [
        "photons cornell --store 1 --json",
        "photons cornell --store 1 --timeline",
        "photons cornell --store 1 --save-photons",
        "simulate cornell --json",
        "simulate cornell --dump",
        "bench cornell --device cpu --json",
        "bench cornell --device cpu --record",
        "bench pictures cornell --json",
        "bench film cornell --frames 0:1 --json",
        "render cornell --frames 0:1 --device cpu --size 4x3 --timeline",
        "reproduce aila-laine-2009 cornell --device emulator --markdown",
    ],
)
def test_commands_tell_a_file_of_somebody_else_before_they_begin(words, capsys):
    path = Path("mine.npz")
    path.write_text("mine")
    assert main([*words.split(), str(path)]) == 2
    assert "mine.npz': it is there already, and tracecore did not write it" in capsys.readouterr().err
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("render cornell --cluster local:0 -o", "local:N with N from 1 to 64"),
        ("render cornell --motion-samples 5 -o", "--motion-samples does nothing without --shutter"),
        ("render cornell --driver path --photons 5 -o", "--photons does nothing for the driver path"),
        ("photons cornell --cluster local:0 --save-photons", "local:N with N from 1 to 64"),
        ("simulate cornell --kernels nosuch --dump", "unknown kernel 'nosuch'"),
        ("bench cornell --device cpu --kernels nosuch --json", "unknown kernel for device 'cpu' 'nosuch'"),
    ],
)
@pytest.mark.parametrize("path", ["mine.npy", "mine.npz", "missing/a.npy", "missing/a.npz"])
def test_wrong_values_are_told_before_files_are_looked_at(words, told, path, capsys):
    for mine in ("mine.npy", "mine.npz"):
        Path(mine).write_text("mine")
    with suppress(SystemExit):
        assert main([*words.split(), path]) == 2
    assert told in capsys.readouterr().err


DIES_AS_IT_WRITES = data_text("programs/dies_as_it_writes.py")


@posix_only
def test_what_a_dead_writer_has_left_is_removed_by_the_next_of_the_same_file(tmp_path: Path) -> None:
    path, other = tmp_path / "a.png", tmp_path / "b.png"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", DIES_AS_IT_WRITES, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for file in (path, path, other)
    ]
    for writer in writers:
        assert cast(Any, writer.stdout).readline() == b"begun\n"
    left = set(tmp_path.iterdir())
    assert len(left) == 6
    write_whole(path, b"new")
    assert set(tmp_path.iterdir()) == left | {path}  # their writers live
    for writer in (writers[0], writers[2]):
        writer.communicate()
    write_whole(path, b"newer")
    assert len(left & set(tmp_path.iterdir())) == 4  # a writer of the same file lives, that of another one is dead
    writers[1].communicate()
    write_whole(path, b"newest")
    write_whole(other, b"new")
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.png"]


def test_a_test_begins_in_a_folder_of_its_own() -> None:
    """Else it would see what a user has rendered there."""
    assert os.listdir() == []
    assert Path(__file__).parents[2] not in (Path.cwd(), *Path.cwd().parents)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def resize(path: Path) -> None:
    Image.new("RGB", (3, 2)).save(path)


def texts_of_damage(*texts: str) -> list[Callable[[Path], object]]:
    return [lambda path, text=text: statistics_path(path).write_text(text) for text in texts]  # type: ignore[misc]


def change(key: str, value: object) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        file = statistics_path(path)
        file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))

    return damage


@pytest.mark.parametrize(
    "damage",
    [cut, resize, Path.unlink, lambda path: statistics_path(path).unlink()]
    + texts_of_damage("", "{", "[]", "null", "[" * 100000, "\x00", '{"passes": 1}', '{"checksum": 1}')
    + [change("passes", 10**18), change("passes", "1"), change("triangles", None), change("request", "other")],
)
def test_a_frame_that_is_damaged_is_not_kept(damage: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "a-0001.png"
    Image.new("RGB", (2, 2)).save(path)
    write_finished(path, {"passes": 1, "triangles": 3, "noise": float("nan"), "request": "key1"})
    keys = {1: "key1"}
    assert finished_frame(path, keys.__getitem__) == {"passes": 1, "triangles": 3, "noise": None, "request": "key1"}
    assert finished_frame(path, lambda passes: "another") is None
    damage(path)
    assert finished_frame(path, keys.__getitem__) is None


def test_errors_of_other_files_are_not_renamed(tmp_path: Path) -> None:
    def write() -> None:
        with atomic_file(tmp_path / "a"):
            (tmp_path / "input").read_bytes()

    with pytest.raises(FileNotFoundError):
        write()


def test_neither_over_other_files_that_a_command_reads(tmp_path: Path) -> None:
    path = tmp_path / "plugin.py"
    path.touch()
    for inputs in ({"plugin": [path]}, {"replay": path}, {"reference": path}):
        with pytest.raises(UsageError, match="reads it"):
            load_for(argparse.Namespace(scene="cornell", json=path, **inputs))


@pytest.mark.parametrize("name", sorted({parser.prog for parser in all_parsers()}))
def test_every_command_that_writes_files_can_be_told_what_it_replaces(name: str) -> None:
    (parser,) = (one for one in all_parsers() if one.prog == name)
    takes = {action.dest for action in parser._actions}
    assert ("replace" in takes) == bool(takes & {*WRITTEN, "to"})
