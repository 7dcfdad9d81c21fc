"""The loops of photons, compiled for the lanes of a warp: the bits that the loops of the CPU give, and what the code is
made of."""

import re
from dataclasses import replace
from functools import cache, cached_property
from types import SimpleNamespace

import numpy as np
import pytest
from fake_cuda import installed
from lanes_by_turns import LanesByTurns
from llvmlite.binding import parse_bitcode
from photon_clouds import photons_in_a_cloud
from small_scenes import flat_snapshot
from test_fog import fog
from test_media import block

import tracecore
from renderer.camera_paths.bounce import eye_needs
from renderer.camera_paths.task import ASKING, GATHER
from renderer.drivers.driver import RenderSettings, within_crop
from renderer.drivers.gather import GatherDriver
from renderer.drivers.occlusion import OcclusionDriver
from renderer.drivers.pass_photons import photon_task
from renderer.drivers.path import PathDriver
from renderer.drivers.photon import PhotonDriver
from renderer.film.film import Film
from renderer.film.layers import LAYER_ALBEDO, LAYER_BIAS, LAYER_COLUMNS, LAYER_END, LAYER_LIGHT
from renderer.gpu import eye_waves, map_kernel, pass_sums, photon_maps, photon_waves, waves
from renderer.gpu.eye_kernel import SAMPLE_MAP
from renderer.gpu.photon_kernel import shade_wave
from renderer.gpu.waves import launch_of, with_loops
from renderer.photons.building import MapMemory, sorted_map
from renderer.photons.irradiance import EVERY, irradiance_map
from renderer.photons.photon_map import PHOTON_WORDS
from renderer.photons.store import PHOTON_RAYS, STORE_COLUMNS, STORE_INDEX, Piece
from renderer.photons.targets import Targets
from renderer.photons.tracing import trace_photons
from renderer.scene import light_tree
from renderer.scene.packed_scene import pack_scene
from renderer.scene.photon_scene import IN_MEDIUM, SHEET
from scenes import load
from scenes.lights import PointLight
from scenes.model import Material
from tracecore.compilation import gpu_code
from tracecore.compilation.gpu_code import piece_of, ptx_of, warp_code
from tracecore.compilation.lanes import LANES, NO_PARTS
from tracecore.compilation.side_by_side import Helpers, Job
from tracecore.cuda.device_arrays import MOST_BYTES, laid_out, lay_out
from tracecore.tracers.gpu import GpuTracer
from tracecore.workers.pool import CallingThread, WorkerPool

#: Warps that run one after the other here, and photons: more than the warps have room for at once.
WARPS, PHOTONS = 2, 1200

#: Photons and cells of the maps that are sorted together with one.
BEFORE, CELLS_BEFORE = 37, 11

#: Width and height of a picture, and its passes: more than the warps have room for at once.
SIZE, PASSES = (40, 24), 2


