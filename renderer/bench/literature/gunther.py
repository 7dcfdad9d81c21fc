"""This module has tables 1 to 3 of Günther, Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet
Traversal, 2007, on a GeForce 8800 GTX and a Core 2 at 2.4 GHz (Boeing 777: an Opteron at 2.0 GHz).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from renderer.bench.literature.paper import Paper


@dataclass(frozen=True)
class Construction:
    """This is a row of table 1: seconds to build a tree by exact evaluation of the surface area heuristic, by bins, and
    by fewer bins.

    triangles: of the scene.
    exact, binned, fast: seconds by the three ways.
    quality, fast_quality: the cost by the heuristic relative to exact evaluation, per cent, by bins and by fewer bins.
    """

    triangles: int
    exact: float
    binned: float
    quality: float
    fast: float
    fast_quality: float


@dataclass(frozen=True)
class SceneSize:
    """This is a row of table 2, in megabytes: a kd-tree, the same with ropes, and the BVH with 28 bytes a node. None is
    what the table does not have.
    """

    kd_tree: float | None
    with_ropes: float | None
    bvh: float


@dataclass(frozen=True)
class Frames:
    """This is a row of table 3, in frames per second at 1024x1024. None is what the table does not have.

    primary: camera rays alone.
    precomputed: camera rays with a test that is precomputed.
    shadowed: with shadows of one point light.
    kd_tree: of the tracer before, camera rays and with secondary ones.
    """

    primary: float
    precomputed: float | None
    shadowed: float
    kd_tree: tuple[float, float] | None = None


CONSTRUCTION: Mapping[str, Construction] = {
    "Bunny": Construction(69_451, 0.168, 0.048, 99.8, 0.037, 98.9),
    "Fairy Forest": Construction(174_117, 0.47, 0.12, 100.2, 0.10, 98.8),
    "Conference": Construction(282_641, 0.80, 0.20, 99.4, 0.15, 92.5),
    "Buddha": Construction(1_087_716, 4.38, 0.84, 100.0, 0.66, 98.9),
    "Soda Hall": Construction(2_169_132, 8.78, 1.59, 101.6, 1.28, 103.5),
    "Power Plant": Construction(12_748_510, 119.0, 8.1, 100.5, 6.6, 99.4),
    "Boeing 777": Construction(348_216_139, 5605.0, 667.0, 98.1, 572.0, 94.8),
}

#: Triangles of a scene that table 1 does not have.
SHIRLEY6_TRIANGLES = 804

SIZES: Mapping[str, SceneSize] = {
    "Shirley6": SceneSize(0.0824, 0.2663, 0.0210),
    "Bunny": SceneSize(6.9, 23.0, 2.14),
    "Fairy Forest": SceneSize(14.9, 47.9, 4.78),
    "Conference": SceneSize(27.8, 85.0, 7.62),
    "Soda Hall": SceneSize(None, None, 55.0),
    "Power Plant": SceneSize(None, None, 230.0),
}

#: Bytes of a node in table 2.
PUBLISHED_NODE_BYTES = 28

FRAMES: Mapping[str, Frames] = {
    "Fairy Forest": Frames(13.2, 14.6, 4.8, (10.6, 4.0)),
    "Conference": Frames(16.0, 19.0, 6.1, (16.7, 6.7)),
    "Soda Hall": Frames(13.6, 16.2, 5.7),
    "Power Plant": Frames(6.4, None, 2.9),
}

#: Figure 2: share of a packet's steps in which a ray is active, in two views of the Power Plant.
ACTIVE_SHARES = (0.88, 0.85)

GUNTHER = Paper(
    name="gunther-2007",
    citation="Günther, Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007",
    what="tables 1 to 3: trees, their building, quality and sizes; frames per second; lanes without work",
    rows={
        "a ray per thread": "while-while",
        "packets of 8 rays": "packet-8",
        "packets of 32 rays": "packet-32",
        "persistent packets of 32 rays": "persistent-packet-32",
    },
    kinds=("primary", "shadow"),
    size=(1024, 1024),
    bound_rays=1 << 13,
    has_construction=True,
    notes=(
        "seconds: to build the binary tree on one CPU core, the median of the rounds; exact: every border of two "
        "triangles is tried; binned: at most 128 bins, one for 6 triangles, at least 8; fast: 32, 16, 4. quality: the "
        "cost of exact evaluation over that of the tree, so that a cheaper tree has more; the paper's figures are "
        "taken to mean the same.",
        "trees: in megabytes, published with 28 bytes a node; kd-tree and with ropes: the paper's kd-trees of the same "
        "scenes, and the same with ropes between neighbouring leaves.",
        "frames/s: of rays alone, one for each pixel, without shading; with shadows: and one from each hit to a point "
        "light, the scene's first, or in the middle of a scene that has none. Published: with shading, on a GeForce "
        "8800 GTX; in brackets with the precomputed projection test; kd-tree: the tracer before.",
        "lanes without work: share of a warp's lanes that have none of their own in visits of nodes and in tests of "
        "triangles. Published, figure 2: of all steps of packets, in two views of the Power Plant.",
    ),
)
