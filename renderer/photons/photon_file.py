"""Photons are kept on disk as a NumPy archive: `photons`, (n,) PHOTON, and `scale`, watts per unit of flux."""

import zipfile
from pathlib import Path

import numpy as np

from renderer.array_archive import DAMAGES, read_array
from renderer.errors import PhotonFileError
from renderer.photons.photon_map import PHOTON, PHOTON_WORDS, Words
from scenes.files.marks import write_arrays


def save_photons(path: Path, photons: Words, scale: float) -> None:
    """Write photons to a file. photons: (n, PHOTON_WORDS) uint32. scale: watts per unit of flux."""
    with path.open("wb") as file:
        arrays = {"photons": photons.view(PHOTON).reshape(len(photons)), "scale": np.array(scale, np.float64)}
        write_arrays(file, arrays)


def load_photons(path: Path) -> tuple[Words, float]:
    """Returns photons (n, PHOTON_WORDS) uint32 and their scale from a file that `save_photons` wrote. Raises
    `PhotonFileError` where it is no such file."""
    try:
        with zipfile.ZipFile(path) as archive:
            photons = read_array(archive, "photons", PHOTON, archive.start_dir)
            scale = read_array(archive, "scale", np.dtype("<f8"), archive.start_dir)
    except (OSError, *DAMAGES) as error:
        raise PhotonFileError(f"{path}: not a photon file ({error!s:.200})") from error
    if photons.ndim != 1 or not np.isfinite(photons["position"]).all():
        raise PhotonFileError(f"{path}: expected a row of photons at finite positions")
    if scale.shape != () or not 0.0 <= scale < np.inf:
        raise PhotonFileError(f"{path}: expected a finite scale of 0 or more")
    return photons.view(np.uint32).reshape(len(photons), PHOTON_WORDS).copy(), float(scale)
