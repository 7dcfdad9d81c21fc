"""This package holds the drivers: ways to make a picture, each one class that is handed a scene and a tracer.

`DRIVERS` lists them by name, and imports them when they are asked for. A new driver is one class in a file of its own
and one row there, or, outside this
package, one that is given to `register_driver`. What it takes and what it is called are fields of its class.
"""

import re
from typing import TypeVar, cast

from renderer.drivers.driver import Driver
from renderer.drivers.eye import EyeDriver
from renderer.errors import UsageError
from renderer.settings.near_miss import did_you_mean
from tracecore.on_demand import OnDemand

DRIVERS: OnDemand[type[EyeDriver]] = OnDemand(
    {
        "photon": "renderer.drivers.photon:PhotonDriver",
        "sppm": "renderer.drivers.sppm:StochasticDriver",
        "path": "renderer.drivers.path:PathDriver",
        "path+caustics": "renderer.drivers.path_caustics:PathCausticsDriver",
        "gather": "renderer.drivers.gather:GatherDriver",
        "whitted": "renderer.drivers.whitted:WhittedDriver",
        "ao": "renderer.drivers.occlusion:OcclusionDriver",
        "photons-only": "renderer.drivers.photons_only:PhotonsOnlyDriver",
    }
)

D = TypeVar("D", bound=type[Driver])


def register_driver(driver: D) -> D:
    """Make a driver known by its name; also to be used as a decorator of its class.

    driver: a class that has what `EyeDriver` has, which is easiest to derive from.

    Raises `UsageError` where the name is not letters, digits and + - _ . or is taken, or where a method is missing.
    """
    name = getattr(driver, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._-]*", name):
        raise UsageError(f"a driver's name is made of letters, digits and + - _ . , got {name!r}")
    if name in DRIVERS:
        raise UsageError(f"driver '{name}' is registered already; choose another name")
    missing = [method for method in ("render_pass", "close") if not callable(getattr(driver, method, None))]
    if missing:
        raise UsageError(f"driver '{name}' has no {' and no '.join(missing)}")
    DRIVERS[name] = cast("type[EyeDriver]", driver)
    return driver


def find_driver(name: str) -> type[EyeDriver]:
    """Return the driver of a name. Raises `UsageError`, which lists the names, where there is none."""
    if name not in DRIVERS:
        raise UsageError(f"unknown driver '{name}'; registered: {', '.join(DRIVERS)}{did_you_mean(name, DRIVERS)}")
    return DRIVERS[name]
