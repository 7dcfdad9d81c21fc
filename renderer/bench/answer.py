"""This module says in words which kernel is fastest on which rays, by how much, and which figures speak for it; and
whose hits are wrong, which takes no part in that.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from renderer.bench.kernel_benchmark import Comparison, KernelMeasurement, over_views
from renderer.bench.table import number, share, struck_out
from renderer.bench.verdict import SpeedRatio, speed_ratio
from tracecore.analysis.steps import StepsPerRay

#: Figures that differ by less than this share are taken as alike.
ALIKE = 0.05

Value = Callable[[StepsPerRay], float | None]

#: What is counted of a ray, where less is better: in words, and where it stands.
COUNTS: tuple[tuple[str, Value], ...] = (
    ("nodes of a ray", lambda steps: steps.nodes),
    ("triangles of a ray", lambda steps: steps.triangles),
    ("bytes of a ray", lambda steps: steps.bytes),
)

#: Shares of a warp's lanes with work of their own, where more is better.
LANES: tuple[tuple[str, Value], ...] = (
    ("of lanes with work at nodes", lambda steps: steps.node_efficiency),
    ("of lanes with work at triangles", lambda steps: steps.triangle_efficiency),
)


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Holds what was measured on a kind of rays with right hits, as means over view points, the fastest first.

    kernels: of our kernels, at least one.
    peers: of other tracers.
    """

    kernels: Sequence[KernelMeasurement]
    peers: Sequence[KernelMeasurement]

    @property
    def best(self) -> KernelMeasurement:
        return self.kernels[0]

    @property
    def lead(self) -> SpeedRatio | None:
        """Returns how much faster it is than the runner-up; None where there is no other, or rounds are not known."""
        seconds = [one.seconds for one in self.kernels[:2]]
        return speed_ratio(*seconds) if len(seconds) == 2 and all(seconds) else None

    def rival(self, baseline: str) -> KernelMeasurement:
        """Returns what the fastest kernel is explained against: the baseline, or the runner-up if it is that itself, or
        the baseline is not among them.
        """
        others = self.kernels[1:]
        return next((one for one in others if one.kernel == baseline), others[0])


def answer(found: Comparison) -> list[str]:
    """Returns the answer of a comparison: a sentence on who is fastest where, then a text for each kind of rays, then
    one for each kernel or peer whose hits are wrong.

    found: the comparison, with all view points.
    """
    return [*_ranking(found), *struck_out(found)]


def _ranking(found: Comparison) -> list[str]:
    contests = _contests(over_views(found))
    places: dict[str, list[str]] = {}
    for contest in contests:
        places.setdefault(contest.best.kernel, []).append(f"{contest.best.kind}{_reserve(contest)}")
    if not contests:
        return ["No kernel has the right hits."] if found.measurements else []
    if len(found.kernels) < 2:
        return [f"Only {found.baseline} was measured: there is no other kernel to compare it with.", *_beside(contests)]
    lead = "; ".join(f"{kernel} on {', '.join(kinds)}" for kernel, kinds in places.items())
    emulated = " These are rates of the emulator, on a CPU: only steps, lanes and bounds tell of a GPU."
    return [
        f"Fastest: {lead}.{emulated if found.device == 'emulator' else ''}",
        *(_of_kind(found, contest) for contest in contests),
    ]


def what_next(found: Comparison, scene: str, command_line: Sequence[str]) -> list[str]:
    """Returns one or two commands that lead on from a comparison, each with what it is for.

    scene: as the user named it.
    command_line: the words that made the comparison, without the program's name.
    """
    if found.device == "cpu":
        first = f"{_command('simulate', scene)}    how well each kernel would use a GPU; none is needed"
    else:
        wins = [contest.best.kernel for contest in _contests(over_views(found))]
        kernel = max(wins, key=wins.count, default="auto")
        words = ("render", scene, "--device", found.device, "--kernel", kernel)
        first = f"{_command(*words)}    a picture, with the kernel that is fastest most often"
    if any(word == "--html" or word.startswith("--html=") for word in command_line):
        return [first]
    return [first, f"{_command(*command_line, '--html', 'output/bench.html')}    a page of it, with plots and pictures"]


def _command(*words: str) -> str:
    return shlex.join(("tracecore", *words))


