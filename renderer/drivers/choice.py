"""This module chooses a driver by the light of a scene, as errors after equal time say (docs/drivers.md)."""

from renderer.drivers.unseen_light import used_materials
from scenes.model import Light, Snapshot


def best_drivers(snapshot: Snapshot) -> tuple[tuple[str, ...], str]:
    """Returns the names of drivers for a scene, the best first, and why it is that, in words."""
    if snapshot.environment is None and max(snapshot.background) <= 0.0:
        return ("photon", "sppm", "path+caustics", "path"), "without a sky light goes from surface to surface"
    used = used_materials(snapshot)
    has_lamps = any(max(one.material.emission) > 0.0 for one in used) or not all(map(is_sun, snapshot.lights))
    if has_lamps and any(one.is_sharp for one in used):
        return ("path+caustics", "photon", "path"), "lamps below a sky shine on mirrors or glass"
    return ("path", "path+caustics", "photon"), "paths find the light of the sky"


def is_sun(light: Light) -> bool:
    """Returns whether paths meet a light far away behind mirrors and glass, as they meet the sky."""
    return light.kind == "distant" and light.has_size
