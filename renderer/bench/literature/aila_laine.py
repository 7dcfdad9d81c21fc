"""This module has table 1 and the text of Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009, on
a GTX 285.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from renderer.bench.literature.paper import Claim, Paper

TABLE_KINDS = ("primary", "ao", "diffuse")


@dataclass(frozen=True)
class Published:
    """Holds what the table says of a kernel on a kind of rays.

    efficiency: SIMD efficiency of traversal and of intersection, per cent, None where the table has none.
    simulated, measured: millions of rays per second, with memory that takes no time, and timed.
    """

    efficiency: tuple[int, int] | None
    simulated: float
    measured: float

    @property
    def of_simulated(self) -> float:
        """Returns the measured rate over the simulated one."""
        return self.measured / self.simulated


#: A cell of the table: both efficiencies, if it has them, then the rates.
Cell = tuple[int, int, float, float] | tuple[float, float]

#: Cells of Conference (282,000 triangles), Fairy (174,000) and Sibenik (80,000).
Cells = tuple[Cell, Cell, Cell]

SCENES = ("Conference", "Fairy", "Sibenik")

_TABLE_1: Mapping[str, Mapping[str, Cells]] = {
    "packet": {
        "primary": ((149.2, 63.6), (78.4, 41.8), (116.1, 67.8)),
        "ao": ((100.7, 39.4), (76.6, 32.6), (93.6, 38.0)),
        "diffuse": ((36.7, 16.6), (24.7, 11.8), (30.5, 16.9)),
    },
    "while-while": {
        "primary": ((78, 63, 166.7, 88.0), (74, 69, 83.0, 47.8), (82, 67, 130.8, 81.2)),
        "ao": ((57, 39, 160.7, 86.3), (50, 49, 100.8, 60.3), (57, 43, 124.4, 76.7)),
        "diffuse": ((42, 35, 81.4, 44.5), (35, 43, 51.0, 29.3), (40, 43, 58.5, 37.6)),
    },
    "if-if": {
        "primary": ((81, 56, 129.3, 90.1), (78, 58, 63.2, 45.9), (82, 59, 97.0, 78.5)),
        "ao": ((65, 31, 131.6, 88.8), (58, 42, 82.7, 57.9), (63, 35, 99.5, 76.5)),
        "diffuse": ((54, 26, 70.5, 45.3), (49, 33, 47.0, 29.0), (54, 30, 51.7, 36.7)),
    },
    "speculative if-if": {
        "primary": ((86, 60, 132.9, 94.3), (84, 65, 66.5, 49.1), (87, 63, 99.6, 81.8)),
        "ao": ((71, 35, 139.2, 92.7), (66, 49, 91.2, 62.3), (71, 40, 107.7, 81.3)),
        "diffuse": ((61, 29, 76.5, 46.0), (58, 39, 53.9, 29.8), (64, 36, 58.6, 36.3)),
    },
    "persistent packet": {
        "primary": ((149.2, 122.1), (78.4, 67.2), (116.1, 100.6)),
        "ao": ((100.7, 86.1), (76.6, 65.6), (93.6, 83.7)),
        "diffuse": ((36.7, 32.3), (24.7, 21.5), (30.5, 27.3)),
    },
    "persistent while-while": {
        "primary": ((78, 63, 166.7, 135.6), (74, 69, 83.0, 70.5), (82, 67, 130.8, 117.5)),
        "ao": ((57, 39, 160.7, 130.7), (50, 49, 100.8, 85.3), (57, 43, 124.4, 113.4)),
        "diffuse": ((42, 35, 81.4, 62.4), (35, 43, 51.0, 39.1), (40, 43, 58.5, 48.1)),
    },
    "persistent speculative while-while": {
        "primary": ((86, 61, 165.7, 142.2), (85, 66, 84.2, 74.6), (90, 64, 128.4, 117.5)),
        "ao": ((69, 37, 169.1, 134.5), (65, 47, 111.0, 92.5), (70, 41, 132.8, 119.6)),
        "diffuse": ((57, 34, 92.9, 60.9), (51, 41, 61.3, 40.8), (57, 40, 70.0, 46.8)),
    },
}


def _published(cell: Cell) -> Published:
    if len(cell) == 4:
        return Published(cell[:2], *cell[2:])
    return Published(None, *cell)


#: Table 1 by scene, row and kind of rays.
AILA_LAINE_RATES: Mapping[str, Mapping[str, Mapping[str, Published]]] = {
    scene: {
        row: {kind: _published(cells[column]) for kind, cells in of_row.items()} for row, of_row in _TABLE_1.items()
    }
    for column, scene in enumerate(SCENES)
}

#: Rays on as many threads as the tree is wide.
_WIDE_ROWS = {f"{width} threads a ray, tree of width {width}": f"grouped-{width}" for width in (4, 8, 16, 32)}

AILA_LAINE = Paper(
    name="aila-laine-2009",
    citation="Aila, Laine: Understanding the Efficiency of Ray Traversal on GPUs, 2009",
    what="table 1: SIMD efficiency and rates, simulated and measured, of camera, ambient occlusion and diffuse rays",
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
        "terminated rays replaced": "replacing-while-while",
        **_WIDE_ROWS,
    },
    kinds=TABLE_KINDS,
    size=(1024, 768),
    bound_rays=1 << 13,
    claims=(
        Claim(row="persistent packet", over="packet", kinds=TABLE_KINDS, least=1.5, most=2.2),
        Claim(
            row="terminated rays replaced",
            over="persistent while-while",
            kinds=TABLE_KINDS,
            most=1.0,
            single_views="ao almost 1.1",
        ),
        *(Claim(row=row, over="while-while", kinds=TABLE_KINDS, most=1.0) for row in _WIDE_ROWS),
    ),
    notes=(
        "lanes: SIMD efficiency, the share of a warp's lanes that have work of their own in visits of nodes and in "
        "tests of triangles. simulated: what the GPU could reach if its memory took no time (tracecore simulate).",
        "Conference, Fairy, Sibenik: table 1, lanes in traversal/intersection; simulated -> measured on a GTX 285. -: "
        "not in the table.",
    ),
)