def _contests(means: Comparison) -> list[Contest]:
    """Returns the contests that at least one of our kernels is in, by kind of rays, of those with right hits."""
    peers = {facts.peer for facts in means.peers}
    right = sorted((one for one in means.measurements if not one.wrong), key=lambda one: -one.rate)
    contests = []
    for kind in means.kinds:
        ranking = [one for one in right if one.kind == kind]
        kernels = [one for one in ranking if one.kernel not in peers]
        if kernels:
            contests.append(Contest(kernels=kernels, peers=[one for one in ranking if one.kernel in peers]))
    return contests


def _of_kind(found: Comparison, contest: Contest) -> str:
    best, baseline = contest.best, found.baseline
    name = f"{best.kernel}, the baseline," if best.kernel == baseline else best.kernel
    rate = f"{best.kind}: {name} traces {number(best.rate)} million rays per second"
    if len(contest.kernels) < 2:
        return " ".join([f"{rate}; no other kernel traced them rightly.", *_beside([contest])])
    second, rival = contest.kernels[1], contest.rival(baseline)
    over = "" if rival is second else f"{best.rate / rival.rate:.2f} times the baseline {baseline} and "
    runner_up = "the baseline and runner-up" if second.kernel == baseline else "the runner-up"
    ahead = f"{best.rate / second.rate:.2f} times {runner_up} {second.kernel}{_doubt(found, contest)}"
    return " ".join(filter(None, [f"{rate}, {over}{ahead}.", _why(best, rival), *_beside([contest])]))


def _reserve(contest: Contest) -> str:
    """Returns what is said beside the name of rays on which the lead is not clear."""
    if contest.lead is None or not contest.lead.is_known or contest.lead.words.startswith("clearly"):
        return ""
    if contest.lead.words.startswith("barely"):
        return " (barely)"
    return f" (the same as {contest.kernels[1].kernel})"


def _doubt(found: Comparison, contest: Contest) -> str:
    """Returns how sure the lead is: in the words of `SpeedRatio`, and at how many view points there is one."""
    best, second = contest.kernels[:2]
    rates = {(one.kernel, one.view): one.rate for one in found.measurements if one.kind == best.kind}
    views = [view for kernel, view in rates if kernel == best.kernel and (second.kernel, view) in rates]
    words = ""
    if contest.lead is not None:
        words = f", {contest.lead.words}" if contest.lead.is_known else ", of too few rounds to be sure"
    if len(views) > 1:
        ahead = sum(rates[best.kernel, view] > rates[second.kernel, view] for view in views)
        words += f", ahead of it at {ahead} of {len(views)} view points"
    return words


def _why(best: KernelMeasurement, rival: KernelMeasurement) -> str:
    """Returns the figures that speak for the fastest kernel, and those that speak against it."""
    gains = list(_gains(best, rival))
    if not gains:
        return ""
    good = [words for words, gain in gains if gain > 1.0 + ALIKE]
    bad = [words for words, gain in gains if gain < 1.0 / (1.0 + ALIKE)]
    if not good and not bad:
        return f"Its steps, lanes and bound are like those of {rival.kernel}: the reason is not among them."
    speaks = f"For it, beside {rival.kernel}: {'; '.join(good)}." if good else ""
    against = f"Against it{'' if good else f', beside {rival.kernel}'}: {'; '.join(bad)}." if bad else ""
    unknown = "" if good else "What makes it faster is not counted here, such as time for memory."
    return " ".join(filter(None, [speaks, against, unknown]))


def _gains(best: KernelMeasurement, rival: KernelMeasurement) -> list[tuple[str, float]]:
    """Returns for each figure that both have and that is not 0 what it is, and by which factor it is better."""
    gains = []
    if best.steps and rival.steps:
        for words, value in COUNTS:
            if (ours := value(best.steps)) and (theirs := value(rival.steps)):
                gains.append((f"{number(ours)} {words} instead of {number(theirs)}", theirs / ours))
        for words, value in LANES:
            if (ours := value(best.steps)) and (theirs := value(rival.steps)):
                gains.append((f"{share(ours)} {words} instead of {share(theirs)}", ours / theirs))
    if best.bound and rival.bound:
        words = f"a bound of {number(best.bound)} million rays per second instead of {number(rival.bound)}"
        gains.append((words, best.bound / rival.bound))
    return gains


def _beside(contests: Sequence[Contest]) -> list[str]:
    """Returns a sentence on the fastest peer of each contest that has one."""
    return [
        f"The fastest peer on {one.best.kind}, {one.peers[0].kernel}, has "
        f"{one.peers[0].rate / one.best.rate:.2f} times the rate of {one.best.kernel}."
        for one in contests
        if one.peers
    ]
