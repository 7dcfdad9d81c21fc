"""Feeds a reader of files with bytes that a fuzzer makes from its seeds, guided by the code that they reach.

This is no test of the suite: it takes `pip install atheris`, and as long as one likes. For each format:

    python tests/fuzz_readers.py obj -max_total_time=3600 -timeout=120 -rss_limit_mb=8000

A file must be read, as a scene, rays or photons, or be refused by an error of bad files. Anything else ends the run,
which keeps the file as `crash-...` in the current folder; what is found becomes a case of the tests.
"""

import base64
import io
import json
import logging
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
VIEW = "v from 0 0 5 at 0 0 0 up 0 1 0 angle 40 hither .01 resolution 8 6\n"
MOVE = "0 0 0 0 0 0 0 1 1 0 0 0 0 0 2 2 0 0 0 0 0 3 0 0 0 0 0 0"
TURN = "0 0 1 0 0 0 0 0 1 0 1 0 0 0 0 0 2 0 1 0 90 0 0 0 3 0 1 0 0 0 0 0"
#: Of a 3MF file: an object, and one of it.
MODEL = b"""<model><resources><object id="1"><mesh><vertices><vertex x="0" y="0" z="0"/><vertex x="1" y="0" z="0"/>
<vertex x="0" y="1" z="0"/></vertices><triangles><triangle v1="0" v2="1" v3="2"/></triangles></mesh></object>
<object id="2"><components><component objectid="1" transform="1 0 0 0 1 0 0 0 1 2 0 0"/></components></object>
</resources><build><item objectid="2"/><item objectid="1"/></build></model>"""
SCENES = {
    "obj": (
        TRIANGLE + "f 1 2 3\n",
        "# x\nmtllib a.mtl\no a\n" + TRIANGLE + "v 1 1 0 .5 .5 1\nvt 0 0\nvt 1 0\nvn 0 0 1\ng b\nusemtl m\ns off\n"
        "f 1/1/1 2/2/1 3/1/1 4//1\nf -1 -2 \\\n -3\nl 1 2\n",
    ),
    "nff": (
        VIEW + "b .1 .2 .3\nl 1 2 3 1 1 1\nf 1 .5 .2 .5 .5 20 .1 1.5\ns 0 0 0 1\nc 0 0 0 1 0 1 0 .5\n"
        "p 4 0 0 0 1 0 0 1 1 0 0 1 0 # flat\npp 3 0 0 0 0 0 1 1 0 0 0 0 1 0 1 0 0 0 1\n",
    ),
    "aff": (
        VIEW + "a 0 1 5\nam 1 1 1\nd 1\nfm .1 .1 .1 .5 .5 .5 .2 .2 .2 10 0 1\nla lamp 1 1 1 1 1 1\n"
        "xs 1 1 1 0 1 0 30 0 0 0 { x a { s 0 0 0 1 } }\nm vertices 3 0 0 0 1 0 0 0 1 0 normals 1 0 0 1\n"
        "triangles 1 0 1 2 0 0 0\ntpa 2 0 0 0 0 0 0 1 1 0 0 0 0 1 0 1 0 0 0 1 1 0 0 1 0 0 1 1 0 1 0 0 1 0 1 1 0 0 1\n"
        f"k a {{ transl 4 {MOVE} rot 4 {TURN} visibility 2 0 1 2 0 }}\n",
    ),
    "xml": (
        '<scene version="3.0.0"><default name="n" value="8"/><sensor type="perspective"><float name="fov" value="40"/>'
        '<transform name="to_world"><lookat origin="0,0,5" target="0,0,0" up="0,1,0"/></transform>'
        '<film type="hdrfilm"><integer name="width" value="$n"/></film></sensor>'
        '<bsdf type="twosided" id="b"><bsdf type="roughplastic"><rgb name="diffuse_reflectance" value="1 0 0"/>'
        '<float name="alpha" value=".1"/></bsdf></bsdf><emitter type="sunsky"><float name="turbidity" value="3"/>'
        '</emitter><shape type="sphere"><point name="center" x="0" y="0" z="0"/><ref id="b"/></shape>'
        '<shape type="cube"><transform name="to_world"><scale value="2"/><rotate y="1" angle="9"/></transform>'
        '<bsdf type="blendbsdf"><float name="weight" value=".5"/><bsdf type="diffuse"/><bsdf type="conductor">'
        '<string name="material" value="Au"/></bsdf></bsdf><emitter type="area"><spectrum name="radiance" '
        'value="400:1, 700:2"/></emitter></shape></scene>',
    ),
    "ply": (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
        "0 0 0 9\n1 0 0 9\n0 1 0 9\n3 0 1 2\n",
    ),
    "pbrt": (
        'LookAt 0 0 5 0 0 0 0 1 0 Camera "perspective" "float fov" 40 WorldBegin Texture "t" "spectrum" "checkerboard" '
        '"rgb tex1" [ 1 0 0 ] Material "diffuse" "texture reflectance" "t" AttributeBegin Scale 1 -1 1 AreaLightSource '
        '"diffuse" "blackbody L" 3000 Shape "sphere" "float radius" 2 AttributeEnd Shape "trianglemesh" "point3 P" '
        '[ 0 0 0 1 0 0 0 1 0 ] "integer indices" [ 0 1 2 ] LightSource "infinite" "rgb L" [ 1 1 1 ]',
        'Integrator "path" "integer maxdepth" 3 WorldBegin MakeNamedMedium "m" "string type" "homogeneous" Shape '
        '"disk" Shape "loopsubdiv" "integer levels" 1 "point3 P" [ 0 0 0 1 0 0 0 1 0 0 0 1 ] "integer indices" '
        '[ 0 1 2 0 2 3 ] Shape "curve" "string type" "ribbon" "string basis" "bspline" "integer degree" 2 "point3 P" '
        '[ 0 0 0 1 0 0 1 1 0 2 1 0 ] "normal N" [ 0 0 1 0 1 0 1 0 0 ] "float width0" .1 "float width1" 0',
    ),
    "off": (
        "OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
        "OFF # x\n3 1 3\n" + TRIANGLE.replace("v ", "") + "3 0 1 2\n",
    ),
    "usda": (
        '#usda 1.0\ndef Sphere "s"\n{\n}\n',
        '#usda 1.0\n(\nupAxis = "Z"\nstartTimeCode = 0\nendTimeCode = 4\n)\ndef Xform "x"\n{\n'
        'float xformOp:rotateZ.timeSamples = {\n0: 0,\n4: 90\n}\nuniform token[] xformOpOrder = ["xformOp:rotateZ"]\n'
        'def Mesh "m" (\nprepend apiSchemas = ["MaterialBindingAPI"]\n)\n{\nint[] faceVertexCounts = [4]\n'
        "int[] faceVertexIndices = [0, 1, 2, 3]\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n"
        "color3f[] primvars:displayColor = [(1, 0, 0)]\nrel material:binding = </m>\n}\n"
        'def Camera "c"\n{\n}\ndef RectLight "l"\n{\nfloat inputs:intensity = 2\n}\n}\ndef Material "m"\n{\n'
        "token outputs:surface.connect = </m/s.outputs:surface>\n"
        'def Shader "s"\n{\nuniform token info:id = "UsdPreviewSurface"\nfloat inputs:opacity = .5\n'
        "token outputs:surface\n}\n}\n",
    ),
    "toml": (
        "[materials]\nm = { diffuse = [1, 0.5, 0] }\n[[object]]\nshape = 'sphere'\nmaterial = 'm'\nradius = 2\n"
        "grid = { counts = [2, 1, 1], steps = [1, 1, 1] }\n[[light]]\nkind = 'point'\nposition = [0, 1, 0]\n"
        "power = 9\n",
    ),
}


