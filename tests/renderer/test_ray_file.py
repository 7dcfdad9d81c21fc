"""Rays on disk: the same bits come back, and nothing else is taken for them."""

import io
import json
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from renderer.bench.ray_file import RayFile, RayFileError, read_rays, write_rays
from renderer.bench.workload import RaySet
from tracecore.rays import Query, make_rays


def some_sets():
    random = np.random.default_rng(2)
    rays = make_rays(random.normal(size=(50, 3)), random.normal(size=(50, 3)), 0.0, random.choice([1.0, np.inf], 50))
    return (
        RaySet(kind="camera", query=Query.CLOSEST, rays=rays),
        RaySet(kind="shadow4+", query=Query.ANY, rays=np.asfortranarray(rays[:7])),
        RaySet(kind="camera", query=Query.CLOSEST, rays=rays[3:4], view="view2"),
    )


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "rays.npz"
    origin = {"driver": "path", "settings": {"width": 3}}
    write_rays(found, RayFile(scene="a scene", triangles="ab12", origin=origin, sets=some_sets()))
    return found


def rewritten(path, compression=zipfile.ZIP_STORED, **changes):
    """The file with some of its arrays replaced by others, or by bytes; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, array in changes.items():
        member = f"{name.replace('__', '/')}.npy"
        members.pop(member)
        if array is not None:
            content = io.BytesIO()
            np.save(content, array)
            members[member] = content.getvalue()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, kept in members.items():
            archive.writestr(name, kept)


def header_of(path, **changes):
    with np.load(path) as archive:
        header = json.loads(archive["header"].tobytes())
    return np.frombuffer(json.dumps(header | changes).encode(), np.uint8)


def test_what_was_written_is_read_bit_for_bit(path):
    found = read_rays(path)
    assert (found.scene, found.triangles, found.origin["driver"]) == ("a scene", "ab12", "path")
    for one, other in zip(found.sets, some_sets(), strict=True):
        assert (one.kind, one.query, one.view) == (other.kind, other.query, other.view)
        assert one.rays.tobytes() == other.rays.tobytes()
        assert one.rays.flags.writeable
    with np.load(path) as archive:  # as anybody else would read them
        assert archive["camera/shadow4+"].shape == (7, 8)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"header": None}, "header.npy"),
        ({"header": np.zeros(4, np.uint8)}, "not a readable file of rays"),
        ({"header": np.frombuffer(b"[" * 100000, np.uint8)}, "not a readable file of rays"),
        ({"header": np.zeros(1 << 21, np.uint8)}, "more than"),
        ({"camera__camera": None}, "camera/camera.npy"),
        ({"camera__camera": np.ones((50, 7), np.float32)}, "has shape (50, 7)"),
        ({"camera__camera": np.ones((49, 8), np.float32)}, "should have 50 rays"),
        ({"camera__camera": np.ones((50, 8))}, "should be float32 by rows"),
        ({"camera__camera": np.full((50, 8), np.nan, np.float32)}, "ray 0 of 'camera/camera' is not finite"),
        ({"camera__camera": np.zeros((50, 8), np.float32)}, "has no direction"),
    ],
)
def test_arrays_that_are_not_as_they_should_be_are_refused(path, changes, said):
    rewritten(path, **changes)
    with pytest.raises(RayFileError) as raised:
        read_rays(path)
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "tracecore rays 2"},
        {"origin": 3},
        {"sets": []},
        {"sets": 7},
        {"sets": [3]},
        {"sets": [{"kind": "camera", "view": "camera", "query": "closest"}]},
        {"sets": [{"kind": "camera", "view": "camera", "query": "nearest", "rays": 50}]},
        {"sets": [{"kind": "c\nm", "view": "camera", "query": "any", "rays": 50}]},
        {"sets": 2 * [{"kind": "camera", "view": "camera", "query": "any", "rays": 50}]},
        {"sets": [{"kind": "camera", "view": "camera", "query": 3, "rays": 50}]},
    ],
)
def test_headers_that_do_not_fit_are_refused(path, changes):
    rewritten(path, header=header_of(path, **changes))
    with pytest.raises(RayFileError):
        read_rays(path)


def test_compressed_rays_are_refused_before_they_take_memory(path):
    rewritten(path, zipfile.ZIP_DEFLATED)
    with pytest.raises(RayFileError, match="is compressed"):
        read_rays(path)


def test_damaged_files_are_refused_or_read_as_they_were(path):
    """Cut anywhere, and with single bytes changed: only what the checksums do not cover may pass."""
    content, random = path.read_bytes(), np.random.default_rng(7)
    for length in random.integers(0, len(content), 40).tolist():
        path.write_bytes(content[:length])
        with pytest.raises(RayFileError):
            read_rays(path)
    for place, value in random.integers(0, (len(content), 256), (300, 2)).tolist():
        path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
        with suppress(RayFileError):
            for one, other in zip(read_rays(path).sets, some_sets(), strict=True):
                assert one.rays.tobytes() == other.rays.tobytes()


def test_what_is_no_archive_is_refused(tmp_path):
    with pytest.raises(RayFileError, match="cannot read"):
        read_rays(tmp_path / "nosuch.npz")
    with pytest.raises(RayFileError, match="cannot read"):
        read_rays(tmp_path)
    text = tmp_path / "text.npz"
    text.write_text("rays")
    with pytest.raises(RayFileError, match="not a readable file of rays"):
        read_rays(text)
