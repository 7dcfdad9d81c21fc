"""Hostile scene files of the project's own format."""

from functools import partial

from hostile.case import IS_READ, Case, files, made

RED = "[materials.red]\ndiffuse = [0.6, 0.1, 0.1]\n"
OBJECT = '[[object]]\nshape = "triangles"\nmaterial = "red"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\n'
SCENE = RED + OBJECT
LATHE = RED + '[[object]]\nshape = "lathe"\nmaterial = "red"\nprofile = [{}]\n'
GRID = "grid = { counts = [100, 100, 100], steps = [1, 1, 1] }\n"


def toml(name: str, expected: str, text: str) -> Case:
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
    return RED + OBJECT * count


CASES = [
    made("a chain of 50,000 groups", "nested deeper than", "a.toml", partial(chain, 50_000), is_large=True),
    made("a chain of 3,000 groups", "nested deeper than", "a.toml", partial(chain, 3_000)),
    toml(
        "groups in a circle",
        "stands inside itself",
        SCENE + '[[group]]\nname = "a"\nparent = "b"\n[[group]]\nname = "b"\nparent = "a"\n',
    ),
    made("1,000 dotted tables", "names", "a.toml", partial(dotted, 1_000)),
    made("5,000 dotted tables", "names", "a.toml", partial(dotted, 5_000), is_large=True),
    toml("a key of 100,000 names", "names", ".".join(["a"] * 100_000) + " = 1\n"),
    toml("a table of 100,000 names", "names", "[" + ".".join(["a"] * 100_000) + "]\n"),
    toml("a key of quoted names", "names", ".".join(['"a"'] * 100_000) + " = 1\n"),
    toml("lists 100,000 deep", "can be read: ", "a = " + "[" * 100_000),
    toml("a number of 100,000 digits", "is not TOML", "a = " + "9" * 100_000),
    toml("bytes of zero", "is not TOML", "\0" * 100_000),
    toml("a profile of 256,000 points", "over 1000 points", LATHE.format(1000 * "{ arc = [2, 0], steps = 256 }, ")),
    toml("an arc of 1e30 degrees", IS_READ, LATHE.format("{ arc = [2, 0], from = -1e30, to = 1e30 }")),
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
    toml("1e30 photons", "expected", "[render]\nphotons = 1000000000000000000000000000000\n" + SCENE),
    toml(
        "a light of infinite intensity",
        "expected",
        SCENE + '[[light]]\nkind = "point"\nposition = [0, 1, 0]\nintensity = inf\n',
    ),
    toml(
        "a texture that is a device",
        "expected a file that ends in",
        SCENE.replace("diffuse", 'texture = "/dev/zero"\ndiffuse'),
    ),
    toml("a scene that nothing lights", IS_READ, SCENE),
    made("20,000 objects of a triangle", IS_READ, "a.toml", partial(triangles, 20_000), is_large=True),
    made("a grid of a million triangles", IS_READ, "a.toml", partial(str, SCENE + GRID), is_large=True),
]
