"""Rays of a camera, through a pinhole or a lens, in perspective or parallel, and the paths that begin with them."""

from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import (
    EYE_BEHIND,
    EYE_CONE,
    EYE_PDF,
    EYE_PIXEL,
    EYE_STATE,
    EYE_THROUGHPUT,
    EYE_UNMAPPED,
    SPECULAR_ONLY,
    EyeBatch,
    EyeChunk,
)
from renderer.camera_paths.sampler import camera_numbers, draw
from renderer.camera_paths.task import SOBOL, EyeTask
from renderer.scene.packed_scene import CameraArrays
from renderer.scene.pixel_filters import PixelFilter, sample_filter
from renderer.shading.chunks import RAY_DIRECTION, Long
from renderer.simd.columns import WORD_BYTES, chunk_room, get_word, put, put3
from renderer.simd.loops import each, each_alone, whole
from shaders.elementary import sine_cosine
from shaders.float32 import INFINITY, ONE, ZERO, Float32
from shaders.random import STREAM_CAMERA, unit32
from shaders.surface import three_of
from shaders.vector import Vec3, add, dot, in_single, length, normalize, scale, subtract
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import inlined
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address


class Start(NamedTuple):
    """What loops over paths that begin read and write."""

    chunk: EyeChunk  # where their numbers are
    pixels: int  # address of their pixels
    rays: int  # address of the first one's, in columns `step` bytes apart
    paths: int  # likewise
    step: int
    width: float  # of the picture, pixels
    height: float
    eye: Vec3  # of the camera, and all below but the last
    right: Vec3
    down: Vec3
    forward: Vec3
    near: float
    is_parallel: bool
    cone: tuple[float, float]  # of a path (`paths.EYE_CONE`)


@unit(types.none)
def start_eye_paths(
    camera: CameraArrays, task: EyeTask, size: tuple[int, int], pixels: tuple[int, int], batch: EyeBatch, first: int
) -> None:
    """Write a camera ray through a point of each pixel, and the path that begins with it.

    Over the passes the points of a pixel fill its filter evenly, and those on the lens fill that.

    size: width and height of the picture, pixels.
    pixels: the address of int32, row * width + column, and how many they are.
    batch: its rays and paths are written.
    first: index in the batch of the first path.
    """
    camera, batch = borrowed(camera), borrowed(batch)
    down = three_of(camera.down)
    side = Float32(2.0 * length(down) / size[1])
    for done in range(0, pixels[1], chunk_room()):
        start = Start(
            chunk=batch.scratch[0],
            pixels=pixels[0] + WORD_BYTES * done,
            rays=address(batch.rays) + WORD_BYTES * (first + done),
            paths=address(batch.paths) + WORD_BYTES * (first + done),
            step=WORD_BYTES * batch.rays.shape[1],
            width=np.float64(size[0]),
            height=np.float64(size[1]),
            eye=three_of(camera.eye),
            right=three_of(camera.right),
            down=down,
            forward=three_of(camera.forward),
            near=camera.near,
            is_parallel=camera.is_parallel,
            cone=(side, ZERO) if camera.is_parallel else (ZERO, side),
        )
        start_chunk(camera, task, start, min(chunk_room(), pixels[1] - done))


@inlined
def start_chunk(camera: CameraArrays, task: EyeTask, start: Start, count: int) -> None:
    """Write `count` camera rays and paths."""
    chunk = start.chunk
    each(start_path, count, start)
    if task.sampler == SOBOL:
        draw(task, chunk, count, True, (STREAM_CAMERA, 0, 0))
        each(take_numbers, whole(count), chunk)
    else:
        each_alone(draw_random, count, (task, chunk))
    if len(camera.pixel_filter.shares) > 0:
        each_alone(filter_point, count, (camera.pixel_filter, chunk))
    if camera.focus > 0.0:
        each_alone(put_lens_ray, count, (camera, start))
    else:
        each(put_pinhole_ray, whole(count), start)


@inlined
def start_path(i: int, data: Start) -> None:
    """Write the path that begins in a pixel."""
    chunk, paths, step = data.chunk, data.paths, data.step
    pixel = get_word(data.pixels, i)
    chunk.pixel[i], chunk.state[i] = pixel, SPECULAR_ONLY
    put(paths + EYE_PIXEL * step, i, pixel)
    put(paths + EYE_STATE * step, i, SPECULAR_ONLY)
    put3(paths + EYE_THROUGHPUT * step, step, i, (ONE, ONE, ONE))
    put(paths + EYE_PDF * step, i, ZERO)
    put(paths + EYE_CONE * step, i, data.cone[0])
    put(paths + (EYE_CONE + 1) * step, i, data.cone[1])
    put3(paths + EYE_UNMAPPED * step, step, i, (ONE, ONE, ONE))
    put(paths + EYE_BEHIND * step, i, ZERO)


