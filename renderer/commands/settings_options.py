"""The options `--settings` and `--save-settings`: a long command line becomes a file, which a later one begins with."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from renderer.commands.arguments import chosen_settings
from renderer.settings.kinds import FRAME_KINDS
from renderer.settings.picture import Settings
from renderer.settings.setting import settings_of


def add_settings_files(container: argparse._ActionsContainer) -> None:
    """Adds both options."""
    container.add_argument(
        "--settings",
        type=Path,
        metavar="FILE.toml",
        help="take what is not said here from a file, of which each key is an option, such as time_limit = 60",
    )
    container.add_argument(
        "--save-settings", type=Path, metavar="FILE.toml", help="write what is asked for to a file for --settings"
    )


def settings_in_file(words: Sequence[str]) -> dict[str, Any]:
    """Returns the values of the settings file that a command line names, by their keys; nothing where it names none.

    Raises `scenes.SceneError` for a file that cannot be read.
    """
    if not any(word.startswith("--settings") for word in words):
        return {}
    from renderer.settings.settings_file import read_settings

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--settings", type=Path)
    try:
        path = parser.parse_known_args(words)[0].settings
    except argparse.ArgumentError:  # the command's own parser says what is wrong
        return {}
    return {} if path is None else read_settings(path)


def asked_for(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns what the options ask for that is not so anyway, by the keys of a settings file."""
    settings = chosen_settings(Settings, arguments)
    values = {name: getattr(settings, name) for name in settings_of(Settings)}
    asked = {name: value for name, value in values.items() if value != settings_of(Settings)[name].default}
    others = {name: getattr(arguments, name) for name in ("plugin", *FRAME_KINDS)}
    return {"scene": arguments.scene} | {name: value for name, value in others.items() if value} | asked


def save_settings(arguments: argparse.Namespace) -> None:
    """Writes what the options ask for to the file of --save-settings, if there is to be one."""
    path: Path | None = arguments.save_settings
    if path is None:
        return
    from renderer.atomic_file import write_whole
    from renderer.film.image_file import check_folder, make_default_folder
    from renderer.settings.settings_file import settings_text

    check_folder(path, arguments.replace)
    make_default_folder([path])
    write_whole(path, settings_text(asked_for(arguments)).encode())
