"""Scenes of Mitsuba for each row of the tables of `docs/mitsuba.md`, and what their pictures are.

Most look at a wall under a white sky, of which it mirrors what its albedo says.
"""

from dataclasses import dataclass

SKY = '<emitter type="constant"/>'
SUN = '<emitter type="directional"><vector name="direction" value="-1, -1, -2"/></emitter>'
LOOK = '<transform name="to_world"><lookat origin="0, 0, 5" target="0, 0, 0" up="0, 1, 0"/></transform>'
FILM = (
    '<film type="hdrfilm"><integer name="width" value="12"/><integer name="height" value="12"/>'
    '<rfilter type="box"/></film>'
)
CAMERA = f'<sensor type="perspective"><float name="fov" value="20"/>{LOOK}{FILM}</sensor>'
#: Of a camera that sees what is from -1 to 1.
NEAR = CAMERA.replace('"20"', '"22.6"')
PATHS = '<integrator type="path"><integer name="max_depth" value="17"/></integrator>'
GREEN = '<rgb name="{}" value="0.2, 0.5, 0.3"/>'
DIFFUSE = f'<bsdf type="diffuse">{GREEN.format("reflectance")}</bsdf>'
#: In Mitsuba the back of others is black.
BOTH = f'<bsdf type="twosided">{DIFFUSE}</bsdf>'
STORED = '<string name="filename" value="{}"/>'
RAW = '<boolean name="raw" value="true"/>'
FLAT = '<boolean name="face_normals" value="true"/>'
PICTURE = '<texture type="bitmap" name="{}">' + STORED.format("p.png") + "{}</texture>"


def wall(bsdf=DIFFUSE, size=10):
    """A wall through the origin that faces the camera."""
    return f'<shape type="rectangle"><transform name="to_world"><scale value="{size}"/></transform>{bsdf}</shape>'


def surface(kind, inside=""):
    return wall(f'<bsdf type="{kind}">{inside}</bsdf>') + SKY


def shape(kind, inside="", lamp=SUN):
    return f'<shape type="{kind}">{BOTH}{inside}</shape>{lamp}'


def numbers(**values):
    return "".join(f'<float name="{name}" value="{value}"/>' for name, value in values.items())


def lit(emitter):
    return wall('<bsdf type="diffuse"><spectrum name="reflectance" value="1"/></bsdf>') + emitter


def at(emitter, inside, z=2):
    """An emitter above the wall, which shines down on it."""
    place = f'<transform name="to_world"><lookat origin="0.3, 0.2, {z}" target="0.3, 0.2, 0" up="0, 1, 0"/></transform>'
    return lit(f'<emitter type="{emitter}">{place}{inside}</emitter>')


VOLUMES = '<integrator type="volpath"><integer name="max_depth" value="17"/></integrator>'
GREEN_FOG, FORWARD = "0.6, 0.3, 0.5", '<phase type="hg"><float name="g" value="0.4"/></phase>'


def inside(medium):
    """A cube that is a medium without a surface, between the camera and the wall."""
    return f'<shape type="cube"><bsdf type="null"/>{medium}</shape>'


