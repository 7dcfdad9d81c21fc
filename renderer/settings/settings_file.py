"""A settings file holds options of `tracecore render`, as TOML: a key for each, with the name that it has in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from renderer.settings.picture import Settings
from renderer.settings.setting import FRAME_KINDS, Files, settings_of
from renderer.version import SOFTWARE
from scenes.keys.place import Place
from scenes.keys.values import Kind, Text

#: Keys of a settings file.
KINDS: dict[str, Kind] = {
    "scene": Text("a file, or the name of a shipped scene"),
    "plugin": Files(),
    **{name: one.kind for name, one in settings_of(Settings).items()},
    **FRAME_KINDS,
}

HEAD = f"# Settings of a picture for render --settings, written by {SOFTWARE}\n"


def read_settings(path: Path) -> dict[str, Any]:
    """Returns the values of a settings file by their keys. Paths in it are seen from where the command runs.

    Raises `scenes.SceneError` with the file and the line of what is wrong.
    """
    from scenes.errors import SceneFileError
    from scenes.toml_scene.reader import parse

    found = {}
    for name, value in parse(path).items():
        try:
            if name not in KINDS:
                raise Place(path).unknown("key", name, KINDS)
            found[name] = KINDS[name].read_at(Place(path).inside(name), value)
        except SceneFileError as error:
            raise SceneFileError(path, _line_of(path, name), error.message) from None
    return found


def _line_of(path: Path, name: str) -> int | None:
    """Returns the number of the line where a key of a file stands."""
    key = re.compile(rf"""\s*\[?\s*["']?{re.escape(name)}["']?\s*[]=.]""")
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, 1) if key.match(line)), None)


def settings_text(values: Mapping[str, Any]) -> str:
    """Returns the text of a settings file. values: by their keys, as the program calculates with them."""
    from scenes.toml_scene.writer import toml

    return HEAD + "".join(f"{name} = {toml(_plain(value))}\n" for name, value in values.items())


def _plain(value: Any) -> Any:
    """Returns a value as a file has it."""
    match value:
        case Path():
            return str(value)
        case range():
            return f"{value.start}:{value.stop - 1}:{value.step}"
        case list():
            return [_plain(one) for one in value]
    return value
