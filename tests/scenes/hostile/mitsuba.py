"""Hostile scenes of Mitsuba."""

import zlib
from functools import partial
from pathlib import Path

from hostile.case import IS_READ, Case, files, made

BALL = '<shape type="sphere"/>'


def scene(inside: str) -> str:
    return f'<scene version="3.0.0">\n{inside}\n</scene>'


def xml(name: str, expected: str, inside: str, **others: str) -> Case:
    """Returns a case of what is within <scene>, and of files beside it."""
    texts = {"a.xml": scene(inside)} | {f"{stem}.xml": scene(text) for stem, text in others.items()}
    return files(name, expected, "a.xml", texts)


def materials(count: int) -> str:
    rows = [
        f'<bsdf type="diffuse" id="m{k}"><rgb name="reflectance" value="{k / count}, 0.5, 0.5"/></bsdf>'
        f'<shape type="rectangle"><ref id="m{k}"/></shape>\n'
        for k in range(count)
    ]
    return scene("".join(rows))


def wrong_balls(count: int) -> str:
    """Returns balls whose radius is no number."""
    return scene('<shape type="sphere"><float name="radius" value="wide"/></shape>\n' * count)


def lost_references(count: int) -> str:
    """Returns balls whose materials are not there, beside as many that are."""
    ids = "".join(f'<bsdf type="diffuse" id="m{k}"/>\n' for k in range(count))
    return scene(ids + '<shape type="sphere"><ref id="gone"/></shape>\n' * count)


def cameras(count: int) -> str:
    return scene(BALL + '<sensor type="perspective" id="a"/>\n' * count)


def doubled(levels: int, tag: str, kind: str, leaf: str) -> str:
    """Returns elements of which each refers twice to the next."""
    rows = [leaf]
    for k in range(levels):
        inside = f'<ref id="n{k}"/><ref id="n{k}"/><float name="weight" value="0.5"/>'
        rows.append(f'<{tag} type="{kind}" id="n{k + 1}">{inside}</{tag}>')
    return "".join(rows) + f'<shape type="sphere"><ref id="n{levels}"/></shape>'


def lens(inside: str) -> str:
    return f'{BALL}<sensor type="perspective">{inside}</sensor>'


def film(width: str) -> str:
    return lens(f'<film type="hdrfilm"><integer name="width" value="{width}"/></film>')


def serialized(triangles: int, data: bytes) -> dict[str, str | bytes]:
    """Returns a scene and a file of a mesh that promises so many triangles."""
    head = (0x1000).to_bytes(4, "little") + b"\0" + (3).to_bytes(8, "little") + triangles.to_bytes(8, "little")
    body = b"\x1c\x04\x04\x00" + zlib.compress(head + data)
    table = (0).to_bytes(8, "little") + (1).to_bytes(4, "little")
    inside = '<shape type="serialized"><string name="filename" value="a.serialized"/></shape>'
    return {"a.xml": scene(inside), "a.serialized": body + table}


def inflated(folder: Path) -> Path:
    """Writes a mesh of which a few kilobytes become 700 MB of corners."""
    squeeze = zlib.compressobj(9)
    head = (0x1000).to_bytes(4, "little") + b"\0" + (60_000_000).to_bytes(8, "little") + (1).to_bytes(8, "little")
    body = b"".join([squeeze.compress(head), *(squeeze.compress(bytes(1 << 20)) for _ in range(690)), squeeze.flush()])
    texts = serialized(1, b"")
    (folder / "a.xml").write_text(str(texts["a.xml"]))
    table = (0).to_bytes(8, "little") + (1).to_bytes(4, "little")
    (folder / "a.serialized").write_bytes(b"\x1c\x04\x04\x00" + body + table)
    return folder / "a.xml"


DIGITS = f'<shape type="sphere"><float name="radius" value="{"9" * 100_000}"/></shape>'
ITSELF = '<shape type="instance"><ref id="a"/></shape>'
INCLUDE = '<include filename="{}.xml"/>'
LAUGHS = "".join(f'<default name="d{k + 1}" value="{f"$d{k}" * 10}"/>' for k in range(12))

