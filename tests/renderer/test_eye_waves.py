"""Eye paths that a GPU traces and shades in waves: pictures that threads of the CPU make, and where it cannot be."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import renderer
import tracecore
from renderer import cli
from renderer.drivers import find_driver, photon
from renderer.drivers.driver import RenderSettings, Work, within_crop
from renderer.drivers.eye import EyeDriver
from renderer.drivers.pass_photons import WHOLE, PassPhotons, PhotonRequest, photon_task
from renderer.drivers.pass_site import PassSite
from renderer.drivers.path import PathDriver
from renderer.drivers.photon import PhotonDriver
from renderer.drivers.photon_maps import Look
from renderer.drivers.whitted import WhittedDriver
from renderer.errors import UsageError
from renderer.film.film import Film
from renderer.film.layers import LAYER_END
from renderer.gpu import eye_waves, photon_waves, waves
from renderer.gpu.photon_kernel import shade_wave
from renderer.gpu.waves import launch_of
from renderer.photons.lookup import look_up
from renderer.run import render_call
from renderer.run.render_call import plan_picture
from renderer.scene.packed_scene import pack_scene
from renderer.settings.picture import Settings
from scenes import from_tables, load
from tracecore.cuda import warp_kernel
from tracecore.cuda.device import gpu_unavailable_reason
from tracecore.cuda.device_arrays import as_on_device
from tracecore.errors import KernelError
from tracecore.tracers.gpu import GpuTracer


def picture(scene="kitchen", shading="gpu", **more):
    return renderer.render(scene, size=(120, 80), device="gpu", shading=shading, quiet=True, **more)


@pytest.fixture
def gpu():
    if reason := gpu_unavailable_reason():
        pytest.skip(reason)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "more",
    [
        {"driver": "path", "passes": 5, "layers": True},
        {"driver": "path", "passes": 3, "crop": (10, 20, 50, 40), "sampler": "random", "filter": "gaussian"},
        {"driver": "whitted", "passes": 2, "max_bounces": 3, "kernel": "while-while"},
        {"driver": "ao", "passes": 4, "layers": True},
    ],
)
def test_waves_make_the_picture_of_the_loops_bit_for_bit(gpu, more):
    by_waves, by_loops = picture(**more), picture(shading="cpu", **more)
    sums = by_waves.film.sums()
    for name, expected in by_loops.film.sums().items():
        np.testing.assert_array_equal(sums[name], expected)
    assert by_loops.film.linear.any()
    assert (by_waves.statistics["shading"], by_loops.statistics["shading"]) == ("gpu", "cpu")
    assert by_waves.statistics["rays.total"] == by_loops.statistics["rays.total"]


@pytest.mark.gpu
@pytest.mark.parametrize(("driver", "noise"), [("path", 0.3), ("photon", 0.1)])
def test_adaptive_passes_leave_out_the_same_pixels_there(gpu, driver, noise):
    asked = {"driver": driver, "passes": 80, "adaptive": True, "target_noise": noise}
    by_waves, by_loops = picture("cornell", **asked), picture("cornell", shading="cpu", **asked)
    np.testing.assert_array_equal(by_waves.film.samples, by_loops.film.samples)
    np.testing.assert_array_equal(by_waves.film.linear, by_loops.film.linear)
    assert by_loops.film.samples.min() == 16 < by_loops.film.samples.max()
    assert (by_waves.statistics["shading"], by_loops.statistics["shading"]) == ("gpu", "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("scene", ["vases", "chapel"])  # metals, glass, a sky; and media that absorb and scatter
def test_materials_and_media_have_the_same_bits_there(gpu, scene):
    by_waves, by_loops = (picture(scene, shading, driver="path", passes=2) for shading in ("gpu", "cpu"))
    np.testing.assert_array_equal(by_waves.film.linear, by_loops.film.linear)


@pytest.mark.gpu
@pytest.mark.parametrize("driver", ["path", "photon"])
def test_a_tree_of_lights_chooses_the_same_ones_there(gpu, driver):
    row = range(-9, 10, 2)
    corners = [[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]]
    tables = {
        "materials": {"chalk": {"diffuse": [0.8, 0.7, 0.6]}},
        "cameras": {"front": {"eye": [0, -20, 9], "target": [0, 0, 0], "up": [0, 0, 1]}},
        "light": [{"kind": "point", "position": [x, y, 0.5], "intensity": 0.1} for x in row for y in row],
        "object": [
            {"shape": "triangles", "material": "chalk", "vertices": corners, "triangles": [[0, 1, 2], [0, 2, 3]]}
        ],
    }
    assert pack_scene(from_tables(tables).snapshot(0.0)).light_records.tree.levels == 7
    by_waves, by_loops = (picture(tables, shading, driver=driver, passes=2) for shading in ("gpu", "cpu"))
    np.testing.assert_array_equal(by_waves.film.linear, by_loops.film.linear)
    assert by_loops.film.linear.any()


@pytest.mark.gpu
def test_what_is_compiled_ahead_is_what_passes_need(gpu, monkeypatch):
    begun = {}
    monkeypatch.setattr(warp_kernel, "_modules", begun)
    picture("cornell", driver="photon", passes=2, photons=20_000)
    assert len(begun) == 4  # photons, their maps, eye paths and sums of passes


@pytest.mark.gpu
def test_passes_that_do_not_fit_together_are_made_in_turn(gpu, monkeypatch):
    monkeypatch.setattr(eye_waves, "PATHS_TOGETHER", 2 * 120 * 80)
    by_waves, by_loops = (picture(shading=shading, driver="path", passes=5) for shading in ("gpu", "cpu"))
    np.testing.assert_array_equal(by_waves.film.linear, by_loops.film.linear)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("scene", "more"),
    [
        ("kitchen", {"driver": "photon", "layers": True, "guide_share": 0.2}),
        ("outdoor", {"driver": "photon"}),  # a pilot learns a radius for each pixel
        ("outdoor", {"driver": "photon", "crop": (10, 20, 50, 40)}),
        ("street", {"driver": "photon"}),  # and sends photons to as many places as it may
        ("kitchen", {"driver": "sppm"}),
        ("kitchen", {"driver": "photons-only", "crop": (10, 20, 50, 40)}),
        ("cornell", {"driver": "path+caustics"}),
        ("cornell", {"driver": "gather"}),
        ("kitchen", {"driver": "gather", "layers": True}),
        ("chapel", {"driver": "photon"}),
        ("chapel", {"driver": "sppm"}),
        ("chapel", {"driver": "path+caustics", "layers": True}),
        ("chapel", {"driver": "gather"}),
        ("chapel", {"driver": "photons-only", "crop": (10, 20, 50, 40)}),
    ],
)
def test_maps_that_the_gpu_sorts_bring_the_light_of_those_of_the_cpu(gpu, scene, more):
    by_waves, by_loops = (picture(scene, shading, passes=3, photons=30_000, **more) for shading in ("gpu", "cpu"))
    sums = by_waves.film.sums()
    for name, expected in by_loops.film.sums().items():
        np.testing.assert_array_equal(sums[name], expected)
    counted = [key for key in by_loops.statistics if key.startswith(("rays.", "photons."))]
    assert {key: by_waves.statistics[key] for key in counted} == {key: by_loops.statistics[key] for key in counted}
    assert by_waves.statistics["shading"] == "gpu"
    assert by_loops.statistics["photons.stored"] > 0


def test_a_pilot_has_waves_find_what_loops_find(monkeypatch):
    """The waves are played by the loops: number, reach and radii of their passes are those of the pilot's."""
    snapshot, settings = load("outdoor").snapshot(0.0), RenderSettings(width=12, height=8, threads=1, photons=2000)
    monkeypatch.setattr(PhotonDriver, "has_pilot", False)
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        driver = PhotonDriver(snapshot, tracer, settings)
        task = photon_task(driver.projected_scene, driver.settings, 7, min_bounces=1)
        request, every = PhotonRequest(driver.projected_scene, task), driver.pixels
        looks = [Look(np.full(96, 0.5), every), Look(np.full(96, -0.5), np.ascontiguousarray(every[::3]))]
        expected = driver.found_with_radii(7, request, looks)
        traced: list[Any] = []

        def of_passes(requests, emitted, cells):
            assert (requests, emitted, cells) == ([{WHOLE: request}], 2000, [{WHOLE: driver.first_radius}])
            return SimpleNamespace(maps=[{}])

        def trace(passes):
            traced.extend(passes)
            (one,) = passes

            def found(team):
                site = PassSite(team, driver.pixels)
                lookup = look_up(PassPhotons({WHOLE: request}, 2000, site).build_map(WHOLE, driver.first_radius))
                task = driver.eye_task(one.number, one.reach)
                return driver.trace_with_radii(site, task, lookup, one.radii)[1][None]

            return SimpleNamespace(found=driver.by_workers(found))

        monkeypatch.setattr(driver, "why_on_cpu", None)
        monkeypatch.setitem(vars(driver), "gpu_maps", SimpleNamespace(of_passes=of_passes))
        monkeypatch.setattr(driver, "_new_waves", lambda: SimpleNamespace(trace=trace))
        found = driver.found_with_radii(7, request, looks)
        driver.close()
    assert [one.number for one in traced] == [7, 7]
    for (_, pixels), there, here in zip(looks, found, expected, strict=True):
        np.testing.assert_array_equal(there[pixels], here[pixels])
        assert here[pixels].any()
    assert not np.delete(expected[1], looks[1].pixels).any()  # nobody else has looked
    assert (expected[0][looks[1].pixels] != expected[1][looks[1].pixels]).any()


