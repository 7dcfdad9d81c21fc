"""Hostile files of PLY."""

from functools import partial

from hostile.case import IS_READ, Case, files, made

VERTICES = "property float x\nproperty float y\nproperty float z\n"
FACES = "property list uchar int vertex_indices\n"


def head(kind: str, vertices: object, faces: object, more: str = "") -> str:
    return (
        f"ply\nformat {kind} 1.0\nelement vertex {vertices}\n{VERTICES}element face {faces}\n{FACES}{more}end_header\n"
    )


BINARY = "binary_little_endian"
POINTS = bytes(4 * 9)


def ply(name: str, expected: str, text: str | bytes) -> Case:
    return files(name, expected, "a.ply", {"a.ply": text})


def binary(name: str, expected: str, vertices: object, faces: object, data: bytes) -> Case:
    return ply(name, expected, head(BINARY, vertices, faces).encode() + data)


def no_corners(count: int) -> bytes:
    """Returns faces of no corners, but for the first."""
    return head(BINARY, 3, count).encode() + POINTS + b"\3" + bytes(12) + bytes(count - 1)


def many_corners(count: int) -> bytes:
    text = head(BINARY, 3, 1).replace("list uchar", "list uint").encode()
    return text + POINTS + count.to_bytes(4, "little") + bytes(4 * count)


CASES = [
    binary("3,000,000,000 faces", "cut off", 3, 3_000_000_000, POINTS),
    binary("a count of 40 digits", "a count of elements", 3, "9" * 40, POINTS),
    binary("a face of 255 corners that end", "cut off", 3, 1, POINTS + b"\xff"),
    binary("vertices of NaN", "finite", 3, 1, b"\xff" * 36 + b"\3" + bytes(12)),
    made(
        "30,000,000 faces of no corners", "3 or more corners", "a.ply", partial(no_corners, 30_000_000), is_large=True
    ),
    made("300,000 faces of no corners", "3 or more corners", "a.ply", partial(no_corners, 300_000)),
    made("a face of 5,000,000 corners", "at most", "a.ply", partial(many_corners, 5_000_000), is_large=True),
    made("a face of 300,000 corners", "at most", "a.ply", partial(many_corners, 300_000)),
    ply("a header that never ends", "expected a PLY header", b"ply\n" + b"comment a\n" * 100_000),
    ply("10,000 properties", "cut off", head("ascii", 3, 1, "property int a\n" * 10_000) + "0 0 0\n" * 3 + "3 0 1 2\n"),
    ply(
        "10,000 elements",
        IS_READ,
        head("ascii", 3, 1, "".join(f"element e{k} 0\n" for k in range(10_000))) + "0 0 0 1 0 0 0 1 0 3 0 1 2\n",
    ),
    ply(
        "an element of a billion rows of nothing",
        IS_READ,
        head("ascii", 3, 1, "element e 999999999999\n") + "0 0 0 1 0 0 0 1 0 3 0 1 2\n",
    ),
    ply("a list of length 1e18", "cut off", head("ascii", 3, 1) + "0 0 0 1 0 0 0 1 0 1e18 0 1 2\n"),
    ply(
        "a picture that climbs out",
        IS_READ,
        head("ascii", 3, 1).replace("element v", "comment TextureFile ../../../../etc/passwd\nelement v")
        + "0 0 0 1 0 0 0 1 0 3 0 1 2\n",
    ),
]
