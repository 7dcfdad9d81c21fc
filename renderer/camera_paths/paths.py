"""Paths from the eye: where they start, and the records in which they and their shadow rays lie.

There is one path per pixel and pass. What a pixel receives is added up in the order of its own path, so that no thread
and no size of batch can change a bit of it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.camera_rays import camera_ray
from renderer.camera_paths.sampler import camera_numbers
from renderer.camera_paths.task import EyeTask
from renderer.film.layers import add_radiance
from renderer.photons.lookup import PhotonLookup
from renderer.scene.packed_scene import CameraArrays, PackedScene
from renderer.scene.pixel_filters import sample_filter
from shaders.compilation import compiled as inlined
from shaders.vector import Vec3, dot, length
from tracecore.compilation.cached import compiled
from tracecore.rays import MISS, Floats, Ids

Doubles = npt.NDArray[np.float64]


class EyeJob(NamedTuple):
    """A pass over the pixels, shared by all threads.

    scene: what the rays hit.
    lookup: the photons to look at.
    task: what decides the paths.
    camera: where the paths begin.
    size: width and height of the picture, pixels.
    pixels: (n,) int32, row * width + column, in the order in which they are visited.
    taken: (1,) int64, how many of the pixels threads have taken.
    reach: length of occlusion rays, world units.
    image: (width * height, columns) float64, added to, with the columns of `renderer.film.layers`.
    """

    scene: PackedScene
    lookup: PhotonLookup
    task: EyeTask
    camera: CameraArrays
    size: tuple[int, int]
    pixels: npt.NDArray[np.int32]
    taken: npt.NDArray[np.int64]
    reach: float
    image: Doubles


class EyePaths(NamedTuple):
    """Paths on their way, one row per ray.

    pixel: (n,) int32, whose light the path brings.
    throughput: (n, 3) float64, share of the light met that reaches the eye.
    pdf_solid_angle: (n,) float64, of the ray's direction; 0 for one without spread (the camera's, a mirror's).
    specular_only: (n,) bool, whether mirrors and glass alone lie between the ray and the eye.
    after_diffuse: (n,) bool, whether a diffuse bounce lies between them.
    diffuse_depth: (n,) uint8, bounces that spread light; 2 stands for all that are more.
    unmapped: (n, 3) float64, the share of light met by mirrors and glass alone, since the last bounce that spread
        light, that no caustic map has brought.
    cone: (n, 2) float64, of what the path stands for: its width where the ray starts, world units, and how much wider
        it gets over a distance of 1.
    """

    pixel: npt.NDArray[np.int32]
    throughput: Doubles
    pdf_solid_angle: Doubles
    specular_only: npt.NDArray[np.bool_]
    after_diffuse: npt.NDArray[np.bool_]
    diffuse_depth: npt.NDArray[np.uint8]
    unmapped: Doubles
    cone: Doubles


class EyeBatch(NamedTuple):
    """A batch of paths that are all at the same bounce, with the answers to their rays.

    rays: (8, column) float32.
    hits: (4, column) float32, in the order of `tracecore.rays.HIT`.
    prim_ids: (column,) uint32, the triangles that the rays hit, or MISS.
    paths: what each ray belongs to.
    active: how many rays there are.
    bounce: how many surfaces the paths have left behind.
    """

    rays: Floats
    hits: Floats
    prim_ids: Ids
    paths: EyePaths
    active: int
    bounce: int


class ShadowRays(NamedTuple):
    """Shadow rays and what they carry, slot after slot.

    rays: (slots, 8, column) float32.
    pixel: (slots * capacity,) int32, which one each of them lights.
    radiance: (slots * capacity, 3) float64, what it brings if nothing is in between.
    layer: (slots * capacity,) uint8, the layer of light that it belongs to.
    capacity: how many rays a slot holds.
    """

    rays: Floats
    pixel: npt.NDArray[np.int32]
    radiance: Doubles
    layer: npt.NDArray[np.uint8]
    capacity: int


def new_eye_paths(*shape: int) -> EyePaths:
    """Returns memory for paths; the last number of the shape is that of the paths of one batch."""
    return EyePaths(
        pixel=np.zeros(shape, np.int32),
        throughput=np.zeros((*shape, 3)),
        pdf_solid_angle=np.zeros(shape),
        specular_only=np.zeros(shape, np.bool_),
        after_diffuse=np.zeros(shape, np.bool_),
        diffuse_depth=np.zeros(shape, np.uint8),
        unmapped=np.zeros((*shape, 3)),
        cone=np.zeros((*shape, 2)),
    )


@compiled
def start_eye_paths(
    camera: CameraArrays,
    task: EyeTask,
    size: tuple[int, int],
    pixels: npt.NDArray[np.int32],
    rays: Floats,
    paths: EyePaths,
) -> int:
    """Write a camera ray through a place in each pixel, and the path that begins with it.

    Over the passes the places of a pixel fill its filter evenly, and those on the lens fill that.

    size: width and height of the picture, pixels.
    pixels: (n,) int32, row * width + column.
    rays: (8, column) float32, written.
    paths: written.
    Returns n.
    """
    width, height = size
    forward = (camera.forward[0], camera.forward[1], camera.forward[2])
    for i in range(len(pixels)):
        pixel = pixels[i]
        u, lens = camera_numbers(task, pixel)
        x = sample_filter(camera.pixel_filter, u[0]) + pixel % width
        y = sample_filter(camera.pixel_filter, u[1]) + pixel // width
        eye, direction = camera_ray(camera, (2.0 * x / width - 1.0, 2.0 * y / height - 1.0), lens)
        set_ray(rays, i, eye, direction)
        rays[3, i] = camera.near / dot(direction, forward)
        paths.pixel[i] = pixel
        paths.pdf_solid_angle[i] = 0.0
        paths.specular_only[i] = True
        paths.after_diffuse[i] = False
        paths.diffuse_depth[i] = 0
        side = 2.0 * length((camera.down[0], camera.down[1], camera.down[2])) / height
        paths.cone[i, 0], paths.cone[i, 1] = (side, 0.0) if camera.is_parallel else (0.0, side)
        for channel in range(3):
            paths.throughput[i, channel] = paths.unmapped[i, channel] = 1.0
    return len(pixels)


@inlined
def set_ray(rays: Floats, row: int, origin: Vec3, direction: Vec3) -> None:
    """Write a ray without limits. rays: (8, column)."""
    rays[0, row], rays[1, row], rays[2, row], rays[3, row] = origin[0], origin[1], origin[2], 0.0
    rays[4, row], rays[5, row], rays[6, row], rays[7, row] = direction[0], direction[1], direction[2], np.inf


@inlined
def ray_direction(rays: Floats, row: int) -> Vec3:
    """Returns the direction of a ray, in float64. rays: (8, column)."""
    return (np.float64(rays[4, row]), np.float64(rays[5, row]), np.float64(rays[6, row]))


@compiled
def add_unshadowed(shadows: ShadowRays, prim_ids: Ids, count: int, image: Doubles) -> None:
    """Add what the shadow rays that met nothing carry. prim_ids: (slots, column) answers of an any-hit query."""
    for i in range(count):
        if prim_ids[i // shadows.capacity, i % shadows.capacity] == MISS:
            radiance = shadows.radiance
            light = (radiance[i, 0], radiance[i, 1], radiance[i, 2])
            add_radiance(image, shadows.pixel[i], light, shadows.layer[i])
