"""What eye paths ask of photons at a diffuse surface."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.irradiance import IrradianceMap, nearest_irradiance, no_irradiance
from renderer.photon_map import WORDS, PhotonMap, build_photon_map, find, irradiance
from shaders.compilation import compiled as inlined
from shaders.surface import Hit
from shaders.vector import Color


class PhotonLookup(NamedTuple):
    """photon_map: photons that are looked for near a hit. irradiance: what a final gather finds far from it.

    radii: (pixels,) float64, a radius of the search for each pixel, or none where all have that of the task. found:
    (pixels,) int64, to which the photons found for a pixel are added; as many as there are radii.
    """

    photon_map: PhotonMap
    irradiance: IrradianceMap
    radii: npt.NDArray[np.float64]
    found: npt.NDArray[np.int64]


def look_up(photon_map: PhotonMap, irradiance_map: IrradianceMap | None = None) -> PhotonLookup:
    """Photons looked for within the radius of the task."""
    return PhotonLookup(photon_map, irradiance_map or no_irradiance(), np.empty(0), np.empty(0, np.int64))


def no_photons() -> PhotonLookup:
    """None to be found."""
    return look_up(build_photon_map(np.empty((0, WORDS), np.uint32), radius=1.0, scale=0.0))


@inlined
def irradiance_at(lookup: PhotonLookup, hit: Hit, pixel: int, radius: float, is_far: bool) -> Color:
    """Irradiance in W/m^2 that photons bring to a hit of a pixel's path; is_far: of a ray of a final gather."""
    if is_far:
        return nearest_irradiance(lookup.irradiance, hit.position, hit.geom_normal)
    if len(lookup.radii) > 0:
        radius = lookup.radii[pixel]
    found = find(lookup.photon_map, hit.position, hit.geom_normal, hit.shading_normal, radius)
    if len(lookup.found) > 0:
        lookup.found[pixel] += found.photons
    return irradiance(lookup.photon_map, found, radius)
