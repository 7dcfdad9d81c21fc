"""What covers the pixels of a picture: by known shares, by pictures of what glows, and as Cryptomatte in a file."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from small_scenes import flat_snapshot, quad

import renderer
import tracecore
from renderer.camera_paths import coverage as module
from renderer.camera_paths.coverage import RANKS, SAMPLES, PixelRays, coverage, ranked
from renderer.camera_paths.task import SAMPLERS
from renderer.film import cryptomatte
from renderer.scene.packed_scene import pack_camera
from renderer.settings.picture import Settings
from scenes.model import Camera, Material, Snapshot

SIZE = (9, 6)


def glowing(which: int = 1, **camera: float) -> Snapshot:
    """Two squares at z = 0, seen from 2 above, that meet at x = 0.1; beyond x = 1 there is nothing. One glows."""
    squares = [
        quad((-3, -3, 0), (0.1, -3, 0), (0.1, 3, 0), (-3, 3, 0)),
        quad((0.1, -3, 0), (1, -3, 0), (1, 3, 0), (0.1, 3, 0)),
    ]
    view: dict[str, Any] = {
        "eye": (0.0, 0.0, 2.0),
        "forward": (0.0, 0.0, -1.0),
        "up": (0.0, 1.0, 0.0),
        "vertical_fov": 60.0,
    }
    colors = [Material(backdrop=(1.0, 1.0, 1.0) if k == which else (0.0, 0.0, 0.0)) for k in range(2)]
    snapshot = flat_snapshot(
        np.concatenate(squares), colors, material_ids=[0, 0, 1, 1], camera=Camera(**(view | camera))
    )
    return replace(snapshot, object_ids=np.array([5, 5, 7, 7], np.int32))


def rays(snapshot: Snapshot, crop: tuple[int, int, int, int] = (0, 0, *SIZE)) -> PixelRays:
    return PixelRays(pack_camera(snapshot.camera, *SIZE), SIZE, crop, 0, SAMPLERS["sobol"])


def share_of(found: np.ndarray, number: float) -> np.ndarray:
    """The share that a number has of each pixel. found: (height, width, RANKS, 2)."""
    return np.where(found[..., 0] == number, found[..., 1], 0.0).sum(axis=2)


def test_shares_are_those_of_the_geometry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RAYS", 7 * SAMPLES)  # several pieces
    snapshot = glowing()
    with tracecore.open_tracer(snapshot.positions, device="brute") as tracer:
        found = coverage(snapshot, tracer, rays(snapshot))
        part = coverage(snapshot, tracer, rays(snapshot, (3, 1, 4, 2)))
    side = 2.0 * 2.0 * np.tan(np.pi / 6.0) / SIZE[1]  # of a pixel on the squares
    edges = side * (np.arange(SIZE[0] + 1) - SIZE[0] / 2.0)
    left, right = (np.diff(np.clip(edges, low, high)) / side for low, high in ((-3.0, 0.1), (0.1, 1.0)))
    assert 0.0 < left[4] < 1.0
    np.testing.assert_allclose(share_of(found[:, :, 0], 5), np.tile(left, (SIZE[1], 1)), atol=1.5 / SAMPLES)
    np.testing.assert_allclose(share_of(found[:, :, 0], 7), np.tile(right, (SIZE[1], 1)), atol=1.5 / SAMPLES)
    np.testing.assert_array_equal(share_of(found[:, :, 1], 0), share_of(found[:, :, 0], 5))
    np.testing.assert_array_equal(part, found[1:3, 3:7])
    assert (found[:, -1, :, 0] == (-1.0, 0.0)).all()
    assert (np.diff(found[..., 1], axis=3) <= 0.0).all()


def test_ranks_are_by_counting() -> None:
    random = np.random.default_rng(3)
    numbers = np.minimum(random.geometric(0.25, (SAMPLES, 200)), 12) - 2
    for column, found in zip(numbers.T, ranked(numbers), strict=True):
        counts = Counter(column[column >= 0].tolist())
        most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:RANKS]
        expected = most + [(-1, 0)] * (RANKS - len(most))
        assert found.tolist() == [[number, count / SAMPLES] for number, count in expected]


@pytest.mark.parametrize("driver", ["path", "photon", "whitted"])
@pytest.mark.parametrize("camera", [{}, {"aperture": 0.5, "focus": 1.5}], ids=["pinhole", "lens"])
@pytest.mark.parametrize("which", [0, 1])
def test_shares_are_what_a_picture_of_as_many_passes_shows(driver: str, camera: dict[str, float], which: int) -> None:
    """A surface that glows for the eye alone is as bright as its share, through the same rays."""
    made = Settings(driver=driver, size=SIZE, passes=SAMPLES, device="cpu", threads=1, quiet=True)
    picture = renderer.render(glowing(which, **camera), made, layers=("cryptomatte",), exposure=0.0)
    shares = share_of(picture.layers["cryptomatte"][:, :, 1], which)
    assert 0.0 < shares.mean() < 1.0
    np.testing.assert_allclose(picture.image[..., 0], shares, atol=1e-6)


def test_hashes_are_those_that_others_publish() -> None:
    """Of MurmurHash3, of Cryptomatte's manifests, and of the name of a layer."""
    known = {"": 0, "hello": 0x248BFA47, "hello, world": 0x149BBB7F, "test": 0xBA6BD213}
    known |= {"The quick brown fox jumps over the lazy dog": 0x2E4FF723}
    assert {name: cryptomatte.murmur3(name.encode()) for name in known} == known
    assert cryptomatte.hash_of("bunny") == 0x13851A76
    assert cryptomatte.hash_of("default") == 0x42C9679F
    assert f"{cryptomatte.murmur3(b'uCryptoAsset'):08x}"[:7] == "d593dd7"