def gltf_seeds() -> Iterator[bytes]:
    """Yields files with a triangle: alone, and with all else that a file may have."""
    floats = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]  # corners, times, places
    data = np.array(floats, "<f4").tobytes() + np.array([0, 1, 2, 0], "<u2").tobytes()
    buffer = {"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()}
    corners = {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}
    plain: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "buffers": [buffer],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [corners],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
    }
    yield json.dumps(plain).encode()
    times = {"bufferView": 1, "byteOffset": 0, "componentType": 5126, "count": 2, "type": "SCALAR"}
    places = {"bufferView": 1, "byteOffset": 8, "componentType": 5126, "count": 2, "type": "VEC3"}
    indices = {"bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR"}
    metal = {"baseColorFactor": [1, 0.5, 0, 1], "metallicFactor": 1, "roughnessFactor": 0.2}
    lights = {"KHR_lights_punctual": {"lights": [{"type": "spot", "intensity": 9, "spot": {"outerConeAngle": 1}}]}}
    track = {"input": 1, "output": 2, "interpolation": "LINEAR"}
    moved = {"samplers": [track], "channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}]}
    primitive = {"attributes": {"POSITION": 0}, "indices": 3, "material": 0, "mode": 4}
    yield json.dumps(
        plain
        | {
            "scene": 0,
            "extensionsUsed": ["KHR_lights_punctual", "KHR_materials_transmission"],
            "extensions": lights,
            "bufferViews": [
                {"buffer": 0, "byteLength": 36},
                {"buffer": 0, "byteOffset": 36, "byteLength": 36},
                {"buffer": 0, "byteOffset": 72, "byteLength": 8, "byteStride": 2},
            ],
            "accessors": [corners, times, places, indices],
            "materials": [
                {
                    "pbrMetallicRoughness": metal,
                    "emissiveFactor": [1, 1, 1],
                    "alphaMode": "MASK",
                    "doubleSided": True,
                    "extensions": {"KHR_materials_transmission": {"transmissionFactor": 0.5}},
                }
            ],
            "meshes": [{"primitives": [primitive]}],
            "cameras": [{"type": "perspective", "perspective": {"yfov": 0.8, "znear": 0.1, "aspectRatio": 1.5}}],
            "nodes": [
                {"mesh": 0, "children": [1], "scale": [1, 2, 1], "rotation": [0, 0, 0, 1]},
                {"camera": 0, "translation": [0, 0, 5]},
                {"matrix": np.eye(4).ravel().tolist(), "extensions": {"KHR_lights_punctual": {"light": 0}}},
            ],
            "scenes": [{"nodes": [0, 2]}],
            "animations": [moved],
        }
    ).encode()


def ray_seeds(folder: Path) -> Iterator[bytes]:
    """Yields a file of two sets of rays."""
    from renderer.bench.ray_file import RayFile, write_rays
    from renderer.bench.workload import RaySet
    from tracecore.rays import Query

    rays = np.arange(1, 17, dtype=np.float32).reshape(2, 8)
    sets = (
        RaySet(kind="primary", view="0", query=Query.CLOSEST, rays=rays),
        RaySet(kind="shadow", view="0", query=Query.ANY, rays=rays[:1]),
    )
    write_rays(folder / "seed.npz", RayFile(scene="a", triangles="0" * 64, origin={"seed": 1}, sets=sets))
    yield (folder / "seed.npz").read_bytes()


def photon_seeds(folder: Path) -> Iterator[bytes]:
    """Yields a file of two photons."""
    from renderer.photons.photon_file import save_photons
    from renderer.photons.photon_map import PHOTON_WORDS

    save_photons(folder / "seed.npz", np.arange(2 * PHOTON_WORDS, dtype=np.uint32).reshape(2, PHOTON_WORDS), 0.5)
    yield (folder / "seed.npz").read_bytes()


def is_scene(path: Path) -> bool:
    """Reads a file and looks at it; returns whether it is a scene. Raises where it is neither sound nor refused."""
    from scenes import load
    from scenes.errors import SceneError

    try:
        scene = load(path)
        snapshot = scene.at(scene.animation.end)
    except SceneError:
        return False
    for array in (snapshot.positions, snapshot.normals, snapshot.uvs):
        assert np.isfinite(array).all()
    assert len(snapshot.material_ids) == len(snapshot.positions)
    assert not len(snapshot.positions) or 0 <= snapshot.material_ids.min() <= snapshot.material_ids.max()
    assert snapshot.material_ids.max(initial=0) < len(snapshot.materials)
    return True


def has_rays(path: Path) -> bool:
    """The same of a file of rays."""
    from renderer.bench.ray_file import RayFileError, read_rays

    try:
        file = read_rays(path)
    except RayFileError:
        return False
    assert all(np.isfinite(one.rays[:, :6]).all() and len(one.rays) > 0 for one in file.sets)
    return True


def has_photons(path: Path) -> bool:
    """The same of a file of photons."""
    from stored_flux import total_flux

    from renderer.errors import PhotonFileError
    from renderer.photons.photon_file import load_photons
    from renderer.photons.photon_map import PHOTON

    try:
        photons, scale = load_photons(path)
    except PhotonFileError:
        return False
    assert np.isfinite(photons.view(PHOTON)["position"]).all()
    assert np.isfinite(scale)
    assert np.isfinite(total_flux(photons)).all()
    return True


@dataclass(frozen=True)
class Format:
    """A kind of files.

    suffix: of their names.
    seeds: yields files that are sound; called with a folder where it may write.
    is_read: reads one, as `is_scene` does.
    packages: of the reader, whose code guides the fuzzer.
    """

    suffix: str
    seeds: Callable[[Path], Iterator[bytes]]
    is_read: Callable[[Path], bool] = is_scene
    packages: tuple[str, ...] = ("scenes",)

    @property
    def is_archive(self) -> bool:
        """Whether its files are archives of other files."""
        return self.suffix in ("npz", "3mf")


def _text(seeds: tuple[str, ...]) -> Callable[[Path], Iterator[bytes]]:
    return lambda _: (seed.encode() for seed in seeds)


FORMATS = {
    suffix: Format(suffix, _text(seeds)) for suffix, seeds in SCENES.items() if suffix != "usda" or find_spec("pxr")
} | {
    "gltf": Format("gltf", lambda _: gltf_seeds()),
    "3mf": Format("3mf", lambda _: iter([archive_of({"3D/3dmodel.model": MODEL})])),
    "rays": Format("npz", ray_seeds, has_rays, ("renderer.bench.ray_file", "renderer.array_archive")),
    "photons": Format("npz", photon_seeds, has_photons, ("renderer.photons.photon_file", "renderer.array_archive")),
}


def members_of(archive: bytes) -> dict[str, bytes]:
    """Returns the files in an archive. Raises `zipfile.BadZipFile` and others where it is none."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def archive_of(members: dict[str, bytes]) -> bytes:
    """Returns an archive with these files, whose checksums are right."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name, data in members.items():
            opened.writestr(name, data)
    return file.getvalue()


def main() -> None:
    """Fuzzes the reader of the format that the first argument names; the others are those of libFuzzer."""
    if len(sys.argv) < 2 or sys.argv[1] not in FORMATS:
        raise SystemExit(f"expected a format: {', '.join(FORMATS)}")
    import atheris  # type: ignore[import-untyped]

    kind = FORMATS[sys.argv.pop(1)]
    logging.disable()  # of what is noted
    with tempfile.TemporaryDirectory() as folder:
        path, corpus, words = (Path(folder) / name for name in (f"fuzzed.{kind.suffix}", "corpus", "words"))
        corpus.mkdir()
        with atheris.instrument_imports(include=list(kind.packages)):  # of all that a seed needs
            from scenes.files.memory import limit_memory

            limit_memory(1 << 32)  # a scene of a few words may be a large one
            seeds = list(kind.seeds(Path(folder)))
            for number, seed in enumerate(seeds):
                (corpus / str(number)).write_bytes(seed)
                path.write_bytes(seed)
                assert kind.is_read(path)
        options = [*sys.argv, str(corpus)]
        if not kind.is_archive:
            texts = (seed.decode().replace('"', " ").replace("\\", " ") for seed in seeds)
            found = sorted({word for text in texts for word in text.split() if len(word) < 64})
            words.write_text("".join(f'"{word}"\n' for word in found))
            options.append(f"-dict={words}")

        def check_bytes(data: bytes) -> None:
            path.write_bytes(data)
            kind.is_read(path)

        def change_member(data: bytes, most: int, seed: int) -> bytes:
            """Returns an archive in which one file is changed and has the right checksum, which chance never finds."""
            try:
                members = members_of(data)
                name = sorted(members)[seed % len(members)]
                members[name] = atheris.Mutate(members[name], most)
                changed = archive_of(members)
            except Exception:  # of an archive that is none any more
                changed = data
            return changed if seed % 8 and len(changed) <= most else atheris.Mutate(data, most)

        atheris.Setup(options, check_bytes, **({"custom_mutator": change_member} if kind.is_archive else {}))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
