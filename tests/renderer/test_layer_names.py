"""Layers by name, and what the middles of pixels show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_scenes import flat_snapshot, quad

import renderer
import tracecore
from renderer.commands.arguments import chosen_settings
from renderer.commands.parser import Parser
from renderer.commands.render import add_arguments
from renderer.errors import UsageError
from renderer.film.picture_file import read_picture
from renderer.scene import first_hits as module
from renderer.scene.first_hits import first_hits
from renderer.settings.picture import Settings
from scenes.model import Camera, Material, Snapshot


def two_halves(**camera) -> Snapshot:
    """A square at z = 0 from 2 above; its right half has another material, and nothing is beyond x = 1."""
    squares = [quad((-2, -2, 0), (0, -2, 0), (0, 2, 0), (-2, 2, 0)), quad((0, -2, 0), (1, -2, 0), (1, 2, 0), (0, 2, 0))]
    view = {"eye": (0.0, 0.0, 2.0), "forward": (0.0, 0.0, -1.0), "up": (0.0, 1.0, 0.0), "vertical_fov": 90.0}
    snapshot = flat_snapshot(
        np.concatenate(squares),
        [Material(), Material()],
        material_ids=[0, 0, 1, 1],
        camera=Camera(**(view | camera)),  # type: ignore[arg-type]
    )
    objects = np.array([5, 5, 7, 7], np.int32)
    return replace(snapshot, uvs=snapshot.positions[..., :2].copy(), object_ids=objects)


@pytest.mark.parametrize("camera", [{}, {"height": 4.0}], ids=["perspective", "parallel"])
def test_known_first_hits(camera: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RAYS", 17)  # several bands
    snapshot = two_halves(**camera)
    with tracecore.open_tracer(snapshot.positions, device="brute") as tracer:
        found = first_hits(snapshot, tracer, (8, 8))
        part = first_hits(snapshot, tracer, (8, 8), (5, 2, 2, 3))
    x = np.broadcast_to(-1.75 + 0.5 * np.arange(8), (8, 8))
    is_hit = x < 1.0
    np.testing.assert_allclose(found["position"][is_hit], np.stack([x, -x.T, 0 * x], axis=2)[is_hit], atol=1e-6)
    assert np.isinf(found["position"][~is_hit]).all()
    np.testing.assert_array_equal(found["material"], np.where(is_hit, x > 0, -1))
    np.testing.assert_array_equal(found["object"], np.where(is_hit, np.where(x > 0, 7, 5), -1))
    np.testing.assert_allclose(found["uv"][is_hit], found["position"][is_hit][:, :2], atol=1e-6)
    assert set(np.unique(found["triangle"])) == {-1.0, 0.0, 1.0, 2.0, 3.0}
    for name, layer in part.items():
        np.testing.assert_array_equal(layer, found[name][2:5, 5:7])


def parsed(*words: str) -> Settings:
    parser = Parser()
    add_arguments(parser)
    return chosen_settings(Settings, parser.parse_args(["cornell", *words]))


def test_names_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed().layers is False
    assert parsed("--layers").layers is True
    assert parsed("--layers", "depth,noise,depth").layers == ("depth", "noise")
    with pytest.raises(SystemExit):
        parsed("--layers", "depht")
    assert "--layers: expected nothing, or names with commas between them, of direct" in capsys.readouterr().err
    for value in ("depth", (), ("depht",), 3):
        with pytest.raises(UsageError, match="layers: expected nothing, or names"):
            Settings(layers=value)  # type: ignore[arg-type]


def test_layers_of_a_picture_and_its_file(tmp_path: Path) -> None:
    made = Settings(driver="whitted", size=(8, 6), passes=3, device="cpu", threads=1, quiet=True)
    picture = renderer.render("cornell", made, layers=("variance", "noise", "material", "uv", "position"))
    assert set(picture.layers) == {"variance", "noise", "material", "uv", "position"}
    np.testing.assert_allclose(picture.layers["variance"], picture.layers["noise"] ** 2)
    assert np.array_equal(picture.image, renderer.render("cornell", made).image)
    pytest.importorskip("OpenEXR")
    picture.save(tmp_path / "a.exr")
    back = read_picture(tmp_path / "a.exr").layers
    np.testing.assert_array_equal(back["position"], picture.layers["position"])
    np.testing.assert_array_equal(back["uv.U"], picture.layers["uv"][..., 0])
