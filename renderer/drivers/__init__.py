"""This package holds the drivers: ways to make a picture, each one class that is handed a scene and a tracer.

`DRIVERS` lists them by name, and imports them when they are asked for. A new driver is one class in a file of its own
and one row there, or, outside this package, one that is given to `register_driver`. What it is called, what it takes
and what it can do are fields of its class.
"""

import re
from typing import Any, TypeVar

from renderer.drivers.driver import Driver
from renderer.errors import UsageError
from renderer.settings.picture import AUTO_DRIVER, DRIVER_SETTINGS
from scenes.keys.place import did_you_mean
from tracecore.on_demand import OnDemand

DRIVERS: OnDemand[type[Driver]] = OnDemand(
    {
        "photon": "renderer.drivers.photon:PhotonDriver",
        "sppm": "renderer.drivers.sppm:StochasticDriver",
        "path": "renderer.drivers.path:PathDriver",
        "path+caustics": "renderer.drivers.path_caustics:PathCausticsDriver",
        "gather": "renderer.drivers.gather:GatherDriver",
        "whitted": "renderer.drivers.whitted:WhittedDriver",
        "ao": "renderer.drivers.occlusion:OcclusionDriver",
        "photons-only": "renderer.drivers.photons_only:PhotonsOnlyDriver",
        "vcm": "renderer.drivers.vcm:VcmDriver",
    }
)

D = TypeVar("D", bound=type[Any])


def register_driver(driver: D) -> D:
    """Make a driver known by its name; also to be used as a decorator of its class.

    driver: a class, easiest one derived from `Driver`, which may be plain NumPy, or from `EyeDriver` or another driver.
    Of a class that is derived from none of them nobody knows what it keeps from pass to pass, unless it says so.

    Raises `UsageError` where the name is not letters, digits and + - _ . or is taken, or where a method is missing.
    """
    name = getattr(driver, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._-]*", name):
        raise UsageError(f"a driver's name is made of letters, digits and + - _ . , got {name!r}")
    if name in DRIVERS or name == AUTO_DRIVER:
        raise UsageError(f"driver '{name}' is registered already; choose another name")
    missing = [method for method in ("render_pass", "close") if not callable(getattr(driver, method, None))]
    if issubclass(driver, Driver) and (driver.render_pass, driver.passes) == (Driver.render_pass, Driver.passes):
        missing = ["render_pass"]
    if missing:
        raise UsageError(f"driver '{name}' has no {' and no '.join(missing)}")
    DRIVERS[name] = driver if issubclass(driver, Driver) else adopted(driver)
    return driver


def adopted(driver: type[Any]) -> type[Driver]:
    """Returns a class that has what `Driver` has, of one that is not derived from it."""

    class Unknown(Driver):
        takes = frozenset(DRIVER_SETTINGS)
        is_sequential = True

    names = {"__module__": driver.__module__, "__doc__": driver.__doc__}
    return type(driver.__name__, (driver, Unknown), names)


def find_driver(name: str) -> type[Driver]:
    """Return the driver of a name. Raises `UsageError`, which lists the names, where there is none."""
    if name not in DRIVERS:
        raise UsageError(f"unknown driver '{name}'; registered: {', '.join(DRIVERS)}{did_you_mean(name, DRIVERS)}")
    return DRIVERS[name]
