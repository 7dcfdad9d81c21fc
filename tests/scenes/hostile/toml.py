"""Hostile scene files of the project's own format."""

from functools import partial

from hostile.case import IS_READ, Case, files, made

RED = "[materials.red]\ndiffuse = [0.6, 0.1, 0.1]\n"
OBJECT = '[[object]]\nshape = "triangles"\nmaterial = "red"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\n'
SCENE = RED + OBJECT
LATHE = RED + '[[object]]\nshape = "lathe"\nmaterial = "red"\nprofile = [{}]\n'
GRID = "grid = { counts = [100, 100, 100], steps = [1, 1, 1] }\n"


def toml(name: str, expected: str, text: str) -> Case:
    """Returns a case of one scene."""
    return files(name, expected, "a.toml", {"a.toml": text})


def chain(count: int) -> str:
    """Returns groups of which each stands in the one before, the innermost first."""
    rows = [
        f'[[group]]\nname = "g{k}"\nparent = "g{k - 1}"\n' if k else '[[group]]\nname = "g0"\n' for k in range(count)
    ]
    return SCENE + "".join(reversed(rows))


def dotted(count: int) -> str:
    """Returns tables of which each has one more name than the one before."""
    return "".join("[" + ".".join(["a"] * k) + "]\n" for k in range(1, count + 1))


def triangles(count: int) -> str:
    """Returns so many objects of a triangle each."""
    return RED + OBJECT * count


def objects_of(names: int) -> str:
    """Returns objects whose material is not there."""
    return RED + OBJECT.replace("red", "reds") * names


