"""The commands of AFF and NFF: one function each, found by its letters in `COMMANDS`."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from scenes.aff.keyframes import read_track
from scenes.aff.lexer import Cursor, looks_numeric, shown
from scenes.aff.parser import TEXTURES, AffParser, Command
from scenes.document import Document, Part, keyed_triangle
from scenes.files.source_file import MAX_CORNERS, OUTSIDE, allow_folder, is_file, may_be_read
from scenes.lights import PointSource
from scenes.materials.microfacets import WHITE
from scenes.meshes.curves import Ball, Tube
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.meshes.polygons import polygon_triangles
from scenes.model import AnimationRange, Camera, Color, Indices, Material, Mesh
from scenes.motion.transforms import compose, quaternion
from scenes.views.viewing import look_at, triple

MAX_INCLUDE_DEPTH = 32
MAX_LIGHTS = 20_000
MAX_FRAMES = 10_000_000
MAX_RESOLUTION = 16_384
SMALLEST_NEAR = 1e-4
#: Name of the one camera, and of the track that moves it.
CAMERA = "camera"


# --- materials --------------------------------------------------------------------------------------------------------


def set_material(parser: AffParser, cursor: Cursor, diffuse: Color, specular: Color) -> None:
    """Makes a material current; its shine, transmittance and refractive index are the next words."""
    exponent, transmittance, ior = cursor.floats(3, "shine, transmittance and refractive index").tolist()
    if exponent < 0.0 or transmittance < 0.0:
        raise cursor.error("expected shine and transmittance not below 0", cursor.position - 3)
    name = f"{cursor.source.path.name}:{cursor.source.line_of(cursor.position - 1)}"
    parser.material = Material(
        name=name,
        kind="nff",
        diffuse=diffuse,
        specular=specular,
        exponent=exponent,
        transmittance=transmittance,
        ior=ior,
    )


def nff_material(parser: AffParser, cursor: Cursor) -> None:
    """f: a colour and the shares of it that are diffuse and (white) specular."""
    red, green, blue = cursor.color("red, green and blue of a material")
    diffuse, specular = cursor.floats(2, "the diffuse and the specular share").tolist()
    if diffuse < 0.0 or specular < 0.0:
        raise cursor.error("expected shares not below 0", cursor.position - 2)
    set_material(parser, cursor, (red * diffuse, green * diffuse, blue * diffuse), (specular, specular, specular))


def aff_material(parser: AffParser, cursor: Cursor) -> None:
    """fm: ambient, diffuse and specular colours.

    Ambient reflection stands for light between surfaces, which photons bring: it is kept beside what is seen. But where
    a surface has nothing else, as for a picture of the view through a window, it is a backdrop, which is seen and
    lights nothing.
    """
    ambient = cursor.color("the ambient colour of a material")
    diffuse = cursor.color("the diffuse colour of a material")
    specular = cursor.color("the specular colour of a material")
    set_material(parser, cursor, diffuse, specular)
    if any(diffuse) or any(specular) or parser.material.transmittance:
        parser.material = replace(parser.material, ambient=ambient)
    else:
        parser.material = replace(parser.material, backdrop=ambient)


# --- geometry ---------------------------------------------------------------------------------------------------------


def sphere_command(parser: AffParser, cursor: Cursor) -> None:
    """s: a sphere."""
    origin = cursor.origin
    x, y, z, radius = cursor.points(1, 4, "the centre and radius of a sphere")[0]
    if not 0.0 < abs(radius) <= MAX_COORDINATE:
        raise cursor.error(f"expected a radius other than 0, at most {MAX_COORDINATE:g}", cursor.position - 1)
    parser.add_curve(Ball(np.array([x, y, z]), float(radius), parser.material_id()), origin)


def cone_command(parser: AffParser, cursor: Cursor) -> None:
    """c: an open cone or cylinder."""
    origin = cursor.origin
    start = cursor.position
    ends = cursor.points(2, 4, "base, radius, apex and radius of a cone")
    radii, inside = ends[:, 3], bool(ends[0, 3] < 0.0)
    radii = -radii if inside else radii
    if radii.min() < 0.0 or radii.max() > MAX_COORDINATE:
        raise cursor.error(f"expected radii of one sign, at most {MAX_COORDINATE:g}", start + 3)
    if not np.linalg.norm(ends[1, :3] - ends[0, :3]) > 0.0:
        raise cursor.error("expected base and apex at different points", start + 4)
    parser.add_curve(Tube(ends[:, :3], (float(radii[0]), float(radii[1])), parser.material_id(), inside), origin)


def flat(kind: str, width: int, what: str) -> Command:
    """Returns the command of a flat polygon of a kind.

    width: numbers of each corner: 3, 5, 6 or 8, of which 6 and 8 have a normal, and 5 and 8 texture coordinates; those
        that have these are triangles.
    what: they are called.
    """

    def command(parser: AffParser, cursor: Cursor) -> None:
        origin, has_uvs = cursor.origin, width in (5, 8)
        texture = parser.texture_id(cursor) if has_uvs else -1
        count = 3 if has_uvs else cursor.count(f"the number of corners of a {kind}", 3)
        if count > MAX_CORNERS:
            raise cursor.error(f"expected at most {MAX_CORNERS} corners of a {kind}, got {count}", cursor.position - 1)
        rows = cursor.points(count, width, f"{what} of a {kind}")
        triangles, crosses = polygon_triangles(rows[:, :3])
        if crosses:
            parser.document.notes.add("a polygon that crosses itself is cut somehow", origin.path, origin.line)
        mesh = Mesh(vertices=rows[:, :3], triangles=triangles, material=parser.material_id(texture))
        if width in (6, 8):
            mesh = replace(mesh, normals=rows[:, 3:6], normal_triangles=triangles)
        if has_uvs:
            mesh = replace(mesh, uvs=rows[:, -2:], uv_triangles=triangles)
        parser.add_mesh(mesh, origin, loose=True)

    return command


def animated_triangle(parser: AffParser, cursor: Cursor) -> None:
    """tpa: a triangle with positions and normals at several times."""
    origin = cursor.origin
    count = cursor.count("the number of times of an animated triangle", 1)
    start = cursor.position
    rows = cursor.floats(count * 19, "times, corners and normals of an animated triangle").reshape(count, 19)
    corners = rows[:, 1:].reshape(count, 3, 6)
    if np.abs(corners[..., :3]).max() > MAX_COORDINATE:
        raise cursor.error(f"coordinates reach at most {MAX_COORDINATE:g}", start)
    shape = keyed_triangle(rows[:, 0], corners, parser.material_id())
    parser.add(Part(shape, parser.transform, origin, loose=True), 1)


def mesh_command(parser: AffParser, cursor: Cursor) -> None:
    """m: indexed triangles. Indices are grouped by kind: vertices, then normals, then texture coordinates."""
    origin = cursor.origin
    cursor.keyword(b"vertices")
    vertices = cursor.points(cursor.count("the number of vertices"), 3, "the vertices of a mesh")
    normals, uvs, texture = None, None, -1
    if cursor.optional_keyword(b"normals"):
        count = cursor.count("the number of normals")
        normals = cursor.floats(count * 3, "the normals of a mesh").reshape(count, 3)
    if cursor.optional_keyword(b"texturecoords"):
        count = cursor.count("the number of texture coordinates")
        texture = parser.texture_id(cursor)
        uvs = cursor.floats(count * 2, "the texture coordinates of a mesh").reshape(count, 2)
    kinds = {"vertex": vertices, "normal": normals, "texture coordinate": uvs}
    indices = read_triangles(cursor, {kind: len(values) for kind, values in kinds.items() if values is not None})
    mesh = Mesh(
        vertices=vertices,
        triangles=indices["vertex"],
        normals=normals,
        normal_triangles=indices.get("normal"),
        uvs=uvs,
        uv_triangles=indices.get("texture coordinate"),
        material=parser.material_id(texture),
    )
    parser.add_mesh(mesh, origin)


def read_triangles(cursor: Cursor, sizes: dict[str, int]) -> dict[str, Indices]:
    """The triangles block: (n, 3) indices of each kind. sizes: how many values there are of it."""
    cursor.keyword(b"triangles")
    count = cursor.count("the number of triangles")
    start = cursor.position
    rows = cursor.integers(count * 3 * len(sizes), "the indices of a mesh").reshape(count, len(sizes), 3)
    limits = np.array(list(sizes.values()))[:, None]
    wrong = np.flatnonzero((rows < 0) | (rows >= limits))
    if len(wrong):
        kind, size = list(sizes.items())[int(wrong[0]) // 3 % len(sizes)]
        value = rows.ravel()[wrong[0]]
        raise cursor.error(f"{kind} index {value}, but there are {size} (counted from 0)", start + int(wrong[0]))
    return {kind: rows[:, place].copy() for place, kind in enumerate(sizes)}


# --- camera, light and time -------------------------------------------------------------------------------------------


def view(parser: AffParser, cursor: Cursor) -> None:
    """v: the camera."""
    start = cursor.position - 1
    cursor.keyword(b"from")
    eye = cursor.points(1, 3, "the position of the eye")[0]
    cursor.keyword(b"at")
    target = cursor.points(1, 3, "the point looked at")[0]
    cursor.keyword(b"up")
    forward, up = look_at(eye, target, cursor.floats(3, "the upward direction"))
    if not up.any():
        raise cursor.error("from, at and up leave the camera's orientation open", start)
    cursor.keyword(b"angle")
    angle = cursor.number("the vertical field of view in degrees")
    if not 0.0 < angle < 180.0:
        raise cursor.error(f"expected a field of view between 0 and 180 degrees, got {angle:g}", cursor.position - 1)
    cursor.keyword(b"hither")
    near = cursor.number("the near distance")
    cursor.keyword(b"resolution")
    parser.document.cameras[CAMERA] = Camera(
        eye=triple(eye),
        forward=triple(forward),
        up=triple(up),
        vertical_fov=angle,
        near=near if near >= SMALLEST_NEAR else 1.0,
        resolution=read_resolution(parser, cursor),
    )


def read_resolution(parser: AffParser, cursor: Cursor) -> tuple[int, int]:
    """Width and height. An NFF picture is square whatever its pixels are: as wide as it is high."""
    width = cursor.count("the width in pixels", 1)
    height = cursor.count("the height in pixels", 1)
    if max(width, height) > MAX_RESOLUTION:
        raise cursor.error(
            f"expected at most {MAX_RESOLUTION} pixels a side, got {width} {height}", cursor.position - 1
        )
    return (height if parser.square_picture else width, height)


def background(parser: AffParser, cursor: Cursor) -> None:
    """b: the colour of what nothing covers."""
    parser.document.background = cursor.color("red, green and blue of the background")


def add_light(parser: AffParser, cursor: Cursor, track: str) -> None:
    """The operands that l and la share. The colour may be left out."""
    origin = cursor.origin
    position = cursor.points(1, 3, "the position of a light")[0]
    color = cursor.color("red, green and blue of a light") if looks_numeric(cursor.peek()) else WHITE
    if len(parser.document.lights) >= MAX_LIGHTS:
        raise cursor.error(f"over {MAX_LIGHTS} lights", cursor.position - 1)
    parser.document.lights.append(PointSource(position, color, parser.transform, origin, track, fades=False))


def light(parser: AffParser, cursor: Cursor) -> None:
    """l: a point light."""
    add_light(parser, cursor, "")


def animated_light(parser: AffParser, cursor: Cursor) -> None:
    """la: a point light that a track moves."""
    add_light(parser, cursor, cursor.name("the name of a track"))


def ambient_light(parser: AffParser, cursor: Cursor) -> None:
    """am: light from everywhere. It brightens painted views and lights nothing else: photons do what it stands for."""
    parser.document.ambient = cursor.color("red, green and blue of the ambient light")


def animation_range(parser: AffParser, cursor: Cursor) -> None:
    """a: the first and last time, and how many frames."""
    start, end = cursor.floats(2, "the first and the last time")
    frames = cursor.count("the number of frames", 1)
    if frames > MAX_FRAMES:
        raise cursor.error(f"expected at most {MAX_FRAMES} frames, got {frames}", cursor.position - 1)
    parser.document.animation = AnimationRange(start=float(start), end=float(end), frames=frames)


# --- files ------------------------------------------------------------------------------------------------------------


def detail_level(parser: AffParser, cursor: Cursor) -> None:
    """d: how much detail is wanted."""
    parser.detail_level = int(cursor.integers(1, "a detail level")[0])


def include(parser: AffParser, cursor: Cursor) -> None:
    """i: another file, if its level is not above the detail level. Names are relative to the scene's own folder."""
    level = int(cursor.integers(1, "the level of an include")[0])
    name = cursor.name("the name of the file to include")
    if level > parser.detail_level:
        return
    path = parser.folder / name
    if not is_file(path):
        raise cursor.error(f"no file {shown(name)} to include in {parser.folder}", cursor.position - 1)
    if not may_be_read(path):
        raise cursor.error(f"{shown(name)} {OUTSIDE}", cursor.position - 1)
    if path in parser.open_files:
        raise cursor.error(f"{shown(name)} includes itself", cursor.position - 1)
    if len(parser.open_files) >= MAX_INCLUDE_DEPTH:
        raise cursor.error(f"includes are nested deeper than {MAX_INCLUDE_DEPTH}", cursor.position - 1)
    parser.read_file(path)


