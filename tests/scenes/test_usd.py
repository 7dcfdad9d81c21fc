"""USD files: polygons, transforms, instances, shapes, cameras and motion, by known answers and in pictures."""

import math

import numpy as np
import pytest
from usd_file import (
    CAMERA,
    DARK,
    GLOW,
    SKY,
    assert_mean,
    assert_seen,
    bound,
    moved,
    notes_of,
    prim,
    quad,
    read,
    surface,
)

from scenes import load
from scenes.meshes.geometry import areas, double_area_normals
from scenes.usd.subdivision import Cage, Refinement

META, BINDING = bound("/glow")
#: A square of two by one polygons across z.
TWO = (
    "int[] faceVertexCounts = [4, 4]",
    "int[] faceVertexIndices = [0, 1, 4, 3, 1, 2, 5, 4]",
    "point3f[] points = [(-1, -1, 0), (0, -1, 0), (1, -1, 0), (-1, 1, 0), (0, 1, 0), (1, 1, 0)]",
)
FLAT = 'uniform token subdivisionScheme = "none"'
CUBE = (
    "int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]",
    "int[] faceVertexIndices = [0, 1, 3, 2, 2, 3, 5, 4, 4, 5, 7, 6, 6, 7, 1, 0, 1, 7, 5, 3, 6, 0, 2, 4]",
    "point3f[] points = [(-.8, -.8, .8), (.8, -.8, .8), (-.8, .8, .8), (.8, .8, .8), (-.8, .8, -.8), (.8, .8, -.8), "
    "(-.8, -.8, -.8), (.8, -.8, -.8)]",
)


def glowing(kind, name, *lines):
    return prim(kind, name, BINDING, *lines, **META)


def snap(folder, text, metadata="", time=0.0):
    """The moment of a scene that the camera sees, without light but what glows in it."""
    return read(folder, CAMERA + DARK + GLOW + text, metadata).at(time)


def test_polygons_that_are_not_convex_and_holes(tmp_path):
    arrow = (
        "int[] faceVertexCounts = [4, 3, 2]",
        "int[] faceVertexIndices = [0, 1, 2, 3, 0, 1, 2, 0, 1]",
        "point3f[] points = [(-1, -1, 0), (0, -0.5, 0), (1, -1, 0), (0, 1, 0)]",
        "int[] holeIndices = [1]",
        FLAT,
    )
    snapshot = snap(tmp_path, glowing("Mesh", "arrow", *arrow))
    assert areas(snapshot.positions).sum() == pytest.approx(1.5)
    assert_mean(snapshot, "path", 1.5 / 4.0)


def test_fronts_of_left_handed_and_mirrored_meshes(tmp_path):
    left = 'uniform token orientation = "leftHanded"'
    mirror = ("float3 xformOp:scale = (-1, 1, 1)", 'uniform token[] xformOpOrder = ["xformOp:scale"]')
    for lines, shows in (((), 1.0), ((left,), 0.0), (mirror, 1.0), ((left, *mirror), 0.0)):
        assert_seen(snap(tmp_path, quad("q", BINDING, *lines, **META)), "path", shows)


@pytest.mark.parametrize("interpolation", ["constant", "uniform", "vertex", "varying", "faceVarying"])
def test_normals_by_their_interpolation(tmp_path, interpolation):
    count = {"constant": 1, "uniform": 2, "vertex": 6, "varying": 6, "faceVarying": 8}[interpolation]
    items = [(0.1 * index, 0, 1) for index in range(count)]
    line = f'normal3f[] primvars:normals = {items} (\ninterpolation = "{interpolation}"\n)'
    snapshot = read(tmp_path, prim("Mesh", "m", *TWO, FLAT, line)).at(0.0)
    seen = snapshot.normals[..., 0] / snapshot.normals[..., 2]
    corners = [0, 1, 4, 3, 1, 2, 5, 4]
    at = {
        "constant": [0] * 8, "uniform": [0] * 4 + [1] * 4, "vertex": corners, "varying": corners,
        "faceVarying": range(8),
    }[interpolation]  # fmt: skip
    wanted = np.array(at).reshape(2, 4)
    expected = [wanted[0, [0, 1, 2]], wanted[1, [0, 1, 2]], wanted[0, [2, 3, 0]], wanted[1, [2, 3, 0]]]
    assert seen == pytest.approx(0.1 * np.array(expected), abs=1e-6)


