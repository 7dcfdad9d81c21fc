"""A picture for each row of the tables of `docs/mitsuba.md`: both drivers see what Mitsuba sees, or what is known.

A picture is 12 by 12 pixels, of which the means of its quarters are compared.
"""

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import trimesh
from mitsuba_cases import CASES, DIFFUSE, PATHS, SEEN
from PIL import Image

import renderer
from scenes.pictures.environment_file import write_exr

#: What each driver is to do, and how many samples of a pixel Mitsuba takes.
DRIVERS = {"path": {"passes": 128}, "photon": {"passes": 16, "photons": 50_000}}
SAMPLES = 256
PAGE = Path(__file__).parents[2] / "docs" / "mitsuba.md"

#: Rows of what is refused.
REFUSED = ("!DOCTYPE",)


def quarters(picture):
    """The means of the quarters of a picture, (2, 2, 3)."""
    height, width = (side // 2 for side in picture.shape[:2])
    return np.asarray(picture, np.float64).reshape(2, height, 2, width, 3).mean(axis=(1, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of pictures and meshes, for scenes."""
    common = tmp_path_factory.mktemp("mitsuba") / "common"
    common.mkdir()
    row, column = np.mgrid[:8, :8]
    pixels = np.stack([40 + 25 * row, 230 - 20 * column, 30 * row], axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(common / "p.png")
    Image.new("RGB", (4, 4), (124, 124, 124)).save(common / "grey.png")  # 0.2 of what is white
    Image.fromarray(np.where(row < 3, 255, 0).astype(np.uint8)).save(common / "mask.png")
    Image.new("RGB", (4, 4), (160, 150, 240)).save(common / "normals.png")
    write_exr(common / "grey.exr", np.full((4, 4, 3), SEEN, np.float32))
    sky = np.linspace(0.2, 2.0, 16 * 32 * 3, dtype=np.float32).reshape(16, 32, 3)
    write_exr(common / "sky.exr", sky)
    named = DIFFUSE.replace("<bsdf", '<bsdf id="green"')
    (common / "more.xml").write_text(f'<scene version="3.0.0">{named}</scene>')
    ball = trimesh.creation.icosphere(1)
    ball.export(common / "ball.obj", include_normals=False)
    ball.export(common / "ball.ply", vertex_normal=False)
    (common / "ball.serialized").write_bytes(serialized(ball))
    (common / "faces.ply").write_text(colored(ball))
    return common


def serialized(mesh):
    """The bytes of a file of Mitsuba of one mesh without normals."""
    vertices, triangles = mesh.vertices.astype("<f4"), mesh.faces.astype("<u4")
    head = struct.pack("<I", 0x1000) + b"ball\0" + struct.pack("<QQ", len(vertices), len(triangles))
    packed = zlib.compress(head + vertices.tobytes() + triangles.tobytes())
    return b"\x1c\x04\x04\x00" + packed + struct.pack("<QI", 0, 1)


def colored(mesh):
    """The text of a PLY file whose vertices and faces have the colours of where they are."""
    rgb = "".join(f"property float {name}\n" for name in "rgb")
    header = f"ply\nformat ascii 1.0\nelement vertex {len(mesh.vertices)}\n"
    header += "".join(f"property float {name}\n" for name in "xyz") + rgb
    header += f"element face {len(mesh.faces)}\nproperty list uchar int vertex_indices\n{rgb}end_header\n"
    middles = mesh.vertices[mesh.faces].mean(axis=1)
    points = np.concatenate([mesh.vertices, 0.5 + 0.4 * mesh.vertices], axis=1)
    lines = [" ".join(f"{number:.6f}" for number in row) for row in points]
    for corners, color in zip(mesh.faces, 0.5 + 0.4 * middles, strict=True):
        lines.append("3 " + " ".join(map(str, corners)) + " " + " ".join(f"{number:.6f}" for number in color))
    return header + "\n".join(lines) + "\n"


def written(folder, text, camera, name="scene.xml"):
    """The path of a scene in or beside the folder of what it names."""
    place = folder if "<path" not in text else folder.parent / "scene"
    place.mkdir(exist_ok=True)
    path = place / name
    path.write_text(f'<scene version="3.0.0">{camera}{text}</scene>')
    return path


def picture(path, driver):
    """The means of the quarters of a picture by one of our drivers."""
    made = renderer.render(path, driver=driver, device="cpu", quiet=True, **DRIVERS[driver])  # type: ignore[arg-type]
    return quarters(made.image)


def by_mitsuba(path, variant):
    """The means of the quarters of a picture by Mitsuba."""
    mitsuba = pytest.importorskip("mitsuba", reason="Mitsuba is not installed: pip install mitsuba")
    mitsuba.set_variant(variant)
    text = path.read_text()
    theirs = path.with_name("theirs.xml")
    theirs.write_text(text if "<integrator" in text else text.replace("<sensor", f"{PATHS}<sensor", 1))
    return quarters(np.array(mitsuba.render(mitsuba.load_file(str(theirs)), spp=SAMPLES))[..., :3])


def seen_in(case, folder, path):
    if case.seen is None:
        return dict.fromkeys(DRIVERS, by_mitsuba(path, case.variant))
    if isinstance(case.seen, str):
        other = written(folder, case.seen, case.seen_by or case.camera, "other.xml")
        return {driver: picture(other, driver) for driver in DRIVERS}
    return dict.fromkeys(DRIVERS, np.broadcast_to(case.seen, (2, 2, 3)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.row} {case.name}".strip())
def test_pictures(folder, case):
    path = written(folder, case.text, case.camera)
    known = seen_in(case, folder, path)  # which skips what Mitsuba is to judge where there is none
    ours = {driver: picture(path, driver) for driver in DRIVERS}
    for driver, expected in known.items():
        assert expected.max() > 0.02
        atol = max(0.004, 0.01 * expected.max())
        np.testing.assert_allclose(ours[driver], expected, rtol=case.off, atol=atol, err_msg=driver)


def test_each_row_of_the_page_has_a_picture():
    page = PAGE.read_text().partition("## Against Mitsuba")[0]
    cells = [line.split(" | ")[0][2:] for line in page.splitlines() if line.startswith("| ")]
    rows = {re.split(r"[,(]", re.sub("[`<>]", "", cell))[0].strip() for cell in cells} - {"element"}
    assert rows == {case.row for case in CASES} | set(REFUSED)
