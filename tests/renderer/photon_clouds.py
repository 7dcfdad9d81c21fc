"""Photons that tests make without tracing any."""

import numpy as np

from renderer.photons.photon_map import PHOTON, PHOTON_WORDS, pack_flux
from shaders.octahedral import pack_unit


def photons_in_a_cloud(count, *, flat=False, seed=3):
    """Photons (n, PHOTON_WORDS) of two normals and all directions above them."""
    rng = np.random.default_rng(seed)
    photons = np.zeros(count, PHOTON)
    photons["position"] = rng.random((count, 3)) * (1.0, 1.0, 0.0 if flat else 0.3)
    normals = [(0.0, 0.0, 1.0), (0.0, 0.0, 1.0) if flat else (1.0, 0.0, 0.0)]
    photons["normal"] = [pack_unit(normals[k]) for k in rng.integers(0, 2, count)]
    photons["direction"] = pack_unit((0.6, 0.0, 0.8))
    photons["flux"] = [pack_flux((u, 0.5, 0.25), 0.5) for u in rng.random(count)]
    return photons.view(np.uint32).reshape(-1, PHOTON_WORDS)
