"""Hostile scenes of USD."""

from functools import partial
from pathlib import Path

from hostile.case import IS_READ, Case, files, made

HEADER = "#usda 1.0\n"
CUBE = 'def Cube "c"\n{\n}\n'
MESH = 'def Mesh "m"\n{{\nint[] faceVertexCounts = {}\nint[] faceVertexIndices = {}\npoint3f[] points = {}\n}}\n'


def usd(name: str, expected: str, text: str, **others: str) -> Case:
    """Returns a case of a scene and the files beside it."""
    texts = {"a.usda": HEADER + text}
    texts |= {f"{stem}.usda": HEADER + other for stem, other in others.items()}
    return files(name, expected, "a.usda", texts)


def nested(count: int, inner: str = "") -> str:
    return HEADER + 'def Xform "a"\n{\n' * count + inner + "}\n" * count


def doubling(levels: int, meta: str = "") -> str:
    """Returns prims of which each has the one before twice."""
    rows = [HEADER, f'def Xform "a0"\n{{\n{CUBE}}}\n']
    for k in range(levels):
        twice = "".join(f'def "{name}" ({meta}references = </a{k}>)\n{{\n}}\n' for name in "xy")
        rows.append(f'def Xform "a{k + 1}"\n{{\n{twice}}}\n')
    return "".join(rows)


def instancers(levels: int) -> str:
    """Returns instancers of which each has the one before 1100 times."""
    inner = CUBE
    for k in range(levels):
        places = ", ".join(["(0, 0, 0)"] * 1100)
        numbers = ", ".join(["0"] * 1100)
        name = "c" if k == 0 else f"i{k - 1}"
        path = "/" + "/".join(f"i{n}" for n in range(levels - 1, k - 1, -1)) + f"/{name}"
        lines = f"int[] protoIndices = [{numbers}]\npoint3f[] positions = [{places}]\nrel prototypes = [<{path}>]\n"
        inner = f'def PointInstancer "i{k}"\n{{\n{lines}{inner}}}\n'
    return HEADER + inner


def binary(change: bytes, at: int, text: str = HEADER + CUBE) -> bytes:
    """Returns the bytes of a layer in binary form, of which some are changed."""
    import tempfile

    from pxr import Sdf

    with tempfile.TemporaryDirectory() as folder:
        layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(text)
        layer.Export(str(Path(folder) / "a.usdc"))
        data = (Path(folder) / "a.usdc").read_bytes()
    return data[:at] + change + data[at + len(change) :] if at >= 0 else data[: len(data) // 2]


POINTS = "[(0, 0, 0), (1, 0, 0), (0, 1, 0)]"
CASES = [
    made("prims 200,000 deep", "deep inside one another", "a.usda", partial(nested, 200_000)),
    made("prims 600 deep", "over 500 prims stand inside one another", "a.usda", partial(nested, 600, CUBE)),
    made(
        "brackets that a comment seems to close", "deep inside one another", "a.usda",
        lambda: HEADER + 'def Xform "a" # }\n{\n' * 5000,
    ),
    made(
        "brackets that quotes in a comment seem to hide", "deep inside one another", "a.usda",
        lambda: HEADER + '/* """ */\n' + 'def Xform "a"\n{\n' * 5000 + '/* """ */',
    ),
    usd("an array of two thousand million", "edits arrays", MESH.format("edit [resize 2000000000]", "[0]", "[]")),
    made("references that double 30 times", "prims", "a.usda", partial(doubling, 30)),
    made("instances that double 40 times", "prims", "a.usda", partial(doubling, 40, "instanceable = true\n")),
    made("instancers of instancers", "over 1000000 meshes", "a.usda", partial(instancers, 3)),
    usd("a reference to itself", IS_READ, 'def "a" (references = @a.usda@</a>)\n{\n' + CUBE + "}\n"),
    usd(
        "layers in a circle", IS_READ, '(\nsubLayers = [@b.usda@]\n)\n' + CUBE,
        b="(\nsubLayers = [@a.usda@]\n)\n",
    ),
    usd("a payload that is missing", IS_READ, CUBE + 'def "p" (payload = @nowhere.usda@</x>)\n{\n}\n'),
    files("a reference to what is no USD", "no readable USD", "a.usda",
          {"a.usda": HEADER + CUBE + 'def "p" (references = @a.txt@</x>)\n{\n}\n', "a.txt": "nothing"}),
    usd("a reference to a folder", IS_READ, CUBE + 'def "p" (references = @.@</x>)\n{\n}\n'),
    usd("nothing", "no triangles", ""),
    usd("a prim that never ends", "Expected }", 'def Cube "c"\n{\n'),
    files("no USD at all", "no readable USD", "a.usd", {"a.usd": b"solid of nothing"}),
    made("binary without a table", "no readable USD", "a.usdc", partial(binary, b"\xff" * 8, 16)),
    usd("corners beyond the points", "no triangles", MESH.format("[3]", "[0, 1, 9]", POINTS)),
    usd("points that are not numbers", "no triangles", MESH.format("[3]", "[0, 1, 2]", POINTS.replace("1", "nan"))),
    usd("lamps of no size", IS_READ, CUBE + "".join(
        f'def {kind}Light "l{kind}"\n{{\nfloat inputs:radius = 0\nfloat inputs:length = 0\nfloat inputs:width = 0\n'
        "bool inputs:normalize = 1\n}\n" for kind in ("Sphere", "Disk", "Rect", "Cylinder"))),
    usd("a radius below zero", IS_READ, 'def Sphere "s"\n{\ndouble radius = -1\n}\n'),
    usd(
        "a transform of infinite numbers", IS_READ,
        'def Cube "c"\n{\ndouble3 xformOp:translate = (inf, 0, 0)\n'
        'uniform token[] xformOpOrder = ["xformOp:translate"]\n}\n',
    ),
    usd("a million frames a second", IS_READ, "(\nstartTimeCode = 0\nendTimeCode = 1e9\n)\n" + CUBE),
    usd("a subset of no face", IS_READ, MESH.format("[3]", "[0, 1, 2]", POINTS).replace(
        "\n}", '\ndef GeomSubset "s"\n{\nint[] indices = [-1, 7]\nuniform token familyName = "materialBind"\n}\n}')),
    usd("fewer corners than counts", "no triangles", MESH.format("[3, 4]", "[0, 1, 2]", POINTS)),
    usd("a negative count", "no triangles", MESH.format("[-3, 6]", "[0, 1, 2]", POINTS)),
]  # fmt: skip