@pytest.mark.parametrize("driver", ["photon", "sppm", "gather"])
def test_the_code_that_passes_need_is_compiled_while_a_pilot_looks_about(driver, monkeypatch):
    begun: list[Any] = []
    monkeypatch.setattr(EyeDriver, "why_on_cpu", None)
    monkeypatch.setattr(photon, "look_about", lambda *_: None)
    monkeypatch.setattr(photon_waves, "begin_to_compile", lambda tracer, scene, task: begun.append((scene, task)))
    monkeypatch.setattr(eye_waves, "begin_to_compile", lambda tracer, job, slots: begun.append(job))
    snapshot = load("cornell").snapshot(0.0)
    settings = RenderSettings(width=8, height=6, threads=1, shading="gpu")
    with tracecore.open_tracer(snapshot.positions, device="cpu", threads=1) as tracer:
        made = find_driver(driver)(snapshot, tracer, settings)
        needed = made._job_of_waves()
        (scene, task), *_ = made.photon_requests(0).values()
        made.close()
    early_photons, early = begun
    assert kernel_of(early) == kernel_of(needed)
    assert photon_kernel_of(*early_photons) == photon_kernel_of(scene, task)


def photon_kernel_of(scene, task):
    numbered, made_of = waves.with_loops(scene, photon_waves.photon_units())
    wave = photon_waves.new_wave(np, as_on_device(numbered), task, (1, 1), 1)
    return launch_of(shade_wave, wave), made_of


