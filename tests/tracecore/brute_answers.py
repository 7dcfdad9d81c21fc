"""What brute force answers to the rays of the cases of `tracecore.checks`."""

import functools
from typing import NamedTuple

import numpy as np

from tracecore.checks import cutout_cases, ray_cases
from tracecore.checks.ray_cases import Floats
from tracecore.cutouts import CutoutTables, tables_of
from tracecore.rays import MISS
from tracecore.tracers.brute_force import BruteForceTracer


class Answers(NamedTuple):
    """What brute force answers to both queries."""

    triangles: Floats
    rays: Floats
    closest: Floats
    occlusion: Floats


@functools.cache
def answers(name: str, count: int) -> Answers:
    """Of so many rays of a case."""
    triangles, rays = ray_cases.CASES[name](count)
    closest = BruteForceTracer(triangles).closest_hit(rays)
    return Answers(triangles, rays, closest, occlusion_of(closest))


def occlusion_of(closest: Floats) -> Floats:
    """What an any-hit query answers for the same rays: zeros where there is a hit."""
    return np.where(closest.view(np.uint32)[:, 3:] == MISS, closest, np.float32(0.0))


class CutoutAnswers(NamedTuple):
    tables: CutoutTables
    answers: Answers


@functools.cache
def cutout_answers(name: str, count: int) -> CutoutAnswers:
    """What brute force answers to so many rays of a case."""
    triangles, rays = cutout_cases.CASES[name](count)
    tables = tables_of(cutout_cases.random_cutouts(triangles), len(triangles))
    assert tables is not None
    with BruteForceTracer(triangles, cutouts=tables) as tracer:
        closest = tracer.closest_hit(rays)
    return CutoutAnswers(tables, Answers(triangles, rays, closest, occlusion_of(closest)))
