"""USD files: what they name, what is missing or wrong, and what usd-core would print."""

import subprocess
import sys
from pathlib import Path

import pytest
from usd_file import HEADER, notes_of, prim, quad, read, write

from renderer.cli import main
from scenes import SceneFileError, load

CUBE = prim("Cube", "c")


def layer(folder, name, text):
    """Writes a layer whose default prim is `root`."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEADER.format('    defaultPrim = "root"') + text)
    return path


@pytest.mark.parametrize("arc", ["references = @b.usda@", "payload = @b.usda@</root>", "references = @parts/c.usda@"])
def test_references_payloads_and_layers_are_composed(tmp_path, arc):
    layer(tmp_path, "b.usda", prim("Xform", "root", children=CUBE))
    layer(tmp_path, "parts/c.usda", prim("Xform", "root", meta="references = @../b.usda@"))
    scene = read(tmp_path, f'def "a" ({arc})\n{{\n}}\n')
    assert scene.document.triangles == 12
    assert {path.name for path in scene.files} >= {"a.usda", "b.usda"}
    under = read(tmp_path, "", "    subLayers = [@b.usda@]")
    assert under.document.triangles == 12
    assert under.document.notes.lines == []


@pytest.mark.parametrize(
    "text",
    [
        'def "a" (references = @../b.usda@)\n{\n}\n',
        'def "a" (payload = @{}@)\n{{\n}}\n',
        "(\nsubLayers = [@../b.usda@]\n)\n",
    ],
)
def test_layers_of_other_folders_are_read_only_when_that_is_allowed(tmp_path, text):
    layer(tmp_path, "b.usda", prim("Xform", "root", children=CUBE))
    (tmp_path / "scene").mkdir()
    path = tmp_path / "scene" / "a.usda"
    path.write_text("#usda 1.0\n" + (text.format(tmp_path / "b.usda") if "{}" in text else text))
    with pytest.raises(SceneFileError, match=r"b\.usda: lies outside of the folder of the scene; --allow-outside"):
        load(path)
    assert load(path, allow_outside=True).document.triangles == 12


def test_what_is_missing_is_noted_and_strict_refuses_it(tmp_path):
    text = CUBE + 'def "a" (references = @nowhere.usda@</x>)\n{\n}\n'
    assert notes_of(read(tmp_path, text)).endswith("nowhere.usda: no such file; what is in it is left out")
    with pytest.raises(SceneFileError, match=r"nowhere\.usda: no such file.*--strict"):
        read(tmp_path, text, strict=True)


def test_a_mesh_of_no_use_is_left_out_beside_others(tmp_path):
    wrong = quad("q").replace("[0, 1, 2, 3]", "[0, 1, 2, 9]")
    scene = read(tmp_path, CUBE + wrong)
    assert scene.document.triangles == 12
    assert "/q is left out: its corners refer to points 0 to 9, and there are 4" in notes_of(scene)
    short = quad("q", "normal3f[] normals = [(0, 0, 1)]")
    assert "too few items" in notes_of(read(tmp_path, short))


def test_without_usd_core_a_line_says_what_to_install(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, CUBE)
    monkeypatch.setitem(sys.modules, "pxr", None)
    assert main(["scene", "info", str(path)]) == 2
    assert capsys.readouterr().err.strip() == (
        f"tracecore: error: {path}: USD files need usd-core: pip install 'tracecore[usd]'"
    )


def test_usd_core_prints_nothing_and_is_not_imported_for_others(tmp_path):
    circle = 'def "a" (references = @a.usda@</a>)\n{\n' + CUBE + "}\n"
    path = write(tmp_path, circle)
    command = [sys.executable, "-m", "renderer", "scene", "info", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0
    assert all(line.startswith(("tracecore: note: ", "note: ")) for line in done.stderr.splitlines()), done.stderr
    assert "Cycle detected" in done.stderr
    code = "import sys, scenes; scenes.load('cornell'); assert 'pxr' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_what_is_wrong_is_told_with_its_line(tmp_path):
    with pytest.raises(SceneFileError, match=r"a\.usda: is no readable USD file: .*a\.usda:\d+:\d+: Expected }"):
        read(tmp_path, 'def Cube "c"\n{\ndouble size = 3\n')
    with pytest.raises(SceneFileError, match="there are no triangles"):
        read(tmp_path, prim("Xform", "x"))
    with pytest.raises(SceneFileError, match="no such file"):
        load(tmp_path / "nowhere.usdz")
