"""This module knows the files of a picture, and whether those that are there already come from the same command.

The statistics of a picture keep what was asked for: the scene and the options that decide the picture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from renderer.errors import UsageError
from renderer.film.image_file import read_texts
from renderer.settings.picture import TRACING, Settings
from renderer.settings.setting import settings_of

Asked = Mapping[str, Any]

#: Groups of settings that do not decide a picture, but for the seed; and others that do not.
NOT_ASKED_GROUPS = ("files", TRACING)
NOT_ASKED = ("update", "allow_outside", "strict")

#: Statistics are smaller.
LARGEST_STATISTICS = 1 << 26


def files_of(path: Path, *, keep_linear: bool = True) -> list[Path]:
    """Returns the files that are written of a picture, itself the first.

    keep_linear: whether linear radiance is written beside a .png too.
    """
    linear = [path.with_suffix(".npy")] if path.suffix.lower() == ".png" and keep_linear else []
    return [path, *linear, path.with_suffix(".json")]


def asked(scene: str, settings: Settings, folder: Path, **more: Any) -> dict[str, Any]:
    """Returns what a command asks for, in plain values: all that it says of the picture, and nothing that it does not.

    scene: a name, or a file, which is told as it is seen from `folder`, so that both can move.
    more: what is asked for beside the settings.
    """
    given: dict[str, Any] = {"scene": _seen_from(folder, scene) if os.path.exists(scene) else scene}
    for one in settings_of(Settings):
        value = getattr(settings, one.name)
        counts = one.name == "seed" or (one.group not in NOT_ASKED_GROUPS and one.name not in NOT_ASKED)
        if counts and value != one.default:
            given[one.name] = value
    plain: dict[str, Any] = json.loads(json.dumps(given | more))
    return plain


def _seen_from(folder: Path, scene: str) -> str:
    try:
        return Path(os.path.relpath(os.path.realpath(scene), os.path.realpath(folder))).as_posix()
    except ValueError:  # on another drive
        return os.path.realpath(scene)


def check_replaceable(files: Iterable[Path], wanted: Asked, texts: Mapping[str, str]) -> None:
    """Raises `UsageError` where a picture of another scene or setting, or something else, would be replaced.

    files: those of a picture, itself the first.
    wanted: what is asked for now.
    texts: of those that the picture will hold, some by which it is known where its statistics are missing.
    """
    path, *others = files
    there = [file for file in (path, *others) if file.is_file()]
    if not there:
        return
    before = _asked_before(path.with_suffix(".json"))
    if before == wanted or (before is None and _has_texts(path, texts)):
        return
    what = f"of another command: {differences(before, wanted)}" if before is not None else "of unknown origin"
    raise UsageError(f"'{there[0]}' is there already, {what}; replace it with --force, or choose another name by -o")


def differences(before: Asked, wanted: Asked) -> str:
    """Returns, as text, in what two commands differ."""
    keys = [key for key in dict.fromkeys((*before, *wanted)) if before.get(key) != wanted.get(key)]
    return ", ".join(f"{key} {_word(before, key)}, not {_word(wanted, key)}" for key in keys)


def _word(given: Asked, key: str) -> str:
    value = given.get(key, "as it is by default")
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def _asked_before(path: Path) -> Asked | None:
    """Returns what statistics say was asked for, or None where they do not."""
    figures = read_statistics(path)
    found = None if figures is None else figures.get("asked")
    return found if isinstance(found, dict) else None


def read_statistics(path: Path) -> dict[str, Any] | None:
    """Returns the statistics of a file, or None where there is no such file or something else in it."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_STATISTICS:
            return None
        figures = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return figures if isinstance(figures, dict) else None


def _has_texts(path: Path, texts: Mapping[str, str]) -> bool:
    """Returns whether a picture has these texts among its own."""
    if path.suffix.lower() != ".png" or not path.is_file():
        return False
    try:
        found = read_texts(path)
    except Exception:  # Pillow raises many kinds on bad files
        return False
    return all(found.get(key) == text for key, text in texts.items())
