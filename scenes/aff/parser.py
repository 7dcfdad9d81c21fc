"""The commands of AFF and NFF: one function each, found by its letters in `COMMANDS`.

Braces scope transforms only. The current material is one for all files: it leaks out of braces and out of includes.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from scenes.aff.keyframes import read_track
from scenes.aff.lexer import Cursor, Words, looks_numeric, quote, split_words
from scenes.default_view import look_at, triple
from scenes.document import Document, Origin, Part, PointSource, corner_indices, join_loose, keyed_triangle
from scenes.errors import SceneFileError
from scenes.geometry import MAX_COORDINATE
from scenes.memory import MAX_TRIANGLES
from scenes.model import AnimationRange, Camera, Color, Doubles, Indices, Material, Mesh
from scenes.shapes import cone, sphere
from scenes.texture_file import read_texture
from scenes.transforms import WORLD, Transform, compose, quaternion

MAX_NESTING = 100
MAX_INCLUDE_DEPTH = 32
#: Words read, those of files included again and again counted each time.
MAX_WORDS = 200_000_000
MAX_LIGHTS = 100_000
MAX_FRAMES = 10_000_000
MAX_RESOLUTION = 16_384
MAX_COLOR = 1e6
SMALLEST_NEAR = 1e-4
WHITE: Color = (1.0, 1.0, 1.0)
#: Name of the one camera, and of the track that moves it.
CAMERA = "camera"
START_MATERIAL = Material(name="before the first f or fm", kind="nff")


class Parser:
    """Reads files into a `Document`. Holds what one command leaves for the next."""

    def __init__(self, path: Path) -> None:
        self.document = Document()
        self.folder = path.parent
        self.square_picture = path.suffix.lower() == ".nff"
        self.material = START_MATERIAL
        self.detail_level = 0
        self.transform = WORLD
        self.open_files: list[Path] = []
        self._lexed: dict[Path, Words] = {}
        self._material_ids: dict[Material, int] = {}
        self._texture_ids: dict[str, int] = {}
        self._words_read = 0
        self._triangles = 0

    def read_file(self, path: Path) -> None:
        """All commands of a file, and of those that it includes."""
        if path not in self._lexed:
            self._lexed[path] = split_words(path)
        cursor = Cursor(self._lexed[path])
        self._words_read += len(cursor.words) + 1
        if self._words_read > MAX_WORDS:
            raise cursor.error(f"the files say too much: with all includes, over {MAX_WORDS} words")
        self.open_files.append(path)
        self.read_block(cursor)
        self.open_files.pop()

    def read_block(self, cursor: Cursor, opened: int | None = None) -> None:
        """Commands to the end of the file, or to the brace that closes the block which the word `opened` opens."""
        while not cursor.at_end:
            word = cursor.take("a command")
            if word[:1] in (b"#", b"%"):
                cursor.skip_line()
            elif word == b"}" and opened is not None:
                return
            else:
                command = COMMANDS.get(word)
                if command is None:
                    raise cursor.error(
                        f"expected a command, got {quote(word)}; there are: {NAMES}", cursor.position - 1
                    )
                command(self, cursor)
        if opened is not None:
            raise cursor.error("this '{' is never closed by a '}'", opened)

    def read_subtree(self, cursor: Cursor, transform: Transform) -> None:
        """A block in braces under a transform."""
        cursor.keyword(b"{")
        if transform.depth > MAX_NESTING:
            raise cursor.error(f"transforms are nested deeper than {MAX_NESTING}", cursor.position - 1)
        outer, self.transform = self.transform, transform
        self.read_block(cursor, cursor.position - 1)
        self.transform = outer

    def material_id(self, texture: int = -1) -> int:
        """Index of the current material with a texture (an index, or -1)."""
        key = replace(self.material, name="", texture=texture)
        if key not in self._material_ids:
            self._material_ids[key] = len(self.document.materials)
            self.document.materials.append(replace(key, name=self.material.name))
        return self._material_ids[key]

    def texture_id(self, cursor: Cursor) -> int:
        """Index of the texture whose file name is the next word."""
        name = cursor.name("the file name of a texture")
        if name not in self._texture_ids:
            self.document.textures.append(read_texture(self.find_texture(cursor, name), ("PPM",)))
            self._texture_ids[name] = len(self.document.textures) - 1
        return self._texture_ids[name]

    def find_texture(self, cursor: Cursor, name: str) -> Path:
        """Where a texture lies: in ../TextureFiles beside the folder of the scene, or in that folder."""
        places = [self.folder / ".." / "TextureFiles", self.folder]
        for place in places:
            if exists(place / name):
                return place / name
        looked = " and ".join(str(place) for place in places)
        raise cursor.error(f"no texture {shown(name)} in {looked}", cursor.position - 1)

    def add(self, part: Part, triangles: int) -> None:
        """Takes in a piece of geometry of so many triangles."""
        self._triangles += triangles
        if self._triangles > MAX_TRIANGLES:
            raise SceneFileError(
                part.origin.path, part.origin.line, f"over {MAX_TRIANGLES} triangles, with all includes"
            )
        self.document.parts.append(part)

    def add_mesh(self, mesh: Mesh, origin: Origin, loose: bool = False) -> None:
        """Takes in a mesh under the current transform."""
        self.add(Part(mesh, self.transform, origin, loose=loose), len(mesh.triangles))


def read_document(path: Path) -> Document:
    """All that a file says. Raises SceneFileError with the file and line of what is wrong."""
    parser = Parser(path)
    parser.read_file(path)
    parser.document.parts = join_loose(parser.document.parts)
    return parser.document


def exists(path: Path) -> bool:
    """Whether there is a file; False where the name can be none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def shown(name: str) -> str:
    """A name as messages show it."""
    return quote(name.encode("utf-8", "surrogateescape"))


