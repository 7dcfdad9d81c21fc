"""Hostile scenes of pbrt."""

from functools import partial

from hostile.case import IS_READ, Case, files, made

BALL = 'Shape "sphere" "float radius" [1]\n'


def pbrt(name: str, expected: str, text: str, *, is_large: bool = False, **others: str) -> Case:
    """Returns a case of a scene and the files beside it."""
    texts = {"a.pbrt": text} | {f"{stem}.pbrt": other for stem, other in others.items()}
    return files(name, expected, "a.pbrt", texts, is_large=is_large)


def world(text: str) -> str:
    return f"WorldBegin\n{text}"


def objects(levels: int) -> str:
    """Returns objects of which each holds the one before ten times."""
    rows = ['ObjectBegin "o0"\n' + BALL + "ObjectEnd\n"]
    rows += [f'ObjectBegin "o{k + 1}"\n' + f'ObjectInstance "o{k}"\n' * 10 + "ObjectEnd\n" for k in range(levels)]
    return world("".join(rows) + f'ObjectInstance "o{levels}"\n')


def textures(count: int) -> str:
    """Returns textures of which each scales the one before."""
    rows = ['Texture "t0" "spectrum" "constant" "rgb value" [0.5 0.5 0.5]\n']
    rows += [
        f'Texture "t{k + 1}" "spectrum" "scale" "texture tex" ["t{k}"] "texture scale" ["t{k}"]\n' for k in range(count)
    ]
    return world("".join(rows) + f'Material "diffuse" "texture reflectance" ["t{count}"]\n' + BALL)


def wrong_balls(count: int) -> str:
    """Returns balls whose radius is no number."""
    return world('Shape "sphere" "float radius" ["wide"]\n' * count)


INCLUDE = 'Include "{}.pbrt"\n'

CASES = [
    pbrt("an include of itself", "include themselves", world(INCLUDE.format("a"))),
    pbrt(
        "includes that double",
        "files",
        world(INCLUDE.format("f0")),
        **{f"f{k}": INCLUDE.format(f"f{k + 1}") * 2 for k in range(15)},
        f15="\n",
        is_large=True,
    ),
    pbrt(
        "includes of a large file",
        "over 20000000 triangles",
        world(INCLUDE.format("b") * 300),
        b=BALL * 40_000,
        is_large=True,
    ),
    pbrt("an include that climbs out", "in the folder", world(INCLUDE.format("../../../../../etc/passwd"))),
    pbrt("an include of a device", "in the folder", world('Include "/dev/zero"')),
    made("objects that grow tenfold", "instance", "a.pbrt", partial(objects, 12)),
    made("2,000 textures of textures", "no float texture", "a.pbrt", partial(textures, 2_000)),
    made("5,000 balls that are wrong", "radius", "a.pbrt", partial(wrong_balls, 5_000)),
    made(
        "a million blocks that open",
        "nested deeper",
        "a.pbrt",
        lambda: world("AttributeBegin\n" * 1_000_000 + BALL),
        is_large=True,
    ),
    pbrt("brackets without end", "expected", world("Shape " + "[" * 50_000)),
    pbrt("a quote without end", "expected", world('Shape "' + "x" * 1_000_000)),
    pbrt("a number of a million digits", "expected", world('Shape "sphere" "float radius" [' + "9" * 1_000_000 + "]")),
    pbrt("a comment of a million signs", "no shapes", "#" * 1_000_000),
    pbrt("blanks and comments by turns", "no shapes", " #\n" * 300_000),
    pbrt("a ball of radius NaN", "finite", world('Shape "sphere" "float radius" [nan]\n')),
    pbrt("a disk of 1e30", "beyond", world('Shape "disk" "float radius" [1e20]\n')),
    pbrt("a scale of 0", IS_READ, world("Scale 0 0 0\n" + BALL) + 'LightSource "point"\n'),
    pbrt(
        "indices of no vertex",
        "from 0 to 2",
        world('Shape "trianglemesh" "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 999999999]\n'),
    ),
    pbrt(
        "subdivision by 30 levels",
        IS_READ,
        world('Shape "loopsubdiv" "integer levels" [30] "point3 P" [0 0 0 1 0 0 0 1 0] "integer indices" [0 1 2]\n'),
        is_large=True,
    ),
    pbrt(
        "a curve of 1e9 pieces",
        IS_READ,
        world('Shape "curve" "integer splitdepth" [1000000000] "point3 P" [0 0 0 1 0 0 0 1 0 1 1 1]\n'),
    ),
    pbrt(
        "a mesh that climbs out",
        "in the folder",
        world('Shape "plymesh" "string filename" ["../../../../etc/passwd"]\n'),
    ),
    pbrt("a film of 1e9 columns", "expected", 'Film "rgb" "integer xresolution" [1000000000]\n' + world(BALL)),
    pbrt("a fov of 180", "fov", 'Camera "perspective" "float fov" [180]\n' + world(BALL)),
]
