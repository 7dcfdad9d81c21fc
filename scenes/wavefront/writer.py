"""This module writes OBJ files, with materials as MTL and textures as PNG beside them: the triangles of a scene at one
time.

Numbers have nine digits, from which the same float32 is read, and texture coordinates all digits of the float64 that
turns v upward. Triangles stand in groups of one material.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scenes.document import Scene
from scenes.export.pictures import write_pictures
from scenes.export.still import Group, distinct, groups, still_losses
from scenes.export.text import words, write_lines
from scenes.materials.microfacets import by_phong, phong_losses
from scenes.model import Doubles, Indices, Material, Snapshot

#: Models of illumination by the kinds of materials: diffuse, mirror, glass with Fresnel's reflection, highlights.
ILLUMINATION = {"diffuse": 1, "mirror": 3, "dielectric": 7}
HIGHLIGHTS = 2
GLASS = 7


def write_obj(scene: Scene, path: Path, time: float) -> tuple[str, ...]:
    """Writes the file and those beside it, whose names begin with its own; returns what they cannot say."""
    snapshot = scene.at(time)
    mtl = f"{words([path.stem])[0]}.mtl"
    pictures = write_pictures(path, snapshot.textures, "PNG")
    write_lines(path.with_name(mtl), mtl_lines(groups(snapshot), pictures))
    write_lines(path, obj_lines(snapshot, mtl))
    cameras = f"cameras left out: {', '.join(map(repr, snapshot.cameras))}"
    changed = [line for group in groups(snapshot) for line in phong_losses(group.material)]
    return (*still_losses(scene, snapshot), *changed, cameras, *light_losses(snapshot))


def light_losses(snapshot: Snapshot) -> Iterator[str]:
    """Yields a line for each kind of lights, none of which are written."""
    for kind, count in Counter(light.kind for light in snapshot.lights).items():
        yield f"{kind} lights left out: {count}"


def obj_lines(snapshot: Snapshot, mtl: str) -> Iterator[str]:
    """Yields the lines of the values that corners share, then those of the groups.

    The last group comes first, since the reader gives the material that is used last the first place.
    """
    yield f"mtllib {mtl}"
    vertices, corners = distinct(snapshot.positions.reshape(-1, 3))
    normals, normal_corners = distinct(snapshot.normals.reshape(-1, 3))
    uvs, uv_corners = distinct(snapshot.uvs.reshape(-1, 2))
    yield from ("v {:.9g} {:.9g} {:.9g}".format(*row) for row in vertices.tolist())
    yield from (f"vt {u!r} {v!r}" for u, v in upward(uvs.astype(np.float64)).tolist())
    yield from ("vn {:.9g} {:.9g} {:.9g}".format(*row) for row in normals.tolist())
    indices = 1 + np.stack([corners, uv_corners, normal_corners], axis=-1).reshape(-1, 9)
    for group in reversed(groups(snapshot)):
        yield f"g {group.name}"
        yield f"usemtl {group.name}"
        yield from face_lines(indices[group.triangles], textured=group.uvs is not None)


def upward(uvs: Doubles) -> Doubles:
    """Returns texture coordinates that have v upward."""
    return np.stack([uvs[:, 0], 1.0 - uvs[:, 1]], axis=-1)


def face_lines(indices: Indices, textured: bool) -> Iterator[str]:
    """Returns a line for each of the triangles (n, 9): vertex, texture coordinate and normal of each corner, counted
    from 1."""
    form = "f {}/{}/{} {}/{}/{} {}/{}/{}"
    if not textured:
        form, indices = "f {}//{} {}//{} {}//{}", indices[:, [0, 2, 3, 5, 6, 8]]
    return (form.format(*row) for row in indices.tolist())


def mtl_lines(of_groups: list[Group], pictures: list[str]) -> Iterator[str]:
    """Yields the lines of the materials."""
    for group in of_groups:
        yield f"newmtl {group.name}"
        yield from material_lines(group.material)
        if group.material.texture >= 0:
            yield f"map_Kd {pictures[group.material.texture]}"


def material_lines(material: Material) -> Iterator[str]:
    """Yields the lines of the numbers of one material."""
    material = by_phong(material)
    yield "Kd {} {} {}".format(*map(float, material.diffuse))
    yield "Ks {} {} {}".format(*map(float, material.specular))
    yield f"Ns {float(material.exponent)}"
    yield "Ke {} {} {}".format(*map(float, material.emission))
    yield f"d {1.0 - material.transmittance}"
    yield f"Ni {float(material.ior)}"
    clear = material.kind == "nff" and material.transmittance > 0.0
    yield f"illum {GLASS if clear else ILLUMINATION.get(material.kind, HIGHLIGHTS)}"
