"""This module has the densities of lamps: how likely a photon is to leave one towards a point, beside how likely a
shadow ray from that point is to be sent there."""

import math
from typing import NamedTuple

import numpy as np

from renderer.scene.light_tree import chance_at
from renderer.scene.packed_scene import PackedScene
from renderer.scene.photon_scene import are_halves, first_halves
from renderer.vcm.weights import Sums
from shaders.float32 import ONE, ZERO, Float32, Floats, Ints, Longs
from shaders.lights.registry import OUTSIDE, PLACE, light_pdf
from shaders.lights.row import LIGHT_AREA, LIGHT_KIND
from shaders.vector import Vec3, in_double
from tracecore.compilation.cached import inlined

#: What a lamp is: a surface, a place of no size, or outside of the scene.
ON_SURFACE, AT_PLACE, FROM_OUTSIDE = range(3)


class LampDensities(NamedTuple):
    """Holds how photons leave lamps.

    kinds: (lamps,) int32, ON_SURFACE or another.
    leaving: (lamps,) float32, density of a photon: of a surface per area, and solid angle, and cosine; of a place per
        solid angle; of what is outside per area of the disc that photons come from, and density of the direction.
    chosen: (lamps,) float32, of `LightArrays.probability`.
    of_lights: (lights,) int64, the lamp that each light is.
    emitters: (lights,) int64, the emitter that each light is of (`renderer.scene.photon_scene`).
    samples: shadow rays of a vertex.
    """

    kinds: Ints
    leaving: Floats
    chosen: Floats
    of_lights: Longs
    emitters: Longs
    samples: float


def lamp_densities(scene: PackedScene, samples: int) -> LampDensities:
    """Returns the densities of the lamps of a scene. samples: shadow rays of a vertex."""
    lights, lamps = scene.lights, scene.lamps
    of_lights = np.searchsorted(lamps.cumulative, lights.cumulative).astype(np.int64)
    share = np.bincount(of_lights, lights.probability, len(lamps.rows))
    numbers, areas = lamps.rows[:, LIGHT_KIND], lamps.rows[:, LIGHT_AREA]
    kinds = np.where(np.isin(numbers, OUTSIDE), FROM_OUTSIDE, np.where(np.isin(numbers, PLACE), AT_PLACE, ON_SURFACE))
    over = np.choose(kinds, [math.pi * areas, np.full(len(areas), 4.0 * math.pi), areas])
    leaving = np.divide(share, over, out=np.zeros(len(share)), where=over > 0.0)
    stays = np.ones(len(lights.rows), np.bool_)
    stays[first_halves(are_halves(lights.rows)) + 1] = False
    return LampDensities(
        kinds.astype(np.int32),
        leaving.astype(np.float32),
        lamps.probability.astype(np.float32),
        of_lights,
        np.cumsum(stays) - 1,
        float(samples),
    )


@inlined
def sums_of_first(
    scene: PackedScene,
    lamps: tuple[LampDensities, int],
    ray: tuple[Vec3, Vec3, float],
    cosine: float,
) -> Sums:
    """Returns the sums of a photon's path at the first surface.

    lamps: their densities, and that which it has left.
    ray: the surface's point, the unit direction towards the lamp, and how far it is, world units.
    cosine: of that and the flat normal.
    """
    (densities, lamp), (point, direction, distance) = lamps, ray
    kind, leaving = densities.kinds[lamp], densities.leaving[lamp]
    over = leaving * cosine
    if over <= ZERO:
        return Sums(ZERO, ZERO, ZERO)
    chance = chance_at(scene.light_records.tree, lamp, point)
    pdf = Float32(light_pdf(scene.lamps, lamp, in_double(point), in_double(direction), np.float64(distance)))
    samples = Float32(densities.samples)
    if kind == ON_SURFACE:
        return Sums(samples * pdf * chance / over, ONE / over, ZERO)
    arriving = samples * densities.chosen[lamp] * chance / over
    if kind == AT_PLACE:
        return Sums(arriving * distance * distance, ZERO, ZERO)
    over *= pdf / densities.chosen[lamp]
    return Sums(arriving, ONE / over if over > ZERO else ZERO, ZERO)


@inlined
def others_of_glow(densities: LampDensities, lamp: int, sums: Sums, pdf: float, chance: float) -> float:
    """Returns how else light could be found that a path meets, over how it was.

    sums: of the path at the start of its ray.
    pdf, chance: the pdf_solid_angle with which one shadow ray from there would have met the lamp is their product, and
        the chance is that of the tree of lamps.
    """
    leaving = densities.leaving[lamp]
    if densities.kinds[lamp] == FROM_OUTSIDE:
        leaving *= pdf / densities.chosen[lamp]
    return Float32(densities.samples) * pdf * chance * sums.vcm + leaving * sums.vc
