"""What a picture will take is said before it is made, and refused where there is not so much."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fake_cuda import installed

import scenes
from renderer import cli
from renderer.drivers.driver import IMAGES_OF_PASS, MAP_BYTES, RenderSettings, image_bytes, pass_bytes, passes_under_way
from renderer.drivers.path import PathDriver
from renderer.drivers.photon import PhotonDriver
from renderer.drivers.photons_only import PhotonsOnlyDriver
from renderer.drivers.sppm import StochasticDriver
from renderer.errors import UsageError
from renderer.film.layers import LAYER_COLUMNS
from renderer.fleet import seats
from renderer.fleet.seats import Seat
from renderer.gpu import eye_waves
from renderer.photons.lookup import no_photons
from renderer.run import memory
from renderer.run.members import picture_member
from renderer.run.members.picture_member import MemberOrder
from renderer.run.photon_run.rounds import photon_run_bytes
from renderer.run.render_call import plan_picture
from renderer.settings.picture import Settings
from scenes.files.memory import limit_memory, needed_bytes, own_bytes, share_memory, usable_bytes
from scenes.model import Texture
from tracecore.cuda import device as gpu_device
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.kernels.strategies import find_strategy
from tracecore.threads import usable_cores
from tracecore.tracers.gpu import GpuTracer


@pytest.fixture(autouse=True)
def _no_limit():
    yield
    limit_memory(None)


@pytest.fixture(scope="module")
def cornell():
    return scenes.load("cornell").at(0.0)


def test_what_grows_with_pixels_and_photons(cornell):
    small, large = (RenderSettings(width=side, height=side, threads=1) for side in (100, 200))
    parts = [memory.picture_bytes(cornell, PathDriver, settings).parts for settings in (small, large)]
    assert parts[1]["film"] == 4 * parts[0]["film"]
    assert parts[1]["passes under way"] == 4 * parts[0]["passes under way"] == 4 * IMAGES_OF_PASS * 24 * 100 * 100
    assert parts[0]["triangles"] == parts[1]["triangles"] == needed_bytes(len(cornell.positions))
    photons = RenderSettings(width=100, height=100, threads=1, photons=1000)
    of_photons = memory.picture_bytes(cornell, PhotonDriver, photons).parts["passes under way"]
    assert of_photons == parts[0]["passes under way"] + int(1000 * MAP_BYTES * memory.STORED_BY_PASS)
    of_sppm = [RenderSettings(width=100, height=100, threads=threads, photons=1000) for threads in (1, 2)]
    assert [memory.picture_bytes(cornell, StochasticDriver, one).parts["passes under way"] for one in of_sppm] == [
        of_photons,
        2 * of_photons,
    ]
    two = RenderSettings(width=100, height=100, threads=2)
    both = [memory.picture_bytes(cornell, PathDriver, two, passes).parts["passes under way"] for passes in (1, 2, 99)]
    assert both[1] == both[2] == 2 * both[0]
    layered = RenderSettings(width=100, height=100, threads=1, layers="all")
    assert memory.picture_bytes(cornell, PathDriver, layered).parts["film"] > 3 * parts[0]["film"]


def test_members_take_a_scene_and_passes_each_and_have_the_film_and_shared_maps_once(cornell):
    settings = RenderSettings(width=100, height=100, threads=2, photons=1000)
    image, map_of_pass = 24 * 100 * 100, int(1000 * MAP_BYTES * memory.STORED_BY_PASS)
    two, frames = memory.Sharing(2), memory.Sharing(2, is_by_frames=True)

    def parts(driver, sharing=memory.ALONE, passes=None):
        return memory.picture_bytes(cornell, driver, settings, passes, sharing).parts

    alone, shared, by_frames = (parts(PhotonDriver, sharing) for sharing in (memory.ALONE, two, frames))
    assert shared["triangles"] == by_frames["triangles"] == 3 * alone["triangles"]
    assert shared["film"] == alone["film"] == by_frames["film"] // 2
    assert by_frames["frames to be written"] == memory.MEMBERS_WRITERS * alone["film"]
    assert by_frames["the next frame of each"] == 3 * alone["triangles"]
    ahead = parts(PhotonDriver, memory.Sharing(is_by_frames=True))
    assert {name: size for name, size in ahead.items() if alone.get(name) != size} == {
        "the next two frames": 2 * alone["triangles"] + pass_bytes(PhotonDriver, settings),
        "film": ahead["film"],
    }
    assert alone["film"] < ahead["film"] <= (1 + memory.WRITERS) * alone["film"]  # of frames that are written, too
    assert shared["passes under way"] == 4 * (map_of_pass + 3 * image)  # a pass that is finished goes to this process
    assert by_frames["passes under way"] == 2 * alone["passes under way"] == 4 * (map_of_pass + 2 * image)
    assert parts(PhotonDriver, two, 3)["passes under way"] == 3 * (map_of_pass + 3 * image)
    of_sppm = parts(StochasticDriver, two)
    assert of_sppm["passes under way"] == 2 * 3 * image  # a part of a pass each
    assert of_sppm["photon maps"] == int(1000 * memory.STORED_BY_PASS * (memory.SHARED_MAP_BYTES + memory.AHEAD_BYTES))
    assert "photon maps" not in parts(StochasticDriver)
    assert parts(PhotonsOnlyDriver, two)["photon map"] == int(1000 * memory.STORED_BY_RUN * memory.SHARED_MAP_BYTES)
    own = int(1000 * memory.STORED_BY_RUN * (MAP_BYTES + memory.KEPT_BYTES))
    assert parts(PhotonsOnlyDriver)["photon map"] == own
    assert parts(PhotonsOnlyDriver, frames)["photon map"] == 2 * own
    assert parts(PhotonsOnlyDriver)["passes under way"] == 2 * 2 * image
    estimate = memory.picture_bytes(cornell, PathDriver, settings, sharing=two)
    assert (estimate.processes, estimate.of_program) == (3, 3 * memory.PROGRAM_BYTES)


def test_members_share_what_passes_under_way_may_take(cornell):
    limit_memory(own_bytes() + 1_000_000_000)
    settings = RenderSettings(width=4000, height=1000, threads=64)
    alone, three = (
        memory.picture_bytes(cornell, PathDriver, settings, sharing=memory.Sharing(members)).parts["passes under way"]
        for members in (0, 2)
    )
    of_pass = image_bytes(settings)
    assert alone == of_pass * passes_under_way(PathDriver, 64, of_pass) > of_pass
    assert three == 2 * (of_pass * 3 // 2) * max(1, passes_under_way(PathDriver, 64, of_pass, 3))
    assert passes_under_way(PathDriver, 64, of_pass, 3) == int(0.4 * usable_bytes() / 3 / of_pass)  # type: ignore[operator]


def test_a_member_takes_its_part_of_the_memory_of_its_host(cornell):
    order = MemberOrder(scene=cornell, settings=Settings(driver="path", memory="3GB"), tree=None)  # type: ignore[arg-type]
    order.plan(Seat(0, "cpu", 1, neighbours=2))
    assert usable_bytes() == 1_000_000_000
    order.plan(Seat(0, "cpu", 1, neighbours=5))
    assert usable_bytes() == 500_000_000
    limit_memory(None)
    there = usable_bytes()
    share_memory(None, 4)
    assert usable_bytes() == pytest.approx(there / 4, rel=0.2)  # type: ignore[operator]


def test_members_leave_room_for_each_other_on_a_gpu(cornell, monkeypatch):
    order = MemberOrder(scene=cornell, settings=Settings(driver="path"))
    monkeypatch.setitem(gpu_device._sharers, "processes", 1)
    monkeypatch.setattr(picture_member, "gpu_count", lambda: 2)
    order.plan(Seat(0, "gpu:1", 1, neighbours=5))
    assert gpu_device._sharers["processes"] == 3


def test_threads_of_a_member_decide_how_many_passes_it_has_under_way(cornell):
    """Those of --gpus are for all together, those of --cluster for each worker."""

    def threads(**changes):
        chosen = Settings(driver="path", **changes)
        return plan_picture(cornell, chosen).settings_of_each(cornell).threads

    assert threads(threads=2) == 2
    assert threads(threads=4, gpus=2) == threads(threads=2, cluster="local:2") == 2
    assert threads(gpus=2) == threads(cluster="local:2") == max(1, usable_cores() // 2)
    assert threads(gpus=64) == 1


@pytest.mark.parametrize("where", [("--gpus", "2"), ("--cluster", "local:2")])
def test_the_memory_of_all_processes_is_told_and_limited(where, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("scenes.files.memory.own_bytes", lambda: 0)  # other tests may have left much in this process
    words = ["render", "cornell", "--size", "64x48", "--driver", "ao", "--passes", "1", "--memory", "500MB"]
    words += ["-o", str(tmp_path / "a.png"), "--quiet"]
    assert cli.main([*words, *where, "--dry-run"]) == 0  # it tells, and refuses nothing
    assert "0.6 GB of the program itself in 3 processes" in capsys.readouterr().out
    monkeypatch.setattr(seats, "seats_of_gpus", lambda *_: [])
    fake = SimpleNamespace(seats=None, close=lambda: None)
    monkeypatch.setattr("renderer.fleet.processes.HostFleet", lambda *_: fake)
    assert cli.main([*words, *where]) == 2
    assert re.search(r"this takes about 0\.\d GB, and there is room for 0\.0 GB", capsys.readouterr().err)
    assert cli.main([*words, "--device", "cpu"]) == 0


def test_memory_bounds_the_passes_under_way(cornell):
    settings = RenderSettings(width=400, height=300, threads=8)
    assert passes_under_way(PathDriver, 8, image_bytes(settings)) == 8
    limit_memory(own_bytes() + 1_000_000_000)
    assert passes_under_way(PathDriver, 99, 50_000_000) == int(0.4 * usable_bytes() / 50_000_000) < 99  # type: ignore[operator]
    limit_memory(1)
    assert passes_under_way(PathDriver, 8, 1 << 40) == 0  # the one that begins all the same
    assert memory.picture_bytes(cornell, StochasticDriver, settings).parts["passes under way"] > 0


def test_what_does_not_fit_is_refused():
    estimate = memory.Estimate({"film": 3_000_000_000, "triangles": 40_000_000})
    assert str(estimate) == "about 3.0 GB (film 3.0 GB)"
    memory.check_fits(memory.Estimate({"film": 1}), "use less")
    limit_memory(1_000_000_000)
    with pytest.raises(
        UsageError, match=r"this takes about 3.0 GB \(film 3.0 GB\), and there is room for 0.\d GB; use less"
    ):
        memory.check_fits(estimate, "use less")


@pytest.mark.parametrize(("text", "size"), [("4GB", 4 * 10**9), ("1.5 g", 15 * 10**8), ("800MB", 8 * 10**8)])
def test_sizes(text, size):
    assert Settings(memory=text).memory == size


@pytest.fixture
def cuda(monkeypatch):
    yield from installed(monkeypatch, devices=1)


def test_a_dry_run_tells_of_the_gpu(tmp_path, capsys, cuda):
    words = ["render", "cornell", "--size", "16x12", "--dry-run", "-o", str(tmp_path / "a.png")]
    for device, lines in {"auto": 2, "gpu:0": 2, "cpu": 1}.items():
        assert cli.main([*words, "--device", device]) == 0
        told = capsys.readouterr().out.splitlines()
        assert len(told) == lines
        assert [line[:17] for line in told] == ["memory     about ", "GPU        about "][:lines]
    cuda.devices.clear()
    gpu_unavailable_reason.cache_clear()
    assert cli.main([*words, "--device", "gpu"]) == 0
    assert "it cannot be used: no NVIDIA GPU is visible" in capsys.readouterr().out.splitlines()[1]
    assert cli.main([*words, "--device", "auto"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_estimate_of_a_gpu_covers_what_kernels_pack(cornell, cuda):
    """By the usual kernel, whose nodes are the largest."""
    settings = RenderSettings(width=16, height=12, threads=2)
    parts = memory.gpu_bytes(cornell, settings).parts
    strategy = find_strategy(None)
    packed = strategy.pack(strategy.build(cornell.positions), cornell.positions).bytes
    assert 0.5 * parts["triangles with their tree"] < packed <= parts["triangles with their tree"]
    with GpuTracer(cornell.positions, threads=2) as tracer:
        before = sum(len(one.bytes) for one in cuda.memory)
        tracer.open_ports(2, memory.GPU_BATCHES * 9, settings.batch_rays)
        ring = sum(len(one.bytes) for one in cuda.memory if one.device is not None) - before
    assert ring <= 1.1 * parts["batches"]


@pytest.mark.parametrize("kernel", ["while-while", "persistent-bvh4", "replacing-compressed-bvh8"])
@pytest.mark.parametrize("name", ["cornell", "stress:20k"])
def test_the_estimate_of_a_gpu_covers_what_builds_a_tree_there(name, kernel, cuda, monkeypatch):
    snapshot, taken = scenes.load(name).at(0.0), []
    allocate = cuda.allocate

    def watched(size):
        given = allocate(size)
        taken.append(sum(len(one.bytes) for one in cuda.memory if one.device is not None))
        return given

    monkeypatch.setattr(cuda, "allocate", watched)
    GpuTracer(snapshot.positions, kernel, threads=2, builder="ploc").close()
    settings = RenderSettings(width=16, height=12, threads=2)
    estimate = memory.gpu_bytes(snapshot, settings, "ploc").parts["triangles with their tree"]
    assert 0.6 * estimate < max(taken) <= estimate
    assert estimate > memory.gpu_bytes(snapshot, settings).parts["triangles with their tree"]


def test_a_scene_that_a_gpu_has_no_room_for_is_refused(tmp_path, capsys, cuda):
    """In one line, before memory of the GPU is taken; the CPU goes on with it where it is asked to."""
    cuda.free_bytes = 1000
    words = ["render", "cornell", "--size", "4x3", "--driver", "ao", "--passes", "1", "--device", "gpu"]
    assert cli.main([*words, "-o", str(tmp_path / "a.png")]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"error: [\d,]+ triangles with their tree take 0\.00 GB, and about \d+ would fit: 0\.00 of", error)
    assert not list(tmp_path.iterdir())
    assert cli.main([*words, "--fallback", "cpu", "-o", str(tmp_path / "b.png")]) == 0
    assert "would fit" in capsys.readouterr().err


def test_too_much_is_refused_before_anything_is_made(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("scenes.files.memory.own_bytes", lambda: 0)  # other tests may have left much in this process
    words = ["render", "cornell", "--size", "8000x8000", "--memory", "1GB", "-o", str(tmp_path / "a.png")]
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("tracecore: error: this takes about ")
    assert error.count("\n") == 1
    words = ["photons", "cornell", "--device", "cpu", "--store", "2000000000", "--memory", "2GB", "--quiet"]
    assert cli.main([*words, "--save-photons", str(tmp_path / "a.npz")]) == 2
    assert "use a smaller --store" in capsys.readouterr().err


def test_textures_count_by_their_texels(cornell):
    from dataclasses import replace

    picture = Texture(name="a", pixels=np.zeros((30, 20, 3), np.uint8))
    finer = replace(picture, filter="mip")
    assert memory.scene_bytes(cornell)["textures"] == 0
    assert memory.scene_bytes(replace(cornell, textures=(picture,)))["textures"] == 600 * memory.TEXEL_BYTES
    assert memory.scene_bytes(replace(cornell, textures=(finer,)))["textures"] == 800 * memory.TEXEL_BYTES


def test_photons_that_are_counted_alone_take_the_memory_of_a_round(cornell):
    kept, counted = (photon_run_bytes(cornell, 10**9, is_kept=is_kept) for is_kept in (True, False))
    assert kept.total - counted.total == memory.KEPT_BYTES * 10**9
    assert counted.total == photon_run_bytes(cornell, 10**11, is_kept=False).total


@pytest.mark.parametrize(("driver", "slots"), [(PathDriver, 8), (PhotonDriver, 8)])
def test_the_estimate_of_a_gpu_covers_waves_that_it_shades(cornell, driver, slots):
    settings = RenderSettings(width=64, height=48, threads=2, photons=1000, shading="gpu")
    parts = memory.gpu_bytes(cornell, settings, None, driver).parts
    image, pixels = np.zeros((1, LAYER_COLUMNS[settings.layers])), np.zeros(64 * 48, np.int32)
    job = SimpleNamespace(size=(64, 48), lookup=no_photons(), image=image, pixels=pixels)
    warps = 132 * eye_waves.WARPS  # of an H200
    wave = eye_waves.new_wave(np, job, (warps, slots), 2 * eye_waves.MOST_PASSES)  # type: ignore[arg-type]
    taken = sum(getattr(wave, name).nbytes for name in wave._fields if name != "job")
    assert 0.7 * parts["waves and images"] < taken <= parts["waves and images"]
    assert ("photons" in parts) == (driver is PhotonDriver)
    of_frame = memory.gpu_bytes(cornell, settings, None, driver, is_frame=True).parts
    assert of_frame == parts | {"the next frame": sum(parts.values())}
    assert "waves and images" not in memory.gpu_bytes(cornell, replace(settings, shading="cpu"), None, driver).parts
