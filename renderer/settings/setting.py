"""A setting is described by a field of a dataclass with its kind of value, its effect and its group."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

from renderer.errors import UsageError
from scenes.keys.place import KindError, did_you_mean
from scenes.keys.values import PROPOSALS, Choice, Key, Kind


@dataclass(frozen=True, kw_only=True)
class Setting(Key):
    """Holds what is known of a setting: the key, of a dataclass and of the command line.

    name: of the field.
    default: of the field; None leaves it open.
    kind: of its values.
    about: its effect and its unit.
    fallback: what holds where it is left open, in words.
    group: heading of the help it stands under, or none.
    aliases: more options for it on the command line.
    metavar: what stands for the value in help, or an empty text for what its kind says.
    """

    fallback: str = ""
    group: str = ""
    aliases: tuple[str, ...] = ()
    metavar: str = ""

    @property
    def option(self) -> str:
        """Returns the option of the command line."""
        return f"--{self.name.replace('_', '-')}"

    def clean(self, value: Any) -> Any:
        """Return a value as the type that the program calculates with; None stays None where the default is None.

        Raises `UsageError` for a value that is out of bounds or of another type.
        """
        if value is None and self.default is None:
            return None
        try:
            return self.kind.read(value)
        except KindError:
            words = self.kind.words if isinstance(self.kind, Choice) else ()
            near = did_you_mean(str(value), words)
            raise UsageError(f"{self.name}: expected {self.kind.expected}, got {value!r}{near}") from None


def setting(kind: Kind, about: str, *, default: Any = None, **more: Any) -> Any:
    """Return a field of a dataclass that is a setting. about, more: as `Setting` has them."""
    return dataclasses.field(default=default, metadata={"kind": kind, "about": about, **more})


def proposed(name: str, **more: Any) -> Any:
    """Return the field of a setting that a scene file may propose, in the words of its key there."""
    return setting(PROPOSALS[name].kind, PROPOSALS[name].about, **more)


def settings_of(owner: type) -> dict[str, Setting]:
    """Returns the settings of a dataclass by their names, in the order of its fields."""
    return _found_settings(owner)


@cache
def _found_settings(owner: type) -> dict[str, Setting]:
    fields = dataclasses.fields(owner)
    return {field.name: Setting(name=field.name, default=field.default, **field.metadata) for field in fields}


class Checked:
    """Checks the values of a frozen dataclass of settings, and makes them plain Python values, when it is made."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for a value that is out of bounds or of another type."""
        for name, one in settings_of(type(self)).items():
            object.__setattr__(self, name, one.clean(getattr(self, name)))
