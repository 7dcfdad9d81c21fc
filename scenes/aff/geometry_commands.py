"""The AFF and NFF commands of materials and geometry."""

from dataclasses import replace

import numpy as np

from scenes.aff.lexer import Cursor
from scenes.aff.operands import origin_of, read_color, read_points
from scenes.aff.parser import AffParser
from scenes.document import Origin, Part, keyed_triangle
from scenes.files.source_file import MAX_CORNERS
from scenes.meshes.curves import Ball, Tube
from scenes.meshes.geometry import MAX_COORDINATE
from scenes.meshes.polygons import polygon_triangles
from scenes.model import Color, Doubles, Indices, Material, Mesh

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
    red, green, blue = read_color(cursor, "red, green and blue of a material")
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
    ambient = read_color(cursor, "the ambient colour of a material")
    diffuse = read_color(cursor, "the diffuse colour of a material")
    specular = read_color(cursor, "the specular colour of a material")
    set_material(parser, cursor, diffuse, specular)
    if any(diffuse) or any(specular) or parser.material.transmittance:
        parser.material = replace(parser.material, ambient=ambient)
    else:
        parser.material = replace(parser.material, backdrop=ambient)


# --- geometry ---------------------------------------------------------------------------------------------------------


def sphere_command(parser: AffParser, cursor: Cursor) -> None:
    """s: a sphere."""
    origin = origin_of(cursor)
    x, y, z, radius = read_points(cursor, 1, 4, "the centre and radius of a sphere")[0]
    if not 0.0 < abs(radius) <= MAX_COORDINATE:
        raise cursor.error(f"expected a radius other than 0, at most {MAX_COORDINATE:g}", cursor.position - 1)
    parser.add_curve(Ball(np.array([x, y, z]), float(radius), parser.material_id()), origin)


def cone_command(parser: AffParser, cursor: Cursor) -> None:
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
    parser.add_curve(Tube(ends[:, :3], (float(radii[0]), float(radii[1])), parser.material_id(), inside), origin)


def add_flat(parser: AffParser, rows: Doubles, material: int, origin: Origin) -> None:
    """Adds a polygon. rows: (n, 3, 5, 6 or 8), of each corner its position, a normal in 6 and 8 columns, and texture
    coordinates in 5 and 8."""
    width = rows.shape[1]
    triangles, crosses = polygon_triangles(rows[:, :3])
    if crosses:
        parser.document.notes.add("a polygon that crosses itself is cut somehow", origin.path, origin.line)
    mesh = Mesh(vertices=rows[:, :3], triangles=triangles, material=material)
    if width in (6, 8):
        mesh = replace(mesh, normals=rows[:, 3:6], normal_triangles=triangles)
    if width in (5, 8):
        mesh = replace(mesh, uvs=rows[:, -2:], uv_triangles=triangles)
    parser.add_mesh(mesh, origin, loose=True)


def corner_count(cursor: Cursor, kind: str) -> int:
    """Takes the number of corners of a polygon of a kind."""
    count = cursor.count(f"the number of corners of a {kind}", 3)
    if count > MAX_CORNERS:
        raise cursor.error(f"expected at most {MAX_CORNERS} corners of a {kind}, got {count}", cursor.position - 1)
    return count


def polygon(parser: AffParser, cursor: Cursor) -> None:
    """p: a flat polygon."""
    origin = origin_of(cursor)
    rows = read_points(cursor, corner_count(cursor, "polygon"), 3, "the corners of a polygon")
    add_flat(parser, rows, parser.material_id(), origin)


def polygon_patch(parser: AffParser, cursor: Cursor) -> None:
    """pp: a polygon with a normal at each corner."""
    origin = origin_of(cursor)
    count = corner_count(cursor, "polygon patch")
    rows = read_points(cursor, count, 6, "the corners and normals of a polygon patch")
    add_flat(parser, rows, parser.material_id(), origin)


def textured_triangle(parser: AffParser, cursor: Cursor) -> None:
    """tt: a triangle with texture coordinates."""
    origin = origin_of(cursor)
    material = parser.material_id(parser.texture_id(cursor))
    rows = read_points(cursor, 3, 5, "the corners and texture coordinates of a triangle")
    add_flat(parser, rows, material, origin)


def textured_triangle_patch(parser: AffParser, cursor: Cursor) -> None:
    """ttp: a triangle with normals and texture coordinates."""
    origin = origin_of(cursor)
    material = parser.material_id(parser.texture_id(cursor))
    rows = read_points(cursor, 3, 8, "the corners, normals and texture coordinates of a triangle")
    add_flat(parser, rows, material, origin)


def animated_triangle(parser: AffParser, cursor: Cursor) -> None:
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


def mesh_command(parser: AffParser, cursor: Cursor) -> None:
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
