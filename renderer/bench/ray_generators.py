"""This module generates rays of every kind that a renderer traces, to compare kernels on.

Camera rays, ambient occlusion and diffuse bounces are as in Aila, Laine: Understanding the Efficiency of Ray Traversal
on GPUs, 2009; besides there are shadow rays to the scene's lights; and photons, the very stream of the photon driver.
Each set follows from the one before by the hits that a tracer finds, so that no set depends on which tracer it was.
"""

import argparse
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.photons.batch import new_batch
from renderer.photons.scattering import make_photons_ready
from renderer.photons.shading import shade_batch
from renderer.photons.store import PhotonStore
from renderer.run.halton import radical_inverse
from renderer.scene.packed_scene import PackedScene, pack_camera, pack_scene
from renderer.simd.columns import ELEMENTS
from scenes.model import Snapshot
from shaders.lights.kind import LightArrays
from shaders.lights.registry import sample_light
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.cached import compiled
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import BATCH_RAYS, HIT_FLOATS, MISS, RAY_FLOATS, Floats, Query, make_rays

Doubles = npt.NDArray[np.float64]

#: The deepest diffuse bounce, and the kinds by their names.
BOUNCE_KINDS = 8
BOUNCES = tuple(f"bounce{k}" for k in range(1, BOUNCE_KINDS + 1))
KINDS = ("primary", "ao", "shadow", *BOUNCES, "diffuse", "photon", "photon-shuffled")

#: Kinds whose rays only ask whether anything is hit.
ANY_HIT_KINDS = ("ao", "shadow")

#: Rays side by side that a sample keeps together: those of a warp of the widest machine.
SAMPLED_RUN = 64

#: How far off a surface rays start, of the largest coordinate: beyond what positions in float32 are wrong by.
CLEARANCE = 1e-5

#: A shadow ray ends this share before its light.
SHORT_OF_LIGHT = 1e-4

#: Photons that a stream may take: more than it will.
ENDLESS_SUPPLY = 1 << 31


