import sys
from pathlib import Path

import numpy as np

from renderer.scene.packed_scene import pack_scene
from scenes import load
from scenes.toml_scene.writer import write
from shaders.lights.registry import emit_from, sample_light
from shaders.random import random4

write(load(sys.argv[1]), Path("copy.toml"))
lights = pack_scene(load("copy.toml").at(0.0)).lights
points = [(1.0 + x, 0.0, z) for x, z in ((0.0, 0.0), (2.0, 0.0), (0.0, 5.0))] + [(1.0, 3.0, 0.0)]
arriving = [sample_light(lights, point, (0.5, 0.5, 0.5)) for point in points]
photons = [emit_from(lights, 0, random4(np.uint64(4), 0, i, 0, 1)) for i in range(4000)]
light = np.array([sample.irradiance for sample in arriving]) * np.array([[sample.direction[1]] for sample in arriving])
np.savez("lighting.npz", light=light, photons=np.array([[*sum(photon, ())] for photon in photons]))