def kernel_of(job):
    scene, made_of = eye_waves.numbered(job)
    wave = eye_waves.new_wave(np, as_on_device(job._replace(scene=scene)), (1, 1), 1)
    return launch_of(eye_waves.shader_of(job.task), wave), made_of


def test_only_the_tracer_of_a_gpu_has_one_to_shade_on():
    what = {"size": (8, 6), "driver": "whitted", "passes": 1, "device": "cpu", "quiet": True}
    with pytest.raises(UsageError, match="--shading gpu: only the tracer of a GPU has one to shade on"):
        renderer.render("cornell", shading="gpu", **what)
    assert renderer.render("cornell", shading="auto", **what).statistics["shading"] == "cpu"


def test_passes_that_are_shared_out_are_shaded_by_cpus():
    with pytest.raises(UsageError, match="--shading auto: passes of other processes are shaded by CPUs; leave it out"):
        renderer.render("cornell", shading="auto", cluster="local:2", device="cpu")
    with pytest.raises(
        UsageError, match="--shading gpu: only the tracer of a GPU has one to shade on, and device is cpu"
    ):
        plan_picture("cornell", Settings(shading="gpu", cluster="local:2", device="cpu"), is_sequence=True)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "auto"),
        ({"device": "gpu:1"}, "auto"),
        ({"device": "gpu:7"}, "cpu"),  # there is none, which the tracer says
        ({"device": "cpu"}, "cpu"),
        ({"device": "emulator"}, "cpu"),
        ({"driver": "vcm"}, "cpu"),
        ({"verify": 0.1}, "cpu"),
        ({"dispatch": "streamed"}, "cpu"),
        ({"batch_rays": 256}, "cpu"),
        ({"timeline": "timeline.json"}, "cpu"),
        ({"cluster": "local:2"}, "cpu"),
        ({"shading": "cpu"}, "cpu"),
        ({"shading": "gpu"}, "gpu"),
    ],
)
def test_a_gpu_that_is_there_shades_pictures_by_itself(monkeypatch, asked, expected):
    monkeypatch.setattr(render_call, "has_gpu", lambda index: index != 7)
    assert plan_picture("cornell", Settings(**asked)).settings.shading == expected