class WarpPhotons:
    """Is a scene, and the code of its photons for a warp."""

    def __init__(self, snapshot):
        self.snapshot = snapshot
        self.scene = Targets(pack_scene(self.snapshot)).projected(0.3)
        self.task = photon_task(self.scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
        numbered, self.made_of = with_loops(self.scene, photon_waves.photon_units())
        self.wave = photon_waves.new_wave(np, numbered, self.task, (WARPS, PASSES), 16 * PHOTONS)
        self.wave.supply[:, 1], self.wave.sequences[:] = PHOTONS, range(PASSES)
        self.code = warp_code(launch_of(shade_wave, self.wave), self.made_of)

    @cached_property
    def lanes(self):
        return LanesByTurns(self.code)

    def traced_by_lanes(self, tracer, task):
        """Yields photons in order, and counters, of passes of a task whose lanes go by turns."""
        record = np.zeros(MOST_BYTES, np.uint8)
        lay_out(self.wave._replace(task=task), record.ctypes.data)
        while True:
            for warp in range(WARPS):
                self.lanes.run(warp, record.ctypes.data)
            if not self.wave.active.any():
                break
            answer(tracer, self.wave.traced, self.wave.to_trace, self.wave.answers)
        for number, (stored, filled) in enumerate(zip(self.wave.blocks, self.wave.filled, strict=True)):
            order = np.argsort(stored[STORE_INDEX, :filled], kind="stable")
            yield stored[:PHOTON_WORDS, order].T, self.wave.counters[number::PASSES].sum(axis=0)


def answer(tracer, rays, to_trace, answers):
    """Traces as many rays as there are, of which there will be none then. Others are no rays."""
    count = to_trace[0]
    answers[:count] = tracer.closest_hit(rays[:count])
    rays[:], answers[count:], to_trace[0] = np.nan, np.nan, 0


@pytest.fixture(scope="module")
def kitchen():
    """Several BSDFs, textures, bent normals, lights that aim some photons, and haze."""
    return WarpPhotons(in_haze(load("kitchen").snapshot(0.0)))


def test_another_process_compiles_a_piece(kitchen, monkeypatch):
    (_, loop), *_ = kitchen.made_of.loops
    job = Job(piece_of, (loop, kitchen.made_of))
    monkeypatch.setattr(gpu_code, "part", None)  # so that this process cannot
    with Helpers(2) as helpers:
        piece = helpers.done([job])[job]
    assert piece.calls == ()
    assert parse_bitcode(piece.bitcode).get_function(loop.cell).linkage.name == "external"


def test_lanes_store_the_photons_of_the_loops_bit_for_bit(kitchen):
    for expected in by_both(kitchen, kitchen.task):
        assert len(expected.stored) > PHOTONS > expected.counts.aimed > PHOTONS // 5


def test_lanes_store_the_photons_of_media_that_the_loops_store(kitchen):
    kitchen.wave.supply[:, 0], kitchen.wave.filled[:], kitchen.wave.counters[:] = 0, 0, 0
    for expected in by_both(kitchen, kitchen.task._replace(volume_share=0.75)):
        assert len(expected.stored) > PHOTONS // 20


def by_both(photons, task):
    """Yields what loops trace of the passes of a task, once lanes have stored the same."""
    with tracecore.open_tracer(photons.snapshot.positions, device="cpu", threads=1) as tracer:
        passes = list(photons.traced_by_lanes(tracer, task))
        pool = WorkerPool(tracer, threads=1)
        tasks = [task._replace(sequence=number) for number in range(PASSES)]
        loops = [trace_photons(photons.scene, one, pool, range(PHOTONS)) for one in tasks]
        pool.close()
    for (stored, counters), expected in zip(passes, loops, strict=True):
        is_the_same(stored, counters, expected)
        yield expected


def is_the_same(stored, counters, expected):
    """Asserts that lanes stored the photons that loops did."""
    np.testing.assert_array_equal(stored, expected.stored)
    assert counters[PHOTON_RAYS] == expected.rays
    fates = expected.counts
    assert counters[:PHOTON_RAYS].tolist() == [
        fates.emitted,
        fates.aimed,
        fates.stored,
        fates.absorbed,
        fates.escaped,
        fates.terminated,
    ]


def test_lanes_sort_photons_into_the_map_of_the_cpu_bit_for_bit():
    photons, random = 3000, np.random.default_rng(7)
    stored = np.zeros((STORE_COLUMNS, photons + 5), np.uint32)
    stored[:3, :photons] = (random.random((3, photons)) ** 3).astype(np.float32).view(np.uint32)
    stored[3:PHOTON_WORDS] = random.integers(0, 1 << 32, (3, photons + 5), np.uint32)
    stored[STORE_INDEX, :photons] = random.permutation(photons) // 3  # three of a path, in their order
    expected = sorted_map([Piece(stored[None], photons)], 0.05, 2.0, MapMemory(), CallingThread())
    work = MapOnHost(stored, photons, expected.grid)
    for stage in range(map_kernel.TAKE_INDICES):
        work.do(stage)
    positions = stored[:3, :photons].view(np.float32)
    np.testing.assert_array_equal(work.bounds[:3].min(axis=1), positions.min(axis=1))
    np.testing.assert_array_equal(work.bounds[3:].max(axis=1), positions.max(axis=1))
    np.testing.assert_array_equal(work.columns[:PHOTON_WORDS, :photons], expected.columns[:, :photons])
    np.testing.assert_array_equal(work.starts, expected.starts[: expected.grid.cells + 1])
    crowds = np.diff(work.starts)
    assert crowds.max() > 10 > 0 == crowds.min()


class MapOnHost:
    """Sorts photons by lanes that go by turns, behind those of other maps."""

    def __init__(self, stored, photons, grid):
        self.keys, self.order = np.zeros(BEFORE + photons, np.int64), np.zeros(BEFORE + photons, np.int64)
        self.columns, self.starts = np.zeros((PHOTON_WORDS + 1, photons), np.uint32), np.zeros(grid.cells + 1, np.int32)
        self.bounds = np.zeros((6, map_kernel.BOUND_WARPS * LANES), np.float32)
        arrays = [self.bounds, self.keys, self.order, self.columns, self.starts]
        bounds, keys, order, columns, starts = (one.ctypes.data for one in arrays)
        place, between = stored.ctypes.data, 4 * stored.shape[1]
        self.work = map_kernel.MapWork(
            stored=place,
            step=between,
            photons=photons,
            bounds=bounds,
            keys=keys + 8 * BEFORE,
            order=order + 8 * BEFORE,
            photons_before=BEFORE,
            cells_before=CELLS_BEFORE,
            columns=columns,
            map_step=4 * photons,
            starts=starts,
            grid=grid,
            stage=0,
        )
        self.lanes = lanes_of(launch_of(map_kernel.make_map, self.work))

    def do(self, stage):
        """Does a step; photons are put in order by NumPy where CuPy would."""
        elements = len(self.starts) if stage == map_kernel.FIND_STARTS else self.work.photons
        warps = map_kernel.BOUND_WARPS if stage == map_kernel.FIND_BOUNDS else -(-elements // map_kernel.PART)
        run_warps(self.lanes, self.work._replace(stage=stage), warps)
        if stage in {map_kernel.FIND_KEYS, map_kernel.TAKE_INDICES}:
            first = BEFORE if stage == map_kernel.FIND_KEYS else 0
            self.order[BEFORE:] = first + np.argsort(self.keys[BEFORE:], kind="stable")


@cache
def lanes_of(launch, made_of=NO_PARTS):
    """Returns lanes that go by turns for a launch of a kernel, compiled once for all tests."""
    return LanesByTurns(warp_code(launch, made_of))


def run_warps(lanes, work, warps):
    """Has lanes that go by turns do the work of so many warps."""
    record = laid_out(work)
    for warp in range(warps):
        lanes.run(warp, record.ctypes.data)


def test_lanes_know_the_irradiance_of_the_cpu_at_the_same_photons_bit_for_bit():
    in_order = photons_in_a_cloud(2001, flat=True)
    photons, paths = len(in_order), np.arange(len(in_order)) // 3  # three of a path, in their order
    where = np.lexsort((np.arange(photons), np.random.default_rng(5).permutation(photons // 3 + 1)[paths]))
    stored = np.zeros((STORE_COLUMNS, photons + 5), np.uint32)
    stored[:PHOTON_WORDS, :photons], stored[STORE_INDEX, :photons] = in_order[where].T, paths[where]
    with tracecore.open_tracer(np.zeros((1, 3, 3), np.float32), device="cpu", threads=1) as tracer:
        pool = WorkerPool(tracer, 1)
        expected = irradiance_map(in_order, 0.1, 2.0, pool)
        pool.close()
    work = MapOnHost(stored, photons, expected.samples.grid)
    others = np.zeros((STORE_COLUMNS, photons), np.uint32)
    work.work = work.work._replace(starts=others.ctypes.data)
    for stage in (map_kernel.TAKE_INDICES, map_kernel.DEAL_OUT):
        work.do(stage)
    is_sample = np.arange(photons) % EVERY == 0
    for dealt, given in ((work.columns, in_order[is_sample]), (others, in_order[~is_sample])):
        np.testing.assert_array_equal(dealt[:PHOTON_WORDS, : len(given)], given.T)
        np.testing.assert_array_equal(dealt[STORE_INDEX, : len(given)], np.arange(len(given)))
    known = expected._replace(values=np.zeros_like(expected.values))
    known_work = map_kernel.KnownWork(known)
    lanes = lanes_of(launch_of(map_kernel.know_irradiance, known_work))
    run_warps(lanes, known_work, -(-len(known.values) // map_kernel.KNOWN_PART))
    np.testing.assert_array_equal(known.values, expected.values)
    assert np.count_nonzero(known.values) > len(known.values)


def test_lanes_add_up_passes_as_a_film_does_bit_for_bit():
    random, (width, height), columns = np.random.default_rng(3), SIZE, LAYER_COLUMNS["all"]
    images = random.random((5, width * height, columns)) * random.choice([1e-9, 1.0, 1e9], (5, 1, columns))
    images[:, :, LAYER_ALBEDO:] *= -1.0  # as a normal may be
    numbers, settings = np.arange(7, 12), RenderSettings(width=width, height=height, crop=(3, 2, 30, 21))
    film = Film(30, 21, columns, first=7)
    for image in images:
        film.add(within_crop(image, settings))
    sums, is_wrong = added_by_lanes(images, numbers, settings.crop)
    for name, expected in film.sums().items():
        np.testing.assert_array_equal(sums[name], expected)
    assert not is_wrong


@pytest.mark.parametrize(
    ("pixel", "column", "sample", "is_wrong"),
    [((3, 2), 1, -0.5, 1), ((32, 22), 0, np.nan, 1), ((4, 4), LAYER_ALBEDO, 2.0**49, 1), ((33, 2), 1, -0.5, 0)],
)
def test_lanes_tell_of_samples_within_the_crop_that_cannot_be(pixel, column, sample, is_wrong):
    images = np.ones((2, SIZE[0] * SIZE[1], LAYER_COLUMNS["all"]))
    images[1, pixel[1] * SIZE[0] + pixel[0], column] = sample
    assert added_by_lanes(images, np.arange(2), (3, 2, 30, 21))[1] == is_wrong


def added_by_lanes(images, numbers, crop):
    """Returns sums of passes by lanes that go by turns, and whether a sample is none that a film holds."""
    work = pass_sums.new_sums(np, images, numbers, SIZE[0], crop)
    lanes = lanes_of(launch_of(pass_sums.add_passes, work))
    run_warps(lanes, work, -(-crop[2] * crop[3] * images.shape[2] // pass_sums.PART))
    return pass_sums.as_film(work.halves, work.features, crop[2]), int(work.wrong[0])


@pytest.fixture(scope="module")
def ptx(kitchen):
    """What NVIDIA's driver makes machine code of."""
    return ptx_of(kitchen.code, "shade_wave", "sm_90", threads=32, registers=168)


def test_the_gpu_rounds_each_product_and_each_sum(ptx):
    operations = set(re.findall(r"^\s+(?:add|sub|mul|div|sqrt)\.\S*f32", ptx, flags=re.M))
    assert {one.strip() for one in operations} == {f"{name}.rn.f32" for name in ("add", "sub", "mul", "div", "sqrt")}
    assert "ld.shared" in ptx, "scratch is not found by pointers to shared memory"
    local = sum(map(int, re.findall(r"\.local [^;]*\[(\d+)\];", ptx)))
    assert local <= 8, "something has its address taken, and lies in memory"
    assert ".extern .func" not in ptx, "something is called that a GPU does not have"


def test_a_launch_is_given_what_its_lanes_take_and_they_look_at_a_chunk_at_once(kitchen, ptx):
    assert f".param .align 16 .b8 shade_wave_param_0[{kitchen.code.size}]" in ptx
    assert kitchen.code.size <= MOST_BYTES
    assert len(re.findall(r"\bld\.param\.", ptx)) > 50
    over_many = re.findall(r"add\.s64 \s*(%rd\d+), \1, -32;", ptx)  # a loop counts down what is left for 32 lanes
    assert len(over_many) <= 4, "lanes have a loop over the hits of a chunk, of which each has one"


def passes_by_lanes(driver, tracer, lookups=()):
    """Returns images, and counters, of passes whose lanes go by turns. lookups: photons of each pass.

    All paths that ask photons run the code of a final gather, which has what others ask by: it takes long to compile.
    """
    job = driver._job_of_waves()
    task = job.task
    needs = eye_needs(
        GATHER if task.diffuse in ASKING else task.diffuse,
        job.image.shape[1],
        bool(driver.scene.photon_scene.flags & IN_MEDIUM),
    )
    scene, made_of = with_loops(driver.scene, eye_waves.eye_units(task.diffuse), needs)
    job = job._replace(scene=scene)
    wave = eye_waves.new_wave(np, job, (WARPS, driver._shadow_slots()), PASSES)
    wave.sequences[:], wave.pixels[:] = range(PASSES), driver.pixels
    for number, known in enumerate(lookups):
        wave.reaches[number], wave.radii[number] = driver.radius_of(number), known.radii
        far = known.irradiance
        volume, wave.beam_reaches[number] = known.volume.photon_map, known.volume.radius
        maps = (known.photon_map, known.parts.caustics, known.parts.direct, far.samples, far.others, volume)
        wave.maps[number] = np.concatenate([record_of(one) for one in maps])
        wave.maps["values"][number, SAMPLE_MAP], wave.far_reaches[number] = far.values.ctypes.data, far.radius
    lanes = lanes_of(launch_of(eye_waves.shader_of(task), wave), made_of)
    while True:
        run_warps(lanes, wave, WARPS)
        if not wave.active.any() and not wave.shadows.any():
            return wave
        answer(tracer, wave.traced, wave.to_trace[:1], wave.answers)
        answer(tracer, wave.shadows_traced, wave.to_trace[1:], wave.shadow_answers)  # with sheets it matters which


class WarpsByTurns:
    """Stands for a `WarpKernel` where CUDA is played: what a stream does of it are warps whose lanes go by turns."""

    def __init__(self, cuda, lanes):
        self._cuda, self._lanes = cuda, lanes

    def start(self, warps, given, stream):
        own = given.copy()  # as a launch has one
        self._cuda.add_work(stream.address, lambda: [self._lanes().run(warp, own.ctypes.data) for warp in range(warps)])


@pytest.fixture
def cuda(emulator, monkeypatch):
    monkeypatch.setenv("TRACECORE_GPU_TIMEOUT", "120")
    monkeypatch.setattr(photon_waves, "columns_of", columns_of_here)
    monkeypatch.setattr(photon_waves, "ordered_rows", ordered_rows_here)
    monkeypatch.setattr(photon_waves, "WARPS", 1)
    monkeypatch.setattr(eye_waves, "WARPS", WARPS)
    monkeypatch.setattr(eye_waves, "MOST_PASSES", PASSES)
    yield from installed(monkeypatch)


def columns_of_here(columns, count):
    """Does what `columns_of` does where memory of a GPU is the host's."""
    return columns[:, :count].copy()


def ordered_rows_here(columns, count, key, words):
    """Does what `ordered_rows` does there."""
    order = np.argsort(columns[key, :count], kind="stable")
    return np.ascontiguousarray(columns[:words, order].T)


def test_waves_store_the_photons_of_the_loops_though_there_is_no_room_for_all(kitchen, cuda, monkeypatch):
    drained = []
    monkeypatch.setattr(waves, "WarpKernel", lambda *given: WarpsByTurns(cuda, lambda: kitchen.lanes))
    monkeypatch.setattr(photon_waves, "columns_of", lambda *given: drained.append(given) or columns_of_here(*given))
    monkeypatch.setattr(photon_waves, "MOST_PHOTONS", 1)  # so there is room for no more than there has to be
    with GpuTracer(kitchen.snapshot.positions, "persistent-bvh4", threads=1, dispatch="streamed") as tracer:
        on_gpu = photon_waves.PhotonWaves(tracer, kitchen.scene, kitchen.task)
        none, some, more = (on_gpu.trace(range(photons)) for photons in (0, PHOTONS, 4000))
        assert len(drained) > 1
    with tracecore.open_tracer(kitchen.snapshot.positions, device="cpu", threads=1) as tracer:
        pool = WorkerPool(tracer, threads=1)
        loops = [trace_photons(kitchen.scene, kitchen.task, pool, range(photons)) for photons in (PHOTONS, 4000)]
        pool.close()
    for found, expected in zip((some, more), loops, strict=True):
        is_the_same(found.ordered, found.counters, expected)
    assert len(none.ordered) == 0


@pytest.mark.parametrize(("rays", "beyond", "is_drained"), [(1, 1, True), (1, 0, False), (0, 1, False)])
def test_photons_are_drained_where_more_may_come_than_there_is_room_for(monkeypatch, rays, beyond, is_drained):
    """No ray is left, no photon comes: a pass whose last photons fill the room is not refused."""
    on_gpu, room, cleared = object.__new__(photon_waves.PhotonWaves), 1 << 20, []
    on_gpu._all = SimpleNamespace(blocks=np.broadcast_to(np.uint32(0), (1, 1, room)), active=[0])
    filled = np.array([room - 2 * photon_waves.AHEAD * on_gpu.rays_at_once + beyond])
    on_gpu._waves = SimpleNamespace(until_done=lambda name: [(0.5, rays, filled)], clear=cleared.append)
    monkeypatch.setattr(on_gpu, "_drained", lambda: "photons")
    assert on_gpu._run() == (["photons"] if is_drained else [], 0.5)
    assert cleared == (["filled"] if is_drained else [])


def copied(value):
    """Returns a named tuple with arrays of its own."""
    if isinstance(value, tuple):
        parts = map(copied, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copy() if isinstance(value, np.ndarray) else value


def record_of(one):
    """Returns a photon map of the host as waves have it."""
    if one.photons == 0:
        return photon_maps.no_map()
    memory = (one.columns.ctypes.data, one.columns.shape[1], one.starts.ctypes.data)
    return photon_maps.map_record(one.grid, memory, one.photons, one.scale)


@pytest.mark.parametrize("kind", [PhotonDriver, GatherDriver])
def test_lanes_find_the_photons_that_the_loops_find(kind):
    snapshot = in_haze(load("cornell").snapshot(0.0))
    settings = RenderSettings(width=SIZE[0], height=SIZE[1], threads=1, layers="all", photons=3000)
    columns = [*range(LAYER_BIAS + 1), *range(LAYER_LIGHT, LAYER_END)]  # what the eye meets first, threads add
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        driver, lookups = kind(snapshot, tracer, settings), []
        find = driver.follow_camera_paths
        driver.follow_camera_paths = lambda *given: lookups.append(copied(given[1])) or find(*given)
        expected = [driver.render_pass(number).reshape(SIZE[0] * SIZE[1], -1) for number in range(PASSES)]
        wave = passes_by_lanes(driver, tracer, lookups)
        driver.close()
    for image, loops in zip(wave.images, expected, strict=True):
        np.testing.assert_array_equal(image[:, columns], loops[:, columns])
    assert np.count_nonzero(expected[0][:, 0]) > SIZE[0] * SIZE[1] / 2


def in_haze(snapshot):
    """Returns a scene in a block of haze that leaves out a part of it."""
    low, high = snapshot.positions.min(axis=(0, 1)), snapshot.positions.max(axis=(0, 1))
    size = high - low
    box = flat_snapshot(block(-0.1, 0.8) * (0.55 * size) + (low + high) / 2.0, [fog(0.3 / float(size.max()), g=0.5)])
    names = ("positions", "normals", "uvs", "object_ids")
    joined = {name: np.concatenate([getattr(snapshot, name), getattr(box, name)]) for name in names}
    ids = np.append(snapshot.material_ids, box.material_ids + len(snapshot.materials)).astype(np.int32)
    return replace(snapshot, **joined, material_ids=ids, materials=(*snapshot.materials, *box.materials))


def with_sheet_and_lamps(snapshot):
    """Returns vases of which one lets light straight through, below lamps that a tree chooses among."""
    lamps = [
        PointLight(position=(x / 4.0, y / 4.0, 2.0), intensity=(9.0, 9.0, 9.0)) for x in range(8) for y in range(8)
    ]
    clear = Material(kind="nff", diffuse=(0.0, 0.0, 0.0), transmittance=0.7, ior=1.0)
    first = next(k for k, material in enumerate(snapshot.materials) if material.kind == "plastic")
    return replace(
        snapshot, lights=lamps, materials=[clear if k == first else one for k, one in enumerate(snapshot.materials)]
    )


@pytest.fixture
def vases(monkeypatch):
    """Metals, plastics, glass that absorbs, a sheet, lamps, the sky, and haze."""
    monkeypatch.setattr(light_tree, "LEVEL_COST", -1.0)  # a tree is taken, whether it pays or not
    return in_haze(with_sheet_and_lamps(load("vases").snapshot(0.0)))


#: Of these pictures, and what waves make of them: threads add what the eye meets first.
OF_VASES = RenderSettings(width=SIZE[0], height=SIZE[1], threads=1, layers="all", pixel_filter="gaussian")
MADE_BY_WAVES = [*range(LAYER_BIAS), *range(LAYER_LIGHT, LAYER_END)]


@pytest.mark.parametrize("kind", [PathDriver, OcclusionDriver])
def test_lanes_make_the_passes_of_the_loops_bit_for_bit(kind, vases):
    with tracecore.open_tracer(vases.positions, device="cpu", threads=1) as tracer:
        driver = kind(vases, tracer, OF_VASES)
        assert bool(driver.scene.photon_scene.flags & SHEET) == (kind is PathDriver)
        assert driver.scene.light_records.tree.levels > 0
        wave = passes_by_lanes(driver, tracer)
        expected = [driver.render_pass(number).reshape(-1, LAYER_END) for number in range(PASSES)]
        driver.close()
    for image, loops in zip(wave.images, expected, strict=True):
        np.testing.assert_array_equal(image[:, MADE_BY_WAVES], loops[:, MADE_BY_WAVES])
    assert np.count_nonzero(wave.images[0][:, 0]) > 0
    rays = driver.work.rays
    assert wave.counters.sum(axis=0)[:3].tolist() == [PASSES * SIZE[0] * SIZE[1], rays.shadow, rays.bounce]


def test_waves_make_the_passes_of_the_loops(vases, cuda, monkeypatch):
    monkeypatch.setattr(waves, "WarpKernel", lambda _, *given: WarpsByTurns(cuda, lambda: lanes_of(*given[:2])))
    with tracecore.open_tracer(vases.positions, device="cpu", threads=1) as tracer:
        driver = PathDriver(vases, tracer, OF_VASES)
        expected = [driver.render_pass(number).reshape(-1, LAYER_END) for number in range(PASSES)]
        job, slots = driver._job_of_waves(), driver._shadow_slots()
        driver.close()
    with GpuTracer(vases.positions, "persistent-bvh4", threads=1, dispatch="streamed") as tracer:
        on_gpu = eye_waves.EyeWaves(tracer, job, slots, (0, 0, *SIZE), 0)
        asked = [eye_waves.EyePass(number, job.reach, eye_waves.no_maps(), np.zeros(0)) for number in range(PASSES)]
        for _ in range(2):  # the second time with what the first has left
            made = on_gpu.trace(asked)
            for image, loops in zip(made.images, expected, strict=True):
                np.testing.assert_array_equal(image[:, MADE_BY_WAVES], loops[:, MADE_BY_WAVES])
    rays = driver.work.rays
    assert made.counters.sum(axis=0)[:3].tolist() == [PASSES * SIZE[0] * SIZE[1], rays.shadow, rays.bounce]