CASES = [
    made("10,000 materials", IS_READ, "a.xml", partial(materials, 10_000), is_large=True),
    made("500 materials", IS_READ, "a.xml", partial(materials, 500)),
    made("10,000 balls that are wrong", "finite numbers", "a.xml", partial(wrong_balls, 10_000), is_large=True),
    made("200 balls that are wrong", "finite numbers", "a.xml", partial(wrong_balls, 200)),
    made("200 references to nothing", "no element has the id", "a.xml", partial(lost_references, 200)),
    made(
        "10,000 references to nothing",
        "no element has the id",
        "a.xml",
        partial(lost_references, 10_000),
        is_large=True,
    ),
    made("300 cameras of one name", IS_READ, "a.xml", partial(cameras, 300)),
    made("20,000 cameras of one name", IS_READ, "a.xml", partial(cameras, 20_000), is_large=True),
    xml("blends that double 15 times", IS_READ, doubled(15, "bsdf", "blendbsdf", '<bsdf type="diffuse" id="n0"/>')),
    xml(
        "a blend of itself",
        "nested deeper than 16",
        '<bsdf type="blendbsdf" id="a"><ref id="a"/><ref id="a"/></bsdf><shape type="sphere"><ref id="a"/></shape>',
    ),
    xml("values that grow tenfold", "characters", LAUGHS.replace("$d0", "x" * 10) + BALL),
    xml("an include of itself", "deeper than 16", INCLUDE.format("a")),
    xml(
        "includes that double",
        "files are read",
        INCLUDE.format("f0") * 2,
        **{f"f{k}": INCLUDE.format(f"f{k + 1}") * 2 for k in range(14)},
        f14="",
    ),
    xml("a path that climbs to the root", "outside", f'<path value="{"../" * 40}"/>' + BALL),
    xml("a path of 100,000 letters", "expected a <path>", f'<path value="{"a" * 100_000}"/>' + BALL),
    xml("a path of null bytes", "XML", '<path value="&#0;"/>' + BALL),
    xml(
        "an include by a path", "outside", '<path value=".."/><include filename="../../../../../../etc/passwd"/>' + BALL
    ),
    xml(
        "a max_depth of 1e30",
        IS_READ,
        '<integrator type="a"><float name="max_depth" value="1e30"/></integrator>' + BALL,
    ),
    xml(
        "a rotation about an axis of 1e30",
        "transform by at most",
        '<shape type="cube"><transform name="to_world"><rotate x="1e30" angle="3"/></transform></shape>',
    ),
    xml("an include of a device", "outside", BALL + '<include filename="/dev/zero"/>'),
    xml("elements 100,000 deep", "nested deeper than 64", "<shape>" * 100_000),
    made("600,000 elements", "elements", "a.xml", lambda: scene("<alias/>" * 600_000), is_large=True),
    files("an encoding that is none", "XML", "a.xml", {"a.xml": '<?xml version="1.0" encoding="rot-13"?><scene/>'}),
    files(
        "an attribute of 10 MB", "expected", "a.xml", {"a.xml": f'<scene version="{"9" * 10_000_000}">{DIGITS}</scene>'}
    ),
    files("bytes of zero", "XML", "a.xml", {"a.xml": bytes(100_000)}),
    xml("a ball of radius 1e30", "beyond", '<shape type="sphere"><float name="radius" value="1e30"/></shape>'),
    xml("a film 1e9 wide", "expected a film", film("1000000000")),
    files("a mesh of 2^60 triangles", "at most", "a.xml", serialized(1 << 60, b"")),
    files("a mesh that is cut off", "ends within", "a.xml", serialized(1_000, b"")),
    Case("a mesh of 700 MB in 700 kB", inflated, "more than can be packed", is_large=True),
    xml(
        "a projector of 1e30", "scale", BALL + '<emitter type="projector"><float name="scale" value="1e30"/></emitter>'
    ),
    xml("an instance of itself", "shapegroup", f'<shape type="shapegroup" id="a">{ITSELF}</shape>{ITSELF}'),
    xml("a merge of itself", "expected shapes", '<shape type="merge" id="a"><ref id="a"/></shape>'),
    xml(
        "a temperature of 1e9",
        "temperature",
        '<shape type="sphere"><emitter type="area"><blackbody name="radiance" temperature="1e9"/></emitter></shape>',
    ),
]
