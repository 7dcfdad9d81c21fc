"""The same boxes, lights, surfaces and cameras by an independent renderer: Mitsuba 3 reads the very files that we read.

Jakob, Speierer, Roussel, Vicini: Dr.Jit: A Just-In-Time Compiler for Differentiable Rendering, 2022. Runs where it is
installed (`pip install mitsuba`), which no other test needs: a few boxes, and all of them with TRACECORE_JUDGE=all.
"""

import functools
import os
from typing import NamedTuple

import numpy as np
import pytest
import trimesh
from data_files import data_text
from PIL import Image

import tracecore
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from scenes import mitsuba as mitsuba_files
from scenes.export import export

#: Pixels along a side, and along a side of the blocks whose means are compared.
SIZE, BLOCK = 24, 4

#: Independent pictures of each renderer, from whose spread the errors of their means are known.
PICTURES = 16

WALLS = data_text("mitsuba/walls.xml")

LAMP = """
<shape type="rectangle">
    <transform name="to_world"><scale x="0.4" y="0.4"/><rotate x="1" angle="90"/><translate y="0.99"/></transform>
    <bsdf type="diffuse"><rgb name="reflectance" value="0, 0, 0"/></bsdf>
    <emitter type="area"><rgb name="radiance" value="9, 8, 6"/></emitter>
</shape>
"""

POINT = """
<emitter type="point">
    <point name="position" x="0.2" y="0.6" z="0.1"/><rgb name="intensity" value="2, 2, 1.5"/>
</emitter>
"""

BALL = """
<shape type="obj"><string name="filename" value="ball.obj"/><boolean name="face_normals" value="true"/>{bsdf}</shape>
"""

DIFFUSE = '<bsdf type="diffuse"><rgb name="reflectance" value="0.3, 0.5, 0.7"/></bsdf>'
MIRROR = '<bsdf type="conductor"><string name="material" value="none"/></bsdf>'
INDICES = '<float name="int_ior" value="1.5"/><float name="ext_ior" value="1.0"/>'
GLASS = f'<bsdf type="dielectric">{INDICES}</bsdf>'
GGX = '<string name="distribution" value="ggx"/><float name="alpha" value="{alpha}"/>'
# By numbers: by the names of elements the two have other measurements, and other weights for means over the spectrum.
IRON = '<float name="eta" value="2.9"/><float name="k" value="3"/>'
METAL = f'<bsdf type="roughconductor">{IRON}{GGX.format(alpha=0.1)}</bsdf>'
FROSTED = f'<bsdf type="roughdielectric">{INDICES}{GGX.format(alpha=0.05)}</bsdf>'
PLASTIC = f'<bsdf type="plastic">{INDICES}<rgb name="diffuse_reflectance" value="0.3, 0.5, 0.7"/></bsdf>'

#: Both fade out differently between the two angles; here there is next to nothing between them.
SPOT = """
<emitter type="spot">
    <transform name="to_world"><lookat origin="0.5, 0.8, 0.8" target="-0.2, -0.6, -0.4" up="0, 0, 1"/></transform>
    <rgb name="intensity" value="6, 5, 4"/><float name="cutoff_angle" value="30"/>
    <float name="beam_width" value="29.99"/>
</emitter>
"""
SUN = """
<emitter type="directional">
    <vector name="direction" x="0.3" y="-0.4" z="-1"/><rgb name="irradiance" value="3, 2.5, 2"/>
</emitter>
"""
SKY = '<emitter type="constant"><rgb name="radiance" value="1, 1.5, 2"/></emitter>'
PICTURE = """
<emitter type="envmap">
    <string name="filename" value="sky.png"/><float name="scale" value="3"/>
    <transform name="to_world"><rotate x="1" angle="20"/><rotate y="1" angle="130"/></transform>
</emitter>
"""

LOOK = '<lookat origin="0, 0, 4" target="0, 0, 0" up="0, 1, 0"/>'
PINHOLE = f'<float name="fov" value="40"/><transform name="to_world">{LOOK}</transform>'
LENS = PINHOLE + '<float name="aperture_radius" value="0.3"/><float name="focus_distance" value="3.2"/>'
PARALLEL = f'<transform name="to_world"><scale x="1.2" y="1.2"/>{LOOK}</transform>'
#: Cameras by the name of their type.
SENSORS = {"perspective": PINHOLE, "thinlens": LENS, "orthographic": PARALLEL}

DIFFUSE_BALL, GLASS_BALL = BALL.format(bsdf=DIFFUSE), BALL.format(bsdf=GLASS)