@inlined
def take_numbers(i: int, chunk: EyeChunk) -> None:
    """Write the numbers for the point of the pixel and that of the lens."""
    bits = chunk.bits
    chunk.uv[0, i], chunk.uv[1, i] = unit32(bits[0, i]), unit32(bits[1, i])
    chunk.target[0, i], chunk.target[1, i] = unit32(bits[2, i]), unit32(bits[3, i])


@inlined
def draw_random(i: int, data: tuple[EyeTask, EyeChunk]) -> None:
    """Write numbers that are random for the point of the pixel and that of the lens."""
    task, chunk = data
    point, lens = camera_numbers(task, Long(chunk.pixel[i]))
    chunk.uv[0, i], chunk.uv[1, i] = point
    chunk.target[0, i], chunk.target[1, i] = lens


@inlined
def filter_point(i: int, data: tuple[PixelFilter, EyeChunk]) -> None:
    """Spread the point of a pixel by its filter."""
    pixel_filter, chunk = data
    chunk.uv[0, i] = sample_filter(pixel_filter, np.float64(chunk.uv[0, i]))
    chunk.uv[1, i] = sample_filter(pixel_filter, np.float64(chunk.uv[1, i]))


@inlined
def put_lens_ray(i: int, data: tuple[CameraArrays, Start]) -> None:
    """Write the ray of a camera with a lens.

    Kolb, Mitchell, Hanrahan: A Realistic Camera Model for Computer Graphics, 1995: of a thin lens, all rays to a place
    of the picture meet where its middle ray meets the plane in focus.
    """
    camera, start = data
    eye, direction = ray_through(camera, position_of(i, start))
    a, b = concentric_disc(np.float64(start.chunk.target[0, i]), np.float64(start.chunk.target[1, i]))
    offset = add(scale(three_of(camera.lens[0]), a), scale(three_of(camera.lens[1]), b))
    put_camera_ray(i, (add(eye, offset), normalize(subtract(scale(direction, camera.focus), offset))), start)


@inlined
def position_of(i: int, data: Start) -> tuple[float, float]:
    """Returns the point of the picture that a path begins with, x and y in -1..1."""
    pixel = np.float64(np.int32(data.chunk.pixel[i]))
    row = np.floor((pixel + 0.5) / data.width)
    x, y = data.chunk.uv[0, i] + (pixel - row * data.width), data.chunk.uv[1, i] + row
    return (2.0 * x / data.width - 1.0, 2.0 * y / data.height - 1.0)


@inlined
def put_pinhole_ray(i: int, data: Start) -> None:
    """Write the ray of a camera without a lens."""
    eye, direction = ray_through(data, position_of(i, data))
    put_camera_ray(i, (eye, scale(direction, 1.0 / length(direction))), data)


@inlined
def put_camera_ray(i: int, ray: tuple[Vec3, Vec3], data: Start) -> None:
    """Write a ray of the camera. ray: origin and unit direction."""
    eye, direction = ray
    put3(data.rays, data.step, i, in_single(eye))
    put(data.rays + 3 * data.step, i, Float32(data.near / dot(direction, data.forward)))
    put3(data.rays + RAY_DIRECTION * data.step, data.step, i, in_single(direction))
    put(data.rays + 7 * data.step, i, INFINITY)


@inlined
def ray_through(camera: Start | CameraArrays, position: tuple[float, float]) -> tuple[Vec3, Vec3]:
    """Returns origin and direction, of any length, of the ray through a point of the picture, x and y in -1..1."""
    x, y = position
    across, down = camera.right, camera.down
    shift = (x * across[0] + y * down[0], x * across[1] + y * down[1], x * across[2] + y * down[2])
    eye, forward = (camera.eye[0], camera.eye[1], camera.eye[2]), camera.forward
    moved, turned = (1.0, 0.0) if camera.is_parallel else (0.0, 1.0)
    direction = (forward[0] + turned * shift[0], forward[1] + turned * shift[1], forward[2] + turned * shift[2])
    return add(eye, scale(shift, moved)), direction


@inlined
def concentric_disc(u1: float, u2: float) -> tuple[float, float]:
    """Returns a point of the unit disc, uniform over its area; neighbours stay neighbours."""
    a, b = 2.0 * u1 - 1.0, 2.0 * u2 - 1.0
    if abs(a) > abs(b):
        radius, turns = a, 0.125 * (b / a)
    else:
        radius, turns = b, 0.25 - 0.125 * (a / b if b != 0.0 else 0.0)
    sine, cosine = sine_cosine(turns)
    return radius * cosine, radius * sine
