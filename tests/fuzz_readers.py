"""Feeds a reader of scene files with bytes that a fuzzer makes from its seeds, guided by the code that they reach.

This is no test of the suite: it takes `pip install atheris`, and as long as one likes. For each format:

    python tests/fuzz_readers.py obj -max_total_time=150 -timeout=20 -rss_limit_mb=4096

A file must become a scene, or be refused by an error of bad files. Anything else ends the run, which keeps the file as
`crash-...` in the current folder; what is found becomes a case of the tests in tests/scenes.
"""

import logging
import sys
import tempfile
from pathlib import Path

import numpy as np

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
VIEW = "v from 0 0 5 at 0 0 0 up 0 1 0 angle 40 hither .01 resolution 8 6\n"
MOVE = "0 0 0 0 0 0 0 1 1 0 0 0 0 0 2 2 0 0 0 0 0 3 0 0 0 0 0 0"
TURN = "0 0 1 0 0 0 0 0 1 0 1 0 0 0 0 0 2 0 1 0 90 0 0 0 3 0 1 0 0 0 0 0"
SEEDS = {
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
    ),
    "toml": (
        "[materials]\nm = { diffuse = [1, 0.5, 0] }\n[[object]]\nshape = 'sphere'\nmaterial = 'm'\nradius = 2\n"
        "grid = { counts = [2, 1, 1], steps = [1, 1, 1] }\n[[light]]\nkind = 'point'\nposition = [0, 1, 0]\n"
        "power = 9\n",
    ),
}


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


def main() -> None:
    """Fuzzes the reader of the format that the first argument names; the others are those of libFuzzer."""
    if len(sys.argv) < 2 or sys.argv[1] not in SEEDS:
        raise SystemExit(f"expected a format: {', '.join(SEEDS)}")
    import atheris

    suffix = sys.argv.pop(1)
    logging.disable()  # of what is noted
    with tempfile.TemporaryDirectory() as folder:
        path, corpus, words = (Path(folder) / name for name in (f"fuzzed.{suffix}", "corpus", "words"))
        corpus.mkdir()
        for number, seed in enumerate(SEEDS[suffix]):
            (corpus / str(number)).write_text(seed)
            path.write_text(seed)
            with atheris.instrument_imports(include=["scenes"]):  # of all that a seed needs
                assert is_scene(path)
        found = sorted({word for seed in SEEDS[suffix] for word in seed.replace('"', " ").replace("\\", " ").split()})
        words.write_text("".join(f'"{word}"\n' for word in found))

        def check_bytes(data: bytes) -> None:
            path.write_bytes(data)
            is_scene(path)

        atheris.Setup([*sys.argv, f"-dict={words}", str(corpus)], check_bytes)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
