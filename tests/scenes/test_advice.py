"""What is said to somebody who names a scene that there is not."""

import pytest

from scenes import SceneFileError, UnknownSceneError, load


def refused(path):
    with pytest.raises((UnknownSceneError, SceneFileError)) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("name", "meant"), [("kitchn", "kitchen"), ("Cornell", "cornell"), ("musem:20k", "museum")])
def test_names_of_shipped_scenes(name, meant):
    assert f"did you mean {meant}?" in refused(name)


def test_files_beside_it(tmp_path):
    for name in ("house.obj", "tree.glb", "notes.txt"):
        (tmp_path / name).write_text("x")
    assert refused(tmp_path / "hose.obj").endswith(f"hose.obj: no such file; did you mean {tmp_path / 'house.obj'}?")
    assert f"did you mean {tmp_path / 'house.obj'}?" in refused(tmp_path / "house")
    assert f"did you mean {tmp_path / 'tree.glb'}?" in refused(tmp_path / "tree.blend")
    assert refused(tmp_path / "other.stl").endswith("no such file")
    assert "notes.txt" not in refused(tmp_path / "notes.obj")


@pytest.mark.parametrize("suffix", [".fbx", ".json", ".x3d", ".lwo", ".pov", ".lxs", ".vtp"])
def test_formats_that_are_not_read(suffix):
    assert f"{suffix} files are not read: export the scene as .glb" in refused(f"house{suffix}")


def test_folders(tmp_path):
    assert refused(tmp_path).startswith(f"'{tmp_path}' is a folder, and no file in it is a scene; files end in .aff")
    for index in range(7):
        (tmp_path / f"{index}.aff").write_text("x")
    found = ", ".join(str(tmp_path / f"{index}.aff") for index in range(5))
    assert refused(tmp_path) == f"'{tmp_path}' is a folder; name a file in it: {found} and 2 more"


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "x" * 5000 + ".obj", "/", "//.obj", "."])
def test_names_that_can_be_none(name):
    assert refused(name)
