"""This module gives meshes that bend keys, for formats that know triangles with keys alone."""

from dataclasses import replace

import numpy as np

from scenes.document import BentMesh, Document, KeyedTriangles
from scenes.errors import SceneError
from scenes.meshes.geometry import corner_arrays
from scenes.model import AnimationRange
from scenes.motion.tracks import CubicTrack, CubicTurns
from scenes.motion.transforms import IDENTITY

#: The most numbers of the keys of a mesh.
MAX_NUMBERS = 1 << 28
#: Numbers of a triangle in a key: three corners with a normal each.
TRIANGLE_NUMBERS = 18


def with_keys(document: Document) -> tuple[Document, tuple[str, ...]]:
    """Returns a document in which meshes that bend have a key at each frame, and a line for each thing that is lost.

    Raises SceneError where so many keys would not fit.
    """
    bent = {id(part.shape): part.shape for part in document.parts if isinstance(part.shape, BentMesh)}
    lost = []
    if bent:
        lost.append(f"meshes that bend have a key at each frame, and no texture coordinates: {len(bent)}")
    if any(isinstance(curve, CubicTrack | CubicTurns) for t in document.tracks.values() for curve in (t.transl, t.rot)):
        lost.append("tracks of cubics with tangents of their own become splines through the same keys")
    shapes = {key: keyed(shape, document.animation) for key, shape in bent.items()}
    parts = [replace(part, shape=shapes.get(id(part.shape), part.shape)) for part in document.parts]
    return replace(document, parts=parts), tuple(lost)


def keyed(shape: BentMesh, span: AnimationRange) -> KeyedTriangles:
    """Returns a mesh that bends with a key at each frame."""
    if span.frames * len(shape.rest.triangles) * TRIANGLE_NUMBERS > MAX_NUMBERS:
        count = f"{len(shape.rest.triangles)} triangles at {span.frames} frames"
        raise SceneError(f"a mesh that bends has too many keys to be written: {count}")
    times = np.array([span.time_of(frame) for frame in range(span.frames)])
    arrays = [corner_arrays(shape.mesh_at(time), IDENTITY) for time in times.tolist()]
    positions, normals = (np.array(each) for each in zip(*arrays, strict=True))
    return KeyedTriangles(times, positions, normals, shape.material)