def origin_of(cursor: Cursor) -> Origin:
    """The line of the command whose letters were just taken."""
    return Origin(cursor.source.path, cursor.source.line_of(cursor.position - 1))


def read_color(cursor: Cursor, expected: str) -> Color:
    """Three numbers from 0 to MAX_COLOR."""
    values = cursor.floats(3, expected)
    wrong = np.flatnonzero((values < 0.0) | (values > MAX_COLOR))
    if len(wrong):
        at = cursor.position - 3 + int(wrong[0])
        raise cursor.error(f"expected {expected} from 0 to {MAX_COLOR:g}, got {values[wrong[0]]:g}", at)
    return triple(values)


def read_points(cursor: Cursor, count: int, width: int, expected: str) -> Doubles:
    """(count, width) numbers per point; the first three are its coordinates."""
    start = cursor.position
    points = cursor.floats(count * width, expected).reshape(count, width)
    far = np.flatnonzero(np.abs(points[:, :3]).max(axis=1, initial=0.0) > MAX_COORDINATE)
    if len(far):
        raise cursor.error(f"coordinates reach at most {MAX_COORDINATE:g}", start + int(far[0]) * width)
    return points


# --- camera, light and time -------------------------------------------------------------------------------------------


def view(parser: Parser, cursor: Cursor) -> None:
    """v: the camera."""
    start = cursor.position - 1
    cursor.keyword(b"from")
    eye = read_points(cursor, 1, 3, "the position of the eye")[0]
    cursor.keyword(b"at")
    target = read_points(cursor, 1, 3, "the point looked at")[0]
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


def read_resolution(parser: Parser, cursor: Cursor) -> tuple[int, int]:
    """Width and height. An NFF picture is square whatever its pixels are: as wide as it is high."""
    width = cursor.count("the width in pixels", 1)
    height = cursor.count("the height in pixels", 1)
    if max(width, height) > MAX_RESOLUTION:
        raise cursor.error(
            f"expected at most {MAX_RESOLUTION} pixels a side, got {width} {height}", cursor.position - 1
        )
    return (height if parser.square_picture else width, height)


