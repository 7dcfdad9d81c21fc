"""This module makes a scene plain, as a workload that tracers share: diffuse surfaces and one square light below the
ceiling, or one point light.

Barczak: GPU Ray Tracing the Wrong Way (2016) measured traversal with photons of such a scene; Günther, Popov, Seidel,
Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007, with the shadows of a point light.
"""

from dataclasses import replace

import numpy as np

from scenes.lights import PointLight
from scenes.materials.microfacets import metal_color
from scenes.meshes.geometry import shading_normals
from scenes.model import Color, Floats, Material, Snapshot

#: The light's edge as a share of the lesser horizontal extent, and its distance below the top as one of the height.
LIGHT_EDGE, LIGHT_DEPTH = 0.25, 0.02

#: Radiance of the light, W/(m^2 sr).
LIGHT_RADIANCE: Color = (10.0, 10.0, 10.0)


def plain(snapshot: Snapshot) -> Snapshot:
    """Returns the same triangles, each diffuse in the colour of its material, lit by a square that shines down alone.

    Textures, mirrors, glass, bent normals, glowing surfaces and the lights of the scene are left out. Up is the axis
    that is closest to the camera's. The light is the last two triangles.
    """
    light = square_light(snapshot)
    positions = np.concatenate([snapshot.positions, light])
    materials = (*map(plain_material, snapshot.materials), Material(diffuse=(0.0, 0.0, 0.0), emission=LIGHT_RADIANCE))
    return replace(
        snapshot,
        positions=positions,
        normals=shading_normals(positions.astype(np.float64), None).astype(np.float32),
        uvs=np.concatenate([snapshot.uvs, np.zeros((2, 3, 2), np.float32)]),
        material_ids=np.append(snapshot.material_ids, np.full(2, len(snapshot.materials), np.int32)),
        object_ids=np.append(snapshot.object_ids, np.full(2, snapshot.object_ids.max(initial=-1) + 1, np.int32)),
        materials=materials,
        textures=(),
        lights=(),
        environment=None,
    )


def point_lit(snapshot: Snapshot) -> Snapshot:
    """Returns the same scene lit by one point light alone: the first that it has, else one in the middle of its box."""
    corners = snapshot.positions.reshape(-1, 3).astype(np.float64)
    x, y, z = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    middle = PointLight(position=(float(x), float(y), float(z)), intensity=LIGHT_RADIANCE)
    light = next((one for one in snapshot.lights if isinstance(one, PointLight)), middle)
    dark = tuple(replace(material, emission=(0.0, 0.0, 0.0)) for material in snapshot.materials)
    return replace(snapshot, materials=dark, lights=(light,), environment=None)


def plain_material(material: Material) -> Material:
    """Returns a diffuse material of the given one's brightest colour: its diffuse one, else that of its highlights or
    its light."""
    clear: Color = (material.transmittance, material.transmittance, material.transmittance)
    colors = (material.diffuse, metal_color(material), clear)
    return Material(name=material.name, diffuse=max(colors, key=sum))


def square_light(snapshot: Snapshot) -> Floats:
    """Returns the corners of two triangles, (2, 3, 3), wound so that the light shines down."""
    up = int(np.argmax(np.abs(snapshot.camera.up)))
    sign = 1.0 if snapshot.camera.up[up] > 0.0 else -1.0
    corners = snapshot.positions.reshape(-1, 3)
    lower, upper = corners.min(axis=0).astype(np.float64), corners.max(axis=0).astype(np.float64)
    extent, middle = upper - lower, 0.5 * (lower + upper)
    a, b = np.eye(3)[(up + 1) % 3], np.eye(3)[(up + 2) % 3]  # a x b is up
    half = 0.5 * LIGHT_EDGE * min(extent[(up + 1) % 3], extent[(up + 2) % 3])
    middle[up] += sign * (0.5 - LIGHT_DEPTH) * extent[up]
    down_first, down_second = (b, a) if sign > 0.0 else (a, b)
    square = [middle + half * (x * down_first + y * down_second) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    return np.array([[square[0], square[1], square[2]], [square[0], square[2], square[3]]], np.float32)
