"""This module tells which light of a scene a driver cannot see, so that it is not left out in silence."""

from collections.abc import Iterable, Mapping

from renderer.drivers.driver import Caustics, Driver
from renderer.scene.materials import Dressed, dressed
from scenes.model import Material, Snapshot


def unseen_caustics(driver: type[Driver], snapshot: Snapshot) -> str | None:
    """Describes the light that comes through mirrors or glass to a diffuse surface of a scene and that a driver is
    blind to.

    Returns None where there is no such light.
    """
    lights = unseen_lights(driver.caustics, snapshot)
    used = used_materials(snapshot)
    sharp = [one.material for one in used if one.is_sharp]
    if not lights or not sharp or not any(one.stores for one in used):
        return None
    return f"light of {' and '.join(lights)} that comes through mirrors or glass ({listed(sharp)})"


def used_materials(snapshot: Snapshot) -> list[Dressed]:
    """Returns the materials that some triangle has, with their BSDFs."""
    return [dressed(snapshot.materials[i], snapshot.textures) for i in sorted(set(snapshot.material_ids.tolist()))]


def listed(materials: Iterable[Material]) -> str:
    """Returns some materials in words: the first names, in their order."""
    names = sorted({material.name or material.kind for material in materials})
    quoted = ", ".join(f"'{name}'" for name in names[:3]) + (" and others" if len(names) > 3 else "")
    return f"{'materials' if len(names) > 1 else 'material'} {quoted}"


def solid_sheets(driver: type[Driver], snapshot: Snapshot) -> str | None:
    """Describes what lets light straight through and is solid to a driver. Returns None where there is nothing."""
    if not driver.is_opaque:
        return None
    sheets = [one.material for one in used_materials(snapshot) if one.is_sheet]
    return f"sheets that let light straight through ({listed(sheets)})" if sheets else None


def unseen_lights(caustics: Caustics, snapshot: Snapshot) -> list[str]:
    """Returns the kinds of lights that shine in a scene and whose caustics are not seen, in words."""
    if caustics is Caustics.ALL:
        return []
    shining = [light for light in snapshot.lights if max(light.strength) > 0.0]
    unseen = sorted({f"{light.kind} lights" for light in shining if caustics is Caustics.NONE or not light.has_size})
    if caustics is Caustics.NONE:
        glows = any(max(snapshot.materials[i].emission) > 0.0 for i in set(snapshot.material_ids.tolist()))
        unseen += ["glowing surfaces"] if glows else []
        unseen += ["the environment"] if snapshot.environment is not None else []
    return unseen


def unseen_light_note(driver: type[Driver], snapshot: Snapshot, others: Mapping[str, type[Driver]]) -> str | None:
    """Returns one line for the user on what a driver cannot see, and which of the others can; None if it sees all."""
    unseen, solid = unseen_caustics(driver, snapshot), solid_sheets(driver, snapshot)
    said = []
    if unseen is not None:
        *first, last = [f"'{name}'" for name, other in others.items() if other.caustics is Caustics.ALL]
        said.append(f"driver '{driver.name}' cannot see {unseen}; {', '.join(first)} and {last} can")
    if solid is not None:
        said.append(f"driver '{driver.name}' takes for solid {solid}; all others see through them")
    return "; ".join(said) or None
