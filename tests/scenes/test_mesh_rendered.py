"""Pictures of what mesh files have: each has a mean that is known by hand, whichever driver makes it.

The camera sees the square from -1 to 1 without perspective, from z = 4; around is white sky, in which a matt surface
has the radiance of its albedo.
"""

import io
import struct
import zipfile
import zlib

import numpy as np
import pytest
from gltf_file import GltfBuilder
from PIL import Image
from rendered import DRIVERS, mean

from scenes import SceneFileError, load

VIEW = "[cameras.front]\neye = [0, 0, 4]\ntarget = [0, 0, 0]\nheight = 2\n"
SKY = "[environment]\ncolor = 1\n"
SUN = '[[light]]\nkind = "distant"\ndirection = [0, -3, -4]\nirradiance = 3.141592653589793\n'
WHITE, GREY = np.ones(3), np.full(3, 0.6)
#: Corners of all the picture and more, and of its right half.
WALL = "v -9 -9 0\nv 9 -9 0\nv 9 9 0\nv -9 9 0\n"
UVS = "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
TEXTURED = "f 1/1 2/2 3/3 4/4\n"
RED = np.array((0.8, 0.2, 0.2))


def mtl(words):
    return {"a.mtl": f"newmtl a\n{words}", "a.obj": f"mtllib a.mtl\n{WALL}{UVS}usemtl a\n{TEXTURED}"}


def ply(properties, rows, faces):
    """A PLY file of one row of numbers for each vertex, and lists of indices."""
    header = f"ply\nformat ascii 1.0\nelement vertex {len(rows)}\n" + "".join(f"property {own}\n" for own in properties)
    header += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    return header + "".join(" ".join(map(str, row)) + "\n" for row in [*rows, *([len(own), *own] for own in faces)])


XYZ = ["float x", "float y", "float z"]
SQUARE = [(-9, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)]
HALF = [(0, -9, 0), (9, -9, 0), (9, 9, 0), (0, 9, 0)]
ST = ["float s", "float t"]
OFF = "OFF\n4 1 0\n0 -9 0\n9 -9 0\n9 9 0\n0 9 0\n4 0 1 2 3\n"


def stl():
    rows = [HALF[0], HALF[1], HALF[2], HALF[0], HALF[2], HALF[3]]
    triangles = [struct.pack("<12fH", 0, 0, 1, *np.ravel(rows[k : k + 3]), 0) for k in (0, 3)]
    return bytes(80) + struct.pack("<I", 2) + b"".join(triangles)


def threemf():
    """A 3MF file of the right half, moved there."""
    vertices = "".join(f'<vertex x="{x}" y="{y}" z="{z}"/>' for x, y, z in SQUARE)
    triangles = '<triangle v1="0" v2="1" v3="2"/><triangle v1="0" v2="2" v3="3"/>'
    mesh = f"<vertices>{vertices}</vertices><triangles>{triangles}</triangles>"
    build = '<build><item objectid="1" transform="1 0 0 0 1 0 0 0 1 9 0 0"/></build>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "3D/3dmodel.model",
            f'<model><resources><object id="1"><mesh>{mesh}</mesh></object></resources>{build}</model>',
        )
    return file.getvalue()


HALF_GREY = (WHITE + GREY) / 2
#: Files, of which the last one is shown, and the mean of its picture.
MEANS = {
    "MTL: a picture": (mtl("Kd .8 .2 .2\nmap_Kd halves.png"), RED / 2),
    "MTL: options before names": (mtl("Kd 1 1 1\nmap_Kd -s .5 1 1 -o .375 0 0 halves.png"), 0.0 * WHITE),
    "MTL: glow": (mtl("Kd 0 0 0\nKe 2 0 1"), (2.0, 0.0, 1.0)),
    "MTL: holes": (mtl("Kd .8 .2 .2\nmap_d halves.png"), (RED + WHITE) / 2),
    "MTL: mirrors": (mtl("Kd 0 0 0\nKs .8 .2 .2\nillum 3"), RED),
    "PLY: a picture by texture coordinates": (
        {
            "a.ply": ply(
                [*XYZ, *ST], [(*own, u, 0.5) for own, u in zip(SQUARE, (0, 1, 1, 0), strict=True)], [(0, 1, 2, 3)]
            ).replace("element", "comment TextureFile halves.png\nelement", 1)
        },
        WHITE / 2,
    ),
    "STL": ({"a.stl": stl()}, HALF_GREY),
    "OFF": ({"a.off": OFF}, HALF_GREY),
    "3MF": ({"a.3mf": threemf()}, HALF_GREY),
}


