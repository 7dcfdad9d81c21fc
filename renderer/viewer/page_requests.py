"""This module reads what the page asks for, and writes the command that makes the same picture."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from renderer.errors import UsageError
from renderer.settings.picture import Settings
from renderer.settings.setting import Setting, settings_of
from scenes.keys.values import Size

#: Settings that the page may change.
CHANGEABLE = (
    *("driver", "kernel", "passes", "size", "crop", "photons", "seed"),
    *("camera", "frame", "eye", "look_at", "up", "fov"),
)

#: Groups and names of settings that have nothing to do with which picture it is, or that are told otherwise.
_UNTOLD_GROUP, _UNTOLD = "files", ("passes",)


def changed(settings: Settings, words: Mapping[str, Any]) -> Settings:
    """Returns settings with changes, words as the command line has them, by name; None, or no word, for the default.

    Raises `UsageError` for a setting that the page may not change, and for a word that means no value of it.
    """
    known = {name: one for name, one in settings_of(Settings).items() if name in CHANGEABLE}
    values: dict[str, Any] = {}
    for name, word in words.items():
        if name not in known:
            raise UsageError(f"the viewer cannot change '{name}'; it can change {', '.join(known)}")
        values[name] = known[name].default if word in (None, "") else _value_of(known[name], word)
    return replace(settings, **values)


def _value_of(one: Setting, word: Any) -> Any:
    try:
        if not isinstance(word, str):
            raise TypeError
        return one.kind.read(one.kind.parse(word))
    except (TypeError, ValueError):
        raise UsageError(f"{one.option} expected {one.kind.expected_word}, got {word!r}") from None


def words_of(settings: Settings) -> dict[str, str]:
    """Returns, by name, the words of those settings that the page may change; those that are left open have none."""
    return {
        one.name: word_of(one, value)
        for one in settings_of(Settings).values()
        if one.name in CHANGEABLE and (value := getattr(settings, one.name)) is not None
    }


def word_of(one: Setting, value: Any) -> str:
    """Returns the word of the command line that means a value of a setting."""
    if isinstance(value, tuple):
        return ("x" if isinstance(one.kind, Size) else ",").join(map(_plain_word, value))
    return _plain_word(value)


def _plain_word(value: Any) -> str:
    """Returns the shortest word that means this very value."""
    if not isinstance(value, float):
        return str(value)
    word = f"{value:g}"
    return word if float(word) == value else repr(value)


def command_line(scene: str, settings: Settings, passes: int | None = None) -> str:
    """Returns the command that makes a picture.

    scene: as the command line has it.
    settings: of the picture.
    passes: that it is the mean of, or None to say nothing of them.
    """
    words = ["tracecore", "render", scene]
    for one in settings_of(Settings).values():
        value = getattr(settings, one.name)
        if one.group == _UNTOLD_GROUP or one.name in _UNTOLD or value == one.default:
            continue
        if value is True:
            words.append(one.option)
        elif isinstance(value, dict):
            words += [word for name, text in value.items() for word in (one.option, f"{name}={text}")]
        else:
            words += [one.option, word_of(one, value)]
    words += ["-o", "picture.exr"] if settings.layers else []
    words += [] if passes is None else ["--passes", str(passes)]
    return shlex.join(words)
