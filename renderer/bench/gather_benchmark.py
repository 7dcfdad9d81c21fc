"""This module measures what the photon gather costs.

The driver photons-only traces its map, and one ray per pixel looks at it, a square of so many pixels. Then the same
rays are traced with no photons in the map; the difference is the gather. The radius is such that it finds so many
photons where they lie evenly.
"""

import math
import time
from typing import Any

from renderer.drivers.driver import RenderSettings
from renderer.drivers.photons_only import OneMap, PhotonsOnlyDriver
from renderer.drivers.search_radius import photon_radius
from renderer.photons.building import build_photon_map
from renderer.photons.lookup import no_photons
from renderer.scene.packed_scene import surface_area
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer

#: How often a pass is timed; the least time counts.
ROUNDS = 3


def gather_settings(
    snapshot: Snapshot, *, photons: int, points: int, found: float, threads: int | None
) -> RenderSettings:
    """Returns the settings of a square picture with a radius that finds so many photons where they lie evenly.

    photons: sent out.
    points: pixels, about.
    found: photons within the radius.
    """
    side = math.isqrt(points)
    evenly = photon_radius(surface_area(snapshot.positions), photons)  # finds two
    radius = evenly * math.sqrt(found / 2.0)
    return RenderSettings(width=side, height=side, photons=photons, radius=radius, max_bounces=1, threads=threads)


def pass_seconds(driver: PhotonsOnlyDriver) -> float:
    """Returns the processor time of a pass in seconds, summed over the threads: the least of some rounds."""
    seconds = []
    for _ in range(ROUNDS + 1):
        started = time.process_time()
        driver.render_pass(0)
        seconds.append(time.process_time() - started)
    return min(seconds[1:])


def measure(snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> dict[str, Any]:
    """Returns what the gather costs on a scene, by the keys of `figure_keys.GATHER`."""
    driver = PhotonsOnlyDriver(snapshot, tracer, settings)
    photons, lookup = driver.one_map
    started = time.process_time()
    photon_map = build_photon_map(photons, driver.first_radius, lookup.photon_map.scale)
    sort_seconds = time.process_time() - started
    points = settings.width * settings.height
    gathering = pass_seconds(driver)
    driver.one_map = OneMap(photons, no_photons())
    gathering -= pass_seconds(driver)
    driver.close()
    counts = {"photons": photon_map.photons, "sort_seconds": sort_seconds}
    return counts | {"points": points, "gather_seconds": gathering}


def cost_in_words(cost: dict[str, Any]) -> str:
    """Returns the figures of `measure` as a line of text."""
    each = 1e6 * cost["gather_seconds"] / cost["points"]
    return (
        f"{cost['photons']} photons sorted in {cost['sort_seconds']:.2f} s; {cost['points']} gathers in "
        f"{cost['gather_seconds']:.2f} s of one core, {each:.2f} us each"
    )