def background(parser: Parser, cursor: Cursor) -> None:
    """b: the colour of what nothing covers."""
    parser.document.background = read_color(cursor, "red, green and blue of the background")


def add_light(parser: Parser, cursor: Cursor, track: str) -> None:
    """The operands that l and la share. The colour may be left out."""
    origin = origin_of(cursor)
    position = read_points(cursor, 1, 3, "the position of a light")[0]
    color = read_color(cursor, "red, green and blue of a light") if looks_numeric(cursor.peek()) else WHITE
    if len(parser.document.lights) >= MAX_LIGHTS:
        raise cursor.error(f"over {MAX_LIGHTS} lights", cursor.position - 1)
    parser.document.lights.append(PointSource(position, color, parser.transform, origin, track, fades=False))


def light(parser: Parser, cursor: Cursor) -> None:
    """l: a point light."""
    add_light(parser, cursor, "")


def animated_light(parser: Parser, cursor: Cursor) -> None:
    """la: a point light that a track moves."""
    add_light(parser, cursor, cursor.name("the name of a track"))


def ambient_light(parser: Parser, cursor: Cursor) -> None:
    """am: light from everywhere. It brightens painted views and lights nothing else: photons do what it stands for."""
    parser.document.ambient = read_color(cursor, "red, green and blue of the ambient light")


def animation_range(parser: Parser, cursor: Cursor) -> None:
    """a: the first and last time, and how many frames."""
    start, end = cursor.floats(2, "the first and the last time")
    frames = cursor.count("the number of frames", 1)
    if frames > MAX_FRAMES:
        raise cursor.error(f"expected at most {MAX_FRAMES} frames, got {frames}", cursor.position - 1)
    parser.document.animation = AnimationRange(start=float(start), end=float(end), frames=frames)


# --- files ------------------------------------------------------------------------------------------------------------


def detail_level(parser: Parser, cursor: Cursor) -> None:
    """d: how much detail is wanted."""
    parser.detail_level = int(cursor.integers(1, "a detail level")[0])


def include(parser: Parser, cursor: Cursor) -> None:
    """i: another file, if its level is not above the detail level. Names are relative to the scene's own folder."""
    level = int(cursor.integers(1, "the level of an include")[0])
    name = cursor.name("the name of the file to include")
    if level > parser.detail_level:
        return
    path = parser.folder / name
    if not exists(path):
        raise cursor.error(f"no file {shown(name)} to include in {parser.folder}", cursor.position - 1)
    if path in parser.open_files:
        raise cursor.error(f"{shown(name)} includes itself", cursor.position - 1)
    if len(parser.open_files) >= MAX_INCLUDE_DEPTH:
        raise cursor.error(f"includes are nested deeper than {MAX_INCLUDE_DEPTH}", cursor.position - 1)
    parser.read_file(path)


# --- materials --------------------------------------------------------------------------------------------------------


def set_material(parser: Parser, cursor: Cursor, diffuse: Color, specular: Color) -> None:
    """Makes a material current; its shine, transmittance and refractive index are the next words."""
    shine, transmittance, ior = cursor.floats(3, "shine, transmittance and refractive index").tolist()
    if shine < 0.0 or transmittance < 0.0:
        raise cursor.error("expected shine and transmittance not below 0", cursor.position - 3)
    name = f"{cursor.source.path.name}:{cursor.source.line_of(cursor.position - 1)}"
    parser.material = Material(
        name=name,
        kind="nff",
        diffuse=diffuse,
        specular=specular,
        shine=shine,
        transmittance=transmittance,
        ior=ior,
    )