@dataclass(frozen=True, kw_only=True)
class RayPlan:
    """Says which rays are generated.

    size: width and height of the picture, in pixels.
    in_morton_order: whether pixels come along a Morton curve, or else row by row.
    occlusion_rays: for each pixel, divided among its samples; as many rays are diffuse ones.
    radius: how far occlusion rays go, world units.
    photon_rays: how many are taken of the stream of photons.
    seed: of all random numbers.
    samples: camera rays of a pixel.
    """

    size: tuple[int, int]
    in_morton_order: bool
    occlusion_rays: int
    radius: float
    photon_rays: int
    seed: int
    samples: int = 1

    @property
    def occlusion_rays_of_sample(self) -> int:
        """Returns how many occlusion rays each camera ray has, at least one."""
        return max(self.occlusion_rays // self.samples, 1)

    @classmethod
    def chosen(cls, arguments: argparse.Namespace, positions: Floats) -> Self:
        """Returns the plan that the options of `renderer.commands.arguments.add_rays` ask for.

        positions: (t, 3, 3) float32, corners of the scene's triangles.
        """
        diagonal = float(np.linalg.norm(np.ptp(positions.reshape(-1, 3), axis=0)))
        return cls(
            size=arguments.size,
            samples=arguments.samples,
            in_morton_order=arguments.order == "morton",
            occlusion_rays=arguments.ao_rays,
            radius=arguments.ao_radius or 0.2 * diagonal,
            photon_rays=arguments.photon_rays,
            seed=arguments.seed,
        )


class RaySets:
    """Sets of rays by their kind, each (n, 8) float32, made when they are asked for.

    snapshot: the scene.
    tracer: finds the hits that they follow from.
    """

    def __init__(self, snapshot: Snapshot, tracer: Tracer, plan: RayPlan) -> None:
        self.snapshot = snapshot
        self.tracer = tracer
        self.plan = plan
        self._bounces: list[Floats] = []
        self._bounce_numbers = self.random(4)

    def of_kind(self, kind: str) -> Floats:
        """Returns the set of one of KINDS. It may be empty: no rays follow where nothing is hit, and none go to lights
        that there are not.
        """
        if kind == "primary":
            return self.primary
        if kind == "ao":
            return self._occlusion(self.plan.radius, self.random(1))
        if kind == "diffuse":
            return self._occlusion(np.inf, self.random(6))
        if kind == "shadow":
            return shadow_rays(self.scene.lights, self.first_positions[0], self.random(2))
        if kind in BOUNCES:
            return self.bounce(BOUNCES.index(kind) + 1)
        return self.photons if kind == "photon" else self.random(3).permutation(self.photons)

    def random(self, purpose: int) -> np.random.Generator:
        """Returns a generator of random numbers, a different one for each purpose."""
        return np.random.default_rng((self.plan.seed, purpose))

    def bounce(self, depth: int) -> Floats:
        """Returns the rays after so many diffuse reflections, in the order of the pixels that they are left of."""
        while len(self._bounces) < depth:
            positions, normals = self._positions(self._bounces[-1]) if self._bounces else self.first_positions
            self._bounces.append(
                make_rays(positions, around(normals, self._bounce_numbers.random((len(positions), 2))))
            )
        return self._bounces[depth - 1]

    def _occlusion(self, radius: float, random: np.random.Generator) -> Floats:
        """Returns occlusion rays of a length, from the surfaces that pixels show."""
        return occlusion_rays(*self.first_positions, self.plan.occlusion_rays_of_sample, radius, random)

    def _positions(self, rays: Floats) -> tuple[Doubles, Doubles]:
        """Returns where rays hit surfaces, and the normals there."""
        return surface_positions(self.snapshot.positions, rays, self.tracer.closest_hit(rays))

    @cached_property
    def scene(self) -> PackedScene:
        """Returns the scene packed for shading."""
        scene = pack_scene(self.snapshot)
        make_photons_ready(scene.bsdfs)
        return scene

    @cached_property
    def primary(self) -> Floats:
        """Returns the camera rays: some for each pixel, through random points of it; through a pinhole, whatever the
        lens.
        """
        width, height = self.plan.size
        camera = pack_camera(self.snapshot.camera, width, height)
        pixels = morton_order(width, height) if self.plan.in_morton_order else np.arange(width * height)
        pixels = np.repeat(pixels, self.plan.samples)
        jitter = self.random(0).random((len(pixels), 2))
        x = ((pixels % width + jitter[:, 0]) / width * 2.0 - 1.0)[:, None]
        y = ((pixels // width + jitter[:, 1]) / height * 2.0 - 1.0)[:, None]
        across = x * camera.right + y * camera.down
        if camera.is_parallel:
            return make_rays(camera.eye + across, np.broadcast_to(camera.forward, across.shape))
        return make_rays(np.broadcast_to(camera.eye, across.shape), unit(camera.forward + across))

    @cached_property
    def first_positions(self) -> tuple[Doubles, Doubles]:
        """Returns where camera rays hit surfaces, and the normals there."""
        return self._positions(self.primary)

    @cached_property
    def photons(self) -> Floats:
        """Returns the rays of the photon driver, batch after batch, as one thread hands them over."""
        if self.scene.lights.power == 0.0:
            return np.zeros((0, RAY_FLOATS), np.float32)
        width, height = self.plan.size
        task = photon_task(self.scene, RenderSettings(width=width, height=height, seed=self.plan.seed), 0, 0)
        rays, hits = (np.zeros((words, BATCH_RAYS + 2 * ELEMENTS), np.float32) for words in (RAY_FLOATS, HIT_FLOATS))
        batch, store, supply = new_batch(rays, hits, BATCH_RAYS), PhotonStore(), np.array([0, ENDLESS_SUPPLY])
        stream: list[Floats] = []
        while sum(map(len, stream)) < self.plan.photon_rays:
            active = len(stream[-1]) if stream else 0
            active = shade_batch(self.scene, task, batch, active, supply, store.output(active))
            store.clear()
            rays = np.ascontiguousarray(batch.rays[:, :active].T)
            rays[:, 3], rays[:, 7] = 0.0, np.inf
            batch.hits[:, :active] = self.tracer.closest_hit(rays).T
            stream.append(rays)
            if active == 0:
                break
        return np.concatenate(stream)[: self.plan.photon_rays]


def query_of(kind: str) -> Query:
    """Returns what rays of a kind ask: the closest hit, or any."""
    return Query.ANY if kind in ANY_HIT_KINDS else Query.CLOSEST


def sample(rays: Floats, most: int) -> Floats:
    """Returns at most `most` rays: whole chunks of rays side by side, spread over all, and at least one chunk; or all
    rays if they are not more.
    """
    if len(rays) <= most:
        return rays
    chunks = len(rays) // SAMPLED_RUN
    chosen = np.linspace(0, chunks - 1, max(most // SAMPLED_RUN, 1)).astype(np.int64)
    return np.ascontiguousarray(rays[: chunks * SAMPLED_RUN].reshape(chunks, SAMPLED_RUN, -1)[chosen].reshape(-1, 8))


def morton_order(width: int, height: int) -> npt.NDArray[np.int64]:
    """Returns the indices of the pixels, (width * height,) int64, row * width + column, along the Morton curve over the
    smallest square around them.
    """
    rows, columns = np.divmod(np.arange(width * height), width)
    code = np.zeros(width * height, np.int64)
    for bit in range(max(width, height).bit_length()):
        code |= (columns >> bit & 1) << 2 * bit | (rows >> bit & 1) << 2 * bit + 1
    return np.argsort(code)


def surface_positions(triangles: Floats, rays: Floats, hits: Floats) -> tuple[Doubles, Doubles]:
    """Returns, for the rays that hit something, (n, 3) points clear of the surface, and its unit normals on the rays'
    side.
    """
    prim_ids = hits.view(np.uint32)[:, 3]
    found = prim_ids != MISS
    corners = triangles[prim_ids[found]].astype(np.float64)
    ray = rays[found].astype(np.float64)
    normals = unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    normals *= -np.copysign(1.0, (normals * ray[:, 4:7]).sum(axis=1, keepdims=True))
    positions = ray[:, 0:3] + hits[found, 0:1] * ray[:, 4:7]
    return positions + normals * (CLEARANCE * float(np.abs(triangles).max())), normals


def around(normals: Doubles, u: Doubles) -> Doubles:
    """Returns unit vectors by Lambert's law: the normal plus a point of the sphere.

    normals: (n, 3) float64, unit.
    u: (n, 2) float64, uniform in [0, 1).
    """
    z, angle = 1.0 - 2.0 * u[:, 0], 2.0 * np.pi * u[:, 1]
    radius = np.sqrt(1.0 - z * z)
    sphere = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
    return unit(normals + (1.0 - 1e-6) * sphere)


def unit(vectors: Doubles) -> Doubles:
    """Returns vectors, (n, 3), scaled to length 1."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def occlusion_rays(
    positions: Doubles, normals: Doubles, count: int, radius: float, random: np.random.Generator
) -> Floats:
    """Returns `count` rays from each point, no longer than the radius: Halton's points, with a random shift for each
    point.
    """
    points = np.stack([radical_inverse(np.arange(count), base) for base in (2, 3)], axis=1)
    turned = (points[None] + random.random((len(positions), 1, 2))) % 1.0
    directions = around(np.repeat(normals, count, axis=0), turned.reshape(-1, 2))
    rays = make_rays(np.repeat(positions, count, axis=0), directions)
    rays[:, 7] = radius
    return rays


def shadow_rays(lights: LightArrays, positions: Doubles, random: np.random.Generator) -> Floats:
    """Returns one ray from each point towards a light chosen by power, as long as the way to it."""
    if len(lights.rows) == 0:
        return make_rays(np.zeros((0, 3)), np.zeros((0, 3)))
    towards = np.empty((len(positions), 4))
    turn_to_lights(lights, positions, random.random((len(positions), 3)), towards)
    is_lit = towards[:, 3] > 0.0
    rays = make_rays(positions[is_lit], towards[is_lit, :3])
    rays[:, 7] = towards[is_lit, 3] * (1.0 - SHORT_OF_LIGHT)
    return rays


@compiled
def turn_to_lights(lights: LightArrays, positions: Doubles, numbers: Doubles, towards: Doubles) -> None:
    """Writes direction and distance, (n, 4), of a light from each point to `towards`; the distance is 0 where no light
    shines.
    """
    lights = borrowed(lights)
    for i in range(len(positions)):
        position = (positions[i, 0], positions[i, 1], positions[i, 2])
        light = sample_light(lights, position, (numbers[i, 0], numbers[i, 1], numbers[i, 2]))
        shines = max(light.irradiance[0], max(light.irradiance[1], light.irradiance[2])) > 0.0
        for axis in range(3):
            towards[i, axis] = light.direction[axis]
        towards[i, 3] = light.distance if shines else 0.0
