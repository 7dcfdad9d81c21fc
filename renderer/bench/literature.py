"""What papers printed that compare ways to trace rays on a GPU: the rows of their tables, their rays, their figures.

None of the papers was at hand when this was written. So every figure says how it is known (`Mark`), and one that is
not known is not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Mark(Enum):
    """How a published figure is known."""

    QUOTED = "as quoted by others"
    RECALLED = "recalled, not checked against the paper"


@dataclass(frozen=True)
class Published:
    """A kernel on a kind of rays, millions of rays per second: simulated with memory that takes no time, and measured.
    None: not known."""

    simulated: float | None
    measured: float | None
    mark: Mark

    @property
    def of_simulated(self) -> float | None:
        """Measured over simulated."""
        return self.measured / self.simulated if self.measured and self.simulated else None


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A table or figure to be made again.

    name: on the command line. citation: author, title, year. what: it shows. rows: kernels by their names in the paper;
    the first is the one that others are compared with. kinds: of rays. size: pixels. repeats: rounds. bound_rays: of
    each kind, from which SIMD efficiencies and bounds are simulated; 0 for none. has_photon_run: whether photons are
    also traced from end to end, in a scene made plain. notes: below the tables.
    """

    name: str
    citation: str
    what: str
    rows: Mapping[str, str]
    kinds: tuple[str, ...]
    size: tuple[int, int]
    repeats: int = 5
    bound_rays: int = 0
    has_photon_run: bool = False
    notes: tuple[str, ...] = ()


# ------------------------------------------------------------------------------------------------------- Aila, Laine


def _rates(mark: Mark, **of_kinds: tuple[float | None, float | None]) -> dict[str, Published]:
    """By kind of rays, from simulated and measured ones."""
    return {kind: Published(*rates, mark) for kind, rates in of_kinds.items()}


#: On a GTX 285: by scene, row and kind of rays. Rows that are not here were not found, and so were other scenes' ones.
AILA_LAINE_RATES: Mapping[str, Mapping[str, Mapping[str, Published]]] = {
    "Conference": {
        "packet": _rates(Mark.QUOTED, primary=(149.2, 63.6), ao=(100.7, 39.4), diffuse=(36.7, 16.6)),
        "while-while": _rates(Mark.QUOTED, primary=(166.7, 88.0), ao=(160.7, 86.3), diffuse=(81.4, 44.5)),
        "if-if": _rates(Mark.QUOTED, primary=(129.3, 90.1), ao=(131.6, 88.8), diffuse=(70.5, 45.3)),
        "speculative if-if": _rates(Mark.QUOTED, primary=(132.9, 94.3), ao=(139.2, 92.7), diffuse=(76.5, 46.0)),
        "persistent packet": _rates(Mark.QUOTED, primary=(149.2, 122.1), ao=(100.7, 86.1), diffuse=(36.7, 32.3)),
        "persistent while-while": _rates(Mark.QUOTED, primary=(166.7, 135.6))
        | _rates(Mark.RECALLED, ao=(160.7, 130.7), diffuse=(81.4, 62.4)),
        "persistent speculative while-while": _rates(
            Mark.RECALLED, primary=(165.7, 142.2), ao=(169.1, 134.5), diffuse=(92.9, 60.9)
        ),
    },
    "Sibenik": {
        "persistent speculative while-while": _rates(
            Mark.RECALLED, primary=(None, 117.5), ao=(None, 119.6), diffuse=(None, 46.8)
        ),
    },
}

AILA_LAINE = Paper(
    name="aila-laine-2009",
    citation="Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009",
    what="table 1: rates, simulated and measured, of camera, ambient occlusion and diffuse rays",
    rows={
        "packet": "packet-32",
        "while-while": "while-while",
        "if-if": "if-if",
        "speculative while-while": "speculative-while-while",
        "speculative if-if": "speculative-if-if",
        "persistent packet": "persistent-packet-32",
        "persistent while-while": "persistent-while-while",
        "persistent if-if": "persistent-if-if",
        "persistent speculative while-while": "persistent-speculative-while-while",
        "persistent speculative if-if": "persistent-speculative-if-if",
    },
    kinds=("primary", "ao", "diffuse"),
    size=(1024, 768),
    bound_rays=1 << 13,
    notes=(
        "simulated: what the GPU could reach if its memory took no time (tracecore simulate).",
        "Conference, Sibenik: simulated -> measured on a GTX 285, as quoted by others; the paper was not at hand. The "
        "source is a public research note on marching rays through voxels, which names aila2009hpg_paper.pdf.",
        "?: recalled, not checked against the paper. -: not found.",
    ),
)


