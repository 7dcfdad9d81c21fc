"""The driver `vcm`: vertex connection and merging."""

from dataclasses import replace

import numpy as np

from renderer.camera_paths.bounce import make_eye_paths_ready
from renderer.camera_paths.loops import EyeBatches, take_eye_batches
from renderer.camera_paths.paths import MOST_DEPTH
from renderer.camera_paths.task import OCCLUDE, RANDOM
from renderer.drivers.driver import MOST_USUAL_PHOTONS, Radiance, RenderSettings
from renderer.drivers.eye import LOOP_CODE, EyeDriver
from renderer.drivers.pass_site import PassSite
from renderer.drivers.search_radius import footprint_radius, pass_radius
from renderer.errors import UsageError
from renderer.film.layers import columns_of
from renderer.photons.counts import PhotonCounts
from renderer.scene.photon_scene import IN_MEDIUM
from renderer.vcm.connecting import Connections, new_connections
from renderer.vcm.eye_paths import make_joined_paths_ready, run_joined_paths
from renderer.vcm.job import JoinedJob, LightJob, PathRules
from renderer.vcm.lamps import lamp_densities
from renderer.vcm.light_paths import run_light_paths
from renderer.vcm.vertices import VERTEX_WORDS, VertexBlock, new_block, sorted_vertices
from renderer.vcm.weights import Chances, chances_of
from scenes.model import Snapshot
from tracecore.compilation.cached import load_all
from tracecore.dispatch.port import FULL, Port
from tracecore.dispatch.tracer import Tracer
from tracecore.workers.pool import MAP, Loop, Worker

#: Paths from lamps have other random numbers than those of the eye: their seed differs in these bits.
OF_LAMPS = np.uint64(0x9E3779B97F4A7C15)

#: Paths from lamps that a pass may have: they are numbered by int32.
MOST_PATHS = (1 << 31) - 1

#: Copies of vertices in memory while they are sorted.
COPIES = 3


class VcmDriver(EyeDriver):
    """Joins paths from lamps with paths of the eye, where they meet and where they see each other, and weighs each such
    path by all the ways in which it could have been found.

    Georgiev, Krivanek, Davidovic, Slusallek: Light Transport Simulation with Vertex Connection and Merging, 2012. The
    radius within which they meet shrinks as that of `photon`.
    """

    name = "vcm"
    summary = "paths from lamps and from the eye, connected and merged: robust where neither finds the light alone"
    takes = EyeDriver.takes | {"photons", "radius"}
    layers = "features"
    has_light_groups = False
    has_paths = False
    traces_photons = True
    photon_bytes = 4 * VERTEX_WORDS * COPIES
    code = (run_joined_paths, run_light_paths, *LOOP_CODE)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        if settings.shading != "cpu":  # where only the CPU does
            self._get_ready()
        if settings.photons and settings.photons > MOST_PATHS:
            raise UsageError(f"driver 'vcm' follows no more than {MOST_PATHS} paths from lamps in a pass")
        self.emitted = settings.photons or min(settings.width * settings.height, MOST_USUAL_PHOTONS)
        self.first_radius = settings.radius or footprint_radius(tracer, self.camera, settings.height)
        self.settings = replace(settings, photons=self.emitted, radius=self.first_radius)
        self.lamps = lamp_densities(self.scene, self._light_samples())
        self._connections: dict[int, Connections] = {}

    def _get_ready(self) -> None:
        """Has the code of loops be there. Raises `UsageError` where paths would have to be followed in fog."""
        if self.scene.photon_scene.flags & IN_MEDIUM:
            raise UsageError("driver 'vcm' follows no light in media that scatter; choose path+caustics or photon")
        make_joined_paths_ready(self.scene.bsdfs)
        make_eye_paths_ready(self.scene.bsdfs, OCCLUDE, columns_of(self.settings))  # for features alone
        load_all(self.code)

    def _shadow_slots(self) -> int:
        """Returns one slot more, for rays that look whether vertices are in sight of each other."""
        return super()._shadow_slots() + 1

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass: follows paths from lamps, and then those of the eye, which are joined with
        them."""
        radius = pass_radius(self.first_radius, index)
        max_bounces = np.int32(min(self.settings.max_bounces, MOST_DEPTH))
        rules = PathRules(max_bounces, False, self.chances_of(radius))
        blocks = self.trace_light_paths(index, rules._replace(is_of_lamps=True), site)
        with site.team.timed(MAP):
            vertices = sorted_vertices(blocks, radius)
        job = JoinedJob(
            scene=self.scene,
            task=self.eye_task(index),
            camera=self.camera,
            size=(self.settings.width, self.settings.height),
            pixels=site.pixels,
            taken=np.zeros(1, np.int64),
            image=site.team.zeros((self.settings.height * self.settings.width, columns_of(self.settings))),
            lamps=self.lamps,
            rules=rules,
            vertices=vertices,
        )
        return self.run_eye_loop(site, self._run_joined, job, self._eye_slots)

    def chances_of(self, radius: float) -> Chances:
        """Returns how the ways to find a path are weighed in a pass with a radius, world units."""
        return chances_of(radius, self.emitted)

    def trace_light_paths(self, index: int, rules: PathRules, site: PassSite) -> list[VertexBlock]:
        """Returns the vertices of the paths from lamps of a pass."""
        blocks: list[VertexBlock] = []
        if self.scene.lights.power <= 0.0:
            return blocks
        seed = np.uint64(self.settings.seed) ^ OF_LAMPS
        job = LightJob(
            scene=self.scene,
            task=self.eye_task(index)._replace(seed=seed, sampler=RANDOM),
            lamps=self.lamps,
            rules=rules,
            pixels=np.arange(self.emitted, dtype=np.int32),
            taken=np.zeros(1, np.int64),
            per_path=1.0 / self.emitted,
        )

        def make_loop(worker: Worker) -> Loop:
            batches = take_eye_batches(worker, site.team, 1)

            def loop() -> int:
                status = FULL
                while status == FULL:
                    block = new_block(worker.port.capacity)
                    blocks.append(block)
                    status = int(run_light_paths(job, worker.port, batches, block))
                return status

            return loop

        site.team.run(make_loop)
        stored, escaped, absorbed, cut, rays = np.sum([block.counts for block in blocks], axis=0).tolist()
        site.count(PhotonCounts(self.emitted, 0, stored, absorbed, escaped, cut), rays)
        return blocks

    def _run_joined(self, job: JoinedJob, port: Port, batches: EyeBatches) -> int:
        if id(port) not in self._connections:
            self._connections[id(port)] = new_connections(port.rays.shape[2])
        return int(run_joined_paths(job, port, batches, self._connections[id(port)]))
