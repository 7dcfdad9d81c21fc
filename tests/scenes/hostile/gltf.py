"""Hostile files of glTF."""

import math
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gltf_file import CORNERS, TRIANGLE, GltfBuilder

from hostile.case import IS_READ, Case, files

NAN, INF = math.nan, math.inf
#: Numbers of items that a file may promise without storing them, of 12 bytes each.
UNSTORED = 5_000_000


def gltf(name: str, expected: str, change: Callable[[GltfBuilder], object], *, is_large: bool = False) -> Case:
    """Returns a case of a file of one triangle in which something is changed."""

    def make(folder: Path) -> Path:
        file = GltfBuilder()
        file.node(mesh=file.mesh())
        change(file)
        return file.write(folder / "a.gltf")

    return Case(name, make, expected, is_large)


def raw(name: str, expected: str, text: str | bytes, scene: str = "a.gltf", *, is_large: bool = False) -> Case:
    """Returns a case of a file as it stands."""
    return files(name, expected, scene, {scene: text}, is_large=is_large)


def camera(name: str, expected: str, **lens: Any) -> Case:
    given = {"yfov": 1.0, **lens}
    return gltf(f"a camera of {name}", expected, lambda file: file.node(camera=file.add("cameras", perspective=given)))


def parallel(name: str, expected: str, **lens: Any) -> Case:
    """Returns a case of an orthographic camera."""
    given = {"xmag": 1.0, "ymag": 1.0, **lens}
    return gltf(
        f"a parallel camera of {name}", expected, lambda file: file.node(camera=file.add("cameras", orthographic=given))
    )


def light(name: str, expected: str, **values: Any) -> Case:

    def change(file: GltfBuilder) -> None:
        file.header["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point", **values}]}}
        file.node(extensions={"KHR_lights_punctual": {"light": 0}})

    return gltf(f"a light of {name}", expected, change)


def material(name: str, expected: str, **values: Any) -> Case:

    def change(file: GltfBuilder) -> None:
        file.header["meshes"][0]["primitives"][0]["material"] = file.add("materials", **values)

    return gltf(f"a material of {name}", expected, change)


def node(name: str, expected: str, **values: Any) -> Case:
    return gltf(f"a node of {name}", expected, lambda file: file.header["nodes"][0].update(values))


def unstored(file: GltfBuilder, count: int, type_name: str = "VEC3") -> int:
    """Adds an accessor of zeros that are not in the file."""
    return file.add("accessors", count=count, type=type_name, componentType=5126)


def many_targets(count: int, file: GltfBuilder) -> None:
    """Gives a mesh of many vertices as many targets."""
    position = unstored(file, UNSTORED)
    file.header["meshes"][0]["primitives"] = [
        {"attributes": {"POSITION": position}, "indices": file.accessor([0, 1, 2], "u2"), "targets": [{}] * count}
    ]


def many_primitives(count: int, file: GltfBuilder) -> None:
    """Makes as many meshes of the same millions of vertices, of a triangle each."""
    position, corners = unstored(file, UNSTORED), file.accessor([0, 1, 2], "u2")
    file.header["meshes"][0]["primitives"] = [{"attributes": {"POSITION": position}, "indices": corners}] * count


def many_instances(count: int, nodes: int, file: GltfBuilder) -> None:
    """Puts a mesh into as many places, and as many nodes of it."""
    places = {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": unstored(file, count)}}}
    for _ in range(nodes):
        file.node(mesh=0, extensions=places)


def many_cameras(count: int, file: GltfBuilder) -> None:
    """Adds as many cameras of the same name."""
    number = file.add("cameras", perspective={"yfov": 1.0})
    for _ in range(count):
        file.node(camera=number)


def chain(count: int, is_moving: bool, file: GltfBuilder) -> None:
    first = len(file.header["nodes"])
    for k in range(count):
        file.node(k == 0, children=[first + k + 1] if k < count - 1 else [], translation=[0, 0, 0.001])
    if is_moving:
        animation = None
        for k in range(count):
            animation = file.animate(first + k, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]], animation=animation)
    number = file.add("cameras", perspective={"yfov": 1.0})
    for k in range(0, count, 10):
        file.header["nodes"][first + k]["camera"] = number


def many_materials(count: int, file: GltfBuilder) -> None:
    corners = {"POSITION": file.accessor(TRIANGLE)}
    rows = [
        {
            "attributes": corners,
            "material": file.add("materials", pbrMetallicRoughness={"baseColorFactor": [k / count, 0, 0, 1]}),
        }
        for k in range(count)
    ]
    file.header["meshes"][0]["primitives"] = rows


