"""Command lines that cannot be meant: one line answers each, with status 2, and nothing is traced or written."""

import functools
import shlex
from pathlib import Path

import pytest

import tracecore
from renderer import cli

#: Line by line, by what is wrong.
HOSTILE = {
    "no command": [
        "",
        "''",
        "-",
        "--",
        "rend",
        "RENDER cornell",
        "render render",
        "bench nothing-like-that",
        "--quiet",
    ],
    "no scene": [
        "render",
        "render ''",
        "render nothing",
        "render cornel",
        "render cornell:5",
        "render museum:0",
        "render museum:-5",
        "render museum:many",
        "render museum:1e9k",
        "render stress:21M",
        "render museum:nan",
        "render folder.png",
        "render .",
        "render /",
        "render missing.toml",
        "render missing/scene.toml",
        "render notes.txt",
        "render empty.toml",
        "render empty.obj",
        "render empty.glb",
        "render empty.xml",
        "render empty.pbrt",
        "render empty.ply",
        "render broken.toml",
        "render /dev/null",
        "photons nothing",
        "simulate nothing",
        "bench nothing",
        "reproduce aila-laine-2009 nothing",
        "reproduce nothing cornell",
        "scene info nothing",
        "scene export nothing --to a.toml",
        "scene paint cornell",
    ],
    "size": [
        f"render cornell --size {size}"
        for size in (
            "0x0",
            "-1x5",
            "5",
            "5x",
            "x5",
            "5x5x5",
            "nanxnan",
            "1e3x1e3",
            "5.5x5",
            "99999x99999",
            "''",
        )
    ],
    "number": [
        "render cornell --passes 0",
        "render cornell --passes nan",
        "render cornell --passes 1e3",
        "render cornell --passes 99999999999999999999",
        "render cornell --photons -1",
        "render cornell --photons 3000000000",
        "render cornell --radius -1",
        "render cornell --radius inf",
        "render cornell --time-limit nan",
        "render cornell --time-limit -5",
        "render cornell --target-noise 11",
        "render cornell --target-noise nan",
        "render cornell --exposure nan",
        "render cornell --exposure 1000",
        "render cornell --preview nan",
        "render cornell --checkpoint -1",
        "render cornell --frame 1.5",
        "render cornell --frame 99999999999",
        "render cornell --time nan",
        "render cornell --time 1e300",
        "render cornell --fov 0",
        "render cornell --fov 180",
        "render cornell --fov nan",
        "render cornell --eye 1,2",
        "render cornell --eye 1,2,3,4",
        "render cornell --eye nan,0,0",
        "render cornell --eye 1e99,0,0",
        "render cornell --look-at a,b,c",
        "render cornell --aperture -1",
        "render cornell --focus 0",
        "render cornell --shutter 0",
        "render cornell --shutter 1 --motion-samples 0",
        "render cornell --guide-share 1",
        "render cornell --max-bounces 0",
        "render cornell --threads 1025",
        "render cornell --threads -1",
        "render cornell --batch-rays 300",
        "render cornell --seed 1.0",
        "photons cornell --store 0",
        "photons cornell --store -5",
        "photons cornell --repeat 0",
        "bench cornell --repeat nan",
        "bench cornell --samples 0",
        "bench cornell --ao-radius nan",
        "bench cornell --ao-radius -1",
        "simulate cornell --move nan",
        "simulate cornell --width 7",
        "simulate cornell --rays-at-most 0",
    ],
    "name": [
        "render cornell --driver sppn",
        "render cornell --driver ''",
        "render cornell --camera nobody",
        "render cornell --filter sinc",
        "render cornell --sampler halton",
        "render cornell --device cuda",
        "render cornell --device gpu:-1",
        "render cornell --tone-map ''",
        "render cornell --plugin missing.py",
        "render cornell --plugin folder.png",
        "render cornell --plugin notes.txt",
        "render cornell -D width",
        "render cornell -D =5",
        "render cornell -D width=5",
        "bench cornell --kernels while",
        "bench cornell --rays primary,none",
        "bench cornell --baseline none",
        "bench cornell --peers blender",
        "bench cornell --driver none",
        "bench cornell --replay missing.npz",
        "bench cornell --replay notes.txt",
        "simulate cornell --kernels none",
        "simulate cornell --gpu voodoo",
        "simulate cornell --loops none",
        "scene export cornell --to a.toml --camera nobody",
    ],
    "file": [
        "render cornell -o folder.png",
        "render cornell -o .",
        "render cornell -o ''",
        "render cornell -o missing/a.png",
        "render cornell -o notes.txt/a.png",
        "render cornell -o a.jpg",
        "render cornell -o a",
        "render cornell -o a.gif",
        "render cornell --timeline missing/a.json",
        "render cornell --save-photons a.npz",
        "render cornell --driver photons-only --save-photons a.txt",
        "photons cornell --json missing/a.json",
        "photons cornell --json folder.png",
        "photons cornell --save-photons missing/a.npz",
        "bench cornell --json missing/a.json",
        "bench cornell --record a.txt",
        "bench cornell --plot a.txt",
        "simulate cornell --dump a.txt",
        "simulate cornell --json missing/a.json",
        "scene export cornell --to a.txt",
        "scene export cornell --to missing/a.toml",
        "scene export cornell",
    ],
    "together": [
        "render cornell --frame 1 --time 1",
        "render cornell --frames 5:0",
        "render cornell --frames 0:5:0",
        "render cornell --frames 0:nan",
        "render cornell --frames 0:5 --frame 2",
        "render cornell --fps 25",
        "render cornell --frame-seeds own",
        "render cornell --driver path --photons 5",
        "render cornell --driver photon --save-photons a.npz",
        "render cornell --driver ao --guide-share 0.5",
        "render cornell --layers -o a.png",
        "render cornell --motion-samples 5",
        "render cornell cornell",
        "render cornell --size",
        "render cornell --size 5x5 --sized 5",
        "bench cornell --driver path --replay a.npz",
        "bench cornell --views all --camera none",
        "bench cornell --heatmap-kernels while-while",
        "doctor cornell",
    ],
}
LINES = [(kind, line) for kind, lines in HOSTILE.items() for line in lines]


make_parser = functools.cache(cli.make_parser)  # of all commands, once


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which there are some files that are no scenes, and a folder named like a picture."""
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "notes.txt").write_text("words")
    (tmp_path / "broken.toml").write_text("[[object]\n")
    for suffix in ("toml", "obj", "glb", "xml", "pbrt", "ply"):
        (tmp_path / f"empty.{suffix}").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("kind", "line"), LINES, ids=[ascii(line) for _, line in LINES])
def test_it_is_answered_by_one_line_and_nothing_is_written(
    kind: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        pytest.fail("something is traced")

    monkeypatch.setattr(tracecore, "open_tracer", refuse)
    monkeypatch.setattr(cli, "make_parser", lambda words: make_parser())
    before = contents(folder)
    try:
        status = cli.main(shlex.split(line))
    except SystemExit as stop:
        status = int(str(stop.code))
    printed = capsys.readouterr()
    assert status == 2, kind
    (words,) = printed.err.splitlines()
    assert words.startswith("tracecore: error: ")
    assert printed.out == ""
    assert contents(folder) == before
