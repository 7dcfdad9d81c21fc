"""Loops over eye paths, each run by one thread: batches of pixels are followed bounce by bounce to their end."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from renderer.camera_paths.paths import (
    Doubles,
    EyePaths,
    ShadowRays,
    add_unshadowed,
    advance_eye_paths,
    new_eye_paths,
    start_eye_paths,
    start_occlusion_rays,
)
from renderer.camera_paths.task import EyeTask
from renderer.photons.lookup import PhotonLookup
from renderer.scene.packed_scene import CameraArrays, PackedScene
from tracecore.compilation.cached import compiled, inlined
from tracecore.compilation.vector import address, borrowed, fetch_add
from tracecore.dispatch.port import ANY_HIT, PLAIN, Port, next_lane, submit
from tracecore.rays import Ids
from tracecore.workers.pool import Feeder, Worker

#: What a lane's `rays` count.
CAMERA, SHADOW, BOUNCE, PURPOSES = range(4)

Longs = npt.NDArray[np.int64]


class EyeJob(NamedTuple):
    """A pass over the pixels, shared by all threads.

    size: width and height. pixels: (n,) int32, row * width + column, in the order in which they are visited. taken:
    (1,) int64, how many of them threads have taken. reach: of occlusion rays. image: (width * height, columns) float64,
    added to, see `layers`.
    """

    scene: PackedScene
    lookup: PhotonLookup
    task: EyeTask
    camera: CameraArrays
    size: tuple[int, int]
    pixels: npt.NDArray[np.int32]
    taken: Longs
    reach: float
    image: Doubles


class EyeLanes(NamedTuple):
    """A thread's lanes. Each has a slot for its paths, and `slots` - 1 behind it for their shadow rays.

    live, active, shadows, bounce: (lanes,) int64: whether it has work, rays on their way, shadow rays on their way, and
    which bounce. paths: of `EyePaths`, with a row for each lane. pixel, radiance, layer: of `ShadowRays`, likewise.
    prim_ids: (lanes * slots, column) uint32. rays: (PURPOSES,) int64, traced so far.
    """

    slots: int
    live: Longs
    active: Longs
    shadows: Longs
    bounce: Longs
    paths: EyePaths
    pixel: npt.NDArray[np.int32]
    radiance: Doubles
    layer: npt.NDArray[np.uint8]
    prim_ids: Ids
    rays: Longs


def new_eye_lanes(port: Port, lanes: int, slots: int) -> EyeLanes:
    """Lanes of so many slots each."""
    rays = port.capacity
    return EyeLanes(
        slots=slots,
        live=np.zeros(lanes, np.int64),
        active=np.zeros(lanes, np.int64),
        shadows=np.zeros(lanes, np.int64),
        bounce=np.zeros(lanes, np.int64),
        paths=new_eye_paths(lanes, rays),
        pixel=np.zeros((lanes, (slots - 1) * rays), np.int32),
        radiance=np.zeros((lanes, (slots - 1) * rays, 3)),
        layer=np.zeros((lanes, (slots - 1) * rays), np.uint8),
        prim_ids=port.hits[: lanes * slots, 3].view(np.uint32),
        rays=np.zeros(PURPOSES, np.int64),
    )


def take_eye_lanes(worker: Worker, feeder: Feeder, slots: int) -> EyeLanes:
    """The worker's lanes of so many slots, all with work."""
    lanes: EyeLanes = worker.kept(("eye", slots), lambda: new_eye_lanes(worker.port, feeder.lanes(slots), slots))
    worker.lanes = lanes
    lanes.live[:] = 1
    lanes.active[:] = lanes.shadows[:] = 0
    return lanes


@inlined
def take_pixels(job: EyeJob, count: int) -> npt.NDArray[np.int32]:
    """The next pixels that nobody has taken, no more than `count`."""
    first = min(fetch_add(address(job.taken), count), len(job.pixels))
    return job.pixels[first : min(first + count, len(job.pixels))]


@inlined
def lane_paths(lanes: EyeLanes, lane: int) -> EyePaths:
    """The paths of a lane."""
    paths = lanes.paths
    return EyePaths(
        paths.pixel[lane],
        paths.throughput[lane],
        paths.pdf_solid_angle[lane],
        paths.straight[lane],
        paths.gathers[lane],
        paths.spreads[lane],
        paths.unmapped[lane],
        paths.cone[lane],
    )


