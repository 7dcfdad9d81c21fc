"""This package holds what papers printed that compare ways to trace rays on a GPU: a module for each, with the kernels
of its tables, its rays and its figures, all checked against the paper. `PAPERS` has them by their names on the command
line.

What a text states as a range is a `Claim`. What is drawn as a chart without numbers is not here.
"""

from renderer.bench.literature.aila_laine import AILA_LAINE
from renderer.bench.literature.barczak import BARCZAK
from renderer.bench.literature.gunther import GUNTHER
from renderer.bench.literature.lier import LIER
from renderer.bench.literature.paper import Paper

__all__ = ["AILA_LAINE", "BARCZAK", "GUNTHER", "LIER", "PAPERS", "Paper"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (AILA_LAINE, LIER, BARCZAK, GUNTHER)}
