"""Photons on disk."""

import numpy as np
import pytest

from renderer.errors import PhotonFileError
from renderer.photons.photon_file import load_photons, save_photons
from renderer.photons.photon_map import PHOTON, PHOTON_WORDS

PHOTONS = np.random.default_rng(8).integers(0, 1 << 30, (10, PHOTON_WORDS), np.uint32)


def test_photons_saved_are_photons_loaded(tmp_path):
    save_photons(tmp_path / "map.npz", PHOTONS, 0.25)
    again, scale = load_photons(tmp_path / "map.npz")
    assert np.array_equal(again, PHOTONS)
    assert again.flags.writeable
    assert scale == 0.25


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 cut short"])
def test_a_bad_photon_file_is_named(tmp_path, content):
    path = tmp_path / "map.npz"
    path.write_bytes(content)
    with pytest.raises(PhotonFileError, match=r"map\.npz"):
        load_photons(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"photons": np.zeros(3), "scale": 1.0}, "should be .*position.* is float64"),
        ({"photons": np.zeros((2, 2), PHOTON), "scale": 1.0}, "expected a row of photons"),
        ({"photons": np.full((2, PHOTON_WORDS), -1, np.int32).view(PHOTON)[:, 0], "scale": 1.0}, "finite positions"),
        ({"photons": np.zeros(2, PHOTON), "scale": np.nan}, "expected a finite scale"),
        ({"photons": np.zeros(2, PHOTON), "scale": -1.0}, "expected a finite scale"),
        ({"photons": np.zeros(2, PHOTON), "scale": np.ones(2)}, "expected a finite scale"),
        ({"photons": np.zeros(2, PHOTON)}, "scale.npy"),
        ({"photons": np.array([None, {}]), "scale": 1.0}, "is object"),
    ],
)
def test_an_archive_of_something_else_is_refused(tmp_path, arrays, message):
    path = tmp_path / "map.npz"
    np.savez(path, **arrays)
    with pytest.raises(PhotonFileError, match=message):
        load_photons(path)


def test_what_would_unpack_to_more_is_refused(tmp_path):
    path = tmp_path / "map.npz"
    np.savez_compressed(path, photons=np.zeros(1_000_000, PHOTON), scale=1.0)
    with pytest.raises(PhotonFileError, match="'photons' is compressed"):
        load_photons(path)
