"""This module makes what files without animation hold: the triangles of a scene at one time, in groups of one
material."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scenes.document import Scene
from scenes.export.pictures import evened
from scenes.export.text import words
from scenes.model import Floats, Indices, Material, Snapshot


@dataclass(frozen=True, eq=False)
class Group:
    """Holds the triangles of one material.

    name: one word.
    triangles: (n,) int, in the order of the snapshot.
    """

    name: str
    material: Material
    triangles: Indices
    snapshot: Snapshot

    @property
    def uvs(self) -> Floats | None:
        """Returns texture coordinates, (n, 3, 2), where there are any or a texture needs some; else None."""
        uvs = self.snapshot.uvs[self.triangles]
        return uvs if self.material.texture >= 0 or uvs.any() else None


def groups(snapshot: Snapshot) -> list[Group]:
    """Makes the groups, in the order of their materials. Materials without triangles have none."""
    order = np.argsort(snapshot.material_ids, kind="stable").astype(np.int32)
    used, starts = np.unique(snapshot.material_ids[order], return_index=True)
    materials = [evened(snapshot.materials[number], snapshot.textures) for number in used]
    names = words(material.name for material in materials)
    parts = np.split(order, starts[1:])
    return [Group(name, material, part, snapshot) for name, material, part in zip(names, materials, parts, strict=True)]


def distinct(rows: Floats) -> tuple[Floats, Indices]:
    """Returns the rows (m, k) that differ in some bit, in the order in which they come first, and the index of each row
    among them."""
    rows = np.ascontiguousarray(rows)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    index = np.empty_like(order)
    index[order] = np.arange(len(order))
    return rows[first[order]], index[inverse].astype(np.int32)


def map_losses(material: Material) -> Iterator[str]:
    """Yields a line for the maps of a material that has any."""
    maps = [name.replace("_", " ") for name in material.pictures if name not in ("texture", "cutout")]
    if maps:
        yield f"material {material.name!r} has lost its {', '.join(maps)}"


def surface_losses(material: Material) -> Iterator[str]:
    """Yields a line for each thing of a material that only this project's renderer and its own files know."""
    if any(material.backdrop):
        yield f"material {material.name!r} is no longer a backdrop"
    if material.is_cut_out:
        yield f"material {material.name!r} is no longer cut out"
    yield from map_losses(material)


def still_losses(scene: Scene, snapshot: Snapshot) -> Iterator[str]:
    """Yields a line for each thing that neither OBJ nor GLB is given."""
    if scene.animation.frames > 1 or scene.moving_triangles:
        yield f"animation left out: the file stands still at time {snapshot.time:g}"
    yield f"background left out: {' '.join(f'{channel:g}' for channel in snapshot.background)}"
    if snapshot.environment is not None:
        yield "environment left out"
    for group in groups(snapshot):
        yield from surface_losses(group.material)
        texture = group.material.texture
        if texture >= 0 and not snapshot.textures[texture].is_plain:
            yield f"material {group.material.name!r} has a texture that now repeats, is blended, and is sRGB"