def test_normals_of_a_file_are_shaded(tmp_path):
    sun = prim(
        "DistantLight", "sun", "float inputs:intensity = 2", "bool inputs:normalize = 1", "float inputs:angle = 0"
    )
    tilted = "normal3f[] normals = [(0.6, 0, 0.8), (0.6, 0, 0.8), (0.6, 0, 0.8), (0.6, 0, 0.8)]"
    white = "color3f[] primvars:displayColor = [(0.5, 0.5, 0.5)]"
    flat, bent = (read(tmp_path, CAMERA + sun + quad("q", white, *lines, half=3)).at(0.0) for lines in ((), (tilted,)))
    assert_seen(flat, "path", 2.0 * 0.5 / math.pi, tolerance=0.03)
    assert_seen(bent, "path", 0.8 * 2.0 * 0.5 / math.pi, tolerance=0.03)


def test_a_cube_is_refined_as_catmull_and_clark_do():
    quads = np.array([0, 1, 3, 2, 2, 3, 5, 4, 4, 5, 7, 6, 6, 7, 1, 0, 1, 7, 5, 3, 6, 0, 2, 4])
    points = np.array([[x, y, z] for y, z in ((-1, 1), (1, 1), (1, -1), (-1, -1)) for x in (-1, 1)], np.float64)
    none = (np.zeros((0, 2), np.int64), np.zeros(0))
    level = Refinement(Cage(np.full(6, 4), quads, np.arange(6), 8, *none, np.zeros(8)))
    made = np.abs(level.points(points))
    assert made[:8] == pytest.approx(np.full((8, 3), 5.0 / 9.0))
    assert np.sort(made[8:20], axis=1) == pytest.approx(np.tile([0.0, 0.75, 0.75], (12, 1)))
    assert np.sort(made[20:], axis=1) == pytest.approx(np.tile([0.0, 0.0, 1.0], (6, 1)))
    refined = level.refined
    assert len(refined.counts) == 24
    assert np.array_equal(np.bincount(refined.faces), [4] * 6)


def test_creases_and_borders_stay_sharp(tmp_path):
    ring = "int[] creaseIndices = [0, 1, 3, 2, 0, 4, 5, 7, 6, 4, 0, 6, 1, 7, 2, 4, 3, 5]"
    sharp = (ring, "int[] creaseLengths = [5, 5, 2, 2, 2, 2]", "float[] creaseSharpnesses = [10, 10, 10, 10, 10, 10]")
    soft = snap(tmp_path, glowing("Mesh", "m", *CUBE))
    assert_mean(snap(tmp_path, glowing("Mesh", "m", *CUBE, *sharp)), "path", 0.64)
    faces = double_area_normals(soft.positions.astype(np.float64))[:, 2]
    assert_mean(soft, "path", 0.5 * faces.clip(min=0.0).sum() / 4.0)
    border = snap(tmp_path, glowing("Mesh", "m", *TWO))
    assert len(border.positions) == 2 * 2 * 4**2
    assert_seen(border, "path", 1.0)
    rounded = snap(tmp_path, glowing("Mesh", "m", *TWO, 'token interpolateBoundary = "edgeOnly"'))
    assert areas(rounded.positions).sum() < 3.9


def test_subsets_have_materials_of_their_own(tmp_path):
    red = surface("color3f inputs:diffuseColor = (1, 0, 0)", "float inputs:ior = 1", name="red")
    meta, binding = bound("/red")
    subset = prim(
        "GeomSubset",
        "part",
        'uniform token elementType = "face"',
        'uniform token familyName = "materialBind"',
        "int[] indices = [1]",
        binding,
        **meta,
    )
    green = "color3f[] primvars:displayColor = [(0, 0.5, 0)]"
    scene = read(tmp_path, CAMERA + SKY + red + prim("Mesh", "m", *TWO, FLAT, green, children=subset))
    expected = np.zeros((4, 4, 3))
    expected[:, :2, 1], expected[:, 2:, 0] = 0.5, 1.0
    assert len(scene.document.parts) == 2
    assert_seen(scene.at(0.0), "path", expected, tolerance=0.04)