def test_a_gpu_shades_frames_that_are_shared_out_and_none_that_is_not_there(monkeypatch):
    shared, alone = Settings(cluster="local:2"), Settings()
    for is_there, expected in ((True, "auto"), (False, "cpu")):
        monkeypatch.setattr(render_call, "has_gpu", lambda index, answer=is_there: answer)
        assert plan_picture("cornell", shared, is_sequence=True).settings.shading == expected
        assert plan_picture("cornell", alone).settings.shading == expected


@pytest.mark.parametrize(("version", "reason"), [(12_000, "kernels that shade need"), (12_010, None)])
def test_an_older_driver_leaves_shading_to_the_cpu(version, reason):
    tracer = object.__new__(GpuTracer)
    tracer.gpu = SimpleNamespace(driver=SimpleNamespace(versions=lambda: (version, 13_000)))
    found = waves.why_not(pack_scene(load("cornell").snapshot(0.0)), tracer)
    assert found is None if reason is None else found.startswith(reason)


def test_no_batch_is_compared_where_there_is_none():
    with pytest.raises(UsageError, match="--verify compares the hits of batches, and with --shading gpu"):
        renderer.render("cornell", shading="gpu", verify=0.1)


@pytest.mark.gpu
def test_a_real_gpu_shades_pictures_by_itself_and_the_cpu_photons(gpu, tmp_path):
    assert picture("cornell", shading=None, passes=1, photons=1000).statistics["shading"] == "gpu"
    words, figures = ["photons", "cornell", "--store", "1000", "--device", "gpu", "--quiet"], tmp_path / "photons.json"
    assert cli.main([*words, "--json", str(figures)]) == 0
    assert json.loads(figures.read_text())["shading"] == "cpu"


@pytest.mark.gpu
def test_frames_of_processes_that_share_a_gpu_have_the_bits_of_the_loops(gpu, tmp_path):
    words = ["render", "museum:10k", "--frames", "0:7", "--size", "96x72", "--passes", "3", "--photons", "20000"]
    there = ["--device", "gpu", "--shading", "gpu"]
    ways = {"one": there, "two": [*there, "--cluster", "local:2"], "loops": ["--device", "cpu"]}
    for name, way in ways.items():
        assert cli.main([*words, *way, "--quiet", "-o", f"{tmp_path}/{name}.gif"]) == 0
    for frame in range(8):
        one, two, loops = ((tmp_path / f"{name}-{frame:04}.png").read_bytes() for name in ways)
        assert one == two == loops


class WavesOfLoops:
    """Stands for the waves of a GPU, by the loops of the CPU."""

    most_passes = 2
    #: How many passes were added up together.
    added: ClassVar[list[int]] = []

    def __init__(self, tracer, job, slots, crop, pass_bytes):
        self._crop = crop
        settings = RenderSettings(width=job.size[0], height=job.size[1], layers="all", threads=1)
        self._driver = PathDriver(load("cornell").snapshot(0.0), tracer, settings)
        self._pixels, self._columns = job.pixels, job.image.shape[1]

    def passes_together(self, *, adds_up):
        return self.most_passes

    def sample(self, pixels):
        self._pixels = pixels

    def trace(self, passes):
        images, counts = [], []
        for number, left_out in ((one.number, one.left_out) for one in passes):
            driver, work, pixels = self._driver, Work(), self._pixels[left_out:]

            def make(team, number=number, work=work, driver=driver, pixels=pixels):
                return driver.trace_pass(number, PassSite(team, pixels, work=work))

            image = driver.by_workers(make)
            images.append(image.reshape(-1, LAYER_END)[:, : self._columns])
            counts.append([work.rays.camera, work.rays.shadow, work.rays.bounce, 0])
        found = np.zeros((len(images), 0), np.int64)
        return eye_waves.EyePasses(iter(images), lambda: self._sums(images, passes), found, np.array(counts), 1.0, 0.25)

    def _sums(self, images, passes):
        settings = replace(self._driver.settings, crop=self._crop)
        film = Film(*settings.film_size, self._columns, first=passes[0].number)
        for image in images:
            film.add(within_crop(image, settings))
        self.added.append(film.passes)
        return film.sums()


