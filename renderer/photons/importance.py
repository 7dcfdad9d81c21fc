"""Where light is needed: a pilot of importons, which leave the eye as photons leave a lamp.

Peter, Pietrek: Importance Driven Construction of Photon Maps, 1998. An importon that lands on a diffuse surface behind
its first one shows a place whose light the eye sees by way of others. Where it is lit, photons are needed: the places
are gathered into a few spheres of which each has as much of the need, and photons are sent there
(`renderer.scene.projection`). Need is counted in whole numbers, so that no order of sums changes a bit.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from renderer.photons.batch import PhotonTask
from renderer.photons.photon_map import PHOTON_FLUX, PHOTON_NORMAL, Words, unpack_flux
from renderer.photons.targets import NO_SPHERES
from renderer.scene.packed_scene import CameraArrays, PackedScene
from renderer.scene.photon_scene import SHEET, pack_emitters, pack_kinds
from renderer.scene.projection import NO_PROJECTION
from shaders.alias_table import pack_aliases
from shaders.float32 import Bools, Doubles, Longs
from shaders.lights.distant import distant_row
from shaders.lights.kind import LightArrays
from shaders.lights.registry import pack_lights, sample_light
from shaders.lights.row import Row, Sphere
from shaders.lights.spot import spot_row
from shaders.lights.triangle import SHADOW_END
from shaders.octahedral import unpack_unit
from shaders.random import STREAM_LIGHT, random4
from shaders.surface import ORIGIN_OFFSET
from shaders.vector import along, dot, in_double, largest_magnitude, mean, scale
from tracecore.compilation.cached import compiled
from tracecore.dispatch.tracer import Tracer
from tracecore.rays import HIT, MISS, RAY_FLOATS, Floats, as_records

#: Importons that leave the eye, and the pass whose random numbers they have, to which no render comes.
IMPORTONS, PILOT = 1 << 15, (1 << 32) - 1

#: Surfaces that an importon meets at most.
IMPORTON_BOUNCES = 4

#: Spheres around what is needed: each photon looks at all of them.
NEEDED_SPHERES = 24

#: Steps of the need of a place; no place counts for more than so many times the mean.
NEED_STEPS, MOST_NEED = 1 << 20, 16.0

#: A sphere is larger than its places ask for by this factor, as there is light between and beside them; and no smaller
#: than this share of the box around all that is needed.
SPHERE_MARGIN, LEAST_RADIUS = 1.25, 1e-3

#: Sheets that a ray to a light goes through at most.
MOST_PANES = 4


#: Returns the first so many photons of a task in a scene as they are stored, (n, PHOTON_WORDS) uint32, in their order.
Trace = Callable[[PackedScene, PhotonTask, int], Words]


class Eye(NamedTuple):
    """Is the eye that light is needed for. tracer: of the scene."""

    camera: CameraArrays
    tracer: Tracer


def needed_spheres(scene: PackedScene, eye: Eye, task: PhotonTask, trace: Trace) -> Doubles:
    """Returns middle and radius, (k, 4) float64, of spheres around the places from where the eye gets light by way of
    other surfaces, all with about as much of it; none where it gets none. trace: traces importons."""
    if scene.lights.power <= 0.0:
        return NO_SPHERES
    pilot = task._replace(sequence=PILOT, min_bounces=1, max_bounces=IMPORTON_BOUNCES, flux_unit=1.0)
    importons = trace(seen_from(scene, eye.camera), pilot, IMPORTONS)
    rays, need = np.empty((len(importons), RAY_FLOATS), np.float32), np.empty(len(importons))
    look_for_lights(scene.lights, importons, (pilot.seed, PILOT), rays, need)
    need = np.where(are_free(scene, eye.tracer, rays), need, 0.0)
    return equal_spheres(importons[:, :3].copy().view(np.float32).astype(np.float64), in_steps(need))


def seen_from(scene: PackedScene, camera: CameraArrays) -> PackedScene:
    """Returns the scene with the eye in place of its lights: a spot that covers the picture, or parallel light."""
    lights = pack_lights([eye_row(camera)])
    media = scene.photon_scene.media
    lamps = np.full_like(media.lamps[:1], media.eye)
    photon_scene = scene.photon_scene._replace(
        emitters=pack_emitters(lights.rows, lights.probability, np.zeros(1, np.bool_)),
        aliases=pack_aliases(lights.probability),
        others=np.zeros(1, np.int32),
        kinds=pack_kinds(lights.rows),
        are_points=False,
        lights=lights,
        projection=NO_PROJECTION,
        media=media._replace(lamps=lamps),
    )
    return scene._replace(photon_scene=photon_scene)


def eye_row(camera: CameraArrays) -> Row:
    """Returns the row of a light that shines on what a camera sees, and a little around it. All of its photons together
    have a flux of 1."""
    x, y, z = (camera.eye + camera.near * camera.forward).tolist()
    forward = (float(camera.forward[0]), float(camera.forward[1]), float(camera.forward[2]))
    wide2 = sum(side * side for side in (*camera.right.tolist(), *camera.down.tolist()))
    if camera.is_parallel:
        radius = math.sqrt(wide2)
        middle = along((x, y, z), forward, radius)
        strength = 1.0 / (math.pi * wide2)
        return distant_row(forward, (strength, strength, strength), 1.0, Sphere(middle, radius))
    cosine = 1.0 / math.sqrt(1.0 + wide2)
    strength = 1.0 / (2.0 * math.pi * (1.0 - cosine))
    return spot_row((x, y, z), forward, (strength, strength, strength), (cosine, cosine))


@compiled
def look_for_lights(
    lights: LightArrays, importons: Words, key: tuple[np.uint64, int], rays: Floats, need: Doubles
) -> None:
    """Writes for each importon a ray to a light, and what it brings to the eye if nothing is in between."""
    for i in range(len(importons)):
        words = importons[i]
        point = (single(words[0]), single(words[1]), single(words[2]))
        normal = in_double(unpack_unit(words[PHOTON_NORMAL]))
        u = random4(key[0], key[1], i, STREAM_LIGHT, 0)
        light = sample_light(lights, point, (u[0], u[1], u[2]))
        start = along(point, normal, 2.0 * ORIGIN_OFFSET * largest_magnitude(point))
        ahead = scale(light.direction, light.distance * SHADOW_END)
        need[i] = (
            max(dot(normal, light.direction), 0.0) * mean(light.irradiance) * mean(unpack_flux(words[PHOTON_FLUX]))
        )
        for axis in range(3):
            rays[i, axis], rays[i, 4 + axis] = start[axis], ahead[axis]
        rays[i, 3], rays[i, 7] = 0.0, 1.0


@compiled
def single(word: np.uint32) -> float:
    """Returns the number whose float32 bits a word has."""
    return np.float64(np.uint32(word).view(np.float32))


def are_free(scene: PackedScene, tracer: Tracer, rays: Floats) -> Bools:
    """Returns which rays meet nothing but a few sheets, (n,) bool."""
    sheets = (scene.surfaces.flags & SHEET)[scene.surfaces.material_ids] != 0
    free, left = np.zeros(len(rays), np.bool_), np.arange(len(rays))
    for _ in range(MOST_PANES + 1):
        hits = as_records(tracer.closest_hit(rays[left]), HIT)
        is_free = hits["prim_id"] == MISS
        free[left[is_free]] = True
        goes_on = ~is_free & sheets[np.where(is_free, 0, hits["prim_id"])]
        rays[left[goes_on], 3] = hits["t"][goes_on] * np.float32(1.0 + 1e-5)
        left = left[goes_on]
    return free


def in_steps(need: Doubles) -> Longs:
    """Returns need in whole steps, (n,) int64."""
    total = float(np.cumsum(need)[-1]) if len(need) else 0.0  # one after the other, unlike a sum
    if not 0.0 < total < math.inf:
        return np.zeros(len(need), np.int64)
    most = MOST_NEED * total / len(need)
    return np.ceil(np.minimum(need, most) / most * NEED_STEPS).astype(np.int64)


def equal_spheres(places: Doubles, need: Longs) -> Doubles:
    """Returns spheres (k, 4) around places (n, 3), cut where half of the need is on either side, the greatest need
    first."""
    parts = [np.flatnonzero(need > 0)]
    if len(parts[0]) == 0:
        return NO_SPHERES
    while len(parts) < NEEDED_SPHERES:
        largest = int(np.argmax([need[part].sum() if len(part) > 1 else 0 for part in parts]))
        part = parts[largest]
        if len(part) < 2:
            break
        axis = int(np.argmax(np.ptp(places[part], axis=0)))
        order = part[np.argsort(places[part, axis], kind="stable")]
        sums = np.cumsum(need[order])
        middle = min(max(int(np.searchsorted(sums, sums[-1] // 2)), 1), len(part) - 1)
        parts[largest : largest + 1] = [order[:middle], order[middle:]]
    low, high = (np.array([bound(places[part], axis=0) for part in parts]) for bound in (np.min, np.max))
    across = np.ptp(np.concatenate([low, high]), axis=0)
    sides = np.square(high - low)
    radius = 0.5 * np.sqrt(sides[:, 0] + sides[:, 1] + sides[:, 2])
    return np.column_stack([0.5 * (low + high), np.maximum(SPHERE_MARGIN * radius, LEAST_RADIUS * float(across.max()))])
