"""The model of docs/scale.md has the bytes of arrays that there are, at sizes that fit a test."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scale
from pages import ROOT
from scale import Machines, Size

import scenes
from renderer.drivers.driver import RenderSettings, image_bytes, pass_bytes
from renderer.drivers.pass_photons import photon_task
from renderer.drivers.photon import PhotonDriver
from renderer.drivers.shares import MOST_RUN
from renderer.film.film import Film
from renderer.photons.building import MapMemory, sorted_map
from renderer.photons.photon_map import Words
from renderer.photons.store import PhotonStore, Piece
from renderer.photons.tracing import trace_photons
from renderer.run.memory import STORED_BY_PASS
from renderer.scene.packed_scene import pack_scene
from tracecore import open_tracer
from tracecore.kernels.strategies import find_strategy
from tracecore.workers.pool import WorkerPool

#: How far the model may be from what is measured.
NEAR = 0.1


def arrays_in(holder: Any, found: dict[int, npt.NDArray[Any]] | None = None) -> dict[int, npt.NDArray[Any]]:
    """Returns the memory of all arrays that an object holds, by where it is, each piece once."""
    found = {} if found is None else found
    if isinstance(holder, np.ndarray):
        while isinstance(holder.base, np.ndarray):
            holder = holder.base
        found[holder.ctypes.data] = holder
    elif isinstance(holder, tuple | list):
        for part in holder:
            arrays_in(part, found)
    elif isinstance(holder, dict):
        arrays_in(list(holder.values()), found)
    elif type(holder).__module__.split(".")[0] in ("scenes", "tracecore", "renderer") and hasattr(holder, "__dict__"):
        arrays_in(vars(holder), found)
    return found


def bytes_of(*holders: Any) -> int:
    return sum(array.nbytes for array in arrays_in(holders).values())


def assert_near(sizes: list[Size], measured: list[int], modelled: list[int]) -> None:
    """At both sizes, and by how much more the larger one takes."""
    assert len(sizes) == len(measured) == 2
    assert modelled == pytest.approx(measured, rel=NEAR)
    assert modelled[1] - modelled[0] == pytest.approx(measured[1] - measured[0], rel=NEAR)


@pytest.fixture(scope="module")
def snapshots() -> list[Any]:
    return [scenes.load(name).at(0.0) for name in ("stress:20k", "stress:60k")]


def sizes_of(snapshots: list[Any]) -> list[Size]:
    return [Size(triangles=len(snapshot.positions)) for snapshot in snapshots]


def test_a_scene_for_the_cpu(snapshots: list[Any]) -> None:
    measured = []
    for snapshot in snapshots:
        with open_tracer(snapshot.positions, device="cpu") as tracer:
            measured.append(bytes_of(snapshot, pack_scene(snapshot), tracer))
    sizes = sizes_of(snapshots)
    assert_near(sizes, measured, [scale.scene_bytes(size, has_gpu=False) for size in sizes])


@pytest.mark.parametrize("kernel", scale.GPU_BYTES)
def test_triangles_and_nodes_on_a_gpu(snapshots: list[Any], kernel: str) -> None:
    strategy = find_strategy(kernel)
    measured = [strategy.pack(strategy.build(one.positions), one.positions).bytes for one in snapshots]
    assert_near(sizes_of(snapshots), measured, [scale.GPU_BYTES[kernel] * len(one.positions) for one in snapshots])


def test_the_film_and_a_pass() -> None:
    sizes = [Size(pixels=width * 60, pass_photons=0) for width in (80, 200)]
    films = [Film(size.pixels // 60, 60) for size in sizes]
    for film in films:
        for value in (1.0, 2.0, 3.0, 4.0):  # two for either half
            film.add(np.full((film.height, film.width, 3), value))
    assert_near(sizes, [bytes_of(film) for film in films], list(map(scale.film_bytes, sizes)))
    settings = [RenderSettings(width=size.pixels // 60, height=60) for size in sizes]
    assert [scale.pass_bytes(size) for size in sizes] == list(map(image_bytes, settings))
    both = [RenderSettings(width=80, height=60, photons=photons) for photons in (1000, 5000)]
    assert [pass_bytes(PhotonDriver, one, STORED_BY_PASS) for one in both] == [
        scale.pass_bytes(Size(pixels=80 * 60, pass_photons=photons)) for photons in (1000, 5000)
    ]


@pytest.fixture
def pool(snapshots: list[Any]) -> Any:
    with open_tracer(scenes.load("cornell").at(0.0).positions, device="cpu") as tracer:
        pool = WorkerPool(tracer, 1, 4096)
        yield pool
        pool.close()


def stored(pool: WorkerPool, photons: int) -> Words:
    scene = pack_scene(scenes.load("cornell").at(0.0))
    task = photon_task(scene, RenderSettings(width=8, height=8), 0, min_bounces=0)
    return trace_photons(scene, task, pool, range(photons)).stored


def test_photons_that_a_run_keeps(pool: WorkerPool) -> None:
    kept = [stored(pool, photons) for photons in (10_000, 30_000)]
    sizes = [Size(photons=len(photons)) for photons in kept]
    modelled = [scale.kept_run_bytes(size) - scale.counted_run_bytes(size) for size in sizes]
    assert_near(sizes, [photons.nbytes for photons in kept], modelled)


class Alone:
    """Does all work in the calling thread."""

    threads = 1

    def map(self, function: Any, items: Any) -> list[Any]:
        return [function(item) for item in items]

    def check_wanted(self) -> None:
        pass


def test_a_photon_map_while_it_is_made() -> None:
    """Photons in blocks as threads store them, and all that sorting them takes. How many there are is what a pass of
    the model stores.
    """
    measured, sizes = [], []
    for sent_out in (400_000, 1_200_000):
        count = int(STORED_BY_PASS * sent_out)
        blocks = photons_in_blocks(count)
        memory = MapMemory()
        sorted_map([Piece(blocks, blocks.shape[2])], 0.002, 1.0, memory, Alone())
        measured.append(bytes_of(blocks, memory))
        sizes.append(Size(pass_photons=sent_out))
    assert_near(sizes, measured, [scale.map_bytes(size.pass_photons) for size in sizes])


def photons_in_blocks(count: int) -> Words:
    """Returns photons at random places of a cube, as `PhotonStore` has them."""
    columns, chunk = PhotonStore().output(1).blocks.shape[1:]
    blocks = np.zeros((count // chunk, columns, chunk), np.uint32)
    places = np.random.default_rng(1).random((count // chunk, 3, chunk), np.float32)
    blocks[:, :3] = places.view(np.uint32)
    return blocks


def test_memory_of_a_picture_does_not_grow_with_all_its_photons() -> None:
    few, many = Size(photons=10**7), Size(photons=10**12)
    assert scale.picture_bytes(few) == scale.picture_bytes(many)
    assert scale.one_map_bytes(many) > 1000 * scale.one_map_bytes(few)
    assert many.passes == 250_000


def test_seconds_are_shared_by_members_but_not_those_of_the_network_and_the_film() -> None:
    size = Size(photons=10**12)
    alone, shared = (scale.picture_seconds(size, machines) for machines in (Machines(1, 1), Machines(16, 4)))
    assert alone.network == alone.sent == alone.merging == 0.0
    assert shared.members == pytest.approx(alone.members / 64)
    assert shared.film < alone.film < alone.members
    assert shared.network < shared.film < shared.members
    assert shared.sent * 60 * shared.members == pytest.approx(shared.network * scale.NETWORK_RATE)  # of 60 elsewhere
    assert shared.network == pytest.approx(size.passes / MOST_RUN * 96 * size.pixels * 15 / 16 / scale.NETWORK_RATE)
    many = scale.picture_seconds(size, Machines(256, 4))
    assert many.members < many.merging < many.network / 10 < many.film / 10
    larger = scale.picture_seconds(Size(photons=10**12, pass_photons=10 * size.pass_photons), Machines(256, 4))
    assert larger.network < many.network  # though these passes are too few to be added up
    assert scale.run_seconds(size, Machines(1, 4)) == pytest.approx(scale.run_seconds(size, Machines(1, 1)) / 4)
    assert scale.building_seconds(2_000_000) > 2 * scale.building_seconds(1_000_000)


def test_the_page_has_the_tables_of_the_model() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for table in scale.tables().split("\n\n"):
        assert table in page
