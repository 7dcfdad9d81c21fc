"""The script that counts which scene files below a folder are read."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "count_files.py"
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def test_scenes_are_counted_by_format_and_refusals_by_reason(tmp_path):
    """Parts of scenes and other files are none; names and numbers of a reason are left out."""
    files = {
        "good.obj": OBJ,
        "below/cut.obj": OBJ + "f 1 2 9\n",
        "below/other.obj": OBJ + "f 1 2 77\n",
        "a.pbrt": 'WorldBegin Shape "sphere" LightSource "infinite" "string filename" "none.exr"',
        "part.pbrt": 'Shape "sphere"',
        "notes.txt": "hello",
    }
    (tmp_path / "below").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, str(SCRIPT), str(tmp_path), "--list"]
    *listed, head, rule, obj, pbrt = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [Path(line.split(": ")[0]).name for line in listed] == ["a.pbrt", "cut.obj", "other.obj", "good.obj"]
    assert (head, rule) == (
        "| format | files | read | with notes | lacking something | refused | why |",
        "|---" * 7 + "|",
    )
    assert obj.startswith("| `.obj` | 3 | 1 | 1 | 0 | 2 | 2 line n: ")
    assert pbrt == "| `.pbrt` | 1 | 1 | 1 | 1 | 0 |  |"
