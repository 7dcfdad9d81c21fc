"""The commands of AFF and NFF: one function each, found by its letters in `COMMANDS`."""

from pathlib import Path

from scenes.aff.geometry_commands import (
    aff_material,
    animated_triangle,
    cone_command,
    mesh_command,
    nff_material,
    polygon,
    polygon_patch,
    sphere_command,
    textured_triangle,
    textured_triangle_patch,
)
from scenes.aff.keyframes import read_track
from scenes.aff.lexer import Cursor, looks_numeric
from scenes.aff.operands import origin_of, read_color, read_points, shown
from scenes.aff.parser import TEXTURES, AffParser, Command
from scenes.document import Document
from scenes.files.source_file import OUTSIDE, allow_folder, is_file, may_be_read
from scenes.lights import PointSource
from scenes.materials.microfacets import WHITE
from scenes.model import AnimationRange, Camera
from scenes.motion.transforms import compose, quaternion
from scenes.views.viewing import look_at, triple

MAX_INCLUDE_DEPTH = 32
MAX_LIGHTS = 20_000
MAX_FRAMES = 10_000_000
MAX_RESOLUTION = 16_384
SMALLEST_NEAR = 1e-4
#: Name of the one camera, and of the track that moves it.
CAMERA = "camera"


# --- camera, light and time -------------------------------------------------------------------------------------------


def view(parser: AffParser, cursor: Cursor) -> None:
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
    parser.document.background = read_color(cursor, "red, green and blue of the background")


def add_light(parser: AffParser, cursor: Cursor, track: str) -> None:
    """The operands that l and la share. The colour may be left out."""
    origin = origin_of(cursor)
    position = read_points(cursor, 1, 3, "the position of a light")[0]
    color = read_color(cursor, "red, green and blue of a light") if looks_numeric(cursor.peek()) else WHITE
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
    parser.document.ambient = read_color(cursor, "red, green and blue of the ambient light")


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


def read_document(path: Path) -> Document:
    """Returns all that a file says. Raises SceneFileError with the file and line of what is wrong."""
    allow_folder(path.parent / TEXTURES)
    parser = AffParser(path, COMMANDS)
    parser.check_size(path)
    parser.read_file(path)
    return parser.document