class Box(NamedTuple):
    """What is in a box and lights it, who looks at it, and the share of the brightness by which models may differ."""

    contents: str
    sensor: str = "perspective"
    bias: float = 0.0


BOXES = {
    "diffuse ball": Box(LAMP + DIFFUSE_BALL),
    "diffuse ball, point light": Box(POINT + DIFFUSE_BALL),
    "diffuse ball, spot": Box(SPOT + DIFFUSE_BALL),
    "diffuse ball, directional": Box(SUN + DIFFUSE_BALL),
    "diffuse ball, constant": Box(SKY + DIFFUSE_BALL),
    # They blend texels, we do not: at the borders of squares of 64 by 64 equal ones.
    "diffuse ball, envmap": Box(PICTURE + DIFFUSE_BALL, bias=0.005),
    "mirror ball": Box(LAMP + BALL.format(bsdf=MIRROR)),
    "glass ball": Box(LAMP + GLASS_BALL),
    # Ours has the light of more bounces between facets, which is half a percent at this alpha.
    "rough metal ball": Box(LAMP + BALL.format(bsdf=METAL), bias=0.005),
    # And here: at an alpha of 0.2 the means of all blocks differ by two percent, at this one by next to nothing.
    "rough glass ball": Box(LAMP + BALL.format(bsdf=FROSTED)),
    # Ours is a coat by Schlick over a base that is scaled to lose nothing; theirs one by Fresnel over one by his slab.
    "plastic ball": Box(LAMP + BALL.format(bsdf=PLASTIC), bias=0.015),
    "thin lens": Box(LAMP + DIFFUSE_BALL, "thinlens"),
    "orthographic camera": Box(LAMP + DIFFUSE_BALL, "orthographic"),
}

#: What is exported: a picture of coloured squares, whose sides and rows must not change places, and what mirrors it.
EXPORTED = Box(
    LAMP
    + """
<shape type="rectangle">
    <transform name="to_world">
        <scale x="0.6" y="0.4"/><rotate y="1" angle="25"/><translate x="-0.3" z="-0.4"/>
    </transform>
    <bsdf type="diffuse"><texture type="bitmap" name="reflectance"><string name="filename" value="sky.png"/>
        <string name="filter_type" value="nearest"/></texture></bsdf>
</shape>
"""
    + BALL.format(bsdf=MIRROR)
)

#: What share of the light of a block the discs of the photon search may lose at edges and blur across shadows.
BLUR = {"photon": 0.015, "sppm": 0.015, "gather": 0.01, "path+caustics": 0.005}

#: Whether all boxes are asked for; else those that take a few seconds and have the most in them: light of an area and
#: from all around, a lens of glass and its caustic.
ALL = os.environ.get("TRACECORE_JUDGE") == "all"
QUICK, QUICK_DRIVERS = ("diffuse ball, envmap", "glass ball"), ("photon",)

#: Of each pixel of a picture, by either renderer.
SAMPLES = 64 if ALL else 16


def write_sky(path):
    """A picture of eight by four coloured squares, each of 64 by 64 texels."""
    colors = np.random.default_rng(2).integers(30, 256, (4, 8, 3)).astype(np.uint8)
    Image.fromarray(colors.repeat(64, axis=0).repeat(64, axis=1)).save(path)


def write_box(folder, box):
    """A scene file, and the ball and the picture that it may name."""
    write_sky(folder / "sky.png")
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.4)
    ball.apply_translation((0.1, -0.5, 0.1))
    (folder / "ball.obj").write_text(trimesh.exchange.obj.export_obj(ball, include_normals=False))
    path = folder / "box.xml"
    path.write_text(
        f"""<scene version="3.0.0">
<integrator type="path"><integer name="max_depth" value="16"/><integer name="rr_depth" value="1000"/></integrator>
<sensor type="{box.sensor}">
    {SENSORS[box.sensor]}
    <sampler type="independent"/>
    <film type="hdrfilm"><integer name="width" value="{SIZE}"/><integer name="height" value="{SIZE}"/>
        <rfilter type="box"/></film>
</sensor>
{WALLS}{box.contents}</scene>"""
    )
    return path


def blocks(pictures):
    """Means over blocks of each picture, the last one over all of it: (n, blocks + 1, 3)."""
    count, side = len(pictures), SIZE // BLOCK
    parts = np.reshape(pictures, (count, side, BLOCK, side, BLOCK, 3)).mean(axis=(2, 4)).reshape(count, -1, 3)
    return np.concatenate([parts, parts.mean(axis=1, keepdims=True)], axis=1)