# --- transforms -------------------------------------------------------------------------------------------------------


def animated_transform(parser: AffParser, cursor: Cursor) -> None:
    """x: a subtree that a track moves."""
    name = cursor.name("the name of a track")
    parser.read_subtree(cursor, parser.transform.inner(track=name))


def static_transform(parser: AffParser, cursor: Cursor) -> None:
    """xs: a subtree scaled, turned and shifted, in this order."""
    start = cursor.position
    values = cursor.floats(10, "scale, axis and angle, shift")
    if not values[3:6].any() and values[6] % 360.0 != 0.0:
        raise cursor.error("expected an axis of some length to turn about", start + 3)
    matrix = compose(values[:3], quaternion(values[3:6], float(values[6])), values[7:])
    parser.read_subtree(cursor, parser.transform.inner(matrix=matrix))


def keyframes(parser: AffParser, cursor: Cursor) -> None:
    """k: the keyframes of a name. Names are for all files; the newest of the same name counts."""
    name = cursor.name("the name of a track")
    parser.document.tracks[name] = read_track(cursor)


def stray_brace(parser: AffParser, cursor: Cursor) -> None:
    """A closing brace where no block is open."""
    raise cursor.error("this '}' closes nothing in this file", cursor.position - 1)


COMMANDS: dict[bytes, Command] = {
    b"v": view,
    b"b": background,
    b"l": light,
    b"la": animated_light,
    b"am": ambient_light,
    b"a": animation_range,
    b"d": detail_level,
    b"i": include,
    b"f": nff_material,
    b"fm": aff_material,
    b"s": sphere_command,
    b"c": cone_command,
    b"p": flat("polygon", 3, "the corners"),
    b"pp": flat("polygon patch", 6, "the corners and normals"),
    b"tt": flat("triangle", 5, "the corners and texture coordinates"),
    b"ttp": flat("triangle", 8, "the corners, normals and texture coordinates"),
    b"tpa": animated_triangle,
    b"m": mesh_command,
    b"x": animated_transform,
    b"xs": static_transform,
    b"k": keyframes,
    b"}": stray_brace,
}


def read_document(path: Path) -> Document:
    """Returns all that a file says. Raises SceneFileError with the file and line of what is wrong."""
    allow_folder(path.parent / TEXTURES)
    parser = AffParser(path, COMMANDS)
    parser.check_size(path)
    parser.read_file(path)
    return parser.document
