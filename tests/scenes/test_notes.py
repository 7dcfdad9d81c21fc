"""What readers tell of files beside their scenes: notes once each, and problems all in one go."""

import logging

import scenes
from renderer import cli
from scenes.document import Document
from scenes.errors import MAX_PROBLEM_LINES, SceneFileError, SceneProblemsError
from scenes.notes import MAX_NOTES, Notes
from scenes.scene import Scene


def test_a_note_is_told_once_with_its_first_place():
    notes = Notes()
    for line in (3, 5, 9):
        notes.add("hair is left out", "a.xml", line)
    notes.add("fog is left out", "b.glb")
    assert notes.lines == ["a.xml:3: hair is left out (and in 2 more places)", "b.glb: fog is left out"]


def test_very_many_notes_are_counted():
    notes = Notes()
    for line in range(MAX_NOTES + 7):
        notes.add(f"note {line}", "a.xml", line)
    assert len(notes.lines) == MAX_NOTES + 1
    assert notes.lines[-1] == "7 more notes"


def test_loading_logs_the_notes(monkeypatch, caplog):
    document = Document()
    document.notes.add("hair is left out", "a.noted", 3)
    monkeypatch.setitem(scenes.READERS, ".noted", lambda _: Scene(name="a", snapshot=None, document=document))
    with caplog.at_level(logging.WARNING, "scenes"):
        scenes.load("a.noted")
    assert caplog.messages == ["note: a.noted:3: hair is left out"]


def test_problems_take_a_line_each(monkeypatch, capsys, tmp_path):
    """At most ten lines in all, and the same problem is told once, with the number of its other places."""
    errors = [SceneFileError("a.bad", line, f"expected less than {line % 50}") for line in range(100)]

    def refuse(_):
        raise SceneProblemsError(errors)

    (tmp_path / "a.bad").write_text("x")
    monkeypatch.setitem(scenes.READERS, ".bad", refuse)
    assert cli.main(["scene", "info", str(tmp_path / "a.bad")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "tracecore: error: a.bad:0: expected less than 0 (and in 1 more place)"
    assert len(lines) == len(set(lines)) == MAX_PROBLEM_LINES == 10
    assert lines[-1] == "tracecore: error: 41 more problems"


def test_ten_problems_are_all_told():
    errors = [SceneFileError("a.bad", line, f"expected less than {line}") for line in range(MAX_PROBLEM_LINES)]
    assert str(SceneProblemsError(errors)).splitlines() == [str(error) for error in errors]