def theirs(mi, path, samples):
    """Pictures of Mitsuba with seeds of their own."""
    scene = mi.load_file(str(path))
    return blocks([np.array(mi.render(scene, spp=samples, seed=seed))[..., :3] for seed in range(PICTURES)])


def ours(path, driver, passes, photons=None):
    """Pictures of ours with seeds of their own, each the mean of some passes."""
    snapshot = mitsuba_files.read(path).at(0.0)
    made = []
    with tracecore.open_tracer(snapshot.positions, device="cpu") as tracer:
        for seed in range(PICTURES):
            settings = RenderSettings(
                width=SIZE, height=SIZE, seed=seed, threads=2, max_bounces=15, photons=photons, radius=0.03
            )
            maker = DRIVERS[driver](snapshot, tracer, settings)
            made.append(np.mean([maker.render_pass(i) for i in range(passes)], axis=0))
            maker.close()
    return blocks(made)


@pytest.fixture(scope="module")
def mi():
    """Mitsuba without a compiler of its own."""
    module = pytest.importorskip("mitsuba", reason="mitsuba is not installed (pip install mitsuba)")
    module.set_variant("scalar_rgb")
    return module


@pytest.fixture(scope="module")
def judged(mi, tmp_path_factory):
    """From the name of a box to its file and Mitsuba's pictures."""

    @functools.cache
    def made(name):
        path = write_box(tmp_path_factory.mktemp("box"), BOXES[name])
        return path, theirs(mi, path, samples=SAMPLES)

    return made


def student_bound(share, freedom):
    """What the size of a number of Student's distribution exceeds with a probability `share`.

    Student: The Probable Error of a Mean, 1908; the density is summed by the trapezoidal rule.
    """
    t = np.linspace(0.0, 500.0, 1_000_001)
    density = (1.0 + t * t / freedom) ** (-0.5 * (freedom + 1))
    below = np.cumsum(density) - 0.5 * (density + density[0])
    return float(np.interp((1.0 - share) * below[-1], below, t))


def test_the_judge_tells_pictures_apart():
    """Two percent are found where pictures differ by one, but not within what models may differ by."""
    rng = np.random.default_rng(1)
    a, b = (1.0 + 0.01 * rng.standard_normal((PICTURES, 37, 3)) for _ in range(2))
    judge(a, b)
    judge(1.02 * a, b, bias=0.02)
    with pytest.raises(AssertionError):
        judge(1.02 * a, b)


def judge(a, b, bias=0.0):
    """Whether means of two sets of pictures differ by no more than chance and a share `bias` of their brightness.

    Sidak's correction over all blocks and channels, at 1 %. Spreads of sixteen pictures make it Student's distribution.
    Says the largest deviation in standard errors, what it may be, and by how much the means of all blocks differ.
    """
    error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / PICTURES)
    apart = np.abs(a.mean(axis=0) - b.mean(axis=0))
    scores = np.maximum(apart - bias * b.mean(axis=0), 0.0) / np.maximum(error, 1e-9)
    bound = student_bound(1.0 - 0.99 ** (1.0 / scores.size), PICTURES - 1)
    print(f"largest score {scores.max():.2f} of {bound:.2f}, means differ by {a.mean() / b.mean() - 1.0:+.2%}")
    assert np.isfinite(scores).all()
    assert scores.max() <= bound


@pytest.mark.parametrize("box", BOXES if ALL else QUICK)
def test_path_tracing_agrees_with_mitsuba(judged, box):
    path, pictures = judged(box)
    judge(ours(path, "path", passes=SAMPLES), pictures, BOXES[box].bias)


def test_mitsuba_renders_what_is_exported(mi, tmp_path):
    """Of a box with a picture on a tilted board and a mirror ball, exported: the means of the box as it was."""
    path = write_box(tmp_path, EXPORTED)
    copy = export(mitsuba_files.read(path), tmp_path / "copy.xml", 0.0).files[0]
    pictures = theirs(mi, copy, SAMPLES)
    judge(ours(path, "path", passes=SAMPLES), pictures)
    judge(ours(copy, "path", passes=SAMPLES), pictures)


@pytest.mark.parametrize("driver", BLUR if ALL else QUICK_DRIVERS)
@pytest.mark.parametrize("box", ["diffuse ball", "glass ball"] if ALL else ["glass ball"])
def test_drivers_with_photons_agree_with_mitsuba(judged, box, driver):
    path, pictures = judged(box)
    judge(ours(path, driver, passes=8, photons=10_000), pictures, BLUR[driver])
