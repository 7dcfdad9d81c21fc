"""Chooses a GPU's kernel by what it is to trace: from rates that were measured, the one table of which is here.

All kernels find the same hits, so that a choice is of speed alone. What was never measured chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

#: The word that names no kernel and has one chosen.
AUTO = "auto"

#: What is used where nothing is known to be faster: good for all kinds of rays and for small launches (NOTES.md).
DEFAULT_KERNEL = "while-while"

#: Another kernel is chosen only where its rate is higher by more than this share: less may be the machine's mood.
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


class Way(Enum):
    """Says how rays reach a kernel, which is compiled otherwise for each.

    RING: in batches that queues and ports hand over, whatever the dispatch.
    LAUNCH: whole arrays, a launch over each.
    """

    RING = "ring"
    LAUNCH = "launch"


@dataclass(frozen=True, kw_only=True)
class RateFacts:
    """Holds the rates of kernels side by side on the same rays, from one run.

    architecture: of the GPU, such as "sm_90".
    way, rays: of the measurement.
    rates: millions of rays per second by the name of the kernel, medians; at least one.
    source: where the figures come from.
    """

    architecture: str
    way: Way
    rays: RayClass
    rates: Mapping[str, float]
    source: str

    @property
    def fastest(self) -> str:
        """Returns the kernel to choose: the fastest, or the default where that is as fast but for `LEAD`."""
        best = max(self.rates, key=lambda name: self.rates[name])
        return DEFAULT_KERNEL if self.rates[best] <= (1.0 + LEAD) * self.rates.get(DEFAULT_KERNEL, 0.0) else best


@dataclass(frozen=True)
class KernelChoice:
    """Is a kernel by name, None for the only one that a device has, and in words why it is this one."""

    name: str | None
    reason: str


_ALONE = "one H200, BART's kitchen, reinserted tree, kernel alone, medians of 15 in turn: NOTES.md, Reinsertion, "

#: What the program knows by itself; `tracecore tune` measures more. In the ring, photons were shaded and stored too:
#: the CPU's side is the limit there, and the kernel that leads by far alone does not lead any more.
FACTS = (
    RateFacts(
        architecture="sm_90",
        way=Way.RING,
        rays=RayClass.INCOHERENT,
        rates={"while-while": 966, "replacing-compressed-bvh8": 847, "warp": 558},
        source="one H200, BART's kitchen made plain, binned tree, photon run end to end, medians of three: NOTES.md, "
        "Resident dispatch",
    ),
    RateFacts(
        architecture="sm_90",
        way=Way.LAUNCH,
        rays=RayClass.COHERENT,
        rates={"while-while": 7555, "persistent-if-if": 7706, "replacing-compressed-bvh8": 6252},
        source=f"{_ALONE}primary",
    ),
    RateFacts(
        architecture="sm_90",
        way=Way.LAUNCH,
        rays=RayClass.INCOHERENT,
        rates={"while-while": 3479, "persistent-if-if": 3467, "replacing-compressed-bvh8": 5040},
        source=f"{_ALONE}photon; bounce 1 and bounce 4 choose the same",
    ),
    RateFacts(
        architecture="sm_90",
        way=Way.LAUNCH,
        rays=RayClass.OCCLUSION,
        rates={"while-while": 7074, "persistent-if-if": 6812, "replacing-compressed-bvh8": 10721},
        source=f"{_ALONE}ao",
    ),
)


def choose_kernel(
    architecture: str, rays: RayClass | None, way: Way = Way.RING, tuned: Sequence[RateFacts] = ()
) -> KernelChoice:
    """Returns the kernel that is fastest for what is to be traced, as far as is known.

    architecture: of the GPU, such as "sm_90"; one that was never measured takes the facts of the nearest.
    rays: what most of them are like, None for rays of all kinds.
    way: how they reach the kernel.
    tuned: what was measured on this very GPU, which goes before `FACTS`.
    """
    if rays is None:
        return KernelChoice(DEFAULT_KERNEL, f"{AUTO}: rays of all kinds")
    for facts in tuned:
        if (facts.way, facts.rays) == (way, rays):
            return KernelChoice(facts.fastest, f"{AUTO}: {rays.value} rays, tuned on this GPU")
    known = [facts for facts in FACTS if (facts.way, facts.rays) == (way, rays)]
    if not known:
        return KernelChoice(DEFAULT_KERNEL, f"{AUTO}: {rays.value} rays, the default as none was measured")
    nearest = min(known, key=lambda facts: _distance(facts.architecture, architecture))
    instead = "" if nearest.architecture == architecture else f" instead of {architecture}"
    return KernelChoice(nearest.fastest, f"{AUTO}: {rays.value} rays, {nearest.architecture}{instead}")


def _distance(one: str, other: str) -> int:
    """Returns how far two architectures lie apart, by the numbers in their names."""
    a, b = (int("".join(filter(str.isdigit, name)) or 0) for name in (one, other))
    return abs(a - b)
