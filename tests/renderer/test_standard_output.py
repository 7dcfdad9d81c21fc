"""`render -o -`: the picture alone goes to standard output, and lines of JSON alone to programs that ask for them."""

import io
import json

import pytest
from PIL import Image

from renderer.cli import main
from renderer.drivers.path import PathDriver
from renderer.errors import RenderError
from renderer.run.picture import make_picture


def test_a_picture_goes_to_standard_output_alone(tmp_path, monkeypatch, capfdbinary):
    """What is told goes to stderr, and no file is written; the picture is that of a file."""
    monkeypatch.chdir(tmp_path)
    words = ["render", "cornell", "--driver=path", "--size=8x6", "--passes=1", "--max-bounces=2", "--device=cpu", "-o"]
    assert main([*words, "-"]) == 0
    piped, told = capfdbinary.readouterr()
    assert list(tmp_path.iterdir()) == []
    assert b"standard output: 8x6, 1 pass" in told
    assert main([*words, "a.png"]) == 0
    assert Image.open(io.BytesIO(piped)).tobytes() == Image.open("a.png").tobytes()


def test_programs_read_lines_of_json_alone(tmp_path, monkeypatch, capfdbinary):
    """The picture is named as it was asked for, and all of it is out before it is told to be saved."""
    monkeypatch.chdir(tmp_path)
    words = ["render", "cornell", "--driver=path", "--size=8x6", "--passes=1", "--max-bounces=2", "--device=cpu"]
    tell_end, there = make_picture.tell_end, list[bytes]()

    def observed(*told: object, **more) -> None:
        there.append(capfdbinary.readouterr().out)
        tell_end(*told, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(make_picture, "tell_end", observed)
    assert main([*words, "--progress=json", "-o", "-"]) == 0
    (picture,) = there
    assert picture.startswith(b"\x89PNG")
    assert picture.endswith(b"IEND\xaeB`\x82")
    piped, told = capfdbinary.readouterr()
    assert piped == b""
    lines = [json.loads(one) for one in told.splitlines()]
    assert [one["event"] for one in lines[-2:]] == ["saved", "message"]
    assert [one.get("picture") for one in lines[-2:]] == ["-", None]
    monkeypatch.undo()
    assert main([*words, "--progress=json", "-o", "none/a.png"]) == 2
    (error,) = map(json.loads, capfdbinary.readouterr().err.splitlines())
    assert error["event"] == "message"
    assert "there is no folder 'none'" in error["text"]


@pytest.mark.parametrize("progress", [["--progress=json"], ["--progress", "json"]])
@pytest.mark.parametrize("wrong", [["--size=8"], ["--sise=8x6"], ["--driver=none"]])
def test_programs_are_told_in_json_what_is_wrong_with_a_command_line(progress, wrong, capfd):
    with pytest.raises(SystemExit) as end:
        raise SystemExit(main(["render", "cornell", *wrong, *progress]))
    assert end.value.code == 2
    (error,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert error["event"] == "message"
    assert wrong[0].split("=")[0] in error["text"] or "none" in error["text"]


def test_finished_passes_go_to_standard_output_when_a_render_fails(monkeypatch, capfdbinary):
    passes = PathDriver.passes

    def failing(self: PathDriver, *given: object) -> object:
        yield next(passes(self, *given))  # type: ignore[arg-type]
        raise RenderError("no more")

    monkeypatch.setattr(PathDriver, "passes", failing)
    words = ["render", "cornell", "--driver=path", "--size=8x6", "--passes=3", "--max-bounces=2", "--device=cpu"]
    assert main([*words, "-o", "-"]) == 1
    piped, told = capfdbinary.readouterr()
    assert Image.open(io.BytesIO(piped)).size == (8, 6)
    assert b"no more" in told