def nff_material(parser: Parser, cursor: Cursor) -> None:
    """f: a colour and the shares of it that are diffuse and (white) specular."""
    red, green, blue = read_color(cursor, "red, green and blue of a material")
    diffuse, specular = cursor.floats(2, "the diffuse and the specular share").tolist()
    if diffuse < 0.0 or specular < 0.0:
        raise cursor.error("expected shares not below 0", cursor.position - 2)
    set_material(parser, cursor, (red * diffuse, green * diffuse, blue * diffuse), (specular, specular, specular))


def aff_material(parser: Parser, cursor: Cursor) -> None:
    """fm: ambient, diffuse and specular colours.

    Ambient reflection stands for light between surfaces, which photons bring, and is left out. But where a surface has
    nothing else, as for a picture of the view through a window, it is a backdrop, which is seen and lights nothing.
    """
    ambient = read_color(cursor, "the ambient colour of a material")
    diffuse = read_color(cursor, "the diffuse colour of a material")
    specular = read_color(cursor, "the specular colour of a material")
    set_material(parser, cursor, diffuse, specular)
    if not (any(diffuse) or any(specular) or parser.material.transmittance):
        parser.material = replace(parser.material, backdrop=ambient)


# --- geometry ---------------------------------------------------------------------------------------------------------


def sphere_command(parser: Parser, cursor: Cursor) -> None:
    """s: a sphere."""
    origin = origin_of(cursor)
    x, y, z, radius = read_points(cursor, 1, 4, "the centre and radius of a sphere")[0]
    if not 0.0 < abs(radius) <= MAX_COORDINATE:
        raise cursor.error(f"expected a radius other than 0, at most {MAX_COORDINATE:g}", cursor.position - 1)
    parser.add_mesh(sphere(np.array([x, y, z]), float(radius), parser.material_id()), origin, loose=True)


def cone_command(parser: Parser, cursor: Cursor) -> None:
    """c: an open cone or cylinder."""
    origin = origin_of(cursor)
    start = cursor.position
    ends = read_points(cursor, 2, 4, "base, radius, apex and radius of a cone")
    radii, inside = ends[:, 3], bool(ends[0, 3] < 0.0)
    radii = -radii if inside else radii
    if radii.min() < 0.0 or radii.max() > MAX_COORDINATE:
        raise cursor.error(f"expected radii of one sign, at most {MAX_COORDINATE:g}", start + 3)
    if not np.linalg.norm(ends[1, :3] - ends[0, :3]) > 0.0:
        raise cursor.error("expected base and apex at different points", start + 4)
    mesh = cone(ends[:, :3], (float(radii[0]), float(radii[1])), parser.material_id(), inside)
    parser.add_mesh(mesh, origin, loose=True)


def fan(count: int) -> Indices:
    """(count - 2, 3) triangles of a convex polygon."""
    second = np.arange(1, count - 1, dtype=np.int32)
    return np.stack([np.zeros_like(second), second, second + 1], axis=-1)


def polygon(parser: Parser, cursor: Cursor) -> None:
    """p: a flat convex polygon."""
    origin = origin_of(cursor)
    count = cursor.count("the number of corners of a polygon", 3)
    vertices = read_points(cursor, count, 3, "the corners of a polygon")
    parser.add_mesh(Mesh(vertices=vertices, triangles=fan(count), material=parser.material_id()), origin, loose=True)


def polygon_patch(parser: Parser, cursor: Cursor) -> None:
    """pp: a convex polygon with a normal at each corner."""
    origin = origin_of(cursor)
    count = cursor.count("the number of corners of a polygon patch", 3)
    corners = read_points(cursor, count, 6, "the corners and normals of a polygon patch")
    mesh = Mesh(
        vertices=corners[:, :3],
        triangles=fan(count),
        normals=corners[:, 3:],
        normal_triangles=fan(count),
        material=parser.material_id(),
    )
    parser.add_mesh(mesh, origin, loose=True)


