"""Frames of scenes."""

import pytest
from gltf_file import GltfBuilder

from scenes import SceneError, load


@pytest.mark.parametrize("frame", [-1, 26, 10**9])
def test_a_frame_beyond_the_animation_is_named(tmp_path, frame):
    file = GltfBuilder()
    file.animate(file.node(mesh=file.mesh()), "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    scene = load(file.write(tmp_path / "moves.gltf"))
    assert scene.at_frame(25).positions[0, 0].tolist() == [1, 0, 0]
    with pytest.raises(SceneError, match=rf"scene 'moves' has frames 0 to 25, got frame {frame}"):
        scene.at_frame(frame)


def test_what_stands_still_is_the_same_in_all_frames(tmp_path):
    file = GltfBuilder()
    file.node(mesh=file.mesh())
    scene = load(file.write(tmp_path / "still.gltf"))
    assert scene.at_frame(7).positions.tolist() == scene.at_frame(0).positions.tolist()
    with pytest.raises(SceneError, match="got frame -1"):
        scene.at_frame(-1)
