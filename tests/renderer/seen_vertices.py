"""What the loops of eye paths know of a surface where a ray hit it."""

from types import SimpleNamespace

import numpy as np

from renderer.camera_paths.paths import EYE_COLUMNS
from renderer.camera_paths.vertices import look_at_surfaces
from renderer.scene.materials import dressed
from renderer.scene.packed_scene import pack_scene
from renderer.shading.chunks import View
from renderer.shading.queues import queue_of

#: Columns of eye paths, none of them in the memory of others: Python hands a record on as bytes, of which each has one
#: meaning.
EYE_APART = np.dtype([(name, kind) for name, (kind, *_) in (EYE_COLUMNS.fields or {}).items()])


def vertex_at(snapshot, triangle, uv, wo, *, width=0.0):
    """The vertex at barycentric uv of a triangle, seen from the direction wo, not to be unit, with a cone of a width.

    Returns position, normal, shading: (3,) float64; is_outside; clearance; and the parameters of its BSDF.
    """
    scene, wo = pack_scene(snapshot), np.asarray(wo, float) / np.linalg.norm(wo)
    photon_scene, chunk = scene.photon_scene, np.zeros(1, EYE_APART)
    hit = {
        "triangle": triangle,
        "distance": 1.0,
        "uv": uv,
        "origin": np.array([1.0 - uv[0] - uv[1], *uv]) @ snapshot.positions[triangle].astype(float) + wo,
        "ray": -wo,
        "cone": (width, 0.0),
    }
    for name, value in hit.items():
        chunk[0][name][..., 0] = value
    material = snapshot.material_ids[triangle]
    queue = queue_of(scene.bsdfs, int(scene.bsdfs.numbers["bsdf"][material]), 0, 0)
    arrays = (scene.surfaces.normals, photon_scene.texels, photon_scene.decoded)
    view = View(*[0] * 7, *(array.ctypes.data for array in arrays), chunk[0])  # type: ignore[call-arg]
    look_at_surfaces(scene, queue, view, 1)
    found = {name: chunk[0][name][:, 0].astype(float) for name in ("position", "normal", "shading")}
    kind = dressed(snapshot.materials[material], snapshot.textures).bsdf.parameters
    return SimpleNamespace(
        **found,
        is_outside=bool(chunk[0]["is_outside"][0]),
        clearance=float(chunk[0]["clearance"][0]),
        parameters=named(kind, chunk[0]["parameters"][:, 0].astype(float)),
    )


def named(kind, numbers):
    fields, first = [], 0
    for name in kind._fields:
        count = 1 if kind.__annotations__[name] in (float, "float") else 3
        fields.append(float(numbers[first]) if count == 1 else tuple(numbers[first : first + 3].tolist()))
        first += count
    return kind(*fields)
