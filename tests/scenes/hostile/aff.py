"""Hostile files of AFF and NFF."""

from functools import partial
from itertools import pairwise

from hostile.case import IS_READ, Case, files, made

TRIANGLE = "p 3 0 0 0 1 0 0 0 1 0\n"
FIELD = "xs 1 1 1 0 0 1 0 0 0 0 { "


def aff(name: str, expected: str, text: str, **others: str) -> Case:
    """Returns a case of a scene and the files beside it."""
    texts = {"a.aff": text} | {f"{stem}.aff": other for stem, other in others.items()}
    return files(name, expected, "a.aff", texts)


def bomb(levels: int, leaf: str) -> dict[str, str]:
    """Returns files of which each includes the next one twice."""
    names = [f"f{level}" for level in range(levels)]
    texts = {name: f"i 0 {after}.aff i 0 {after}.aff" for name, after in pairwise(names)}
    return texts | {names[-1]: leaf}


CASES = [
    aff("include bomb", "files are included", "i 0 f0.aff", **bomb(28, TRIANGLE)),
    aff("include bomb of nothing", "files are included", "i 0 f0.aff", **bomb(28, "\n")),
    aff("includes of a large file", "included again and again", "i 0 b.aff " * 2000, b=TRIANGLE * 1_000),
    aff("include of itself", "includes itself", "i 0 a.aff"),
    aff("includes in a circle", "includes itself", "i 0 b.aff", b="i 0 c.aff", c="i 0 b.aff"),
    aff("include chain", "nested deeper than", "i 0 f0.aff", **{f"f{k}": f"i 0 f{k + 1}.aff" for k in range(40)}),
    aff("include of a device", "no file", "i 0 /dev/zero"),
    aff("transforms nested 101 deep", "nested deeper than 100", FIELD * 101 + "}" * 101),
    aff("transforms nested 100,000 deep", "nested deeper than 100", FIELD * 100_000),
    aff("transforms that multiply", "beyond", "xs 1e9 1 1 0 0 1 0 0 0 0 { " * 40 + TRIANGLE + "}" * 40),
    aff("a polygon of 3,000,000,000 corners", "expected", "p 3000000000 0 0 0"),
    aff("a polygon of 2,000,000,000 corners", "at most 100000 corners", "p 2000000000 0 0 0"),
    aff("a mesh of 2,000,000,000 vertices", "end of the file", "m vertices 2000000000 0 0 0"),
    aff("keys of 2,000,000,000", "transl keys", "k a { transl 2000000000 0 }"),
    aff("an animated triangle of 99,999,999 keys", "end of the file", "tpa 99999999 0 0 0"),
    aff("a light of infinite strength", "expected a command", TRIANGLE + "l 0 0 0 inf inf inf"),
    aff("a whole number of a million digits", "expected", "p " + "9" * 1_000_000),
    aff("a million braces", "closes nothing", "}" * 1_000_000),
    aff("braces without end", "expected a command", "{" * 1_000_000),
    aff("a comment of a million blanks", "no triangles", "#" + " " * 1_000_000),
    aff("a track that is never defined", IS_READ, "x a { " + TRIANGLE + "}"),
    made(
        "a corner count and 5,000,000 corners",
        "at most",
        "a.aff",
        lambda: "p 5000000 " + "0 0 0 " * 5_000_000,
        is_large=True,
    ),
    made("40,000 commands that are none", "expected a command", "a.aff", partial(str, "zz 1 2 3\n" * 40_000)),
    made("400,000 lights", "over 20000 lights", "a.nff", partial(str, "l 0 0 1\n" * 400_000), is_large=True),
]
