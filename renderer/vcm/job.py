"""What passes of joined paths work on: their jobs, and what the loops of BSDFs are handed."""

from typing import NamedTuple

import numpy as np

from renderer.camera_paths.paths import EyeChunk
from renderer.camera_paths.task import EyeTask
from renderer.scene.packed_scene import CameraArrays, PackedScene
from renderer.simd.bsdf_kinds import BsdfKind
from renderer.vcm.lamps import LampDensities
from renderer.vcm.vertices import LightVertices, VertexTable
from renderer.vcm.weights import Chances
from shaders.float32 import Doubles, Ints, Longs
from tracecore.compilation.cached import inlined


class PathRules(NamedTuple):
    """Says how paths go on. max_bounces: surfaces that a path may meet from lamp to eye. is_of_lamps: whether paths
    come from lamps, and bring flux. chances: of merging."""

    max_bounces: np.int32
    is_of_lamps: bool
    chances: Chances


@inlined
def own_rules(rules: PathRules) -> PathRules:
    """Returns borrowed rules as the loops of BSDFs take them."""
    chances = rules.chances
    return PathRules(rules.max_bounces, rules.is_of_lamps, Chances(chances.merging, chances.connecting))


class JoinRules(NamedTuple):
    """Says how paths are joined with those from lamps. paths: how they go on. vertices: of those from lamps."""

    paths: PathRules
    vertices: VertexTable


class LightJob(NamedTuple):
    """Says which paths of a pass leave the lamps. All threads share it."""

    scene: PackedScene
    task: EyeTask  # whose seed is another than that of the eye's paths
    lamps: LampDensities
    rules: PathRules
    pixels: Ints  # (paths,) int32, the numbers of the paths
    taken: Longs  # (1,) int64, how many of them threads have taken
    per_path: float  # 1 over the number of all paths


class JoinedJob(NamedTuple):
    """A pass over the pixels, shared by all threads. What it has in common with `renderer.camera_paths.paths.EyeJob`
    has the same names."""

    scene: PackedScene
    task: EyeTask
    camera: CameraArrays
    size: tuple[int, int]
    pixels: Ints
    taken: Longs
    image: Doubles
    lamps: LampDensities
    rules: PathRules
    vertices: LightVertices  # of the paths from lamps


class Vertices(NamedTuple):
    """What the loops of a BSDF work on. tables: address of what was measured (`shaders.bsdfs.bsdf.Seen`)."""

    kind: BsdfKind
    chunk: EyeChunk
    rules: PathRules
    tables: int
