"""What eye paths ask of photons at a diffuse surface, and in media."""

from functools import cache
from typing import NamedTuple

import numpy as np

from renderer.photons.building import build_photon_map
from renderer.photons.group_maps import GroupMaps, no_group_maps
from renderer.photons.irradiance import IrradianceMap, no_irradiance
from renderer.photons.photon_map import PHOTON_WORDS, PhotonMap
from renderer.photons.volume import VolumeMap, no_volume
from shaders.float32 import Doubles, Longs


class PhotonParts(NamedTuple):
    """Some photons of a map, where layers of light or light groups are told apart."""

    caustics: PhotonMap  # those that mirrors and glass alone have brought
    direct: PhotonMap  # those straight from a light
    groups: GroupMaps  # those of each light group
    caustic_groups: GroupMaps  # likewise, of the caustics


class PhotonLookup(NamedTuple):
    """The photons that eye paths ask at a diffuse surface, and along rays in media."""

    photon_map: PhotonMap  # photons that are looked for near a hit
    irradiance: IrradianceMap  # what a final gather finds far from it
    parts: PhotonParts  # some of the photons of the map
    # (pixels,) float64, a radius of the search for each pixel, or none where all have that of the task. One below 0 is,
    # but for its sign, that of a search for caustics alone, where the first diffuse reflection is followed; what is
    # behind it has the radius of the task
    radii: Doubles
    found: Longs  # (pixels,) int64, to which the photons found for a pixel are added; as many as there are radii
    volume: VolumeMap  # photons in media, which are looked for along rays


def look_up(
    photon_map: PhotonMap, irradiance_map: IrradianceMap | None = None, parts: PhotonParts | None = None
) -> PhotonLookup:
    """Returns photons that are looked for within the radius of the task."""
    far, known = irradiance_map or no_irradiance(), parts or parts_of(empty_map())
    return PhotonLookup(photon_map, far, known, np.empty(0), np.empty(0, np.int64), no_volume())


def parts_of(
    caustics: PhotonMap,
    direct: PhotonMap | None = None,
    groups: GroupMaps | None = None,
    caustic_groups: GroupMaps | None = None,
) -> PhotonParts:
    """Returns some photons of a map; those that nobody gives are none."""
    none = no_group_maps()
    return PhotonParts(caustics, direct or empty_map(), groups or none, caustic_groups or none)


@cache
def empty_map() -> PhotonMap:
    """Returns a map without photons, always the same."""
    return build_photon_map(np.empty((0, PHOTON_WORDS), np.uint32), radius=1.0, scale=0.0)


def no_photons() -> PhotonLookup:
    """Returns a lookup that finds no photons."""
    return look_up(empty_map())
