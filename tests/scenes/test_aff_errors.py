"""Bad files: each gives one SceneFileError of one line, with the file, the line and what was expected."""

import os
import random

import numpy as np
import pytest
from data_files import messages

from scenes import SceneError, SceneFileError, load

TRIANGLE = "p 3  0 0 0  1 0 0  0 1 0\n"
KEYS = "-1 0 0 0 0 0 0  0 0 0 0 0 0 0  1 1 1 1 0 0 0  2 1 1 1 0 0 0"
TURNS = "-1 0 1 0 0 0 0 0  0 0 1 0 0 0 0 0  1 {} 90 0 0 0  2 0 1 0 90 0 0 0"
VIEW = "v from 0 0 5\nat 0 0 0\nup 0 1 0\nangle 40\nhither 1\nresolution 8 6\n"

#: What a file of messages cannot hold, or holds too long.
ODD = [
    ("x" + " a { x" * 101, "1", "nested deeper than 100"),
    (TRIANGLE + "i 0 \xff\x01\x00.aff", "2", "no file"),
    ("i 0 " + "x" * 5000, "1", "no file"),
    ("# nothing", "-", "no triangles"),
    ("xs 1e30 1 1 0 0 1 0 0 0 0 { " * 12 + "\nl 1 1 1 " + "}" * 12 + TRIANGLE, "2", "beyond"),
    ("\x00\x01\x02", "1", "expected a command"),
]


@pytest.mark.parametrize(("text", "line", "expected"), [*messages("aff", {"TRIANGLE": TRIANGLE, "KEYS": KEYS}), *ODD])
def test_bad_files(write, text, line, expected):
    path = write(text)
    with pytest.raises(SceneFileError) as caught:
        load(path)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value.line or "-") == line
    if line != "-":
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
{VIEW}
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
