"""This module knows the files of a picture, and what its statistics keep of the command: the scene and the options that
decide the picture.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from renderer.settings.picture import TRACING, Settings
from renderer.settings.setting import settings_of

Asked = Mapping[str, Any]

#: Groups of settings that do not decide a picture, but for the seed; and others that do not.
NOT_ASKED_GROUPS = ("files", TRACING)
NOT_ASKED = ("update", "allow_outside", "strict")

#: Statistics are smaller.
LARGEST_STATISTICS = 1 << 26


def statistics_path(picture: Path) -> Path:
    """Returns the path of the statistics of a picture: its own, and .json behind it."""
    return picture.with_name(f"{picture.name}.json")


def files_of(path: Path, *, keep_linear: bool = True) -> list[Path]:
    """Returns the files that are written of a picture, itself the first and its statistics the last.

    keep_linear: whether linear radiance is written beside a .png too.
    """
    linear = [path.with_suffix(".npy")] if path.suffix.lower() == ".png" and keep_linear else []
    return [path, *linear, statistics_path(path)]


def asked(scene: str, settings: Settings, folder: Path, **more: Any) -> dict[str, Any]:
    """Returns what a command asks for, in plain values: all that it says of the picture, and nothing that it does not.

    scene: a name, or a file, which is told as it is seen from `folder`, so that both can move.
    more: what is asked for beside the settings.
    """
    given: dict[str, Any] = {"scene": _seen_from(folder, scene) if os.path.exists(scene) else scene}
    for one in settings_of(Settings).values():
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


def read_statistics(path: Path) -> dict[str, Any] | None:
    """Returns the statistics of a file, or None where there is no such file or something else in it."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_STATISTICS:
            return None
        figures = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return figures if isinstance(figures, dict) else None
