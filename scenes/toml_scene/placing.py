"""This module makes frames, matrices and the hierarchy of groups."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scenes.keys.place import Place
from scenes.model import Doubles
from scenes.motion.transforms import IDENTITY, WORLD, Transform, quaternion, rotation, scaling, translation

MAX_NESTING = 200
TOO_DEEP = f"transforms are nested deeper than {MAX_NESTING}"
NO_TURN: Doubles = np.array([1.0, 0.0, 0.0, 0.0])
#: Turns (w, x, y, z) that bring the axis that is up in a file to y.
UP_TURNS: dict[str, Doubles] = {"y": NO_TURN, "z": quaternion(np.array([1.0, 0.0, 0.0]), -90.0)}


@dataclass(frozen=True)
class AxisFrame:
    """Describes the unit of a file, in metres, and the axis that is up in it."""

    units: float
    up: str

    @property
    def matrix(self) -> Doubles:
        """Returns the map (4, 4) from this frame to metres with y up; its zeros and ones are exact."""
        return np.round(rotation(UP_TURNS[self.up])) @ scaling(np.full(3, self.units))

    def inside(self, outer: "AxisFrame") -> Doubles:
        """Returns the map (4, 4) from this frame to another."""
        scale = self.units / outer.units
        turn = np.round(rotation(UP_TURNS[outer.up]).T @ rotation(UP_TURNS[self.up]))
        return turn @ scaling(np.full(3, scale))

    @property
    def is_world(self) -> bool:
        """Returns whether this is the frame of scenes: metres, y up."""
        return self.units == 1.0 and self.up == "y"


def matrix_of(values: dict[str, Any], place: Place) -> Doubles | None:
    """Returns the map (4, 4) that the keys translate, rotate, scale or else matrix give, or None if there are none."""
    given = [name for name in ("translate", "rotate", "scale") if values[name] is not None]
    if values["matrix"] is None:
        return composed(values) if given else None
    if given:
        raise place.inside("matrix").error(f"expected no {given[0]} beside a matrix")
    matrix = np.array(values["matrix"])
    if matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        last = " ".join(f"{value:g}" for value in matrix[3])
        raise place.inside("matrix").error(f"expected 0 0 0 1 as the last row, got {last}")
    return matrix


def composed(values: dict[str, Any]) -> Doubles:
    """Returns the map (4, 4) that scales, then turns, then shifts."""
    turn = IDENTITY
    for row in values["rotate"] or []:
        turn = rotation(quaternion(np.array(row["axis"]), row["degrees"])) @ turn
    scale, shift = np.array(values["scale"] or (1.0, 1.0, 1.0)), np.array(values["translate"] or (0.0, 0.0, 0.0))
    return translation(shift) @ turn @ scaling(scale)


class GroupTree:
    """Holds the groups of a file, and the transforms inside them."""

    def __init__(self, groups: list[dict[str, Any]], frame: AxisFrame, place: Place) -> None:
        """Checks the names of the groups. place: of the list of groups."""
        self.root = WORLD if frame.is_world else WORLD.inner(matrix=frame.matrix)
        self._groups: dict[str, tuple[dict[str, Any], Place]] = {}
        self._transforms: dict[str, Transform] = {}
        for index, group in enumerate(groups):
            if group["name"] in self._groups:
                raise place.item(index).inside("name").error(f"a group before has the name {group['name']!r} already")
            self._groups[group["name"]] = group, place.item(index)

    def transform(self, parent: str | None, place: Place) -> Transform:
        """Returns the transform of a group, or of the world where there is no parent.

        place: of the table that names it.
        """
        chain: list[str] = []
        while parent is not None and parent not in self._transforms:
            if parent in chain:
                raise place.inside("parent").error(f"the group {parent!r} stands inside itself")
            if parent not in self._groups:
                raise place.inside("parent").unknown("group", parent, self._groups)
            if len(chain) > MAX_NESTING:
                raise place.error(TOO_DEEP)
            chain.append(parent)
            group, place = self._groups[parent]
            parent = group["parent"]
        for name in reversed(chain):
            outer = self.root if parent is None else self._transforms[parent]
            self._transforms[name] = inner(outer, *self._groups[name])
            parent = name
        return self.root if parent is None else self._transforms[parent]


def inner(outer: Transform, values: dict[str, Any], place: Place) -> Transform:
    """Returns the transform of a group inside another: its fixed map, and inside of that its track."""
    matrix = matrix_of(values, place)
    if matrix is not None or values["track"] is None:
        outer = outer.inner(matrix=matrix)
    if values["track"] is not None:
        outer = outer.inner(track=values["track"])
    if outer.depth > MAX_NESTING:
        raise place.error(TOO_DEEP)
    return outer
