"""The command `tracecore bench compare` compares two result files of `tracecore bench rays`, row by row."""

import argparse
from pathlib import Path

EXAMPLES = """\
Each row is a kernel on rays of a kind of a scene: rates in millions of rays per second, how many times as fast B is as
A, and the interval of that ratio. B is FASTER or SLOWER only where the intervals of the two medians part, and else the
SAME. The interval of a median reaches from one of the rounds to another, so that it holds the median in 95 of 100 cases
(of 5 rounds, from the least to the greatest, in 94). Rows of fewer rounds have no verdict.

Files that do not fit one another, as they are not of the same rays, are refused; the exit status is 0 whatever is
faster.

examples:
  tracecore bench rays --read output/rays --json output/before.json
  tracecore bench rays --read output/rays --json output/after.json
  tracecore bench compare output/before.json output/after.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that the command takes: two files."""
    parser.epilog = EXAMPLES
    parser.add_argument("before", type=Path, metavar="A.json", help="a result file")
    parser.add_argument("after", type=Path, metavar="B.json", help="another one")


def run(arguments: argparse.Namespace) -> int:
    """Compares, and prints a table; returns 0."""
    from renderer.bench.result_file import check_fit, comparison, read_results

    one, other = read_results(arguments.before), read_results(arguments.after)
    check_fit(one, other)
    for text in comparison(one, other):
        print(text)
    return 0