@compiled
def run_eye_paths(job: EyeJob, port: Port, lanes: EyeLanes) -> int:
    """Follow paths until no pixel is left. Returns as `next_lane` does."""
    job, port, lanes = borrowed(job), borrowed(port), borrowed(lanes)
    lane = next_lane(port, lanes.live, lanes.slots)
    while lane >= 0:
        if lanes.active[lane] == 0 and lanes.shadows[lane] == 0:
            start_lane(job, port, lanes, lane)
        else:
            advance_lane(job, port, lanes, lane)
        if lanes.active[lane] > 0:
            submit(port, lane * lanes.slots, lanes.active[lane], PLAIN)
        submit_shadows(port, lane * lanes.slots + 1, lanes.shadows[lane])
        lane = next_lane(port, lanes.live, lanes.slots)
    return lane


@inlined
def start_lane(job: EyeJob, port: Port, lanes: EyeLanes, lane: int) -> None:
    """Camera rays of the next pixels."""
    pixels = take_pixels(job, port.capacity)
    rays = port.rays[lane * lanes.slots]
    lanes.active[lane] = start_eye_paths(job.camera, job.task, job.size, pixels, rays, lane_paths(lanes, lane))
    lanes.live[lane] = lanes.active[lane]
    lanes.bounce[lane] = 0
    lanes.rays[CAMERA] += lanes.active[lane]


@inlined
def advance_lane(job: EyeJob, port: Port, lanes: EyeLanes, lane: int) -> None:
    """Take in what the shadow rays tell, then shade the hits."""
    first, slots = lane * lanes.slots, lanes.slots
    rays, layer = port.rays[first + 1 : first + slots], lanes.layer[lane]
    shadows = ShadowRays(rays, lanes.pixel[lane], lanes.radiance[lane], layer, port.capacity)
    add_unshadowed(shadows, lanes.prim_ids[first + 1 : first + slots], lanes.shadows[lane], job.image)
    batch = (port.rays[first], port.hits[first], lanes.prim_ids[first])
    progress = (lanes.active[lane], lanes.bounce[lane])
    paths = lane_paths(lanes, lane)
    lanes.active[lane], lanes.shadows[lane] = advance_eye_paths(
        job.scene, job.lookup, job.task, batch, paths, progress, shadows, job.image
    )
    lanes.bounce[lane] += 1
    lanes.rays[BOUNCE] += lanes.active[lane]
    lanes.rays[SHADOW] += lanes.shadows[lane]


@inlined
def submit_shadows(port: Port, first: int, count: int) -> None:
    """Have `count` shadow rays traced that fill slot after slot."""
    for slot in range(first, first + (count + port.capacity - 1) // port.capacity):
        submit(port, slot, min(count - (slot - first) * port.capacity, port.capacity), ANY_HIT)


@compiled
def run_occlusion(job: EyeJob, port: Port, lanes: EyeLanes) -> int:
    """Camera rays, and from what each meets one ray that shows whether the sky is free."""
    job, port, lanes = borrowed(job), borrowed(port), borrowed(lanes)
    lane = next_lane(port, lanes.live, lanes.slots)
    while lane >= 0:
        if lanes.shadows[lane] > 0:
            paths = lane_paths(lanes, lane)
            rays, layer = port.rays[lane : lane + 1], paths.spreads  # all 0: direct light
            open_sky = ShadowRays(rays, paths.pixel, paths.throughput, layer, port.capacity)
            add_unshadowed(open_sky, lanes.prim_ids[lane : lane + 1], lanes.shadows[lane], job.image)
            lanes.shadows[lane] = 0
        if lanes.active[lane] == 0:
            start_lane(job, port, lanes, lane)
            if lanes.active[lane] > 0:
                submit(port, lane, lanes.active[lane], PLAIN)
        else:
            batch = (port.rays[lane], port.hits[lane], lanes.prim_ids[lane])
            lanes.shadows[lane] = start_occlusion_rays(
                job.scene, job.task, batch, lane_paths(lanes, lane), lanes.active[lane], job.reach, job.image
            )
            lanes.active[lane] = 0
            lanes.rays[SHADOW] += lanes.shadows[lane]
            submit_shadows(port, lane, lanes.shadows[lane])
        lane = next_lane(port, lanes.live, lanes.slots)
    return lane
