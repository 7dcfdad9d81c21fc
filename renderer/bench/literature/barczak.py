"""This module has what Barczak: GPU Ray Tracing "The Wrong Way" says in words, of an Intel Core i3-4010U (Haswell GT2,
20 units of 7 threads each). Its bar charts have no numbers, and its text bears no date.
"""

from renderer.bench.literature.paper import Claim, Paper

_PER_LANE, _PACKETS_8 = "a ray per lane (raytracer.glsl)", "packets of 8 rays (eight_ray.inl)"
_TRIANGLES_8 = "the same, 8 triangles at once (single_ray_vectri_x8.inl)"

BARCZAK = Paper(
    name="barczak-2016",
    citation='Barczak: GPU Ray Tracing "The Wrong Way", 2016',
    what="bars: photons of the kitchen, from end to end and by the kernel alone, over a ray per thread",
    rows={
        _PER_LANE: "while-while",
        _PACKETS_8: "packet-8",
        "packets of 32 rays": "packet-32",
        "a ray per thread of 8 lanes (single_ray.inl)": "warp",
        _TRIANGLES_8: "warp-triangles-8",
        "the same, 16 at once (single_ray_vectri_x16.inl)": "warp-triangles-32",
        "the same, 4-wide tree (single_ray_qbvh.inl)": "warp-bvh4",
        "the same, 8-wide tree": "warp-bvh8",
    },
    kinds=("photon",),
    size=(512, 384),
    repeats=3,
    claims=(
        Claim(row=_PACKETS_8, over=_PER_LANE, kinds=("photon",), least=1.0, most=1.0),
        Claim(row=_TRIANGLES_8, over=_PER_LANE, kinds=("photon",), least=1.25, most=1.25),
    ),
    has_photon_run=True,
    notes=(
        "published: the bars have no numbers; what the text says of them, over a ray per lane. 16 triangles at once "
        "and the 4-wide tree were not finished. Busy there: about 60% at best. The post bears no date; 2016 is when it "
        "appeared, as far as is known. A comment in the author's raytracer.glsl says 4500 to 5500 thousand rays per "
        "second, at some time while it was written.",
        "A warp here has 32 lanes, a thread there 8 or 16: ours test 32 triangles where theirs test 16.",
        "alone: the kernel on rays of the photons' stream. emulated, streamed, resident: the photon run from end to "
        "end, shading and storing included, by how batches reach the kernel; busy: share of it spent tracing.",
    ),
)
