"""Bad files: each gives one SceneFileError of one line, with the file, the line and what was expected."""

import os
import random

import numpy as np
import pytest

from scenes import SceneError, SceneFileError, load

TRIANGLE = "p 3  0 0 0  1 0 0  0 1 0\n"
KEYS = "-1 0 0 0 0 0 0  0 0 0 0 0 0 0  1 1 1 1 0 0 0  2 1 1 1 0 0 0"
TURNS = "-1 0 1 0 0 0 0 0  0 0 1 0 0 0 0 0  1 {} 90 0 0 0  2 0 1 0 90 0 0 0"
VIEW = "v from 0 0 5\nat {at}\nup {up}\nangle {angle}\nhither 1\nresolution {size}\n"
GOOD_VIEW = {"at": "0 0 0", "up": "0 1 0", "angle": "40", "size": "8 6"}


def view(**changed):
    return VIEW.format(**(GOOD_VIEW | changed))


BAD = [
    ("q 1 2 3", 1, "expected a command, got 'q'"),
    ("\n\n  fn 1", 3, "expected a command"),
    (TRIANGLE + "}", 2, "closes nothing"),
    (TRIANGLE + "\nxs 1 1 1 0 0 1 0 0 0 0\n{\n\n" + TRIANGLE, 4, "never closed"),
    ("xs 1 1 1 0 0 1 0 0 0 0 p", 1, "expected '{'"),
    ("xs 1 1 1 0 0 0 10 0 0 0 {}", 1, "axis"),
    ("x {}", 1, "the name of a track"),
    ("x" + " a { x" * 101, 1, "nested deeper than 100"),
    ("p 3 0 0 0\n1 0 0\n0 x 0", 3, "number 8 of 9), got 'x'"),
    ("p 3 0 0 0 nan 0 0 0 1 0", 1, "finite"),
    ("p 3 0 0 0 1 0 0 0 inf 0", 1, "finite"),
    ("p 3 0 0 0 1 0 0 0 1e31 0", 1, "finite"),
    ("p 3 0 0 0 1 0 0 0 1_0 0", 1, "'1_0'"),
    ("p 3 0 0 0 1 0 0\n0 2e9 0", 2, "reach at most"),
    ("p 3 0 0 0 1 0 0 0 1", 1, "end of the file after 8"),
    ("p 2 0 0 0 1 0 0", 1, "at least 3"),
    ("p 3.5 0 0 0", 1, "'3.5'"),
    ("p -3 0 0 0", 1, "'-3'"),
    ("p 3 0 0 # no comment here\n 0 1 0 0 0 1 0", 1, "got '#'"),
    ("pp 3 0 0 0 0 0 1", 1, "end of the file"),
    ("s 0 0 0 0", 1, "radius other than 0"),
    ("s 0 0 0 2e9", 1, "radius other than 0"),
    ("c 0 0 0 1 0 0 0 1", 1, "different points"),
    ("c 0 0 0 1 0 1 0 -1", 1, "one sign"),
    ("tt none.ppm 0 0 0", 1, "no texture 'none.ppm' in"),
    ("\ntt scene.aff 0 0 0", None, "expected a PPM picture"),
    ("tpa 0", 1, "at least 1"),
    ("tpa 99999999 0 0 0", 1, "end of the file after 3"),
    ("tpa 1 0 0 0 0 0 0 1 2e9 0 0 0 0 1 0 1 0 0 0 1", 1, "reach at most"),
    ("m vertices 3 0 0 0 1 0 0 0 1 0\ntriangles 1\n0 1 3", 3, "vertex index 3, but there are 3"),
    ("m vertices 3 0 0 0 1 0 0 0 1 0 triangles 1 0 1 -1", 1, "vertex index -1"),
    ("m vertices 3 0 0 0 1 0 0 0 1 0 normals 1 0 0 1\ntriangles 1 0 1 2\n0 0 1", 3, "normal index 1, but there are 1"),
    ("m vertices 1 0 0 0 texturecoords 1 t.ppm 0 0\ntriangles 1 0 0 0 0 7 0", 2, "texture coordinate index 7"),
    ("m vertices 3 0 0 0 1 0 0 0 1 0 triangles 1 0 1", 1, "end of the file after 2"),
    ("m vertices 3 0 0 0 1 0 0 0 1 0 triangles 1 0 1 2.0", 1, "got '2.0'"),
    ("m vertices 3 0 0 0 1 0 0 0 1 0 triangles 1 0 1 99999999999", 1, "99999999999"),
    ("m vertices 3 0 0 0 1 0 0\nnormals 1 0 0 1", 2, "number 7 of 9), got 'normals'"),
    ("m vertices 99999999999", 1, "got '99999999999'"),
    ("m vertices 2000000000 0 0 0", 1, "end of the file after 3"),
    ("m vertices 1 0 0 0 triangles 2000000000 0 0 0", 1, "end of the file after 3"),
    ("m vertices 1 0 0 0 texturecoords 0 t.ppm normals 0 triangles 0", 1, "expected 'triangles', got 'normals'"),
    ("m normals 1", 1, "expected 'vertices'"),
    ("m", 1, "got the end of the file"),
    ("fm 1 1 1 .5 .5 .5 0 0 0 1 0 b", 1, "'b'"),
    ("fm 1 1 1\n.5 -.5 .5 0 0 0 1 0 0", 2, "from 0 to"),
    ("fm 1 1 1 .5 .5 .5 0 0 0\n-1 0 0", 2, "not below 0"),
    ("f 1 1 1 -1 0 0 0 0", 1, "not below 0"),
    ("b 1 1", 1, "end of the file after 2"),
    ("b -1 1 1", 1, "from 0 to"),
    ("l 1 2 3 -1 0 0", 1, "from 0 to"),
    ("l 1 2 3 1 0", 1, "end of the file"),
    ("la 1 2 3", 1, "light"),
    ("am 1 1", 1, "ambient"),
    ("a 0 1 0", 1, "at least 1"),
    ("a 0 1 20000000", 1, "at most"),
    ("d 1.5", 1, "detail level"),
    ("i 0 none.aff", 1, "no file 'none.aff' to include"),
    ("i none.aff 0", 1, "level of an include"),
    (TRIANGLE + "i 0 scene.aff", 2, "includes itself"),
    (TRIANGLE + "i 0 \xff\x01\x00.aff", 2, "no file"),
    ("i 0 " + "x" * 5000, 1, "no file"),
    (view(at="0 0 5"), 1, "orientation"),
    (view(up="0 0 1"), 1, "orientation"),
    (view(angle="180"), 4, "between 0 and 180"),
    (view(size="0 6"), 6, "at least 1"),
    (view(size="16385 6"), 6, "at most 16384 pixels a side"),
    (view(size="6 16385"), 6, "at most 16384 pixels a side"),
    ("v at 0 0 0", 1, "expected 'from', got 'at'"),
    ("k a { transl 3 0 0 0 0 0 0 0 }", 1, "at least 4"),
    ("k a { transl 4 " + KEYS, 1, "never closed"),
    ("k a\n{ transl 4 " + KEYS + "\ntransl 4 " + KEYS + "}", 3, "only one block of each kind"),
    ("k a { transl 5 " + KEYS + "\n}", 2, "got '}'"),
    ("k a { move 4 }", 1, "transl, rot, scale, visibility or '}'"),
    ("k a { transl 4 " + KEYS.replace("1 1 1 1 0 0 0", "\n1 1 2e9 1 0 0 0", 1) + "}", 2, "at most"),
    ("k a { transl 4 " + KEYS.replace("1 1 1 1 0 0 0", "1 1 1 1\n0 0 999", 1) + "}", 2, "bias"),
    ("k a { rot 4 " + TURNS.format("\n0 0 0") + "}", 2, "axis"),
    ("k a { visibility 1 0\n2 }", 2, "0 or 1"),
    ("x a { " + TRIANGLE + "}", None, None),
    ("# nothing", None, "no triangles"),
    ("xs 1e9 1 1 0 0 1 0 0 0 0 {\nxs 1e9 1 1 0 0 1 0 0 0 0 {\n" + TRIANGLE + "} }", 3, "beyond"),
    ("xs 1e30 1 1 0 0 1 0 0 0 0 { " * 12 + "\nl 1 1 1 " + "}" * 12 + TRIANGLE, 2, "beyond"),
    ("\x00\x01\x02", 1, "expected a command"),
]


