"""Radiance pictures: known colours in each way of packing, each orientation, and files that are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenes import SceneFileError
from scenes.colors.spectra import RGB_OF_XYZ
from scenes.pictures.environment_file import read_environment
from scenes.pictures.rgbe import read_rgbe

HEADER = b"#?RADIANCE\n# by a test\nEXPOSURE=3\nFORMAT=32-bit_rle_rgbe\n\n"
#: Ten columns of two rows; 128 is 2^7, so that 136 as exponent leaves mantissas as they are.
TEXELS = np.zeros((2, 10, 4), np.uint8)
TEXELS[..., 3] = 136
TEXELS[0, :, 0] = 7
TEXELS[1, :, 1] = range(10)
TEXELS[1, 4] = (200, 100, 50, 135)
TEXELS[1, 9] = (9, 9, 9, 0)  # black, whatever its mantissas
COLORS = TEXELS[..., :3].astype(np.float32)
COLORS[1, 4] = (100, 50, 25)
COLORS[1, 9] = 0


def flat():
    return TEXELS.tobytes()


def newer():
    """Runs of equal and different bytes, for each channel of a row."""
    data = b""
    for row in TEXELS:
        data += bytes((2, 2, 0, 10))
        for channel in row.T:
            if (channel == channel[0]).all():
                data += bytes((128 + 10, channel[0]))
            else:
                data += bytes((4, *channel[:4], 6, *channel[4:]))
    return data


def older():
    """The ten equal texels of the first row as one, and the count of the others."""
    return TEXELS[0, 0].tobytes() + bytes((1, 1, 1, 9)) + TEXELS[1].tobytes()


@pytest.mark.parametrize("packed", [flat, newer, older])
def test_ways_of_packing(tmp_path, packed):
    (tmp_path / "a.hdr").write_bytes(HEADER + b"-Y 2 +X 10\n" + packed())
    found = read_environment(tmp_path / "a.hdr", (1.0, 2.0, 1.0))
    assert found.dtype == np.float32
    assert np.array_equal(found, COLORS * np.array((1, 2, 1), np.float32))


@pytest.mark.parametrize(
    ("resolution", "expected"),
    [
        (b"-Y 2 +X 10", COLORS),
        (b"+Y 2 +X 10", COLORS[::-1]),
        (b"-Y 2 -X 10", COLORS[:, ::-1]),
        (b"+X 2 -Y 10", COLORS.transpose(1, 0, 2)),
        (b"-X 2 +Y 10", COLORS[::-1, ::-1].transpose(1, 0, 2)),
    ],
)
def test_orientations(tmp_path, resolution, expected):
    (tmp_path / "a.hdr").write_bytes(HEADER + resolution + b"\n" + flat())
    assert np.array_equal(read_rgbe(tmp_path / "a.hdr", 1000), expected)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"P6 1 1", "begins with '#?'"),
        (b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n", "an empty line after the header"),
        (HEADER.replace(b"rgbe", b"abcd"), "expected the format 32-bit_rle_rgbe, got '32-bit_rle_abcd'"),
        (HEADER + b"10 x 2\n", "expected a resolution such as"),
        (HEADER + b"-Y 2 +Y 10\n", "expected a resolution such as"),
        (HEADER + b"-Y 2 +X 0\n", "0x2 texels, at most 1000"),
        (HEADER + b"-Y 99999 +X 99999\n", "99999x99999 texels, at most 1000"),
        (HEADER + b"-Y 2 +X 10\n" + flat()[:-1], "ends early"),
        (HEADER + b"-Y 2 +X 10\n" + newer()[:-1], "ends early"),
        (HEADER + b"-Y 1 +X 10\n" + bytes((2, 2, 0, 10, 138 + 1, 5)), "a run is longer than its row of 10"),
        (HEADER + b"-Y 1 +X 10\n" + bytes((2, 2, 0, 10, 0, 5)), "ends early"),
        (HEADER + b"-Y 1 +X 10\n" + bytes((1, 2, 3, 136, 1, 1, 1, 255, 1, 1, 1, 255)), "longer than its row"),
    ],
)
def test_files_that_are_none(tmp_path, data, expected):
    (tmp_path / "a.hdr").write_bytes(data)
    with pytest.raises(SceneFileError) as caught:
        read_rgbe(tmp_path / "a.hdr", 1000)
    assert expected in caught.value.message


@given(st.binary(max_size=60), st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_any_bytes(tmp_path_factory, noise, place):
    path = tmp_path_factory.getbasetemp() / "any.hdr"
    data = bytearray(HEADER + b"-Y 2 +X 10\n" + newer())
    data[len(HEADER) + place : len(HEADER) + place + len(noise)] = noise
    path.write_bytes(bytes(data))
    try:
        assert read_rgbe(path, 1000).shape[2] == 3
    except SceneFileError as error:
        message = error.message
    else:
        message = ""
    assert "\n" not in message


def test_pictures_of_x_y_and_z(tmp_path):
    (tmp_path / "a.hdr").write_bytes(HEADER.replace(b"rgbe", b"xyze") + b"-Y 2 +X 10\n" + flat())
    assert np.allclose(read_rgbe(tmp_path / "a.hdr", 1000), np.maximum(COLORS @ RGB_OF_XYZ.T, 0.0), rtol=1e-6)