@pytest.mark.parametrize("interpolation", ["constant", "uniform", "vertex", "faceVarying"])
def test_colours_for_display(tmp_path, interpolation):
    items = {
        "constant": [(0.2, 0.4, 0.6)],
        "uniform": [(0.2, 0.4, 0.6), (0.6, 0.4, 0.2)],
        "vertex": [(0, 0, 0), (0.5, 0.5, 0.5), (1, 1, 1)] * 2,
        "faceVarying": [(0.2, 0.4, 0.6)] * 4 + [(0.6, 0.4, 0.2)] * 4,
    }[interpolation]
    line = f'color3f[] primvars:displayColor = {items} (\ninterpolation = "{interpolation}"\n)'
    snapshot = read(tmp_path, CAMERA + SKY + prim("Mesh", "m", *TWO, FLAT, line)).at(0.0)
    left, right = np.array([0.2, 0.4, 0.6]), np.array([0.6, 0.4, 0.2])
    columns = {"constant": [left] * 4, "vertex": [np.full(3, x) for x in (0.125, 0.375, 0.625, 0.875)]}
    expected = np.tile(np.array(columns.get(interpolation, [left, left, right, right])), (4, 1, 1))
    assert_seen(snapshot, "path", expected, tolerance=0.04)


def test_opacity_for_display_lets_light_pass(tmp_path):
    pane = quad(
        "pane",
        "color3f[] primvars:displayColor = [(0, 0, 0)]",
        "float[] primvars:displayOpacity = [0.25]",
        *moved(0, 0, 1),
    )
    assert_seen(snap(tmp_path, pane + quad("wall", BINDING, **META)), "path", 0.75)