def many_tints(count: int, side: int, file: GltfBuilder) -> None:
    picture = file.picture([[[k % 255, 9, 9] for k in range(side)]] * side)
    corners = {"POSITION": file.accessor(TRIANGLE), "TEXCOORD_0": file.accessor(CORNERS)}
    rows = []
    for k in range(count):
        base = {"baseColorTexture": {"index": picture}, "baseColorFactor": [(k + 1) / (count + 1), 1, 1, 1]}
        rows.append({"attributes": corners, "material": file.add("materials", pbrMetallicRoughness=base)})
    file.header["meshes"][0]["primitives"] = rows


def position(value: Any) -> Callable[[GltfBuilder], object]:
    return lambda file: file.header["meshes"][0]["primitives"][0]["attributes"].update(POSITION=value)


def buffer(**values: Any) -> Callable[[GltfBuilder], object]:
    return lambda file: file.header.update(buffers=[{"byteLength": 36, **values}])


def glb(length: int, kind: bytes, chunk: int) -> bytes:
    return b"glTF" + struct.pack("<II", 2, length) + struct.pack("<I", chunk) + kind


FINITE = "expected a finite number"

CASES = [
    camera("yfov 1e-300", "an angle between", yfov=1e-300),
    camera("aspect 1e9", IS_READ, aspectRatio=1e9),
    parallel("a width of 1e-300", "other than 0", xmag=1e-300),
    parallel("a width of 1e9 and a height of 1e-6", IS_READ, xmag=1e9, ymag=1e-6),
    gltf(
        "a camera in a node of no size",
        "leaves its orientation open",
        lambda file: file.node(camera=file.add("cameras", perspective={"yfov": 1}), scale=[0, 0, 0]),
    ),
    light("a cone of 1e-300", "innerConeAngle", type="spot", spot={"outerConeAngle": 1e-300}),
    material(
        "emissive strength 1e300",
        FINITE,
        emissiveFactor=[1, 1, 1],
        extensions={"KHR_materials_emissive_strength": {"emissiveStrength": 1e300}},
    ),
    material(
        "index NaN",
        FINITE,
        extensions={"KHR_materials_transmission": {"transmissionFactor": 1}, "KHR_materials_ior": {"ior": NAN}},
    ),
    node("a matrix of NaN", "16 finite numbers", matrix=[NAN] * 16),
    node("a scale of 1e9", IS_READ, scale=[1e9, 1, 1]),
    gltf("a chain of 20,000 nodes", IS_READ, partial(chain, 20_000, False), is_large=True),
    gltf("a chain of 1,000 nodes", IS_READ, partial(chain, 1_000, False)),
    gltf("a chain of 500 moving nodes", "over 200 moving nodes", partial(chain, 500, True)),
    gltf("300 cameras of one name", IS_READ, partial(many_cameras, 300)),
    gltf("30,000 cameras of one name", IS_READ, partial(many_cameras, 30_000), is_large=True),
    gltf("10,000 materials", IS_READ, partial(many_materials, 10_000), is_large=True),
    gltf("300 tints of a picture", "pixels", partial(many_tints, 300, 2048), is_large=True),
    gltf("1,000 targets of millions of vertices", "its targets move", partial(many_targets, 1_000), is_large=True),
    gltf("1,000 meshes of millions of vertices", "vertices", partial(many_primitives, 1_000), is_large=True),
    gltf("a million instances", "over 1000000 meshes", partial(many_instances, 1_000_000, 1)),
    gltf(
        "100 nodes of a million instances",
        "over 1000000 meshes",
        partial(many_instances, 1_000_000, 100),
        is_large=True,
    ),
    gltf("a billion instances", "over", partial(many_instances, 1_000_000_000, 1)),
    gltf(
        "a billion items that are not stored",
        "far more than the file gives",
        lambda file: position(unstored(file, 1_000_000_000))(file),
    ),
    gltf(
        "a buffer of 1e15 bytes",
        "byteLength: expected a whole number",
        buffer(byteLength=10**15, uri="data:;base64,AAAA"),
    ),
    gltf("a buffer that is a device", "not in its folder", buffer(uri="/dev/zero")),
    gltf("a buffer from the net", "not in its folder", buffer(uri="http://localhost/a.bin")),
    gltf("a buffer that is the scene", "position 0 is", buffer(uri="a.gltf")),
    raw("bytes of zero", "in JSON", bytes(100_000)),
    raw("a header of GLB and nothing", "cut off", b"glTF\2\0\0\0", "a.glb"),
    raw("a GLB of 4 GB in 20 bytes", "cut off", glb(0xFFFFFFFF, b"JSON", 0xFFFFFFF0), "a.glb"),
    raw("a GLB whose first chunk is binary", "is not JSON", glb(24, b"BIN\0", 4) + b"abcd", "a.glb"),
    raw(
        "20,000 nodes",
        "no triangles",
        '{"asset":{"version":"2.0"},"nodes":[' + ",".join(["{}"] * 20_000) + "]}",
        is_large=True,
    ),
]
