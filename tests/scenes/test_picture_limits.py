"""How many pixels the pictures of a scene have together, whatever format names them, and how they are decoded."""

import numpy as np
import pytest
from gltf_file import CORNERS, TRIANGLE, GltfBuilder
from PIL import Image

from scenes import SceneFileError, load
from scenes.files import source_file
from scenes.model import Texture
from scenes.pictures.texture_file import STRIP_ROWS, read_texture

#: Sides of the pictures here, of which two are allowed and three are not.
SIDE = 16
LIMITS = {"FREE_PIXELS": 2 * SIDE * SIDE, "MAX_PIXELS_PER_BYTE": 0}


@pytest.fixture(autouse=True)
def _few_pixels(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    for name, value in getattr(request, "param", LIMITS).items():
        monkeypatch.setattr(source_file, name, value)


def write_pictures(folder, count):
    """Writes so many pictures as 0.png, 1.png and so on."""
    for k in range(count):
        Image.fromarray(np.full((SIDE, SIDE, 3), k, np.uint8)).save(folder / f"{k}.png")


def toml_scene(folder, count):
    rows = [f'[materials.m{k}]\ntexture = "{k}.png"\n' for k in range(count)]
    shape = '[[object]]\nshape = "triangles"\nmaterial = "m0"\nvertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]\n'
    (folder / "a.toml").write_text("".join(rows) + shape)
    return folder / "a.toml"


def obj_scene(folder, count):
    (folder / "m.mtl").write_text("".join(f"newmtl m{k}\nmap_Kd {k}.png\n" for k in range(count)))
    faces = "".join(f"usemtl m{k}\nf 1/1 2/2 3/3\n" for k in range(count))
    values = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
    (folder / "a.obj").write_text(f"mtllib m.mtl\n{values}{faces}")
    return folder / "a.obj"


def gltf_scene(folder, count):
    file = GltfBuilder()
    file.node(mesh=file.mesh())
    corners = {"POSITION": file.accessor(TRIANGLE), "TEXCOORD_0": file.accessor(CORNERS)}
    rows = []
    for k in range(count):
        texture = {"index": file.picture([[[k, 9, 9]] * SIDE] * SIDE)}
        own = file.add("materials", pbrMetallicRoughness={"baseColorTexture": texture})
        rows.append({"attributes": corners, "material": own})
    file.header["meshes"][0]["primitives"] = rows  # type: ignore[index]
    return file.write(folder / "a.gltf")


@pytest.mark.parametrize("scene", [toml_scene, obj_scene, gltf_scene])
def test_all_pictures_of_a_scene_are_counted(tmp_path, scene):
    write_pictures(tmp_path, 3)
    assert len(load(scene(tmp_path, 2)).at(0).textures) == 2
    with pytest.raises(SceneFileError, match="with it the pictures of the scene have 768 pixels in"):
        load(scene(tmp_path, 3))


@pytest.mark.parametrize(
    "_few_pixels", [{"FREE_PIXELS": SIDE * SIDE, "MAX_PIXELS_PER_BYTE": SIDE * SIDE}], indirect=True
)
def test_large_files_may_have_more_pixels(tmp_path, monkeypatch):
    write_pictures(tmp_path, 3)
    assert len(load(toml_scene(tmp_path, 3)).at(0).textures) == 3
    monkeypatch.setattr(source_file, "MAX_ALL_PIXELS", 2 * SIDE * SIDE)
    with pytest.raises(SceneFileError, match="up to 512"):
        load(toml_scene(tmp_path, 3))


def test_a_sky_counts_too(tmp_path):
    write_pictures(tmp_path, 2)
    np.save(tmp_path / "sky.npy", np.ones((SIDE, SIDE, 3), np.float32))
    path = toml_scene(tmp_path, 2)
    path.write_text(path.read_text() + '[environment]\nimage = "sky.npy"\n')
    with pytest.raises(SceneFileError, match=r"sky.npy: with it the pictures of the scene have 768 pixels"):
        load(path)


@pytest.mark.parametrize("scene", [toml_scene, obj_scene, gltf_scene])
@pytest.mark.parametrize("name", ["MAX_PIXELS", "free_bytes"])
def test_a_picture_that_is_too_large_says_its_size_and_what_helps(tmp_path, monkeypatch, scene, name):
    """It is no file of an unknown format."""
    write_pictures(tmp_path, 1)
    path = scene(tmp_path, 1)
    value, why = {
        "MAX_PIXELS": (SIDE, "and at most 4 x 4 are read"),
        "free_bytes": (lambda: SIDE, "which take 0.0 GB, and 0.0 GB are free"),
    }[name]
    monkeypatch.setattr(f"scenes.pictures.texture_file.{name}", value)
    told = f"it has 16 x 16 pixels, {why}; make it smaller"
    if scene is obj_scene:
        assert load(path).document.notes.lines[0] == f"{tmp_path / 'm.mtl'}:2: picture '0.png' is left out: {told}"
    else:
        with pytest.raises(SceneFileError, match=told):
            load(path)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_a_picture_has_the_pixels_of_its_file(tmp_path, mode):
    """Strips of rows together are what Pillow makes of the whole picture."""
    rng = np.random.default_rng(1)
    size = (5, 2 * STRIP_ROWS + 3)
    image = Image.frombytes(mode, size, rng.bytes(len(Image.new(mode, size).tobytes())))
    if mode == "P":
        image.putpalette(rng.bytes(768), "RGB")
        image.info["transparency"] = 7
    image.save(tmp_path / "a.png")
    found: Texture = read_texture(tmp_path / "a.png", ("PNG",))
    with Image.open(tmp_path / "a.png") as whole:
        assert np.array_equal(found.pixels, np.array(whole.convert("RGB")))
        assert (found.alpha is not None) == whole.has_transparency_data
        if found.alpha is not None:
            assert np.array_equal(found.alpha, np.array(whole.convert("RGBA"))[..., 3])
