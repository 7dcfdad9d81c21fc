"""Chooses a GPU's kernel by what it is to trace: from rates that were measured, the one table of which is here.

All kernels find the same hits, so that a choice is of speed alone. What was never measured chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

#: The word that names no kernel and has one chosen.
AUTO = "auto"

#: What is used where nothing is known to be faster: good for all kinds of rays and for small launches
#: (docs/lab/kernel-variants.md).
DEFAULT_KERNEL = "while-while"

#: A kernel that is faster by no more than this share does not count as faster: that may be the machine's mood.
LEAD = 0.05


class RayClass(Enum):
    """Says what most rays are like, as far as kernels are the faster or slower for it.

    COHERENT: neighbours take the same way, as from a camera, to a point light, or by mirrors.
    INCOHERENT: they do not, as photons and rays after a diffuse bounce.
    OCCLUSION: short, incoherent, and only asking whether anything is hit, as of ambient occlusion.
    """

    COHERENT = "coherent"
    INCOHERENT = "incoherent"
    OCCLUSION = "occlusion"


class RayWay(Enum):
    """Says how rays reach a kernel, which is compiled otherwise for each.

    RING: in batches that queues and ports hand over, whatever the dispatch.
    LAUNCH: whole arrays, a launch over each.
    WAVES: launches over paths and their shadow rays in turn, which a GPU shades in between.
    """

    RING = "ring"
    LAUNCH = "launch"
    WAVES = "waves"


@dataclass(frozen=True, kw_only=True)
class RateFacts:
    """Holds the rates of kernels side by side on the same rays, from one run.

    architecture: of the GPU, such as "sm_90".
    way, rays: of the measurement.
    rates: millions of rays per second by the name of the kernel, medians; at least one, those with simpler trees first.
    source: where the figures come from.
    """

    architecture: str
    way: RayWay
    rays: RayClass
    rates: Mapping[str, float]
    source: str

    @property
    def chosen(self) -> str:
        """Returns the kernel to choose: of those that are as fast as the fastest, but for `LEAD`, the default or else
        the first, as kernels of binary trees, which take least to build, come before others.
        """
        enough = max(self.rates.values()) / (1.0 + LEAD)
        return next(name for name in (DEFAULT_KERNEL, *self.rates) if self.rates.get(name, 0.0) >= enough)


@dataclass(frozen=True)
class KernelChoice:
    """Is a kernel by name, None for the only one that a device has, and in words why it is this one."""

    name: str | None
    reason: str


#: Kernels that lead somewhere (docs/comparing-kernels.md): the default first, those with simpler trees before others.
#: `packet-32-bvh4`, which leads for camera rays alone, is not among them: what a coherent picture has beside these,
#: shadows and mirrors, takes twice as long in packets.
CANDIDATES = (
    "while-while",
    "persistent-if-if",
    "persistent-speculative-if-if",
    "replacing-while-while",
    "persistent-bvh4",
    "compressed-bvh8",
    "replacing-compressed-bvh8",
)

_WAVES = "one H200, the shipped kitchen, a picture by `path` whose rays it shades: docs/lab/kernel-choice.md"
_TUNED = "one H200, BART's kitchen, `tracecore tune --repeat 7`, medians: docs/lab/kernel-choice.md"

#: What the program knows by itself; `tracecore tune` measures more.
FACTS = tuple(
    RateFacts(
        architecture="sm_90",
        way=way,
        rays=rays,
        rates=dict(zip(CANDIDATES, rates, strict=True)),
        source=_TUNED,
    )
    for rays, way, rates in (
        (RayClass.COHERENT, RayWay.RING, (935, 1071, 1124, 988, 1062, 1109, 1067)),
        (RayClass.COHERENT, RayWay.LAUNCH, (6572, 6496, 6824, 5622, 7397, 5793, 4866)),
        (RayClass.INCOHERENT, RayWay.RING, (1088, 1283, 1311, 1039, 1196, 1330, 1049)),
        (RayClass.INCOHERENT, RayWay.LAUNCH, (3632, 3696, 3786, 3763, 4326, 3218, 4786)),
        (RayClass.OCCLUSION, RayWay.RING, (1148, 1314, 1308, 1137, 1240, 1298, 1124)),
        (RayClass.OCCLUSION, RayWay.LAUNCH, (8599, 7511, 7520, 9966, 10810, 6049, 10390)),
    )
) + (
    RateFacts(
        architecture="sm_90",
        way=RayWay.WAVES,
        rays=RayClass.INCOHERENT,
        rates={"while-while": 3340, "persistent-if-if": 3460, "persistent-bvh4": 4660},
        source=_WAVES,
    ),
)


def choose_kernel(
    architecture: str, rays: RayClass | None, way: RayWay = RayWay.RING, tuned: Sequence[RateFacts] = ()
) -> KernelChoice:
    """Returns the kernel that is fastest for what is to be traced, as far as is known.

    architecture: of the GPU, such as "sm_90"; one that was never measured takes the facts of the nearest.
    rays: what most of them are like, None for rays of all kinds.
    way: how they reach the kernel; of WAVES that were never measured, that of launches is taken.
    tuned: what was measured on this very GPU, which goes before `FACTS`.
    """
    if rays is None:
        return KernelChoice(DEFAULT_KERNEL, f"{AUTO}: rays of all kinds")
    for facts in tuned:
        if (facts.way, facts.rays) == (way, rays):
            return KernelChoice(facts.chosen, f"{AUTO}: {rays.value} rays, tuned on this GPU")
    known = [facts for facts in FACTS if (facts.way, facts.rays) == (way, rays)]
    if not known and way is RayWay.WAVES:
        return choose_kernel(architecture, rays, RayWay.LAUNCH, tuned)
    if not known:
        return KernelChoice(DEFAULT_KERNEL, f"{AUTO}: {rays.value} rays, the default as none was measured")
    nearest = min(known, key=lambda facts: _distance(facts.architecture, architecture))
    instead = "" if nearest.architecture == architecture else f" instead of {architecture}"
    return KernelChoice(nearest.chosen, f"{AUTO}: {rays.value} rays, {nearest.architecture}{instead}")


def _distance(one: str, other: str) -> int:
    """Returns how far two architectures lie apart, by the numbers in their names."""
    a, b = (int("".join(filter(str.isdigit, name)) or 0) for name in (one, other))
    return abs(a - b)
