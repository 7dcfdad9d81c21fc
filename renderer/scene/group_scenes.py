"""Packed scenes whose light groups are told apart: which group the light of each lamp, emitter and surface is in, and
scenes that send out the photons of one group alone."""

import numpy as np

from renderer.scene.light_groups import (
    BACKGROUND,
    LightGroups,
    backdrop_group,
    emission_group,
    environment_group,
    group_numbers,
    light_groups,
)
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import are_halves, first_halves
from scenes.model import Snapshot


def groups_of(snapshot: Snapshot, scene: PackedScene) -> LightGroups:
    """Returns the groups of a scene. scene: the snapshot, packed."""
    surfaces, lights, lamps = scene.surfaces, scene.lights, scene.lamps
    listed = group_numbers(snapshot, light_groups(snapshot))
    around = group_numbers(snapshot, [environment_group(snapshot)] if snapshot.environment is not None else [])
    of_materials = group_numbers(snapshot, [emission_group(one) for one in snapshot.materials])
    glows = surfaces.emitter_ids >= 0
    of_triangles = of_materials[surfaces.material_ids[glows]]
    of_lights = np.concatenate([listed, of_triangles, around])
    of_lamps = np.empty(len(lamps.rows), np.int32)
    of_lamps[: len(listed)] = listed
    of_lamps[surfaces.emitter_ids[glows]] = of_triangles
    of_lamps[len(lamps.rows) - len(around) :] = around
    stays = np.ones(len(of_lights), np.bool_)
    stays[first_halves(are_halves(lights.rows)) + 1] = False
    return LightGroups(
        of_lamps=of_lamps,
        of_materials=of_materials,
        of_backdrops=group_numbers(snapshot, [backdrop_group(one) for one in snapshot.materials]),
        of_background=int(group_numbers(snapshot, [BACKGROUND])[0]),
        of_emitters=of_lights[stays],
        of_lights=of_lights,
    )


def scene_of_group(scene: PackedScene, group: int) -> PackedScene:
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
