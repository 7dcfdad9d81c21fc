"""Light groups: which lamps are told apart in layers of a picture, that whoever puts pictures together may make each of
them brighter, or of another colour.

A light, a surface that glows and the environment are in the group that the scene names. Where it names none, lights are
in groups of their own, surfaces in that of their material, and what the eye alone sees is in one group. All light of a
picture comes from one group.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scenes.model import Material, Snapshot
from shaders.float32 import Ints

#: A picture has so many groups at most; what is in none of the first ones is in the last one, which has this name.
MOST_GROUPS, REST = 32, "rest"

#: The groups of the environment and of what the eye alone sees, where the scene names none.
ENVIRONMENT, BACKGROUND = "environment", "background"

#: What units of compiled code are for that only pictures with light groups call.
LIGHT_GROUPS = "light groups"

#: Letters of a name, which is that of a layer.
MOST_LETTERS = 64


class LightGroups(NamedTuple):
    """Says which group light is in, by numbers.

    of_lamps: (lamps,) int32, of `PackedScene.lamps`; none where nobody asks.
    of_materials: (materials,) int32, of what surfaces emit.
    of_backdrops: (materials,) int32, of what the eye alone sees of surfaces.
    of_background: of what it sees beyond them.
    of_emitters: (emitters,) int32, of `PhotonScene.emitters`.
    of_lights: (lights,) int32, of `PackedScene.lights`.
    """

    of_lamps: Ints
    of_materials: Ints
    of_backdrops: Ints
    of_background: int
    of_emitters: Ints
    of_lights: Ints


_NONE = np.empty(0, np.int32)
NO_GROUPS = LightGroups(_NONE, _NONE, _NONE, 0, _NONE, _NONE)


def group_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Returns the names of the light groups of a scene, the same at all times."""
    found = list(dict.fromkeys(plain_name(name) for name in _all_groups(snapshot)))
    return (
        tuple(found) if len(found) <= MOST_GROUPS else (*[one for one in found if one != REST][: MOST_GROUPS - 1], REST)
    )


def plain_name(name: str) -> str:
    """Returns the name of a group as layers have it: letters, digits, underscores and minus signs."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:MOST_LETTERS] or REST


def group_numbers(snapshot: Snapshot, groups: Sequence[str]) -> Ints:
    """Returns the numbers of groups among those of a scene, (n,) int32."""
    names = group_names(snapshot)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers.get(plain_name(one), len(names) - 1) for one in groups], np.int32)


def _all_groups(snapshot: Snapshot) -> list[str]:
    materials = snapshot.materials
    seen = [backdrop_group(one) for one in materials if any(one.backdrop) or any(one.ambient)]
    glowing = [emission_group(one) for one in materials if any(one.emission)]
    around = [environment_group(snapshot)] if snapshot.environment is not None or snapshot.environment_group else []
    background = [BACKGROUND] if any(snapshot.background) else []
    return [*all_light_groups(snapshot), *around, *glowing, *seen, *background]


def all_light_groups(snapshot: Snapshot) -> Sequence[str]:
    """Returns the groups of the lights that a scene has at any time."""
    return snapshot.light_groups if is_named(snapshot) else light_groups(snapshot)


def light_groups(snapshot: Snapshot) -> Sequence[str]:
    """Returns the groups of the lights of a snapshot."""
    if is_named(snapshot):
        return [snapshot.light_groups[number] for number in snapshot.shown_lights]
    return [f"light{number + 1}" for number in range(len(snapshot.lights))]


def is_named(snapshot: Snapshot) -> bool:
    """Returns whether the lights of a snapshot are those that the scene has named."""
    return len(snapshot.shown_lights) == len(snapshot.lights) and len(snapshot.light_groups) > 0


def environment_group(snapshot: Snapshot) -> str:
    """Returns the group of the environment."""
    return snapshot.environment_group or ENVIRONMENT


def emission_group(material: Material) -> str:
    """Returns the group of what a material emits."""
    return material.group or material.name


def backdrop_group(material: Material) -> str:
    """Returns the group of what the eye alone sees of a material."""
    return emission_group(material) if material.group or any(material.emission) else BACKGROUND
