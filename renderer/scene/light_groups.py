"""Light groups: which lamps are told apart in layers of a picture, that whoever puts pictures together may make each of
them brighter, or of another colour.

A light, a surface that glows and the environment are in the group that the scene names. Where it names none, lights are
in groups of their own, surfaces in that of their material, and what the eye alone sees is in one group. All light of a
picture comes from one group.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from renderer.scene.photon_scene import are_halves, first_halves
from scenes.model import Material, Snapshot
from shaders.float32 import Ints

if TYPE_CHECKING:
    from renderer.scene.packed_scene import PackedScene

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


def _all_groups(snapshot: Snapshot) -> list[str]:
    materials = snapshot.materials
    seen = [backdrop_group(one) for one in materials if any(one.backdrop) or any(one.ambient)]
    glowing = [emission_group(one) for one in materials if any(one.emission)]
    return [*lamp_groups(snapshot), *glowing, *seen, *([BACKGROUND] if any(snapshot.background) else [])]


def lamp_groups(snapshot: Snapshot) -> Sequence[str]:
    """Returns the groups of all lights of a scene, and behind them of its environment, at any time."""
    if snapshot.light_groups:
        return snapshot.light_groups
    around = [] if snapshot.environment is None else [ENVIRONMENT]
    return [*(f"light{number + 1}" for number in range(len(snapshot.lights))), *around]


def emission_group(material: Material) -> str:
    """Returns the group of what a material emits."""
    return material.group or material.name


def backdrop_group(material: Material) -> str:
    """Returns the group of what the eye alone sees of a material."""
    return emission_group(material) if material.group or any(material.emission) else BACKGROUND


def groups_of(snapshot: Snapshot, scene: "PackedScene") -> LightGroups:
    """Returns the groups of a scene. scene: the snapshot, packed."""
    surfaces, lights, lamps = scene.surfaces, scene.lights, scene.lamps
    names = group_names(snapshot)
    numbers = {name: number for number, name in enumerate(names)}

    def numbered(groups: Sequence[str]) -> Ints:
        return np.array([numbers.get(plain_name(one), len(names) - 1) for one in groups], np.int32)

    all_lamps, shown = numbered(lamp_groups(snapshot)), snapshot.shown_lights
    listed = all_lamps[list(range(len(snapshot.lights)) if shown is None else shown)]
    of_materials = numbered([emission_group(one) for one in snapshot.materials])
    glows = surfaces.emitter_ids >= 0
    of_triangles = of_materials[surfaces.material_ids[glows]]
    of_lights = np.concatenate([listed, of_triangles, all_lamps[-1:] if snapshot.environment is not None else _NONE])
    of_lamps = np.empty(len(lamps.rows), np.int32)
    of_lamps[: len(listed)], of_lamps[-1] = listed, of_lights[-1] if len(of_lights) else 0
    of_lamps[surfaces.emitter_ids[glows]] = of_triangles
    stays = np.ones(len(of_lights), np.bool_)
    stays[first_halves(are_halves(lights.rows)) + 1] = False
    return LightGroups(
        of_lamps=of_lamps,
        of_materials=of_materials,
        of_backdrops=numbered([backdrop_group(one) for one in snapshot.materials]),
        of_background=int(numbered([BACKGROUND])[0]),
        of_emitters=of_lights[stays],
        of_lights=of_lights,
    )


def scene_of_group(scene: "PackedScene", group: int) -> "PackedScene":
    """Returns a scene whose photons are the same as ever if they are of a group, and carry nothing if they are not, so
    that they end where they land. It is dark where the group has no lights."""
    groups, photon_scene = scene.groups, scene.photon_scene
    emitters, is_own = photon_scene.emitters.copy(), groups.of_lights == group
    emitters["flux"][groups.of_emitters != group] = 0.0
    # A photon carries the power of its light over the probability of the choice, which is made elsewhere.
    lights = photon_scene.lights._replace(probability=np.where(is_own, photon_scene.lights.probability, np.inf))
    power = scene.lights.power if (photon_scene.lights.probability[is_own] > 0.0).any() else 0.0
    return scene._replace(
        lights=scene.lights._replace(power=power),
        photon_scene=photon_scene._replace(emitters=emitters, lights=lights),
    )
