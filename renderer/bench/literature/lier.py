"""This module has the text about figure 1 of Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018, on
a GTX 1070. The figure is a chart without numbers.
"""

from collections.abc import Mapping

from renderer.bench.literature.paper import Claim, Paper

#: What the kernels are compared with, by author and year.
LIER_REFERENCES: Mapping[str, str] = {
    "Aila 2012": "replacing-while-while",
    "Ylitie 2017": "compressed-bvh8",
    "Guthe 2014": "bvh4",
}

_AILA, _GUTHE = "Aila, Laine, Karras 2012", "Guthe 2014"
_TWO, _FOUR, _EIGHT = "2 lanes a ray, tree of width 2", "4 lanes, width 4", "8 lanes, width 8"

LIER = Paper(
    name="lier-2018",
    citation="Lier, Stamminger, Selgrad: CPU-Style SIMD Ray Traversal on GPUs, 2018",
    what="figure 1: rates over those of kernels with a ray per thread, by kind of rays",
    rows={
        _AILA: "replacing-while-while",
        "Ylitie, Karras, Laine 2017": "compressed-bvh8",
        "the same, lanes get new rays": "replacing-compressed-bvh8",
        _GUTHE: "bvh4",
        _TWO: "grouped-2",
        _FOUR: "grouped-4",
        _EIGHT: "grouped-8",
        "16 lanes, width 16": "grouped-16",
        "32 lanes, width 32": "grouped-32",
        "32 lanes, width 8": "warp-bvh8",
        "32 lanes, width 4": "warp-bvh4",
        "32 lanes, width 2": "warp",
        "the same, 8 triangles at once": "warp-triangles-8",
        "the same, 32 triangles at once": "warp-triangles-32",
    },
    kinds=("primary", "ao", "bounce1", "bounce2", "bounce3", "bounce4", "bounce8"),
    size=(1024, 768),
    claims=(
        Claim(row=_TWO, over=_AILA, kinds=("primary",), least=1.0, most=1.0, single_views="at least 0.7"),
        Claim(row=_FOUR, over=_AILA, kinds=("primary",), least=0.8, most=0.8, single_views="at least 0.7"),
        Claim(row=_EIGHT, over=_AILA, kinds=("primary",), least=0.6, most=0.6, single_views="at least 0.5"),
        *(
            Claim(row=row, over=over, kinds=("bounce1",), least=1.1, most=1.2, single_views="up to 2")
            for row in (_TWO, _FOUR)
            for over in (_AILA, _GUTHE)
        ),
        *(Claim(row=_EIGHT, over=over, kinds=("bounce1",), most=1.0) for over in (_AILA, _GUTHE)),
        Claim(row=_FOUR, over=_GUTHE, kinds=("bounce8",), least=1.65, single_views="up to 2.7"),
        Claim(row=_TWO, over=_GUTHE, kinds=("bounce8",), least=1.35, most=1.35),
        Claim(row=_EIGHT, over=_GUTHE, kinds=("bounce8",), least=1.45, most=1.45),
    ),
    notes=(
        "published: figure 1 is a chart without numbers; the ranges are those of the text, for means over scenes. "
        "Where it does not say over which reference, camera rays are set over Aila, Laine, Karras 2012 and the eighth "
        "bounce over Guthe 2014.",
    ),
)
