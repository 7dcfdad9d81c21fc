"""The drivers: ways to make a picture, each one class that is handed a scene and a tracer.

`DRIVERS` lists them by name. A new driver is one class in a file of its own and one row there.
"""

from renderer.drivers.eye import EyeDriver, pixels_by_tile
from renderer.drivers.gather import GatherDriver
from renderer.drivers.occlusion import OcclusionDriver
from renderer.drivers.path import PathDriver
from renderer.drivers.path_caustics import PathCausticsDriver
from renderer.drivers.photon import PhotonDriver, photon_task
from renderer.drivers.photons_only import PhotonsOnlyDriver
from renderer.drivers.search_radius import footprint_radius, pass_radius, photon_radius, surface_area
from renderer.drivers.sppm import StochasticDriver
from renderer.drivers.whitted import WhittedDriver

__all__ = [
    "DRIVERS",
    "EyeDriver",
    "PathDriver",
    "PhotonsOnlyDriver",
    "footprint_radius",
    "pass_radius",
    "photon_radius",
    "photon_task",
    "pixels_by_tile",
    "surface_area",
]

DRIVERS: dict[str, type[EyeDriver]] = {
    driver.name: driver
    for driver in (
        PhotonDriver,
        StochasticDriver,
        PathDriver,
        PathCausticsDriver,
        GatherDriver,
        WhittedDriver,
        OcclusionDriver,
        PhotonsOnlyDriver,
    )
}