def test_every_hash_is_a_number_of_its_own() -> None:
    values = np.array([cryptomatte.hash_of(f"object {k}") for k in range(20_000)], np.uint32).view(np.float32)
    assert np.isfinite(values).all()
    assert (np.abs(values) >= np.finfo(np.float32).tiny).all()
    assert len(set(values.tolist())) == len(values)
    raw = [cryptomatte.murmur3(f"object {k}".encode()) >> 23 & 0xFF for k in range(20_000)]
    assert 0 in raw
    assert 0xFF in raw  # some would have been none


def test_an_exr_has_mattes_by_their_names(tmp_path: Path) -> None:
    """As a compositor reads it: layers by the header, ids by the manifest, and shares beside them."""
    exr = pytest.importorskip("OpenEXR")
    made = Settings(driver="ao", size=SIZE, passes=1, device="cpu", threads=1, quiet=True)
    snapshot = glowing()
    named = replace(snapshot, materials=(replace(snapshot.materials[0], name="Grün"), snapshot.materials[1]))
    picture = renderer.render(named, made, layers=("cryptomatte",))
    picture.save(tmp_path / "a.exr")
    with exr.File(str(tmp_path / "a.exr"), separate_channels=True) as file:
        header = dict(file.header())
        channels = {name: one.pixels.copy() for name, one in file.channels().items()}
    keys = [name.rsplit("/", 1)[0] for name in header if name.endswith("/name")]
    assert sorted(header[f"{key}/name"] for key in keys) == ["CryptoMaterial", "CryptoObject"]
    found: dict[str, Any] = {}
    for key in keys:
        layer, manifest = header[f"{key}/name"], json.loads(header[f"{key}/manifest"])
        assert key == "cryptomatte/" + f"{cryptomatte.murmur3(layer.encode()):08x}"[:7]
        assert (header[f"{key}/hash"], header[f"{key}/conversion"]) == ("MurmurHash3_32", "uint32_to_float32")
        for name, word in manifest.items():
            number = np.array([int(word, 16)], np.uint32).view(np.float32)[0]
            found[name] = sum(
                np.where(channels[f"{layer}{pair:02}.{who}"] == number, channels[f"{layer}{pair:02}.{share}"], 0.0)
                for pair in range(RANKS // 2)
                for who, share in ("RG", "BA")
            )
    assert {"CryptoObject02.A", "CryptoMaterial02.A"} <= channels.keys()
    assert sorted(found) == ["Grün", "material 1", "object 5", "object 7"]
    kept = picture.layers["cryptomatte"]
    np.testing.assert_array_equal(found["object 7"], share_of(kept[:, :, 0], 7))
    np.testing.assert_array_equal(found["Grün"], share_of(kept[:, :, 1], 0))
    assert found["object 5"].max() == 1.0


def test_materials_of_one_name_are_one() -> None:
    made = Settings(driver="ao", size=SIZE, passes=1, device="cpu", threads=1, quiet=True)
    snapshot = glowing()
    same = tuple(replace(one, name="stone") for one in snapshot.materials)
    found = renderer.render(replace(snapshot, materials=same), made, layers=("cryptomatte",)).layers["cryptomatte"]
    apart = renderer.render(snapshot, made, layers=("cryptomatte",)).layers["cryptomatte"]
    assert set(np.unique(found[:, :, 1, :, 0])) == {-1.0, 0.0}
    np.testing.assert_array_equal(
        share_of(found[:, :, 1], 0), share_of(apart[:, :, 1], 0) + share_of(apart[:, :, 1], 1)
    )


def test_parts_have_mattes_with_names(tmp_path: Path) -> None:
    """A picture that is merged has the file of the whole."""
    pytest.importorskip("OpenEXR")
    common = [
        "cornell",
        "--size",
        "12x9",
        "--driver",
        "ao",
        "--passes",
        "2",
        "--device",
        "cpu",
        "--layers",
        "cryptomatte",
    ]
    assert run("render", *common, "-o", tmp_path / "whole.exr", "--quiet") == 0
    for part in (1, 2):
        assert run("render", *common, "--part", f"{part}/2", "-o", tmp_path / f"{part}.film", "--quiet") == 0
    assert run("merge", tmp_path / "1.film", tmp_path / "2.film", "-o", tmp_path / "merged.exr", "--quiet") == 0
    assert (tmp_path / "merged.exr").read_bytes() == (tmp_path / "whole.exr").read_bytes()


def test_a_crop_has_the_mattes_of_the_whole() -> None:
    made = Settings(driver="path", size=SIZE, passes=4, device="cpu", threads=1, quiet=True, layers=("cryptomatte",))
    whole = renderer.render(glowing(), made)
    cropped = renderer.render(glowing(), replace(made, crop=(3, 1, 4, 2)))
    np.testing.assert_array_equal(cropped.layers["cryptomatte"], whole.layers["cryptomatte"][1:3, 3:7])
