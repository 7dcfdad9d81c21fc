"""The same Cornell boxes by an independent renderer: Mitsuba 3 reads the very files that we read.

Jakob, Speierer, Roussel, Vicini: Dr.Jit: A Just-In-Time Compiler for Differentiable Rendering, 2022. Runs where it is
installed (`pip install mitsuba`), which no other test needs.
"""

import numpy as np
import pytest
import trimesh

import tracecore
from renderer.driver import RenderSettings
from renderer.drivers import DRIVERS
from scenes import mitsuba as mitsuba_files

#: Pixels along a side, and along a side of the blocks whose means are compared.
SIZE, BLOCK = 24, 4

#: Independent pictures of each renderer, from whose spread the errors of their means are known.
PICTURES = 16

WALLS = """
<shape type="rectangle"><transform name="to_world"><rotate x="1" angle="-90"/><translate y="-1"/></transform>
    <ref id="white"/></shape>
<shape type="rectangle"><transform name="to_world"><rotate x="1" angle="90"/><translate y="1"/></transform>
    <ref id="white"/></shape>
<shape type="rectangle"><transform name="to_world"><translate z="-1"/></transform><ref id="white"/></shape>
<shape type="rectangle"><transform name="to_world"><rotate y="1" angle="90"/><translate x="-1"/></transform>
    <ref id="green"/></shape>
<shape type="rectangle"><transform name="to_world"><rotate y="1" angle="-90"/><translate x="1"/></transform>
    <ref id="red"/></shape>
<bsdf type="diffuse" id="white"><rgb name="reflectance" value="0.7, 0.7, 0.7"/></bsdf>
<bsdf type="diffuse" id="green"><rgb name="reflectance" value="0.14, 0.45, 0.09"/></bsdf>
<bsdf type="diffuse" id="red"><rgb name="reflectance" value="0.63, 0.07, 0.05"/></bsdf>
"""

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
GLASS = '<bsdf type="dielectric"><float name="int_ior" value="1.5"/><float name="ext_ior" value="1.0"/></bsdf>'

#: What is in the box, and what lights it.
BOXES = {
    "diffuse ball": LAMP + BALL.format(bsdf=DIFFUSE),
    "diffuse ball, point light": POINT + BALL.format(bsdf=DIFFUSE),
    "mirror ball": LAMP + BALL.format(bsdf=MIRROR),
    "glass ball": LAMP + BALL.format(bsdf=GLASS),
}


def write_box(folder, contents):
    """A scene file, and the ball that it may name."""
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.4)
    ball.apply_translation((0.1, -0.5, 0.1))
    (folder / "ball.obj").write_text(trimesh.exchange.obj.export_obj(ball, include_normals=False))
    path = folder / "box.xml"
    path.write_text(
        f"""<scene version="3.0.0">
<integrator type="path"><integer name="max_depth" value="16"/><integer name="rr_depth" value="1000"/></integrator>
<sensor type="perspective">
    <float name="fov" value="40"/>
    <transform name="to_world"><lookat origin="0, 0, 4" target="0, 0, 0" up="0, 1, 0"/></transform>
    <sampler type="independent"/>
    <film type="hdrfilm"><integer name="width" value="{SIZE}"/><integer name="height" value="{SIZE}"/>
        <rfilter type="box"/></film>
</sensor>
{WALLS}{contents}</scene>"""
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


def ours(path, driver, passes):
    """Pictures of ours, each the mean of some passes."""
    snapshot = mitsuba_files.read(path).at(0.0)
    settings = RenderSettings(width=SIZE, height=SIZE, seed=5, threads=2, max_bounces=15, photons=3000)
    with tracecore.open_tracer(snapshot.positions, device="cpu") as tracer:
        maker = DRIVERS[driver](snapshot, tracer, settings)
        pictures = [
            np.mean([maker.render_pass(passes * i + k) for k in range(passes)], axis=0) for i in range(PICTURES)
        ]
        maker.close()
    return blocks(pictures)


@pytest.fixture(scope="module")
def mi():
    """Mitsuba without a compiler of its own."""
    module = pytest.importorskip("mitsuba", reason="mitsuba is not installed (pip install mitsuba)")
    module.set_variant("scalar_rgb")
    return module


def judge(a, b, bias=0.0):
    """Whether means of two sets of pictures differ by no more than chance and a share `bias` of their brightness.

    Sidak's correction over all blocks and channels, at 1 %. Spreads of sixteen pictures make it Student's distribution.
    """
    from scipy.stats import t as student

    error = np.sqrt((a.var(axis=0, ddof=1) + b.var(axis=0, ddof=1)) / PICTURES)
    apart = np.abs(a.mean(axis=0) - b.mean(axis=0))
    scores = np.maximum(apart - bias * b.mean(axis=0), 0.0) / np.maximum(error, 1e-9)
    bound = student.ppf(1.0 - 0.5 * (1.0 - 0.99 ** (1.0 / scores.size)), PICTURES - 1)
    assert np.isfinite(scores).all()
    assert scores.max() <= bound


@pytest.mark.parametrize("box", BOXES)
def test_path_tracing_agrees_with_mitsuba(mi, tmp_path, box):
    path = write_box(tmp_path, BOXES[box])
    judge(ours(path, "path", passes=64), theirs(mi, path, samples=64))
