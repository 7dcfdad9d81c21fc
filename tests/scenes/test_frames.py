"""Frames of scenes."""

import pytest
from gltf_file import GltfBuilder

from scenes import SceneError, load


def test_what_stands_still_is_the_same_in_all_frames(tmp_path):
    file = GltfBuilder()
    file.node(mesh=file.mesh())
    scene = load(file.write(tmp_path / "still.gltf"))
    assert scene.at_frame(7).positions.tolist() == scene.at_frame(0).positions.tolist()
    with pytest.raises(SceneError, match="got frame -1"):
        scene.at_frame(-1)
