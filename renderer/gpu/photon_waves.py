"""Photons that are traced and shaded on one GPU: wave after wave, of which only what is stored comes to the host."""

from __future__ import annotations

#: Rays of a warp's batch, and room behind them that nothing is read from.
import os
from typing import Any

import numba
import numpy as np
from numba import types

from renderer.gpu.device_arrays import DeviceArrays
from renderer.gpu.photon_kernel import BATCH_ROWS, SCRATCH_BYTES, WARP_HITS, WARP_LAUNCH, PhotonWave, shade_wave
from renderer.photons.batch import PhotonTask
from renderer.photons.photon_map import Words
from renderer.photons.scattering import _landing, scatter_photons
from renderer.photons.store import PHOTON_COUNTERS, STORE_COLUMNS
from renderer.scene.packed_scene import PackedScene
from renderer.shading.scattering import PHOTONS
from renderer.simd.bsdf_kinds import kinds_of
from tracecore.compilation.borrowing import Borrowed
from tracecore.cuda.device import Stream
from tracecore.cuda.warp_kernel import WarpKernel
from tracecore.rays import HIT_FLOATS, RAY_FLOATS, Query
from tracecore.tracers.gpu import GpuTracer

CAPACITY, PAD = int(os.environ.get("TC_CAP", "512")), 32

#: Waves that are launched before the host looks what became of them.
AHEAD = 8


def numbered_loops(scene: PackedScene) -> tuple[PackedScene, list[tuple[Any, tuple[Any, ...]]]]:
    """Returns a scene that knows the loops of its BSDFs by their numbers, and these loops."""
    table, chunk, landing = scene.bsdfs, numba.from_dtype(WARP_HITS), numba.typeof(_landing())
    own, numbers = sorted(set(table.bsdfs.tolist())), np.zeros_like(table.loops)
    for number, bsdf in enumerate(own):
        numbers[bsdf, PHOTONS] = number
    kinds = kinds_of(own)
    loops = [(scatter_photons, (kind, chunk, types.int64, landing)) for kind in kinds]
    return scene._replace(bsdfs=table._replace(loops=numbers)), loops


class PhotonWaves:
    """Traces and shades the photons of a scene on a tracer's GPU."""

    def __init__(self, tracer: GpuTracer, scene: PackedScene, task: PhotonTask, warps: int = 0) -> None:
        self._tracer, self._device = tracer, tracer.gpu
        self._device.attach()
        self._arrays = DeviceArrays(self._device)
        numbered, loops = numbered_loops(scene)
        warps = warps or self._device.multiprocessors * 16
        photons = 3 * AHEAD * warps * CAPACITY
        self.wave = self._new_wave(self._arrays.copied(numbered), task, warps, photons)
        self.kernel = WarpKernel(self._device, shade_wave, Borrowed(numba.typeof(self.wave)), loops, SCRATCH_BYTES)
        self.launches = [tracer.launch_at(self.wave.traced, self.wave.answers) for _ in range(AHEAD)]

    def _new_wave(self, scene: PackedScene, task: PhotonTask, warps: int, photons: int) -> PhotonWave:
        zeros, column = self._arrays.zeros, CAPACITY + PAD
        return PhotonWave(
            scene=scene,
            task=task,
            supply=zeros((2,), np.int64),
            active=zeros((warps,), np.int64),
            fresh=zeros((warps, 2), np.int64),
            turns=zeros((warps,), np.int64),
            batches=zeros((warps, 2, BATCH_ROWS, column), np.uint32),
            hits=zeros((warps, HIT_FLOATS, column), np.float32),
            chunk=zeros((1,), WARP_HITS),
            launch=zeros((1,), WARP_LAUNCH),
            waiting=zeros((1, 1), np.uint32),
            waits=zeros((1,), np.int64),
            blocks=zeros((1, STORE_COLUMNS, photons), np.uint32),
            filled=zeros((1,), np.int64),
            counters=zeros((warps, PHOTON_COUNTERS), np.int64),
            traced=zeros((warps * CAPACITY, RAY_FLOATS), np.float32),
            answers=zeros((warps * CAPACITY, HIT_FLOATS), np.float32),
            capacity=CAPACITY,
        )

    def trace(self, task: PhotonTask, photons: range) -> tuple[Words, Any]:
        """Returns the photons of a range, (n, STORE_COLUMNS) uint32, those of a path in their order; and what was
        counted."""
        wave, stream = self.wave, Stream(self._device)
        self.wave = wave = wave._replace(task=task)
        record = self._arrays.structure(wave)
        host = {
            name: self._device.pinned(getattr(wave, name).shape, np.int64)
            for name in ("active", "filled", "waits", "counters")
        }
        start = self._device.pinned((2,), np.int64)
        start[:] = photons.start, photons.stop
        stream.copy_up(wave.supply.ctypes.data, start.ctypes.data, 16)
        for name in ("active", "waits", "counters", "filled"):
            stream.clear(getattr(wave, name).ctypes.data, getattr(wave, name).nbytes)
        warps, parts = len(wave.active), []
        blocks = self._device.pinned(wave.blocks.shape, np.uint32)
        self.rounds = 0
        with self._device.device_lock.vacant():
            while True:
                for launch in self.launches:
                    self.kernel.start(warps, record.address, stream)
                    launch.start(warps * CAPACITY, Query.CLOSEST, stream)
                self.rounds += AHEAD
                for name in ("active", "filled"):
                    stream.copy_down(host[name].ctypes.data, getattr(wave, name).ctypes.data, host[name].nbytes)
                stream.finish(record)
                for launch in self.launches:
                    launch.report()
                count = int(host["filled"][0])
                done = not host["active"].any()
                if count > len(wave.blocks) // 2 or done:
                    stream.copy_down(blocks.ctypes.data, wave.blocks.ctypes.data, count * blocks[0].nbytes)
                    stream.clear(wave.filled.ctypes.data, 8)
                    stream.finish(record)
                    parts.append(blocks[:count].transpose(0, 2, 1).reshape(-1, STORE_COLUMNS).copy())
                if done:
                    break
            waiting = self._device.pinned(wave.waiting.shape, np.uint32)
            stream.copy_down(waiting.ctypes.data, wave.waiting.ctypes.data, waiting.nbytes)
            for name in ("waits", "counters"):
                stream.copy_down(host[name].ctypes.data, getattr(wave, name).ctypes.data, host[name].nbytes)
            stream.finish(record)
        parts += [waiting[w, :, : host["waits"][w, 0]].T for w in range(warps)]
        return np.concatenate(parts), host["counters"].sum(axis=0)