# --------------------------------------------------------------------------------------- Lier, Stamminger, Selgrad

#: What the kernels are compared with, by author and year.
LIER_REFERENCES: Mapping[str, str] = {
    "Aila 2012": "replacing-while-while",
    "Ylitie 2017": "compressed-bvh8",
    "Guthe 2014": "bvh4",
}

LIER = Paper(
    name="lier-2018",
    citation="Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018",
    what="figure 1: rates over those of kernels with a ray per thread, by kind of rays",
    rows={
        "Aila, Laine, Karras 2012": "replacing-while-while",
        "Ylitie, Karras, Laine 2017": "compressed-bvh8",
        "the same, lanes get new rays": "replacing-compressed-bvh8",
        "Guthe 2014": "bvh4",
        "2 lanes a ray, tree of width 2": "grouped-2",
        "4 lanes, width 4": "grouped-4",
        "8 lanes, width 8": "grouped-8",
        "16 lanes, width 16": "grouped-16",
        "32 lanes, width 32": "grouped-32",
        "32 lanes, width 8": "warp-bvh8",
        "32 lanes, width 4": "warp-bvh4",
        "32 lanes, width 2": "warp",
        "the same, 8 triangles at once": "warp-triangles-8",
        "the same, 32 triangles at once": "warp-triangles-32",
    },
    kinds=("primary", "ao", "bounce1", "bounce2", "bounce3", "bounce4"),
    size=(1024, 768),
    notes=(
        "published: no figure was found. The abstract says that spreading wide trees, up to eight children, over lanes "
        'of a warp brings "improved traversal performance especially for increasingly incoherent rays".',
    ),
)


# ------------------------------------------------------------------------------------------------------------ Barczak

BARCZAK = Paper(
    name="barczak-2016",
    citation="Barczak: GPU Ray Tracing the Wrong Way, 2016",
    what="bars: photons of the kitchen, from end to end and by the kernel alone, over a ray per thread",
    rows={
        "a ray per lane (raytracer.glsl)": "while-while",
        "packets of 8 rays (eight_ray.inl)": "packet-8",
        "packets of 32 rays": "packet-32",
        "a ray per thread of 8 lanes (single_ray.inl)": "warp",
        "the same, 8 triangles at once (single_ray_vectri_x8.inl)": "warp-triangles-8",
        "the same, 16 at once (single_ray_vectri_x16.inl)": "warp-triangles-32",
        "the same, 4-wide tree (single_ray_qbvh.inl)": "warp-bvh4",
        "the same, 8-wide tree": "warp-bvh8",
    },
    kinds=("photon",),
    size=(512, 384),
    repeats=3,
    has_photon_run=True,
    notes=(
        "published: the bars are pictures, their heights were not found. They are of an Intel GPU (HD 4400), thousands "
        "of rays per second, so that only their order could be compared. A comment in the author's raytracer.glsl says "
        "4500 to 5500 thousand rays per second, at some time while it was written.",
        "A warp here has 32 lanes, a thread there 8 or 16: ours test 32 triangles where theirs test 16.",
        "alone: the kernel on rays of the photons' stream. emulated, streamed, resident: the photon run from end to "
        "end, shading and storing included, by how batches reach the kernel; busy: share of it spent tracing.",
    ),
)


# ------------------------------------------------------------------------------------------------------------ Günther

GUNTHER = Paper(
    name="gunther-2007",
    citation="Günther, Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based Packet Traversal, 2007",
    what="tables 1 to 3: scene, tree and its building; frames per second; lanes without work",
    rows={
        "a ray per thread": "while-while",
        "packets of 8 rays": "packet-8",
        "packets of 32 rays": "packet-32",
        "persistent packets of 32 rays": "persistent-packet-32",
    },
    kinds=("primary", "shadow"),
    size=(1024, 1024),
    bound_rays=1 << 13,
    notes=(
        'published: the tables were not found. The abstract says "12.7 million triangle Power Plant at 1024x1024 image '
        'resolution with 3 fps, including shading and shadows".',
        "frames/s: of rays alone, one for each pixel, without shading; with shadows: and one to a light from each hit.",
        "build seconds: until the tree is ready to be traversed; on the first line with loading machine code.",
        "lanes without work: share of a warp's lanes that have none of their own in visits of nodes and in tests of "
        "triangles.",
    ),
)

PAPERS = {paper.name: paper for paper in (AILA_LAINE, LIER, BARCZAK, GUNTHER)}
