"""What the tests of shading share: a goodness-of-fit test."""

import math
from statistics import NormalDist

import numpy as np
import pytest


def normal_score(counts, expected):
    """Chi-square of counts against expected counts, as a standard normal score; rare cells are lumped together.

    Wilson, Hilferty: The Distribution of Chi-Square, 1931.
    """
    counts, expected = np.ravel(counts).astype(float), np.ravel(expected).astype(float)
    rare = expected < 10.0
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1.0:
        assert counts[-1] <= 12.0, f"{counts[-1]} samples where {expected[-1]} are expected"
        counts, expected = counts[:-1], expected[:-1]
    freedom = len(counts) - 1
    if freedom == 0:
        return 0.0
    chi_square = float(np.sum((counts - expected) ** 2 / expected))
    spread = 2.0 / (9.0 * freedom)
    return ((chi_square / freedom) ** (1.0 / 3.0) - (1.0 - spread)) / math.sqrt(spread)


@pytest.fixture(scope="session")
def assert_fits():
    """A function of counts and expected counts that fails where they disagree: of so many tests whose counts are as
    expected, one or more fail once in a hundred times. Sidak: Rectangular Confidence Regions for the Means of
    Multivariate Normal Distributions, 1967."""

    def check(counts, expected, tests=300):
        assert np.sum(counts) == pytest.approx(np.sum(expected), rel=1e-3)
        assert normal_score(counts, expected) < NormalDist().inv_cdf(0.99 ** (1.0 / tests))

    return check