def fog(extinction, albedo, phase=FORWARD):
    return (
        f'<medium name="interior" type="homogeneous"><rgb name="sigma_t" value="{extinction}"/>'
        f'<rgb name="albedo" value="{albedo}"/>{phase}</medium>'
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scene, and what its picture is.

    row: what the row of the page names first.
    seen: the colour of all of it, or another scene that looks the same; None for what Mitsuba makes of it.
    off: by how much the quarters may differ, relative; a hundredth of what is brightest, or 0.004, is allowed too.
    camera: instead of the usual one.
    seen_by: the camera of the other scene, where it is another one.
    name: of the case, where a row has several.
    variant: of Mitsuba.
    """

    row: str
    text: str
    seen: tuple[float, float, float] | str | None = None
    off: float = 0.025
    camera: str = CAMERA
    seen_by: str = ""
    name: str = ""
    variant: str = "scalar_rgb"


SPECTRAL = "scalar_spectral"
SEEN = (0.2, 0.5, 0.3)
GLOW = '<emitter type="area" id="glow"><rgb name="radiance" value="0.2, 0.5, 0.3"/></emitter>'
PANE = '<bsdf type="{}">' + numbers(int_ior=1.5, ext_ior=1.0) + "{}</bsdf>"
RAISED = '<transform name="to_world"><scale value="3"/><translate z="1"/></transform>'
TURNED = '<transform name="to_world"><rotate x="1" y="1" angle="40"/><scale value="0.5"/></transform>'
LONG = '<transform name="to_world"><rotate x="1.2" y="0.8" angle="60"/><scale value="0.35"/></transform>'
#: A pane in front of a wall.
BEHIND = '<shape type="rectangle">{}' + RAISED + "</shape>" + wall() + SKY
ORANGE = '<rgb name="diffuse_reflectance" value="0.9, 0.578, 0.1"/>'
GGX = '<string name="distribution" value="ggx"/>'
IRON = numbers(eta=2.9, k=3)
COLORED = (
    f'<shape type="ply">{STORED.format("faces.ply")}<bsdf type="diffuse"><texture type="mesh_attribute"'
    ' name="reflectance"><string name="name" value="{}"/></texture></bsdf></shape>'
)
BLEND = '<bsdf type="diffuse"><spectrum name="reflectance" value="{}"/></bsdf>'
TWO_SIDED = f'<bsdf type="twosided">{BLEND.format(0.9)}</bsdf>'

CASES = (
    Case(row="default",
        text='<default name="r" value="0.2, 0.5, 0.3"/>' + surface("diffuse", '<rgb name="reflectance" value="$r"/>'),
        seen=SEEN),
    Case(row="$name without a value", text=surface("diffuse", '<rgb name="reflectance" value="$r"/>'),
        seen=(0.5, 0.5, 0.5)),
    Case(row="include", text='<include filename="more.xml"/>' + wall('<ref id="green"/>') + SKY, seen=SEEN),
    Case(row="path", text='<path value="../common"/>' + surface("diffuse", PICTURE.format("reflectance", ""))),
    Case(row="ref", text=GLOW + wall('<ref id="glow"/>'), seen=SEEN),
    Case(row="max_depth of the integrator", text=wall() +
        '<shape type="cube"><transform name="to_world"><translate x="1"/></transform></shape>' + SKY,
        camera=CAMERA + '<integrator type="path"><integer name="max_depth" value="2"/></integrator>', off=0.06),
    Case(row="integrator", text=surface("diffuse", GREEN.format("reflectance")), camera=CAMERA + PATHS, seen=SEEN),
    Case(row="animation",
        text=shape("rectangle", '<animation name="to_world"><transform time="0"><translate x="0.4"/></transform>'
        '<transform time="1"><translate x="3"/></transform></animation>'),
        seen=shape("rectangle", '<transform name="to_world"><translate x="0.4"/></transform>')),
    Case(row="medium", text=inside('<medium name="interior" type="heterogeneous"/>') + wall() + SKY, seen=SEEN),
    Case(row="medium", name="without loss", text=inside(fog(GREEN_FOG, "1, 1, 1")) + SKY, seen=(1.0, 1.0, 1.0)),
    Case(row="medium", name="homogeneous", text=VOLUMES + inside(fog(GREEN_FOG, "0.2, 0.5, 0.9")) + SUN + wall()),
    Case(row="medium", name="of 0.6", text=inside(
        '<medium name="interior" type="homogeneous"><rgb name="sigma_s" value="0.1, 0.25, 0.3"/>'
        '<rgb name="sigma_a" value="0.4, 0.25, 0"/></medium>') + SUN + wall(),
        seen=inside(fog("0.5, 0.5, 0.3", "0.2, 0.5, 1", "")) + SUN + wall()),
    Case(row="rotate about an axis that is not of unit length", text=shape("cube", LONG, SKY),
        camera=CAMERA.replace('"20"', '"40"')),
    Case(row="spherical", text='<sensor type="spherical"/>' + wall() + SKY, seen=SEEN),
    # Cameras
    Case(row="perspective", text=shape("cylinder", '<point name="p1" value="0.5, 0.6, 0.3"/>')),
    Case(row="perspective", name="thinlens", text=surface("diffuse", PICTURE.format("reflectance", "")),
        camera=CAMERA.replace("perspective", "thinlens").replace(
            "<film", numbers(aperture_radius=0.1, focus_distance=4) + "<film")),
    Case(row="perspective", name="orthographic", text=shape("sphere"),
        camera=CAMERA.replace("perspective", "orthographic").replace(numbers(fov=20), "")),
    Case(row="perspective", name="of a batch", text=shape("sphere"), seen=shape("sphere"), camera=NEAR.replace(
        "<sensor", '<sensor type="batch"><sensor').replace("</sensor>", "</sensor></sensor>"), seen_by=NEAR),
    Case(row="fov", text=shape("sphere"),
        camera=CAMERA.replace("<film", '<string name="fov_axis" value="diagonal"/><film').replace('"20"', '"50"')),
    Case(row="focal_length", text=shape("cube", TURNED),
        camera=CAMERA.replace(numbers(fov=20), '<string name="focal_length" value="70mm"/>')),
    Case(row="width", text=shape("disk"),
        camera=CAMERA.replace('<integer name="height" value="12"/>', "").replace(
            "<rfilter", '<integer name="height" value="24"/><rfilter')),
    Case(row="exposure of a film of 0.6", text=wall() + SKY, seen=SEEN,
        camera=CAMERA.replace("<rfilter", '<float name="exposure" value="1"/><rfilter')),
    Case(row="crop_* of the film", text=shape("disk"),
        camera=CAMERA.replace("<rfilter", '<integer name="crop_width" value="6"/><rfilter'), seen=shape("disk"),
        seen_by=CAMERA),
    Case(row="far_clip", text=surface("diffuse", GREEN.format("reflectance")),
        camera=CAMERA.replace("<film", numbers(far_clip=3) + "<film"), seen=SEEN),
    # Shapes
    *(Case(row="obj", name=name, text=shape(name.rpartition(".")[2], STORED.format(name)), camera=NEAR)
        for name in ("ball.obj", "ball.ply", "ball.serialized")),
    Case(row="face_normals",
        text=shape("obj", STORED.format("ball.obj") + FLAT), camera=NEAR),
    Case(row="max_smooth_angle", text=shape("obj", STORED.format("ball.obj") + numbers(max_smooth_angle=1)),
        camera=NEAR, seen=shape("obj", STORED.format("ball.obj") + FLAT)),
    Case(row="rectangle", text=shape("Rectangle"), camera=NEAR, seen=shape("rectangle")),
    Case(row="rectangle", name="cube", text=shape("cube", TURNED), camera=NEAR),
    Case(row="sphere", text=shape("sphere"), camera=NEAR),
    Case(row="sphere", name="disk", text=shape("disk"), camera=NEAR),
    Case(row="sphere", name="cylinder", text=shape("cylinder", '<point name="p1" value="0, 1, 0"/>'), camera=NEAR),
    Case(row="shapegroup",
        text=f'<shape type="shapegroup" id="g"><shape type="sphere">{DIFFUSE}</shape></shape>'
        '<shape type="instance"><ref id="g"/><transform name="to_world"><translate x="0.3"/></transform></shape>' +
        SUN, camera=NEAR),
    Case(row="shapegroup", name="merge",
        text='<shape type="merge"><shape type="rectangle">' + BOTH + "</shape></shape>" + SUN,
        seen=shape("rectangle"), camera=NEAR),
    Case(row="hair", text='<shape type="linearcurve"><string name="filename" value="a.txt"/></shape>' + wall() + SKY,
        seen=SEEN),
    # Colours
    Case(row="rgb", text=surface("diffuse", GREEN.format("reflectance")), seen=SEEN),
    Case(row="rgb", name="srgb", text=surface("diffuse", '<srgb name="reflectance" value="#7cbc95"/>'),
        seen=(0.202, 0.503, 0.301)),
    Case(row="spectrum of one number", text=surface("diffuse", '<spectrum name="reflectance" value="0.4"/>'),
        seen=(0.4, 0.4, 0.4)),
    Case(row="spectrum of wavelengths",
        text=surface("diffuse", '<spectrum name="reflectance" value="400:0.1, 500:0.2, 600:0.7, 700:0.9"/>'),
        off=0.05),
    Case(row="spectrum of wavelengths", name="of a light",
        text=wall('<emitter type="area"><spectrum name="radiance" value="400:0, 500:8, 600:16, 700:18"/></emitter>'),
        off=0.05),
    Case(row="blackbody",
        text=wall('<emitter type="area"><spectrum type="blackbody" name="radiance">' + numbers(temperature=4000) +
        "</spectrum></emitter>"),
        variant=SPECTRAL, off=0.05),
    # Surfaces
    Case(row="diffuse", text=surface("twosided", DIFFUSE), seen=SEEN),
    Case(row="diffuse", name="null", text='<shape type="sphere"><bsdf type="null"/></shape>' + wall() + SKY,
        seen=SEEN),
    Case(row="conductor", text=surface("conductor", IRON)),
    Case(row="conductor", name="rough", text=surface("roughconductor", IRON + GGX + numbers(alpha=0.1))),
    Case(row="conductor", name="of gold", text=surface("conductor", '<string name="material" value="Au"/>'),
        variant=SPECTRAL, off=0.1),
    Case(row="conductor", name="of carbon", text=surface("conductor", '<string name="material" value="a-C"/>'),
        variant=SPECTRAL, off=0.05),
    Case(row="conductor", name="of TiN", text=surface("conductor", '<string name="material" value="TiN_palik"/>'),
        variant=SPECTRAL, off=0.05),
    Case(row="dielectric", text=BEHIND.format(PANE.format("dielectric", "")), off=0.25),
    Case(row="dielectric", name="rough", text=BEHIND.format(PANE.format("roughdielectric", GGX + numbers(alpha=0.2))),
        off=0.13),
    Case(row="dielectric", name="rough by texture", text=BEHIND.format(PANE.format("roughdielectric", GGX +
        '<texture type="bitmap" name="alpha">' + STORED.format("grey.png") + "</texture>")),
        seen=BEHIND.format(PANE.format("roughdielectric", GGX + numbers(alpha=0.2)))),
    Case(row="thindielectric", text=BEHIND.format(PANE.format("thindielectric", "")), off=0.06),
    Case(row="plastic", text=surface("plastic", ORANGE)),
    Case(row="plastic", name="nonlinear",
        text=surface("plastic", ORANGE + '<boolean name="nonlinear" value="true"/>')),
    Case(row="plastic", name="rough", text=surface("roughplastic", GGX + numbers(alpha=0.05) +
        ORANGE), off=0.08),
    Case(row="distribution but ggx", text=surface("roughconductor", IRON + numbers(alpha=0.1)),
        seen=surface("roughconductor", IRON + GGX + numbers(alpha=0.1))),
    Case(row="alpha_u", text=surface("roughconductor", IRON + GGX + numbers(alpha_u=0.2, alpha_v=0.05)),
        seen=surface("roughconductor", IRON + GGX + numbers(alpha=0.1))),
    Case(row="mask with a picture",
        text='<shape type="rectangle"><bsdf type="mask"><texture type="bitmap" name="opacity">' +
        STORED.format("mask.png") +
        f'<string name="filter_type" value="nearest"/></texture>{TWO_SIDED}</bsdf>{RAISED}</shape>' + wall() + SKY),
    Case(row="mask with a number", text=BEHIND.format(f'<bsdf type="mask">{numbers(opacity=0.4)}{TWO_SIDED}</bsdf>')),
    Case(row="bumpmap",
        text=wall('<bsdf type="normalmap"><texture type="bitmap" name="normalmap"><boolean name="raw" value="true"/>' +
        STORED.format("normals.png") + f"</texture>{DIFFUSE}</bsdf>") + SUN, off=0.05),
    Case(row="blendbsdf", text=surface("blendbsdf", numbers(weight=0.25) + DIFFUSE + BLEND.format(0.8))),
    Case(row="blendbsdf", name="by a picture",
        text=surface("blendbsdf", PICTURE.format("weight", RAW) + BLEND.format(0.1) +
        BLEND.format(0.8)), off=0.05),
    Case(row="principled",
        text=surface("principled", GREEN.format("base_color") + numbers(metallic=1, roughness=0.3)), off=0.04),
    Case(row="roughdiffuse", text=surface("roughdiffuse", GREEN.format("reflectance")), seen=SEEN),
    Case(row="coating", text=surface("coating", numbers(int_ior=1.5, ext_ior=1) + DIFFUSE),
        seen=surface("plastic", numbers(int_ior=1.5, ext_ior=1) + GREEN.format("diffuse_reflectance"))),
    Case(row="phong", text=surface("phong", GREEN.format("diffuse_reflectance") +
        '<spectrum name="specular_reflectance" value="0"/>'), seen=SEEN),
    Case(row="pplastic", text=surface("pplastic", GREEN.format("diffuse_reflectance")),
        seen=surface("roughplastic", GREEN.format("diffuse_reflectance"))),
    Case(row="polarizer", text=BEHIND.format('<bsdf type="retarder"/>'), seen=SEEN),
    Case(row="measured", text=surface("measured", STORED.format("a.bsdf")), seen=(0.5, 0.5, 0.5)),
    # Textures
    Case(row="bitmap", text=surface("diffuse", PICTURE.format("reflectance", ""))),
    Case(row="bitmap", name="raw",
        text=surface("diffuse", PICTURE.format("reflectance",
            f'{RAW}<transform name="to_uv"><scale value="3"/></transform>'))),
    Case(row="bitmap", name="scaled",
        text=surface("diffuse", '<texture type="bitmap" name="reflectance">' + numbers(scale=0.5) +
        STORED.format("grey.png") + RAW + "</texture>"), seen=(0.2 ** (1 / 2.2) / 2,) * 3,
        off=0.03),
    Case(row="bitmap", name="of linear numbers",
        text=surface("diffuse", '<texture type="bitmap" name="reflectance">' + STORED.format("grey.exr") +
        "</texture>"), seen=SEEN),
    Case(row="checkerboard",
        text=wall('<bsdf type="diffuse"><texture type="checkerboard" name="reflectance"/></bsdf>', 1) + SKY),
    Case(row="scale",
        text=surface("diffuse", '<texture type="scale" name="reflectance"><float name="scale" value="0.5"/>'
        '<texture type="bitmap">' + STORED.format("grey.png") + "</texture></texture>"), seen=(0.1,) * 3, off=0.03),
    Case(row="volume", text=surface("diffuse", '<texture name="reflectance" type="volume"/>'), seen=(0.5, 0.5, 0.5)),
    Case(row="mesh_attribute",
        text=COLORED.format("face_color") + SKY, camera=NEAR),
    Case(row="mesh_attribute", name="of vertices",
        text=COLORED.format("vertex_color") + SKY, camera=NEAR),
    # Lights
    Case(row="area", text=GLOW + '<shape type="sphere"><ref id="glow"/></shape>', camera=NEAR),
    Case(row="area", name="without a surface", text=GLOW + wall('<ref id="glow"/>') + SKY, seen=SEEN),
    Case(row="area", name="with a picture", text=wall('<bsdf type="diffuse"/><emitter type="area">' +
        PICTURE.format("radiance", "") + "</emitter>")),
    Case(row="point", text=lit('<emitter type="point"><point name="position" value="0.3, 0.2, 1"/></emitter>')),
    Case(row="point", name="directional", text=lit(SUN)),
    Case(row="spot", text=at("spot", numbers(cutoff_angle=30, beam_width=29.9))),
    Case(row="spot", name="with a texture",
        text=at("spot", '<rgb name="intensity" value="50"/>' + numbers(cutoff_angle=30, beam_width=29.9) +
        '<texture type="bitmap" name="texture">' + STORED.format("grey.png") + "</texture>")),
    Case(row="projector", text=at("projector", numbers(fov=2, scale=900) +
        '<texture type="bitmap" name="irradiance">' + STORED.format("grey.png") + "</texture>", 40),
        camera=CAMERA.replace('"20"', '"2"')),
    Case(row="envmap", text=lit('<emitter type="envmap">' + STORED.format("sky.exr") + "</emitter>"), off=0.05),
    Case(row="sky",
        text=lit('<emitter type="sunsky"><float name="sun_scale" value="0"/>'
        '<vector name="sun_direction" value="0, 0.3, 1"/></emitter>'), off=0.9),
    Case(row="collimated", text=wall() + SKY + '<emitter type="collimated"/>', seen=SEEN),
)  # fmt: skip
