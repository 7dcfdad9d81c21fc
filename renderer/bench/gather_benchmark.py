"""This command measures what the photon gather costs.

python -m renderer.bench.gather_benchmark [SCENE] [--photons N] [--points N] [--found K]

The driver photons-only traces its map, and one ray per pixel looks at it, a square of so many pixels. Then the same
rays are traced with no photons in the map; the difference is the gather. The radius is such that it finds K photons
where they lie evenly.
"""

import argparse
import math
import time

import scenes
import tracecore
from renderer.drivers import PhotonsOnlyDriver, photon_radius, surface_area
from renderer.drivers.driver import RenderSettings
from renderer.photons.building import build_photon_map
from renderer.photons.lookup import no_photons
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer

#: How often a pass is timed; the least time counts.
ROUNDS = 3


def chosen_settings(snapshot: Snapshot, arguments: argparse.Namespace) -> RenderSettings:
    """Returns the settings of a square picture of so many points, with a radius that finds so many photons where they
    lie evenly.
    """
    side = math.isqrt(arguments.points)
    evenly = photon_radius(surface_area(snapshot.positions), arguments.photons)  # finds two
    radius = evenly * math.sqrt(arguments.found / 2.0)
    return RenderSettings(
        width=side, height=side, photons=arguments.photons, radius=radius, max_bounces=1, threads=arguments.threads
    )


def pass_seconds(driver: PhotonsOnlyDriver) -> float:
    """Returns the processor time of a pass in seconds, summed over the threads: the least of some rounds."""
    seconds = []
    for _ in range(ROUNDS + 1):
        started = time.process_time()
        driver.render_pass(0)
        seconds.append(time.process_time() - started)
    return min(seconds[1:])


def measure(snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> str:
    """Measures the gather on a scene, and returns its figures as text."""
    driver = PhotonsOnlyDriver(snapshot, tracer, settings)
    started = time.process_time()
    photon_map = build_photon_map(driver.photons, driver.first_radius, driver.photon_scale)
    build_seconds = time.process_time() - started
    points = settings.width * settings.height
    gathering = pass_seconds(driver)
    driver.lookup = no_photons()
    gathering -= pass_seconds(driver)
    driver.close()
    return (
        f"{snapshot.name}: {photon_map.photons} photons sorted in {build_seconds:.2f} s; "
        f"{points} gathers in {gathering:.2f} s of one core, {1e6 * gathering / points:.2f} us each"
    )


def main() -> None:
    """Measures and prints the figures."""
    parser = argparse.ArgumentParser(prog="python -m renderer.bench.gather_benchmark", description=__doc__)
    parser.add_argument("scene", nargs="?", default="cornell", metavar="SCENE")
    parser.add_argument("--photons", type=int, default=10_000_000, help="sent out (%(default)s)")
    parser.add_argument("--points", type=int, default=1_000_000, help="looked at (%(default)s)")
    parser.add_argument("--found", type=float, default=50.0, help="photons within the radius, about (%(default)s)")
    parser.add_argument("--threads", type=int, default=None, help="that look (all cores)")
    arguments = parser.parse_args()
    snapshot = scenes.load(arguments.scene).at_frame(0)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=arguments.threads) as tracer:
        print(measure(snapshot, tracer, chosen_settings(snapshot, arguments)))


if __name__ == "__main__":
    main()