@pytest.mark.parametrize("more", [{"layers": True}, {"crop": (2, 1, 5, 4)}, {"clamp": 0.5}])
def test_a_driver_takes_passes_from_waves_some_together(monkeypatch, more):
    monkeypatch.setattr(waves, "why_not", lambda *about: None)
    monkeypatch.setattr(eye_waves, "EyeWaves", WavesOfLoops)
    monkeypatch.setattr(WavesOfLoops, "added", [])
    what = {"size": (8, 6), "driver": "path", "passes": 3, "device": "cpu", "quiet": True, "threads": 1}
    by_waves, by_loops = (renderer.render("cornell", shading=name, **what, **more) for name in ("gpu", "cpu"))
    sums = by_waves.film.sums()
    for name, expected in by_loops.film.sums().items():
        np.testing.assert_array_equal(sums[name], expected)
    assert by_waves.statistics["rays.total"] == by_loops.statistics["rays.total"]
    assert by_waves.statistics["passes"] == 3
    assert WavesOfLoops.added == ([2] if "crop" in more else [])  # others are looked at one by one
    assert by_waves.statistics["seconds.trace"] >= 2 * 0.25
    assert by_waves.statistics["shading"] == "gpu"


def test_waves_leave_out_what_a_film_has_enough_of(monkeypatch):
    monkeypatch.setattr(waves, "why_not", lambda *about: None)
    monkeypatch.setattr(eye_waves, "EyeWaves", WavesOfLoops)
    what = {"size": (48, 32), "driver": "path", "device": "cpu", "quiet": True, "threads": 1}
    asked = {"passes": 40, "adaptive": True, "target_noise": 0.3}
    by_waves, by_loops = (renderer.render("cornell", shading=name, **what, **asked) for name in ("gpu", "cpu"))
    np.testing.assert_array_equal(by_waves.film.samples, by_loops.film.samples)
    np.testing.assert_array_equal(by_waves.film.linear, by_loops.film.linear)
    assert by_loops.film.samples.min() == 16 < by_loops.film.samples.max()
    assert by_waves.statistics["rays.total"] == by_loops.statistics["rays.total"]


def test_a_driver_with_a_way_of_its_own_is_shaded_by_the_cpu(monkeypatch):
    monkeypatch.setattr(waves, "why_not", lambda *about: None)
    monkeypatch.setattr(eye_waves, "EyeWaves", WavesOfLoops)
    monkeypatch.setattr(WhittedDriver, "trace_pass", lambda *given: EyeDriver.trace_pass(*given))
    what = {"size": (8, 6), "driver": "whitted", "passes": 1, "device": "cpu", "quiet": True, "threads": 1}
    made, expected = (renderer.render("cornell", shading=name, **what) for name in ("auto", "cpu"))
    np.testing.assert_array_equal(made.film.linear, expected.film.linear)
    assert made.statistics["shading"] == "cpu"
    with pytest.raises(UsageError, match="--shading gpu: the driver traces passes in a way of its own, which only the"):
        renderer.render("cornell", shading="gpu", **what)


def test_waves_that_fail_are_made_again_by_the_cpu(monkeypatch):
    done = []

    class Failing(WavesOfLoops):
        def trace(self, passes):
            done.append([one.number for one in passes])
            if len(done) > 1:
                raise KernelError("lost")
            return super().trace(passes)

    monkeypatch.setattr(waves, "why_not", lambda scene, tracer: "it is a CPU" if tracer.device == "cpu" else None)
    monkeypatch.setattr(eye_waves, "EyeWaves", Failing)
    what = {"size": (8, 6), "driver": "path", "passes": 3, "quiet": True, "threads": 1}
    failed = renderer.render("cornell", shading="gpu", device="emulator", fallback="cpu", **what)
    np.testing.assert_array_equal(failed.film.linear, renderer.render("cornell", device="cpu", **what).film.linear)
    assert done == [[0, 1], [2], [2]]  # by another tracer of the device, then by the CPU
    assert (failed.statistics["coprocessor.faults"], failed.statistics["shading"]) == (2, "cpu")
