"""Small scenes with known answers."""

from dataclasses import replace

import numpy as np
from data_files import data_text

from scenes.lights import PointLight
from scenes.model import Camera, Material, Snapshot


def quad(a, b, c, d):
    """Two triangles, counter-clockwise as given: (2, 3, 3)."""
    return np.array([(a, b, c), (a, c, d)], np.float32)


def closed_box():
    """A unit cube wound so that its normals point inside: (12, 3, 3)."""
    corner = [(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
    faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    box = np.concatenate([quad(*(corner[i] for i in face)) for face in faces])
    middles = box.mean(axis=1)
    normals = np.cross(box[:, 1] - box[:, 0], box[:, 2] - box[:, 0])
    outward = np.einsum("ij,ij->i", normals, middles - 0.5) > 0.0
    box[outward] = box[outward][:, ::-1]
    return box


def sphere(center, radius, steps):
    """An octahedron whose faces were divided so often, wound so that normals point outside: (8 * 4^steps, 3, 3)."""
    faces = [
        [(x, 0, 0), (0, y, 0), (0, 0, z)] if x * y * z > 0 else [(0, y, 0), (x, 0, 0), (0, 0, z)]
        for x in (1, -1)
        for y in (1, -1)
        for z in (1, -1)
    ]
    triangles = np.array(faces, np.float64)
    for _ in range(steps):
        a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
        ab, bc, ca = a + b, b + c, c + a
        split = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([np.stack(corners, axis=1) for corners in split])
        triangles /= np.linalg.norm(triangles, axis=2, keepdims=True)
    return triangles * radius + np.array(center)


def flat_snapshot(positions, materials, *, material_ids=None, lights=(), camera=None, background=(0.0, 0.0, 0.0)):
    positions = np.asarray(positions, np.float32)
    normals = np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0]).astype(np.float64)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    ids = np.zeros(len(positions)) if material_ids is None else material_ids
    return Snapshot(
        name="test",
        time=0.0,
        positions=positions,
        normals=np.repeat(normals[:, None], 3, axis=1).astype(np.float32),
        uvs=np.zeros((len(positions), 3, 2), np.float32),
        material_ids=np.asarray(ids, np.int32),
        object_ids=np.zeros(len(positions), np.int32),
        materials=tuple(materials),
        textures=(),
        lights=tuple(lights),
        camera=camera or Camera(eye=(0.5, 0.5, 0.5), forward=(1.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), vertical_fov=60.0),
        background=background,
    )


#: The furnace's radiance is emission / (1 - albedo) = 1 in every channel, everywhere and in every direction.
FURNACE = Material(diffuse=(0.5, 0.6, 0.75), emission=(0.5, 0.4, 0.25))


def furnace():
    """A closed box whose walls glow and reflect."""
    return flat_snapshot(closed_box(), [FURNACE])


def lamp_in_box(albedo=(0.4, 0.5, 0.6)):
    """A closed diffuse box with a lamp without size in it."""
    lamp = PointLight(position=(0.5, 0.7, 0.4), intensity=(1.0, 2.0, 3.0))
    return flat_snapshot(closed_box(), [Material(diffuse=albedo)], lights=[lamp])


def inside_of_lamp_box():
    """The same, looked at along y from inside; up is z."""
    camera = Camera(eye=(0.5, 0.1, 0.5), forward=(0.0, 1.0, 0.0), up=(0.0, 0.0, 1.0), vertical_fov=60.0)
    return replace(lamp_in_box(), camera=camera)


def floor_and_ceiling(*, distance=1.0, materials, lights=()):
    """Parallel unit squares that face each other: the floor is of the first material, the ceiling of the last."""
    floor = quad((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
    ceiling = quad((0, 0, distance), (0, 1, distance), (1, 1, distance), (1, 0, distance))
    ids = [0, 0, len(materials) - 1, len(materials) - 1]
    return flat_snapshot(np.concatenate([floor, ceiling]), materials, material_ids=ids, lights=lights)


#: A floor, and a lamp that a wall hides until the middle of the film.
LAMP_BEHIND_A_WALL = data_text("toml/lamp-behind-a-wall.toml")