@pytest.fixture
def scene(tmp_path):
    """Writes files and a scene that shows the last of them; returns its path."""

    def write(files, light=SKY):
        Image.fromarray(np.array([[[255] * 3] * 8 + [[0] * 3] * 8], np.uint8)).save(tmp_path / "halves.png")
        for name, data in files.items():
            (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        (tmp_path / "a.toml").write_text(f'{VIEW}{light}[[object]]\nfile = "{name}"\nup = "y"\n')
        return tmp_path / "a.toml"

    return write


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_a_picture_is_known(scene, name, driver):
    files, expected = MEANS[name]
    assert mean(scene(files), driver) == pytest.approx(np.asarray(expected), rel=0.02, abs=0.01)


NAN = float("nan")
BIG = [(-90, -90, 0), (90, -90, 0), (0, 90, 0)]
NORMALS = [(NAN, NAN, NAN), (0, NAN, 1), (NAN, 0, 0)]
MITSUBA = """<scene version="3.0.0"><sensor type="orthographic"><transform name="to_world"><lookat origin="0,0,4"
target="0,0,0" up="0,1,0"/></transform></sensor><emitter type="directional">
<vector name="direction" x="0" y="-3" z="-4"/><rgb name="irradiance" value="3.141592653589793"/></emitter>
<shape type="serialized"><string name="filename"
value="a.serialized"/><bsdf type="diffuse"><rgb name="reflectance" value="0.6"/></bsdf></shape></scene>"""
PBRT = """LookAt 0 0 4  0 0 0  0 1 0
Camera "orthographic"
WorldBegin
LightSource "distant" "rgb L" [ 3.14159265 3.14159265 3.14159265 ] "point3 from" [ 0 3 4 ] "point3 to" [ 0 0 0 ]
Material "diffuse" "rgb reflectance" [ .6 .6 .6 ]
Shape "trianglemesh" "point3 P" [ -90 -90 0 90 -90 0 0 90 0 ] "integer indices" [ 0 1 2 ]
"normal N" [ nan nan nan  0 nan 1  nan 0 0 ] "point2 uv" [ nan 0  0 nan  nan nan ]"""


def serialized():
    """A file of Mitsuba 0.6 with a triangle that has normals and texture coordinates."""
    numbers = np.concatenate([np.ravel(BIG), np.ravel(NORMALS), [NAN] * 6]).astype("<f4").tobytes()
    body = struct.pack("<I", 0x1003) + b"a\0" + struct.pack("<QQ", 3, 1) + numbers + struct.pack("<3I", 0, 1, 2)
    return struct.pack("<HH", 0x041C, 4) + zlib.compress(body) + struct.pack("<QI", 0, 1)


def gltf(path, **attributes):
    """Writes a glTF file with a triangle that has these attributes too; returns its bytes."""
    file = GltfBuilder()
    grey = {"baseColorFactor": [0.6, 0.6, 0.6, 1], "metallicFactor": 0}
    if "TEXCOORD_0" in attributes:
        grey["baseColorTexture"] = {"index": file.picture([[[255, 255, 255]]])}
    material = file.add("materials", pbrMetallicRoughness=grey)
    file.node(mesh=file.mesh(file.primitive({"POSITION": BIG, **attributes}, material=material)))
    file.write(path)
    return path.read_bytes()


def nan_file(tmp_path, scene, kind):
    """Writes the file of a format with corners that are no numbers; returns its path."""
    if kind == "gltf":
        given = {"NORMAL": NORMALS, "TEXCOORD_0": [(NAN, 0), (0, NAN), (NAN, NAN)]}
        return scene({"b.gltf": gltf(tmp_path / "b.gltf", **given)}, SUN)
    (tmp_path / "a.serialized").write_bytes(serialized())
    (tmp_path / "b.xml").write_text(MITSUBA)
    (tmp_path / "b.pbrt").write_text(PBRT)
    return tmp_path / f"b.{kind}"


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("kind", ["gltf", "pbrt", "xml"])
def test_corners_whose_normal_is_no_number_are_flat(tmp_path, scene, kind, driver):
    """By the cosine law: the albedo, times four fifths."""
    path = nan_file(tmp_path, scene, kind)
    if kind != "gltf":  # whose coat reflects some
        assert mean(path, driver, passes=8) == pytest.approx(np.full(3, 0.48), rel=1e-3)
    told = "\n".join(load(path).document.notes.lines)
    assert "normals that are NaN are left out: 3" in told
    assert "texture coordinates that are NaN are left out: 3" in told
    with pytest.raises(SceneFileError, match=r"that are NaN are left out: 3 \(an error by --strict\)"):
        load(path, strict=True)