PIVOT = "double3 xformOp:translate:pivot = (1, 1, 0)"
MATRIX = "matrix4d xformOp:transform = ((0, 2, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0), (5, 6, 7, 1))"
STACKS = {
    "translate": (["double3 xformOp:translate = (1, 2, 3)"], (2, 2, 3)),
    "rotateZ": (["float xformOp:rotateZ = 90"], (0, 1, 0)),
    "rotateXYZ": (["float3 xformOp:rotateXYZ = (0, 90, 90)"], (0, 0, -1)),
    "scale": (["float3 xformOp:scale = (3, 1, 1)"], (3, 0, 0)),
    "orient": (["quatf xformOp:orient = (0.70710678, 0, 0, 0.70710678)"], (0, 1, 0)),
    "transform": ([MATRIX], (5, 8, 7)),
    "pivot": ([PIVOT, "float xformOp:rotateZ = 90", "!invert!xformOp:translate:pivot"], (2, 1, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_stacks_of_transforms(tmp_path, name):
    lines, expected = STACKS[name]
    order = [line if line[0] == "!" else line.split(" = ")[0].split()[1] for line in lines]
    own = [line for line in lines if line[0] != "!"]
    stack = f"uniform token[] xformOpOrder = {str(order).replace(chr(39), chr(34))}"
    box = prim("Cube", "c", "double size = 0.001", *moved(1, 0, 0))
    scene = read(tmp_path, prim("Xform", "outer", *own, stack, children=box))
    assert scene.at(0.0).positions.mean(axis=(0, 1)) == pytest.approx(expected, abs=1e-4)


def test_what_is_moved_is_seen_there(tmp_path):
    snapshot = snap(tmp_path, prim("Xform", "x", *moved(1, 0, 0), children=quad("q", BINDING, **META)))
    assert_seen(snapshot, "path", np.array([0.0, 0.0, 1.0, 1.0])[None, :, None])


def test_units_and_what_is_up(tmp_path):
    (tmp_path / "a.usda").write_text(
        '#usda 1.0\n(\n    upAxis = "Z"\n    metersPerUnit = 0.01\n)\n' + prim("Cube", "c", "double size = 100")
    )
    scene = load(tmp_path / "a.usda")
    assert np.ptp(scene.at(0.0).positions.reshape(-1, 3), axis=0) == pytest.approx([1, 1, 1])
    assert scene.at(0.0).camera.up[2] > 0.5
    (tmp_path / "a.usda").write_text("#usda 1.0\n" + prim("Cube", "c", "double size = 100"))
    assert np.ptp(load(tmp_path / "a.usda").at(0.0).positions) == pytest.approx(1.0)  # centimetres where none are given
    assert load(tmp_path / "a.usda").at(0.0).camera.up[1] > 0.5


@pytest.mark.parametrize(
    "line", ['token visibility = "invisible"', 'uniform token purpose = "proxy"', 'uniform token purpose = "guide"']
)
def test_what_is_not_shown(tmp_path, line):
    hidden = prim("Xform", "x", line, children=quad("q", BINDING, **META))
    shown = prim("Xform", "y", 'uniform token purpose = "render"', children=quad("r", BINDING, *moved(1, 0, 0), **META))
    assert_seen(snap(tmp_path, hidden + shown), "path", np.array([0.0, 0.0, 1.0, 1.0])[None, :, None])


def test_instances_are_stored_once(tmp_path):
    small = 'class "Model"\n{\n' + quad("q", BINDING, half=0.5, **META) + "}\n"
    places = ((-0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
    copies = "".join(
        prim("Xform", f"c{index}", *moved(x, y, 0), meta="instanceable = true\nreferences = </Model>")
        for index, (x, y) in enumerate(places)
    )
    scene = read(tmp_path, CAMERA + DARK + GLOW + small + copies)
    assert len(scene.document.parts) == 3
    assert len({id(part.shape) for part in scene.document.parts}) == 1
    expected = np.ones((4, 4, 1))
    expected[2:, 2:] = 0.0
    assert_seen(scene.at(0.0), "path", expected)


def test_a_point_instancer_repeats_its_prototypes(tmp_path):
    protos = prim(
        "Scope",
        "protos",
        children=prim("Xform", "one", *moved(0, 0, 0), children=quad("q", BINDING, half=0.25, **META))
        + prim("Sphere", "two", "double radius = 0.001"),
    )
    lines = (
        "int[] protoIndices = [0, 0, 1, 0]",
        "point3f[] positions = [(-0.5, 0.5, 0), (0.5, -0.5, 0), (0, 0, 0), (0.5, 0.5, 0)]",
        "float3[] scales = [(2, 2, 2), (2, 2, 2), (1, 1, 1), (1, 1, 1)]",
        "quath[] orientations = [(1, 0, 0, 0), (0.7071, 0, 0, 0.7071), (1, 0, 0, 0), (1, 0, 0, 0)]",
        "int64[] invisibleIds = [3]",
        "rel prototypes = [</many/protos/one>, </many/protos/two>]",
    )
    scene = read(tmp_path, CAMERA + DARK + GLOW + prim("PointInstancer", "many", *lines, children=protos))
    assert len(scene.document.parts) == 3
    expected = np.zeros((4, 4, 1))
    expected[:2, :2] = expected[2:, 2:] = 1.0
    assert_seen(scene.at(0.0), "path", expected)


def test_instancers_in_prototypes_of_instancers(tmp_path):
    inner = prim(
        "PointInstancer",
        "inner",
        "int[] protoIndices = [0, 0]",
        "point3f[] positions = [(0, 0, 0), (0, 1, 0)]",
        "rel prototypes = [</outer/inner/box>]",
        children=prim("Cube", "box", "double size = 0.1"),
    )
    outer = prim(
        "PointInstancer",
        "outer",
        "int[] protoIndices = [0, 0, 0]",
        "point3f[] positions = [(0, 0, 0), (2, 0, 0), (4, 0, 0)]",
        "rel prototypes = [</outer/inner>]",
        children=inner,
    )
    scene = read(tmp_path, outer)
    middles = {tuple(corners.mean(axis=(0, 1)).round(3)) for corners in np.split(scene.at(0.0).positions, 6)}
    assert middles == {(x, y, 0.0) for x in (0.0, 2.0, 4.0) for y in (0.0, 1.0)}
    assert len({id(part.shape) for part in scene.document.parts}) == 1


SHAPES = {
    "sphere": ("Sphere", ["double radius = 0.8"], math.pi * 0.64),
    "cube": ("Cube", ["double size = 1.2"], 1.44),
    "cylinder along x": ("Cylinder", ['token axis = "X"', "double height = 1.6", "double radius = 0.3"], 1.6 * 0.6),
    "cylinder along z": ("Cylinder", ["double height = 1.6", "double radius = 0.7"], math.pi * 0.49),
    "cone along y": ("Cone", ['token axis = "Y"', "double height = 1.6", "double radius = 0.8"], 1.6 * 0.8),
    "cone along z": ("Cone", ["double height = 1.6", "double radius = 0.8"], math.pi * 0.64),
    "capsule along y": ("Capsule", ['token axis = "Y"', "double height = 0.8", "double radius = 0.4"],
                        0.8 * 0.8 + math.pi * 0.16),
    "plane across z": ("Plane", ['token axis = "Z"', "double width = 1.5", "double length = 0.5"], 0.75),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_cover_what_they_do(tmp_path, name):
    kind, lines, area = SHAPES[name]
    assert_mean(
        snap(tmp_path, glowing(kind, "shape", *[f"uniform {x}" if "token" in x else x for x in lines])),
        "path",
        area / 4.0,
    )


@pytest.mark.parametrize("kind", ["Sphere", "Cube", "Cylinder", "Cone", "Capsule"])
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_shapes_face_outward(tmp_path, kind, axis):
    for mirror in (1, -1):
        line = "" if kind in ("Sphere", "Cube") else f'uniform token axis = "{axis}"'
        scale = (f"float3 xformOp:scale = ({mirror}, 1, 1)", 'uniform token[] xformOpOrder = ["xformOp:scale"]')
        snapshot = read(tmp_path, prim(kind, "shape", line, *scale)).at(0.0)
        normals = double_area_normals(snapshot.positions.astype(np.float64))
        assert (np.einsum("ni,ni->n", normals, snapshot.positions.mean(axis=1)) > -1e-9).all()
        assert (np.einsum("ni,nci->nc", normals, snapshot.normals) > -1e-9).all()


@pytest.mark.parametrize("kind", ["Cylinder", "Cone", "Capsule"])
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_shapes_lie_along_their_axis(tmp_path, kind, axis):
    lines = (f'uniform token axis = "{axis}"', "double height = 6", "double radius = 1")
    positions = read(tmp_path, prim(kind, "shape", *lines)).at(0.0).positions.reshape(-1, 3)
    expected = np.full(3, 2.0)
    expected["XYZ".index(axis)] = 8.0 if kind == "Capsule" else 6.0
    assert np.ptp(positions, axis=0) == pytest.approx(expected, rel=0.01)
    at_the_end = positions[positions[:, "XYZ".index(axis)] > expected["XYZ".index(axis)] / 2.0 - 1e-3]
    assert (kind == "Cylinder") == (np.ptp(at_the_end, axis=0).max() > 1.0)


@pytest.mark.parametrize(("axis", "normal"), [("X", (1, 0, 0)), ("Y", (0, 1, 0)), ("Z", (0, 0, 1))])
def test_planes_face_along_their_axis(tmp_path, axis, normal):
    snapshot = read(tmp_path, prim("Plane", "p", f'uniform token axis = "{axis}"')).at(0.0)
    assert double_area_normals(snapshot.positions.astype(np.float64)) == pytest.approx(np.tile(normal, (2, 1)) * 4.0)


def test_cameras(tmp_path):
    lens = ("float focalLength = 24", "float horizontalAperture = 36", "float verticalAperture = 24",
            "float2 clippingRange = (0.5, 100)", "float fStop = 4", "float focusDistance = 3")  # fmt: skip
    turned = ("float xformOp:rotateY = 90", 'uniform token[] xformOpOrder = ["xformOp:rotateY"]')
    scene = read(tmp_path, prim("Camera", "main", *lens, *turned) + prim("Camera", "main2") + prim("Cube", "c"))
    camera = scene.at(0.0).camera
    assert list(scene.at(0.0).cameras) == ["main", "main2"]
    assert camera.forward == pytest.approx((-1, 0, 0), abs=1e-6)
    assert camera.up == pytest.approx((0, 1, 0), abs=1e-6)
    assert camera.vertical_fov == pytest.approx(math.degrees(2.0 * math.atan(0.5)))
    assert camera.resolution == (900, 600)
    assert (camera.near, camera.focus) == (0.5, 3.0)
    assert camera.aperture == pytest.approx(2.4 / 4 / 2)


def test_a_camera_stands_where_what_is_around_it_has_it(tmp_path):
    turned = ("double3 xformOp:translate = (1, 0, 0)", "float xformOp:rotateY = 90",
              'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateY"]')  # fmt: skip
    rig = prim("Xform", "rig", *turned, children=prim("Camera", "a", *moved(0, 0, 2)))
    camera = read(tmp_path, rig + prim("Cube", "c")).at(0.0).camera
    assert camera.eye == pytest.approx((3, 0, 0), abs=1e-6)
    assert camera.forward == pytest.approx((-1, 0, 0), abs=1e-6)


def test_the_field_of_view_is_that_of_the_vertical_aperture(tmp_path):
    lens = ("float focalLength = 20", "float horizontalAperture = 20", "float verticalAperture = 20")
    camera = prim("Camera", "a", *lens, *moved(0, 0, 2))
    snapshot = read(tmp_path, camera + DARK + GLOW + quad("q", BINDING, half=0.5, **META)).at(0.0)
    expected = np.zeros((4, 4, 1))
    expected[1:3, 1:3] = 1.0
    assert_seen(snapshot, "path", expected)


SPAN = "    startTimeCode = 0\n    endTimeCode = 24\n    timeCodesPerSecond = 12\n    framesPerSecond = 6"


def test_time_samples_are_frames(tmp_path):
    moving = ("double3 xformOp:translate.timeSamples = {\n0: (-1, 0, 0),\n24: (1, 0, 0)\n}",
              'uniform token[] xformOpOrder = ["xformOp:translate"]')  # fmt: skip
    scene = read(tmp_path, CAMERA + DARK + GLOW + quad("q", BINDING, *moving, **META), SPAN)
    assert (scene.animation.start, scene.animation.end, scene.animation.frames) == (0.0, 2.0, 13)
    assert_seen(scene.at_frame(0), "path", np.array([1.0, 1.0, 0.0, 0.0])[None, :, None])
    assert_seen(scene.at_frame(12), "path", np.array([0.0, 0.0, 1.0, 1.0])[None, :, None])
    assert scene.at_frame(6).positions.mean(axis=(0, 1)) == pytest.approx((0, 0, 0), abs=1e-6)


def test_points_and_visibility_move(tmp_path):
    keys = ("0: [(0, 0, 0), (1, 0, 0), (0, 1, 0)]", "24: [(0, 0, 2), (1, 0, 2), (0, 1, 2)]")
    points = f"point3f[] points.timeSamples = {{\n{','.join(keys)}\n}}"
    mesh = prim("Mesh", "m", "int[] faceVertexCounts = [3]", "int[] faceVertexIndices = [0, 1, 2]", points, FLAT)
    blinking = 'token visibility.timeSamples = {\n0: "inherited",\n12: "invisible"\n}'
    scene = read(tmp_path, mesh + prim("Cube", "c", blinking), SPAN)
    assert scene.at_frame(3).positions[0, :, 2] == pytest.approx([0.5] * 3)
    assert [len(scene.at_frame(frame).positions) for frame in (0, 5, 6, 12)] == [13, 13, 1, 1]


def test_a_skeleton_bends_its_skin(tmp_path):
    skeleton = prim(
        "Skeleton",
        "bones",
        'uniform token[] joints = ["a"]',
        "uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]",
        "uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]",
        "rel skel:animationSource = </root/walk>",
        meta='prepend apiSchemas = ["SkelBindingAPI"]',
    )
    walk = prim(
        "SkelAnimation",
        "walk",
        'uniform token[] joints = ["a"]',
        "float3[] translations.timeSamples = {\n0: [(0, 0, 0)],\n24: [(0, 0, 4)]\n}",
        "quatf[] rotations = [(1, 0, 0, 0)]",
        "half3[] scales = [(1, 1, 1)]",
    )
    skin = quad(
        "skin",
        "rel skel:skeleton = </root/bones>",
        'int[] primvars:skel:jointIndices = [0, 0, 0, 0] (\nelementSize = 1\ninterpolation = "vertex"\n)',
        'float[] primvars:skel:jointWeights = [1, 1, 1, 1] (\nelementSize = 1\ninterpolation = "vertex"\n)',
        meta='prepend apiSchemas = ["SkelBindingAPI"]',
    )
    scene = read(tmp_path, prim("SkelRoot", "root", children=skeleton + walk + skin), SPAN)
    assert scene.at_frame(6).positions[..., 2] == pytest.approx(np.full((2, 3), 2.0), abs=1e-5)


def test_a_stack_may_begin_in_the_world(tmp_path):
    order = 'uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:translate"]'
    box = prim("Cube", "c", "double3 xformOp:translate = (1, 0, 0)", order)
    scene = read(tmp_path, prim("Xform", "outer", *moved(9, 9, 9), children=box))
    assert scene.at(0.0).positions.mean(axis=(0, 1)) == pytest.approx((1, 0, 0))


def test_a_camera_moves(tmp_path):
    moving = ("double3 xformOp:translate.timeSamples = {\n0: (0, 0, 0),\n24: (4, 0, 0)\n}",
              'uniform token[] xformOpOrder = ["xformOp:translate"]')  # fmt: skip
    rig = prim("Xform", "rig", *moving, children=prim("Camera", "a", *moved(0, 1, 0)))
    scene = read(tmp_path, rig + prim("Cube", "c"), SPAN)
    assert scene.at_frame(6).camera.eye == pytest.approx((2, 1, 0))


def test_points_of_refined_meshes_move(tmp_path):
    last = f"24: [{', '.join(['(0, 0, 4)'] * 8)}]"
    far = CUBE[2].replace("points = ", "points.timeSamples = {\n0: ") + f",\n{last}\n}}"
    scene = read(tmp_path, prim("Mesh", "m", *CUBE[:2], far), SPAN)
    assert scene.at_frame(6).positions.mean(axis=(0, 1)) == pytest.approx((0, 0, 2), abs=1e-5)
    assert np.abs(np.linalg.norm(scene.at_frame(6).normals, axis=-1) - 1.0).max() < 1e-5


def test_turns_go_all_the_way_round(tmp_path):
    moving = ("float xformOp:rotateZ.timeSamples = {\n0: 0,\n24: 360\n}",
              'uniform token[] xformOpOrder = ["xformOp:rotateZ"]')  # fmt: skip
    box = prim("Cube", "c", "double size = 0.01", *moved(1, 0, 0))
    scene = read(tmp_path, prim("Xform", "x", *moving, children=box), SPAN)
    assert scene.at_frame(3).positions.mean(axis=(0, 1)) == pytest.approx((0, 1, 0), abs=1e-5)
    assert scene.at_frame(9).positions.mean(axis=(0, 1)) == pytest.approx((0, -1, 0), abs=1e-5)


def test_a_range_in_which_nothing_moves_is_one_frame(tmp_path):
    still = ("double3 xformOp:translate.timeSamples = {\n0: (1, 0, 0),\n24: (1, 0, 0)\n}",
             'uniform token[] xformOpOrder = ["xformOp:translate"]')  # fmt: skip
    assert read(tmp_path, prim("Cube", "c", *still), SPAN).animation.frames == 1
    assert read(tmp_path, prim("Cube", "c"), SPAN).animation.frames == 1


def test_what_there_is_none_of_is_noted(tmp_path):
    curves = prim("BasisCurves", "hair", "int[] curveVertexCounts = [2]", "point3f[] points = [(0,0,0),(1,0,0)]")
    assert "BasisCurves" in notes_of(read(tmp_path, prim("Cube", "c") + curves))