CASES = [
    made("a chain of 50,000 groups", "nested deeper than", "a.toml", partial(chain, 50_000), is_large=True),
    made("a chain of 3,000 groups", "nested deeper than", "a.toml", partial(chain, 3_000)),
    toml(
        "groups in a circle",
        "stands inside itself",
        SCENE + '[[group]]\nname = "a"\nparent = "b"\n[[group]]\nname = "b"\nparent = "a"\n',
    ),
    toml("a group that is its own", "stands inside itself", SCENE + '[[group]]\nname = "a"\nparent = "a"\n'),
    made("1,000 dotted tables", "names", "a.toml", partial(dotted, 1_000)),
    made("5,000 dotted tables", "names", "a.toml", partial(dotted, 5_000), is_large=True),
    toml("a key of 100,000 names", "names", ".".join(["a"] * 100_000) + " = 1\n"),
    toml("a table of 100,000 names", "names", "[" + ".".join(["a"] * 100_000) + "]\n"),
    toml("a key of quoted names", "names", ".".join(['"a"'] * 100_000) + " = 1\n"),
    toml("lists 100,000 deep", "can be read: ", "a = " + "[" * 100_000),
    toml("tables 100,000 deep", "can be read: ", "a = " + "{a=" * 100_000),
    toml("a number of 100,000 digits", "is not TOML", "a = " + "9" * 100_000),
    toml("a text that is never closed", "is not TOML", 'a = """' + "x" * 100_000),
    toml("bytes of zero", "is not TOML", "\0" * 100_000),
    toml("a key given twice", "is not TOML", RED + RED),
    toml("unknown keys", "unknown", "".join(f"k{k} = 1\n" for k in range(20_000))),
    toml("a profile of 256,000 points", "over 1000 points", LATHE.format(1000 * "{ arc = [2, 0], steps = 256 }, ")),
    toml("an arc of 1e30 degrees", IS_READ, LATHE.format("{ arc = [2, 0], from = -1e30, to = 1e30 }")),
    toml("a curve of corners alone", "two different points", LATHE.format("{ curve = [[1, 1], [1, 1], [1, 1]] }")),
    toml("a profile without a radius", "that make a surface", LATHE.format("[0, 0], [0, 1], [0, 1e9]")),
    toml(
        "a grid of 1e12 places",
        "expected a whole number",
        SCENE + "grid = { counts = [1000000000000, 1, 1], steps = [1, 1, 1] }\n",
    ),
    toml(
        "a grid of 1e15 places",
        "at most 1000000 places",
        SCENE + "grid = { counts = [100000, 100000, 100000], steps = [1, 1, 1] }\n",
    ),
    toml("a grid of no place", "expected a whole number", SCENE + "grid = { counts = [0, 1, 1], steps = [1, 1, 1] }\n"),
    toml("a grid of steps without end", "to 1e+09", SCENE + "grid = { counts = [2, 1, 1], steps = [inf, 1, 1] }\n"),
    toml(
        "a ball of 1e9 segments",
        "expected a",
        RED + '[[object]]\nshape = "sphere"\nmaterial = "red"\ncenter = [0, 0, 0]\nradius = 1\nsegments = 1000000000\n',
    ),
    toml(
        "a ball of radius NaN",
        "expected a",
        RED + '[[object]]\nshape = "sphere"\nmaterial = "red"\ncenter = [0, 0, 0]\nradius = nan\n',
    ),
    toml(
        "a ball of radius 0",
        "expected a",
        RED + '[[object]]\nshape = "sphere"\nmaterial = "red"\ncenter = [0, 0, 0]\nradius = 0\n',
    ),
    toml("a picture of 1e9 pixels a side", "expected", "[render]\nsize = [1000000000, 1]\n" + SCENE),
    toml("1e30 photons", "expected", "[render]\nphotons = 1000000000000000000000000000000\n" + SCENE),
    toml(
        "an animation of 1e12 frames", "expected", "[animation]\nstart = 0\nend = 1\nframes = 1000000000000\n" + SCENE
    ),
    toml("an animation until infinity", "expected", "[animation]\nstart = 0\nend = inf\nframes = 3\n" + SCENE),
    toml("a camera at NaN", "expected", SCENE + "[cameras.a]\neye = [nan, 0, 0]\ntarget = [0, 0, 0]\n"),
    toml(
        "a camera that looks at itself",
        "leave open how it is turned",
        SCENE + "[cameras.a]\neye = [1, 0, 0]\ntarget = [1, 0, 0]\n",
    ),
    toml(
        "a camera of 180 degrees",
        "expected",
        SCENE + "[cameras.a]\neye = [1, 0, 0]\ntarget = [0, 0, 0]\nvertical_fov = 180\n",
    ),
    toml(
        "a light of infinite intensity",
        "expected",
        SCENE + '[[light]]\nkind = "point"\nposition = [0, 1, 0]\nintensity = inf\n',
    ),
    toml(
        "a light of negative intensity",
        "expected",
        SCENE + '[[light]]\nkind = "point"\nposition = [0, 1, 0]\nintensity = -1\n',
    ),
    toml("an emission of 1e300", "expected", SCENE.replace("diffuse", "emission = [1e300, 0, 0]\ndiffuse")),
    toml(
        "an instance of an instance",
        "is an instance itself",
        SCENE.replace("shape", 'name = "a"\nshape')
        + '[[object]]\nname = "b"\ninstance_of = "a"\n[[object]]\ninstance_of = "b"\n',
    ),
    toml(
        "a texture that is a device",
        "expected a file that ends in",
        SCENE.replace("diffuse", 'texture = "/dev/zero"\ndiffuse'),
    ),
    toml("a mesh that is a folder", "expected a file that ends in", RED + '[[object]]\nfile = ".."\n'),
    toml("a scene that nothing lights", IS_READ, SCENE),
    made("2,000 objects of no material", "unknown material", "a.toml", partial(objects_of, 2_000)),
    made("20,000 objects of a triangle", IS_READ, "a.toml", partial(triangles, 20_000), is_large=True),
    made("a grid of a million triangles", IS_READ, "a.toml", partial(str, SCENE + GRID), is_large=True),
]
