"""The loops of photons, compiled for the lanes of a warp: the bits that the loops of the CPU give, and what the code is
made of."""

import re

import numba
import numpy as np
import pytest
from lanes_on_threads import LanesOnThreads

import tracecore
from renderer.drivers.driver import RenderSettings
from renderer.drivers.pass_photons import photon_task
from renderer.gpu.photon_kernel import BATCH_ROWS, CAPACITY, PAD, WARP_HITS, WARP_LAUNCH, PhotonWave, shade_wave
from renderer.gpu.photon_waves import numbered_loops
from renderer.photons.photon_map import PHOTON_WORDS
from renderer.photons.store import PHOTON_COUNTERS, PHOTON_RAYS, STORE_COLUMNS, STORE_INDEX
from renderer.photons.tracing import trace_photons
from renderer.scene.packed_scene import pack_scene
from scenes import load
from tracecore.compilation.borrowing import Borrowed
from tracecore.compilation.gpu_code import ptx_of, warp_code
from tracecore.cuda.device_arrays import MOST_BYTES, lay_out
from tracecore.rays import HIT_FLOATS, RAY_FLOATS
from tracecore.workers.pool import WorkerPool

#: Warps that run one after the other here, and photons: more than the warps have room for at once.
WARPS, PHOTONS = 2, 2000


class Kitchen:
    """Is the kitchen, with several BSDFs, textures, bent normals and lights, and the code of its photons for a warp."""

    def __init__(self):
        self.snapshot = load("kitchen").snapshot(0.0)
        self.scene = pack_scene(self.snapshot)
        self.task = photon_task(self.scene, RenderSettings(width=1, height=1), 0, min_bounces=0)
        numbered, loops = numbered_loops(self.scene)
        self.wave = self._new_wave(numbered)
        self.code = warp_code(shade_wave, Borrowed(numba.typeof(self.wave)), loops)

    def _new_wave(self, scene):
        zeros, column = np.zeros, CAPACITY + PAD
        return PhotonWave(
            scene=scene,
            task=self.task,
            supply=np.array([0, PHOTONS]),
            active=zeros(WARPS, np.int64),
            fresh=zeros((WARPS, 2), np.int64),
            turns=zeros(WARPS, np.int64),
            batches=zeros((WARPS, 2, BATCH_ROWS, column), np.uint32),
            hits=zeros((WARPS, HIT_FLOATS, column), np.float32),
            chunk=zeros(1, WARP_HITS),
            launch=zeros(1, WARP_LAUNCH),
            waiting=zeros((1, 1), np.uint32),
            waits=zeros(1, np.int64),
            blocks=zeros((1, STORE_COLUMNS, 10 * PHOTONS), np.uint32),
            filled=zeros(1, np.int64),
            counters=zeros((WARPS, PHOTON_COUNTERS), np.int64),
            traced=zeros((WARPS * CAPACITY, RAY_FLOATS), np.float32),
            answers=zeros((WARPS * CAPACITY, HIT_FLOATS), np.float32),
            capacity=CAPACITY,
        )

    def traced_by_lanes(self, tracer):
        """Returns photons in order, and counters, of waves whose lanes are threads."""
        lanes, record = LanesOnThreads(self.code), np.zeros(MOST_BYTES, np.uint8)
        lay_out(self.wave, record.ctypes.data)
        while True:
            for warp in range(WARPS):
                lanes.run(warp, record.ctypes.data)
            if not self.wave.active.any():
                break
            self.wave.answers[:] = tracer.closest_hit(self.wave.traced)
        stored = self.wave.blocks[0, :, : self.wave.filled[0]]
        order = np.argsort(stored[STORE_INDEX], kind="stable")
        return stored[:PHOTON_WORDS, order].T, self.wave.counters.sum(axis=0)


@pytest.fixture(scope="module")
def kitchen():
    return Kitchen()


def test_lanes_store_the_photons_of_the_loops_bit_for_bit(kitchen):
    with tracecore.open_tracer(kitchen.snapshot.positions, device="cpu", threads=1) as tracer:
        stored, counters = kitchen.traced_by_lanes(tracer)
        pool = WorkerPool(tracer, threads=1)
        expected = trace_photons(kitchen.scene, kitchen.task, pool, range(PHOTONS))
        pool.close()
    assert len(expected.stored) > PHOTONS
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


def test_the_gpu_rounds_each_product_and_each_sum(kitchen):
    ptx = ptx_of(kitchen.code, "shade_wave", "sm_90", threads=32, registers=168)
    operations = set(re.findall(r"^\s+(?:add|sub|mul|div|sqrt)\.\S*f32", ptx, flags=re.M))
    assert {one.strip() for one in operations} == {f"{name}.rn.f32" for name in ("add", "sub", "mul", "div", "sqrt")}
    assert "ld.shared" in ptx, "scratch is not found by pointers to shared memory"
    assert ".local" not in ptx, "something has its address taken, and lies in memory"
    assert ".extern .func" not in ptx, "something is called that a GPU does not have"
