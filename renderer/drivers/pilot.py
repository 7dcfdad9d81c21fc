"""A pilot of the driver `photon` looks about before the first pass: where few photons are stored, as in the open, it
has them sent where light is needed, and learns how wide each pixel has to look for them."""

import numpy as np

from renderer.camera_paths.task import INDIRECT
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import PhotonRequest, photon_task
from renderer.drivers.pass_site import pixels_by_tile
from renderer.drivers.photon_maps import Look, PhotonMapDriver
from renderer.drivers.search_radius import (
    BEAM_PHOTONS,
    FEW_PHOTONS,
    RADIUS_FOOTPRINTS,
    footprint_radius,
    gathered_radius,
    photon_radius,
    pixel_radii,
    views_of,
)
from renderer.photons.importance import PILOT, Eye, needed_spheres
from renderer.scene.packed_scene import PackedScene

#: Share of the photons that go to mirrors and glass at least, where others are sent to what is needed.
SHARP_SHARE = 0.15

#: Photons that a pilot sends out to see how many are stored; where more than so many are for each, as in rooms, they
#: suffice wherever the eye looks ...
PROBES, ENOUGH_STORED = 1 << 13, 0.4
#: ... and where not so many times as many are stored of those sent to what is needed, these do not pay.
AIMING_GAIN = 2.25

#: Photons in media that are kept for each that is sent out: milk would have one for each of hundreds of collisions.
MOST_IN_MEDIA = 2.0

#: Of so many pixels one tells how many photons are found behind what the eye meets first: a mean is all that is wanted.
SAMPLED_PIXELS = 16


def look_about(driver: PhotonMapDriver, settings: RenderSettings) -> None:
    """Learns whether few photons are stored and, if so, has them sent where light is needed, if that pays, and learns
    how far they are looked for, unless the user has named a radius or the driver looks for them in a way of its own.

    settings: as the user has left them.
    """
    usual = driver.count_stored(probes(driver, driver.projected_scene), PROBES)
    if usual > ENOUGH_STORED * PROBES:
        return
    task = photon_task(driver.scene, driver.settings, PILOT, min_bounces=1)
    eye = Eye(driver.camera, driver.tracer)
    needed = needed_spheres(driver.scene, eye, task, driver.stored)
    share = max(settings.guide_share, SHARP_SHARE) if driver.has_sharp else settings.guide_share
    aimed = driver.projected(share, needed)
    if len(needed) and driver.count_stored(probes(driver, aimed), PROBES) > AIMING_GAIN * usual:
        driver.projected_scene = aimed
    if settings.radius is None and driver.diffuse == INDIRECT and not driver.is_sequential:
        learn_radii(driver, settings)


def probes(driver: PhotonMapDriver, scene: PackedScene) -> PhotonRequest:
    """Returns the photons of a pilot that are stored behind the first surface that they meet."""
    return PhotonRequest(scene, photon_task(scene, driver.settings, PILOT, min_bounces=1))


def learn_of_media(driver: PhotonMapDriver, settings: RenderSettings) -> None:
    """Learns which share of the photons in media is kept, no more than MOST_IN_MEDIA for each that is sent out, and the
    first radius around rays within which they are looked for, unless the user has named one: a footprint of a pixel or,
    where that is more, so wide that a ray through all of a pass finds BEAM_PHOTONS, where they spread as these do."""
    (request,) = driver.volume_requests(PILOT).values()
    places = driver.stored(*request, PROBES)[:, :3].view(np.float32)
    if len(places) == 0:
        return
    driver.volume_share = min(1.0, MOST_IN_MEDIA * PROBES / len(places))
    if settings.radius is None:
        x, y, z = np.diff(np.percentile(places, (5.0, 95.0), axis=0), axis=0)[0] / 0.9
        kept = driver.emitted * driver.volume_share * len(places) / PROBES
        evenly = photon_radius((x * y + y * z + z * x) / 3.0, kept, BEAM_PHOTONS)
        footprint = footprint_radius(driver.tracer, driver.camera, driver.settings.height) / RADIUS_FOOTPRINTS
        driver.first_beam_radius = max(footprint, evenly)


def learn_radii(driver: PhotonMapDriver, settings: RenderSettings) -> None:
    """Learns in a pass how wide to look for photons: as wide as the first surfaces that the eye meets need it, and
    where that is too wide behind them."""
    views = views_of(driver.scene, driver.tracer, driver.camera, driver.settings)
    request, every = probes(driver, driver.projected_scene), pixels_by_tile(settings.width, settings.height)
    some = np.ascontiguousarray(every[::SAMPLED_PIXELS])
    looks = (Look(views.widest, every), Look(-views.widest, some))
    near, behind = driver.found_with_radii(PILOT, request, looks)
    radii = driver.pixel_radii = pixel_radii(views, near)
    sent, emitted, radius = driver.emitted, driver.emitted, driver.first_radius
    if settings.photons is None and np.count_nonzero(radii < 0.0) > len(near) // 2:
        emitted = max(1, sent // FEW_PHOTONS)
    if (radii < 0.0).any():
        found = float(behind[some].mean()) * emitted / sent
        radius = gathered_radius(radius, found, driver.even_radius(emitted))
        _ = driver.caustic_scene  # is there before passes share it
    driver.search_with(radius, emitted)