@pytest.mark.parametrize(("text", "line", "expected"), BAD)
def test_bad_files(write, text, line, expected):
    path = write(text)
    if expected is None:  # the table's one good file
        load(path)
        return
    with pytest.raises(SceneFileError) as caught:
        load(path)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.line == line
    if line is not None:
        assert str(caught.value).startswith(f"{path}:{line}: ")


def test_errors_name_the_included_file(write):
    path = write("i 0 part.aff", part="\n\nfm 1 x\n")
    with pytest.raises(SceneFileError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path.parent / 'part.aff'}:3: ")


def test_what_leaves_the_world_later_is_found_then(read):
    keys = "k a { scale 4 " + KEYS.replace("1 1 1 1 0 0 0", "1 1e9 1 1 0 0 0") + "}"
    scene = read("x a { xs 5 1 1 0 0 1 0 0 0 0 {\n" + TRIANGLE + "} }" + keys)
    assert len(scene.at(0.0).positions) == 1
    with pytest.raises(SceneFileError, match=r"scene\.aff:2: at time 1 "):
        scene.at(1.0)


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_times_are_finite(read, time):
    with pytest.raises(SceneError, match="finite time"):
        read(TRIANGLE).at(time)


@pytest.mark.parametrize("make", ["missing", "empty", "folder", "unreadable"])
def test_files_that_cannot_be_read(tmp_path, make):
    path = tmp_path / "scene.aff"
    if make == "empty":
        path.write_bytes(b"")
    elif make == "folder":
        path.mkdir()
    elif make == "unreadable":
        os.mkfifo(path)
    with pytest.raises(SceneFileError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert caught.value.line is None


EVERYTHING = f"""# everything
{view()}
b .1 .2 .3 am 1 1 1 l 1 2 3 l 1 2 3 .5 .5 .5 la lamp 0 5 0 1 1 1 a 0 2 5 d 1 i 0 part.aff
f 1 0 0 .5 .5 10 0 1
c 0 0 0 1 0 1 0 .5
pp 3 0 0 0 0 0 1 1 0 0 0 0 1 1 1 0 0 0 1
ttp t.ppm 0 0 0 0 0 1 0 0 1 0 0 0 0 1 1 0 1 1 0 0 0 1 1 1
tpa 2 0 0 0 0 0 0 1 1 0 0 0 0 1 1 1 0 0 0 1 1 0 0 1 0 0 1 1 0 1 0 0 1 1 1 1 0 0 1
xs 1 2 1 0 1 0 30 1 0 0 {{ x a {{
m vertices 4 0 0 0 1 0 0 1 1 0 0 1 0 normals 1 0 0 1 texturecoords 3 t.ppm 0 0 1 0 1 1
triangles 2 0 1 2 0 0 0 0 1 2 0 2 3 0 0 0 0 2 1
}} }}
k a {{ transl 4 {KEYS} rot 4 {TURNS.format(".1 1 0")} scale 4 {KEYS} visibility 2 0 1 2 0 }}
k lamp {{ transl 4 {KEYS} }}
k camera {{ transl 4 {KEYS} rot 4 {TURNS.format(".1 1 0")} }}
"""
JUNK = "{ } 1e30 -1 0 99999999999 nan m k xs x # i t.ppm part.aff 1_0 1e-300 -1e29 1e9 % vertices 4 3 \x00"


def mutate(words, rng):
    """The words with a few of them replaced, left out, repeated or cut off."""
    words = list(words)
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(len(words))
        kind = rng.random()
        if kind < 0.5:
            words[place] = rng.choice(JUNK.split(" "))
        elif kind < 0.7 and len(words) > 1:
            del words[place]
        elif kind < 0.85:
            words.insert(place, rng.choice(JUNK.split(" ")))
        elif kind < 0.95:
            words[place] = rng.choice(words)
        else:
            del words[place + 1 :]
    return words


def test_mutated_files_read_soundly_or_raise(write):
    rng = random.Random(5)
    words = EVERYTHING.replace("\n", " \n ").split(" ")
    outcomes = {True: 0, False: 0}
    for _ in range(250):
        path = write(" ".join(mutate(words, rng)), part="fm 1 1 1 .5 .5 .5 0 0 0 1 0 0\n" + TRIANGLE)
        outcomes[reads_soundly(path)] += 1
    assert min(outcomes.values()) > 10


def reads_soundly(path):
    """Whether a file can be read and shown; anything but a SceneFileError goes through."""
    try:
        scene = load(path)
        for time in (-3.0, 0.3, 1e9):
            check_sound(scene.at(time))
    except SceneFileError:
        return False
    return True


def check_sound(picture):
    """Whether all numbers of a snapshot are finite and all indices are of something."""
    for array in (picture.positions, picture.normals, picture.uvs):
        assert np.isfinite(array).all()
    assert np.allclose(np.linalg.norm(picture.normals, axis=-1), 1.0, atol=1e-4)
    assert (picture.material_ids < len(picture.materials)).all()
    camera = picture.camera
    assert np.isfinite([camera.eye, camera.forward, camera.up]).all()
    assert np.isfinite(np.array([light.position + light.intensity for light in picture.lights], dtype=np.float32)).all()


def test_triangles_are_bounded(write, monkeypatch):
    monkeypatch.setattr("scenes.aff.parser.MAX_TRIANGLES", 2000)
    with pytest.raises(SceneFileError, match=r"scene\.aff:42: over 2000 triangles"):
        load(write("s 0 0 0 1\n" * 50))
