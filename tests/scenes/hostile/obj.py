"""Hostile files of OBJ, MTL and STL."""

import gzip
import struct
from functools import partial
from pathlib import Path

from hostile.case import IS_READ, Case, files, made

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
FACE = TRIANGLE + "f 1 2 3\n"


def obj(name: str, expected: str, text: str | bytes, **others: str) -> Case:
    """Returns a case of an OBJ file, and of MTL files beside it."""
    texts = {"a.obj": text} | {f"{stem}.mtl": other for stem, other in others.items()}
    return files(name, expected, "a.obj", texts)


def mtl(name: str, expected: str, text: str) -> Case:
    """Returns a case of an MTL file of a triangle with texture coordinates."""
    uvs = "vt 0 0\nvt 1 0\nvt 0 1\n"
    return obj(name, expected, f"mtllib m.mtl\n{TRIANGLE}{uvs}usemtl a\nf 1/1 2/2 3/3\n", m="newmtl a\n" + text)


def face(corners: int) -> str:
    return TRIANGLE + "f" + " 1 2 3" * (corners // 3) + "\n"


def crossing(faces: int) -> str:
    return "v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\n" + "f 1 2 3 4\n" * faces


def packed(folder: Path) -> Path:
    """Writes 400 MB of zeros that are packed into half a megabyte."""
    with gzip.open(folder / "a.obj.gz", "wb") as file:
        for _ in range(400):
            file.write(bytes(1 << 20))
    return folder / "a.obj.gz"


def sparse(folder: Path) -> Path:
    """Writes a file of 900 MB that takes no room on the disk."""
    with (folder / "a.obj").open("wb") as file:
        file.write(FACE.encode())
        file.truncate(900_000_000)
    return folder / "a.obj"


def stl(count: int, triangles: bytes) -> dict[str, str | bytes]:
    """Returns a binary STL file that promises so many triangles."""
    return {"a.stl": bytes(80) + struct.pack("<I", count) + triangles}


CASES = [
    made("a face of 5,000,000 corners", "at most", "a.obj", partial(face, 5_000_000), is_large=True),
    made("a face of 300,000 corners", "at most", "a.obj", partial(face, 300_000)),
    made("20,000 faces that cross themselves", IS_READ, "a.obj", partial(crossing, 20_000), is_large=True),
    Case("400 MB packed into 400 kB", packed, "unpack to more", is_large=True),
    Case("a sparse file of 900 MB", sparse, "a byte of zero", is_large=True),
    obj("bytes of zero", "zero", FACE.encode() + bytes(1000)),
    obj("an index of 1e30", "but there are 3", TRIANGLE + "f 1 2 1" + "0" * 30 + "\n"),
    obj("an index of 999999999", "but there are 3", TRIANGLE + "f 1 2 999999999\n"),
    obj("an index of -9223372036854775808", "but there are 3", TRIANGLE + "f 1 2 -9223372036854775808\n"),
    obj("a corner of slashes", "expected indices", TRIANGLE + "f 1 2 /////\n"),
    obj("a million slashes", "expected indices", TRIANGLE + "f 1 2 " + "/" * 1_000_000 + "\n"),
    obj("a vertex at 1e300", "at most", "v 1e300 0 0\n" + FACE),
    obj("a vertex of a million digits", "got inf", "v " + "9" * 1_000_000 + " 0 0\n" + FACE),
    obj("a line without end", "finite numbers", "v 0 0 0 " * 20_000),
    obj("lines that never end", IS_READ, "\\\n" * 50_000 + FACE),
    obj("a million backslashes", "no triangles", "\\" * 1_000_000),
    obj("UTF-16 that is none", "UTF-16", b"\xff\xfe\x00"),
    obj("10,000 kinds of lines", IS_READ, FACE + "".join(f"k{k} 1\n" for k in range(10_000))),
    obj("100 materials that are not there", IS_READ, TRIANGLE + "".join(f"usemtl m{k}\nf 1 2 3\n" for k in range(100))),
    obj("200,000 libraries that are not there", IS_READ, FACE + "mtllib " + "a " * 200_000 + "\n"),
    obj("a library that climbs out", "outside", "mtllib ../../../../../../../../../etc/passwd\n" + FACE),
    obj("a library that is a device", IS_READ, "mtllib /dev/zero\n" + FACE),
    obj("a library that is the scene", IS_READ, "mtllib a.obj\n" + FACE),
    mtl("an exponent of 1e300", "at most", "Ks 1 1 1\nNs 1e300\n"),
    mtl("an illum of 1e9", IS_READ, "illum 1000000000\n"),
    mtl("40,000 options of a picture", IS_READ, "map_Kd " + "-o 1 " * 40_000 + "a.png\n"),
    mtl("a picture that climbs out", "outside", "map_Kd ../../../../../../../../../etc/passwd\n"),
    mtl("a picture of a long name", IS_READ, "map_Kd " + "a" * 1_000_000 + "\n"),
    files("an STL of 4e9 triangles", "cut off", "a.stl", stl(4_000_000_000, b"")),
    files("an STL of NaN", "finite", "a.stl", stl(1, struct.pack("<12fH", *[float("nan")] * 12, 0))),
    files(
        "an STL of text that ends",
        "cut off",
        "a.stl",
        {"a.stl": "solid a\n facet normal 0 0 1\n outer loop\n vertex 0 0\n"},
    ),
    files("an STL of no bytes", "is empty", "a.stl", {"a.stl": b""}),
    files("an STL of zeros", "not a readable STL", "a.stl", {"a.stl": bytes(1_000_000)}),
]