def textured_triangle(parser: Parser, cursor: Cursor) -> None:
    """tt: a triangle with texture coordinates."""
    origin = origin_of(cursor)
    material = parser.material_id(parser.texture_id(cursor))
    corners = read_points(cursor, 3, 5, "the corners and texture coordinates of a triangle")
    one = corner_indices(1)
    mesh = Mesh(vertices=corners[:, :3], triangles=one, uvs=corners[:, 3:], uv_triangles=one, material=material)
    parser.add_mesh(mesh, origin, loose=True)


def textured_triangle_patch(parser: Parser, cursor: Cursor) -> None:
    """ttp: a triangle with normals and texture coordinates."""
    origin = origin_of(cursor)
    material = parser.material_id(parser.texture_id(cursor))
    corners = read_points(cursor, 3, 8, "the corners, normals and texture coordinates of a triangle")
    one = corner_indices(1)
    mesh = Mesh(
        vertices=corners[:, :3],
        triangles=one,
        normals=corners[:, 3:6],
        normal_triangles=one,
        uvs=corners[:, 6:],
        uv_triangles=one,
        material=material,
    )
    parser.add_mesh(mesh, origin, loose=True)


def animated_triangle(parser: Parser, cursor: Cursor) -> None:
    """tpa: a triangle with positions and normals at several times."""
    origin = origin_of(cursor)
    count = cursor.count("the number of times of an animated triangle", 1)
    start = cursor.position
    rows = cursor.floats(count * 19, "times, corners and normals of an animated triangle").reshape(count, 19)
    corners = rows[:, 1:].reshape(count, 3, 6)
    if np.abs(corners[..., :3]).max() > MAX_COORDINATE:
        raise cursor.error(f"coordinates reach at most {MAX_COORDINATE:g}", start)
    shape = keyed_triangle(rows[:, 0], corners, parser.material_id())
    parser.add(Part(shape, parser.transform, origin, loose=True), 1)


def mesh_command(parser: Parser, cursor: Cursor) -> None:
    """m: indexed triangles. Indices are grouped by kind: vertices, then normals, then texture coordinates."""
    origin = origin_of(cursor)
    cursor.keyword(b"vertices")
    vertices = read_points(cursor, cursor.count("the number of vertices"), 3, "the vertices of a mesh")
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


# --- transforms -------------------------------------------------------------------------------------------------------


def animated_transform(parser: Parser, cursor: Cursor) -> None:
    """x: a subtree that a track moves."""
    name = cursor.name("the name of a track")
    parser.read_subtree(cursor, parser.transform.inner(track=name))


def static_transform(parser: Parser, cursor: Cursor) -> None:
    """xs: a subtree scaled, turned and shifted, in this order."""
    start = cursor.position
    values = cursor.floats(10, "scale, axis and angle, shift")
    if not values[3:6].any() and values[6] % 360.0 != 0.0:
        raise cursor.error("expected an axis of some length to turn about", start + 3)
    matrix = compose(values[:3], quaternion(values[3:6], float(values[6])), values[7:])
    parser.read_subtree(cursor, parser.transform.inner(matrix=matrix))


def keyframes(parser: Parser, cursor: Cursor) -> None:
    """k: the keyframes of a name. Names are for all files; the newest of the same name counts."""
    name = cursor.name("the name of a track")
    parser.document.tracks[name] = read_track(cursor)


def stray_brace(parser: Parser, cursor: Cursor) -> None:
    """A closing brace where no block is open."""
    raise cursor.error("this '}' closes nothing in this file", cursor.position - 1)


COMMANDS: dict[bytes, Callable[[Parser, Cursor], None]] = {
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
    b"p": polygon,
    b"pp": polygon_patch,
    b"tt": textured_triangle,
    b"ttp": textured_triangle_patch,
    b"tpa": animated_triangle,
    b"m": mesh_command,
    b"x": animated_transform,
    b"xs": static_transform,
    b"k": keyframes,
    b"}": stray_brace,
}
NAMES = " ".join(name.decode() for name in COMMANDS if name != b"}")
