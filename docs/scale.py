"""This module is a model of what many photons and large scenes take, bytes and seconds, for docs/scale.md, whose tables
`python docs/scale.py` prints.

Bytes are those of arrays that stay while rays are traced. `renderer.run.memory` estimates the peak, with what comes and
goes while a scene is read and its tree is built.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from renderer.drivers.driver import IMAGES_OF_PASS, MAP_BYTES
from renderer.drivers.shares import run_of
from renderer.run.memory import FILM_SUMS, KEPT_BYTES, ROUND_BYTES, STORED_BY_PASS, STORED_BY_RUN
from renderer.run.photon_run.rounds import ROUND_PHOTONS
from scenes.files.memory import needed_bytes

#: Bytes of a triangle in a process: the snapshot; what loops of shading read beside it; and the tree, of the CPU tracer
#: or as the usual kernel's is built. Measured by tests/renderer/test_scale.py.
SNAPSHOT_BYTES, PACKED_BYTES, CPU_TREE_BYTES, BUILT_TREE_BYTES = 104, 37, 125, 52

#: Bytes of a triangle and its share of the nodes in a GPU's memory, by kernel.
GPU_BYTES = {"while-while": 91, "replacing-compressed-bvh8": 57, "warp-bvh4": 50}

#: Bytes of a pixel without layers in one sum of the film, or in the image of a pass: three float64.
PIXEL_BYTES = 24

#: Photons a second that one H200 with 16 cores sends out and makes a picture of: BART's kitchen, 1920x1080, 8 passes of
#: 4,000,000 in 1.01 s (docs/performance.md).
PICTURE_RATE = 8 * 4_000_000 / 1.01

#: Rays a second of a photon run there, real materials and plain, and rays for each photon that is stored
#: (docs/lab/resident-dispatch.md, docs/lab/barczak-2016.md).
RUN_RATE, PLAIN_RUN_RATE, RAYS_PER_STORED = 345e6, 1081e6, 1.08

#: Bytes of a pixel in the sums of passes that a member has added up: two halves of three columns.
SUMS_BYTES = 2 * 3 * 16

#: Bytes a second of a network of 10 Gbit/s, over which the passes of other hosts come.
NETWORK_RATE = 10e9 / 8

#: Bytes of passes that are added to the film in a second: 50 MB in 28 ms of one core, by exact sums, with the look for
#: samples that cannot be.
FILM_RATE = 1.8e9

#: Processor seconds in which the default builder makes the tree of a million triangles (docs/lab/reinsertion.md).
BUILDING_SECONDS, BUILDING_TRIANGLES = 0.321, 1_000_000


#: Bytes of sums that are joined in a second: 199 MB in 0.16 s of one core; and processor seconds in which `merge` makes
#: one film of two of 1920x1080, which it reads, checks and writes.
JOIN_RATE, MERGE_SECONDS = 1.2e9, 3.4


@dataclass(frozen=True, kw_only=True)
class Size:
    """Says how large a picture or a photon run is.

    triangles: of the scene.
    pixels: of the picture, without layers.
    photons: sent out in all, by a picture; stored in all, by a run.
    pass_photons: sent out by a pass.
    under_way: passes that are under way at once in a process.
    """

    triangles: int = 100_000
    pixels: int = 1920 * 1080
    photons: int = 10**9
    pass_photons: int = 4_000_000
    under_way: int = 16

    @property
    def passes(self) -> int:
        """Returns how many passes send out all photons."""
        return -(-self.photons // self.pass_photons)


class Machines(NamedTuple):
    """Says what makes a picture.

    hosts: how many, joined by a network.
    gpus: of each host, with 16 cores for each of them.
    """

    hosts: int
    gpus: int

    def __str__(self) -> str:
        """Returns it in words."""
        gpus = f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}"
        return gpus if self.hosts == 1 else f"{self.hosts} hosts of {gpus}"


class PictureSeconds(NamedTuple):
    """Says how long a picture takes.

    members: to make its passes, if members lose nothing by being many.
    network: to bring the films of other hosts, or passes where these are too few to be added up by members.
    film: to add what has come.
    sent: bytes that each member sends in a second.
    merging: where members make parts instead, to merge their films two by two, on all hosts, to one.
    """

    members: float
    network: float
    film: float
    sent: float
    merging: float


def scene_bytes(size: Size, *, has_gpu: bool) -> int:
    """Returns the bytes of a scene in a process. has_gpu: whether a GPU traces, or the CPU."""
    tree = BUILT_TREE_BYTES if has_gpu else CPU_TREE_BYTES
    return size.triangles * (SNAPSHOT_BYTES + PACKED_BYTES + tree)


def map_bytes(sent_out: int) -> int:
    """Returns the bytes of a photon map while it is made. sent_out: photons of its pass."""
    return int(MAP_BYTES * STORED_BY_PASS * sent_out)


def film_bytes(size: Size) -> int:
    """Returns the bytes of the film."""
    return FILM_SUMS * PIXEL_BYTES * size.pixels


def pass_bytes(size: Size) -> int:
    """Returns the bytes of a pass that is under way, with its map."""
    return IMAGES_OF_PASS * PIXEL_BYTES * size.pixels + map_bytes(size.pass_photons)


def picture_bytes(size: Size) -> int:
    """Returns the bytes of a picture by `photon` on a GPU, in one process, beside its scene."""
    return film_bytes(size) + size.under_way * pass_bytes(size)


def one_map_bytes(size: Size) -> int:
    """Returns the bytes of a picture by `photons-only`, whose one map has all photons, beside its scene.

    The photons stay in their own order as well.
    """
    images = IMAGES_OF_PASS * PIXEL_BYTES * size.pixels * size.under_way
    return film_bytes(size) + images + int((MAP_BYTES + KEPT_BYTES) * STORED_BY_RUN * size.photons)


def kept_run_bytes(size: Size) -> int:
    """Returns the bytes of a photon run that keeps its photons, beside its scene."""
    return KEPT_BYTES * size.photons + counted_run_bytes(size)


def counted_run_bytes(size: Size) -> int:
    """Returns the bytes of a photon run of which counts alone come back, in one member, beside its scene."""
    return ROUND_BYTES * min(size.photons, int(STORED_BY_RUN * ROUND_PHOTONS))


def picture_seconds(size: Size, machines: Machines) -> PictureSeconds:
    """Returns the seconds of a picture by `photon`; the longest of members, network and film limits, as all go on at
    once.
    """
    members = machines.hosts * machines.gpus
    run = 1 if members == 1 else run_of(size.passes, members)
    of_pixel, rate = (PIXEL_BYTES, FILM_RATE) if run == 1 else (SUMS_BYTES, JOIN_RATE)
    sent, seconds = size.passes / run * of_pixel * size.pixels, size.photons / (PICTURE_RATE * members)
    return PictureSeconds(
        members=seconds,
        network=sent * (machines.hosts - 1) / machines.hosts / NETWORK_RATE,
        film=sent / rate,
        sent=0.0 if members == 1 else sent / members / seconds,
        merging=math.ceil(math.log2(members)) * (SUMS_BYTES * size.pixels / NETWORK_RATE + MERGE_SECONDS),
    )


def run_seconds(size: Size, machines: Machines, rate: float = RUN_RATE) -> float:
    """Returns the seconds of a photon run whose photons do not come back, if members lose nothing by being many."""
    return size.photons * RAYS_PER_STORED / (rate * machines.hosts * machines.gpus)


def building_seconds(triangles: int) -> float:
    """Returns processor seconds of the default builder, which takes n log n."""
    share = triangles / BUILDING_TRIANGLES
    return BUILDING_SECONDS * share * math.log(triangles) / math.log(BUILDING_TRIANGLES)


def tables() -> str:
    """Returns the tables of docs/scale.md."""
    return "\n\n".join((_photon_table(), _triangle_table(), _seconds_table()))


def _photon_table() -> str:
    modes = (picture_bytes, one_map_bytes, kept_run_bytes, counted_run_bytes)
    counts = (10**6, 10**8, 10**9, 10**10, 10**12)
    rows = [(_power(photons), *(_bytes(mode(Size(photons=photons))) for mode in modes)) for photons in counts]
    head = ("photons", "`photon`, by passes", "`photons-only`", "run that keeps them", "run that counts")
    return _table(head, rows)


def _triangle_table() -> str:
    head = (
        "triangles",
        "while it is read and built",
        "then, with a GPU",
        "then, without",
        *(f"GPU, `{one}`" for one in GPU_BYTES),
    )
    rows = []
    for triangles in (10**6, 10**7, 10**8, 10**9):
        size = Size(triangles=triangles)
        held = [scene_bytes(size, has_gpu=True), scene_bytes(size, has_gpu=False)]
        on_gpu = [each * triangles for each in GPU_BYTES.values()]
        rows.append((_power(triangles), *map(_bytes, (needed_bytes(triangles), *held, *on_gpu))))
    return _table(head, rows)


def _seconds_table() -> str:
    machines = (Machines(1, 1), Machines(1, 4), Machines(16, 4), Machines(256, 4))
    head = ("10^12 photons", *map(str, machines))
    usual, large = Size(photons=10**12), Size(photons=10**12, pass_photons=40_000_000)
    rows: list[tuple[str, ...]] = []
    for size in (usual, large):
        seconds = [picture_seconds(size, each) for each in machines]
        name = f"{size.passes:,} passes of {size.pass_photons:,}"
        rows.append((f"`photon`, {name}: members", *(_time(one.members) for one in seconds)))
        rows.append(("the network", *(_time(one.network) for one in seconds)))
        rows.append(("the film", *(_time(one.film) for one in seconds)))
        rows.append(("sent by a member in a second", *(f"{one.sent / 1e6:.1f} MB" for one in seconds)))
        rows.append(("by parts instead: merging", *(_time(one.merging) for one in seconds)))
    for name, rate in (("real materials", RUN_RATE), ("plain", PLAIN_RUN_RATE)):
        rows.append((f"photon run that counts, {name}", *(_time(run_seconds(usual, each, rate)) for each in machines)))
    return _table(head, rows)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _power(count: int) -> str:
    return f"10^{round(math.log10(count))}"


def _bytes(size: int) -> str:
    return f"{size / 1e12:.3g} TB" if size >= 1e12 else f"{size / 1e9:.3g} GB"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    print(tables())
