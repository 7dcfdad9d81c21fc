"""This module says whether one thing is faster than another, by the seconds of all rounds of both.

The median lies between two of the rounds with a probability that does not depend on how their times are distributed
(Le Boudec: Performance Evaluation of Computer and Communication Systems, 2010, confidence intervals for the median).
One is faster than another only where these intervals part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb, inf, isfinite
from statistics import median

#: One in so many medians may lie outside of its interval.
UNSURE = 20

#: Of fewer rounds no interval is told. Of 5, least and greatest hold the median in 93.75 of 100 cases.
LEAST_ROUNDS = 5

#: Ratios of less than this share are barely faster, though they are sure.
BARELY = 0.05

FASTER, SAME, SLOWER = "FASTER", "SAME", "SLOWER"


@dataclass(frozen=True, kw_only=True)
class SpeedRatio:
    """Holds how many times as fast one thing is as another, with the interval in which that ratio lies.

    ratio: of the medians; above 1 the one is faster.
    least, most: 0 and infinite where there were too few rounds to tell.
    """

    ratio: float
    least: float
    most: float

    @property
    def is_known(self) -> bool:
        """Returns whether there were rounds enough."""
        return isfinite(self.most)

    @property
    def verdict(self) -> str:
        """Returns FASTER or SLOWER where the intervals part, or else SAME."""
        if self.least > 1.0:
            return FASTER
        return SLOWER if self.most < 1.0 else SAME

    @property
    def words(self) -> str:
        """Returns the verdict in words: clearly or barely faster or slower, or the same."""
        if self.verdict == SAME:
            return "the same"
        apart = max(self.ratio, 1.0 / self.ratio)
        return f"{'clearly' if apart >= 1.0 + BARELY else 'barely'} {self.verdict.lower()}"


def speed_ratio(ours: Sequence[float], theirs: Sequence[float]) -> SpeedRatio:
    """Returns how many times as fast we are as they.

    ours, theirs: seconds of each round over the same work, positive, at least one.
    """
    (low, high), (their_low, their_high) = median_interval(ours), median_interval(theirs)
    return SpeedRatio(
        ratio=median(theirs) / median(ours), least=their_low / high, most=their_high / low if low else inf
    )


def median_interval(seconds: Sequence[float]) -> tuple[float, float]:
    """Returns between which of the rounds the median lies; 0 and infinity where there are fewer than LEAST_ROUNDS."""
    rounds = len(seconds)
    if rounds < LEAST_ROUNDS:
        return 0.0, inf
    outside = accumulate(comb(rounds, below) for below in range(rounds // 2))  # 2^-rounds of it lies on either side
    left_out = max(sum(2 * UNSURE * share <= 2**rounds for share in outside) - 1, 0)
    ordered = sorted(seconds)
    return ordered[left_out], ordered[-1 - left_out]
