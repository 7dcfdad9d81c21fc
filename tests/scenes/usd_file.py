"""Small USD files, written by code, and pictures of them."""

import pytest
from driver_passes import deviation, passes, sidak_bound

from scenes import load

pytest.importorskip("pxr", reason="usd-core is not installed")

#: Drivers that show light: what a file says of it is sent out by one, and looked for by the other.
DRIVERS = ("path", "photon")
HEADER = '#usda 1.0\n(\n    upAxis = "Y"\n    metersPerUnit = 1\n{}\n)\n'


def prim(kind, name, *lines, meta="", children=""):
    inner = "\n".join(lines)
    return f'def {kind} "{name}" (\n{meta}\n)\n{{\n{inner}\n{children}\n}}\n'


def bound(path):
    """What binds a material, as the metadata and the line of a prim."""
    return {"meta": 'prepend apiSchemas = ["MaterialBindingAPI"]'}, f"rel material:binding = <{path}>"


def moved(x, y, z):
    return (f"double3 xformOp:translate = ({x}, {y}, {z})", 'uniform token[] xformOpOrder = ["xformOp:translate"]')


def quad(name="quad", *lines, half=1.0, meta="", children=""):
    corners = f"[({-half}, {-half}, 0), ({half}, {-half}, 0), ({half}, {half}, 0), ({-half}, {half}, 0)]"
    return prim(
        "Mesh",
        name,
        "int[] faceVertexCounts = [4]",
        "int[] faceVertexIndices = [0, 1, 2, 3]",
        f"point3f[] points = {corners}",
        'uniform token subdivisionScheme = "none"',
        *lines,
        meta=meta,
        children=children,
    )


ST = 'texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (\n    interpolation = "vertex"\n)'


def surface(*lines, name="look", nodes=""):
    """A material with a UsdPreviewSurface of these lines."""
    shader = prim("Shader", "surface", 'uniform token info:id = "UsdPreviewSurface"', *lines, "token outputs:surface")
    link = f"token outputs:surface.connect = </{name}/surface.outputs:surface>"
    return prim("Material", name, link, children=shader + nodes)


def texture(name, file, *lines, outputs=("rgb",), st="/look/st.outputs:result"):
    kinds = {"rgb": "float3"}
    made = [f"{kinds.get(output, 'float')} outputs:{output}" for output in outputs]
    return prim(
        "Shader",
        name,
        'uniform token info:id = "UsdUVTexture"',
        f"asset inputs:file = @{file}@",
        f"float2 inputs:st.connect = <{st}>",
        *lines,
        *made,
    )


READER = prim(
    "Shader",
    "st",
    'uniform token info:id = "UsdPrimvarReader_float2"',
    'string inputs:varname = "st"',
    "float2 outputs:result",
)
#: A camera that sees the square from -1 to 1 across z; light that is the same from all around; a light that sends out
#: nothing, so that there is no default light.
CAMERA = prim(
    "Camera",
    "eye",
    'token projection = "orthographic"',
    "float horizontalAperture = 20",
    "float verticalAperture = 20",
    *moved(0, 0, 5),
)
SKY = prim("DomeLight", "sky", "float inputs:intensity = 1")
DARK = prim("DistantLight", "dark", "float inputs:intensity = 0")
#: A material that glows with a radiance of 1 and scatters nothing.
GLOW = surface(
    "color3f inputs:emissiveColor = (1, 1, 1)",
    "color3f inputs:diffuseColor = (0, 0, 0)",
    "float inputs:ior = 1",
    name="glow",
)


def write(folder, text, metadata="", name="a.usda"):
    path = folder / name
    path.write_text(HEADER.format(metadata) + text)
    return path


def read(folder, text, metadata="", **options):
    return load(write(folder, text, metadata), **options)


def notes_of(scene):
    return "\n".join(scene.document.notes.lines)


def assert_seen(snapshot, driver, expected, *, count=12, tolerance=0.02, **settings):
    """Asserts that a picture is as expected, (height, width, 3) or what can be spread to that, by a z-test."""
    chosen = {"width": 4, "height": 4, "photons": 4000} | settings
    made = passes(snapshot, driver, count, **chosen)
    mean = made.mean(axis=0)
    z = deviation(made, mean * 0 + expected, tolerance)
    known = mean * 0 + expected
    near = abs(mean - known) <= tolerance * abs(known) + 1e-6
    assert (near | (z < sidak_bound(z.size))).all(), (mean.round(4).tolist(), known.round(4).tolist())


def assert_mean(snapshot, driver, expected, *, count=12, tolerance=0.02, **settings):
    """The same of the mean of all pixels, (3,) or one number."""
    chosen = {"width": 16, "height": 16, "photons": 4000} | settings
    made = passes(snapshot, driver, count, **chosen).mean(axis=(1, 2))
    z = deviation(made, made[0] * 0 + expected, tolerance)
    near = abs(made.mean(axis=0) - expected) <= tolerance * abs(expected + made[0] * 0) + 1e-6
    assert (near | (z < sidak_bound(z.size))).all(), (made.mean(axis=0), expected)
