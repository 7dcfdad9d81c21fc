"""Ray sets in a folder, the result files of what traces them, and which of two is faster."""

import hashlib
import json

import numpy as np
import pytest
from explained_keys import assert_explained
from pages import ROOT, python_blocks

from renderer import cli
from renderer.bench import figure_keys
from renderer.bench.ray_folder import RayFolder, RecordedScene, RecordedSet, write_manifest, write_scene
from renderer.bench.verdict import median_interval
from renderer.bench.workload import RaySet
from tracecore import open_tracer
from tracecore.rays import MISS, Query, make_rays

#: A triangle at z = 2 and one behind it at z = 3; rays along z that hit the first, the second from between them, and
#: nothing, as it ends before.
TRIANGLES = np.array([[[-1, -1, z], [1, -1, z], [0, 1, z]] for z in (2, 3)], np.float32)
RAYS = make_rays([[0, 0, 0], [0, 0, 2.5], [0, 0, 0]], [0, 0, 1], 0.0, [np.inf, np.inf, 1.5])  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path):
    """The rays in a folder, once for what they hit first and once for whether they do."""
    found = tmp_path / "output" / "rays"
    with open_tracer(TRIANGLES, device="cpu") as tracer:
        hits = np.asarray(tracer.closest_hit(RAYS))
    sets = [
        RecordedSet(rays=RaySet(kind=kind, query=query, rays=RAYS), hits=hits)
        for kind, query in (("primary", Query.CLOSEST), ("shadow", Query.ANY))
    ]
    scene = RecordedScene(name="two", triangles=TRIANGLES, origin={"by": "hand"}, sets=sets)
    write_manifest(found, [write_scene(found, "two", scene)])
    return found


def read(folder, path, *options):
    """Runs `bench rays --read`. Returns the exit status."""
    return cli.main(["bench", "rays", "--read", str(folder), "--device", "cpu", "--json", str(path), *options])


def with_reference(folder, name, array):
    """Puts an array in the place of another, with the SHA-256 that it has."""
    (folder / name).unlink()
    np.save(folder / name, array)
    manifest = json.loads((folder / "manifest.json").read_text())
    for entry in (one[key] for one in manifest["scenes"][0]["sets"] for key in ("rays", "t", "prim_id", "uv")):
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_anybody_can_read_the_rays_and_what_they_hit(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (scene,) = manifest["scenes"]
    assert scene["origin"] == {"by": "hand"}
    for one, query in zip(scene["sets"], ("closest", "any"), strict=True):
        assert (one["query"], one["count"], one["hits"]) == (query, 3, 2)
        assert np.load(folder / one["t"]["file"]).tolist() == [2.0, 0.5, np.inf]
        assert np.load(folder / one["prim_id"]["file"]).tolist() == [0, 1, MISS]
        assert np.load(folder / one["uv"]["file"]).tolist() == [[0.25, 0.5], [0.25, 0.5], [0.0, 0.0]]
        for entry in (scene["triangles"], one["rays"]):
            array = np.load(folder / entry["file"])
            assert (list(array.shape), array.dtype.str) == (entry["shape"], entry["dtype"])
            assert hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]


def test_the_page_traces_the_rays_with_any_tracer(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = python_blocks(ROOT / "docs" / "recorded-rays.md")
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == ["two primary 0 of 3 differ", "two shadow 0 of 3 differ"]


def test_what_is_read_is_what_was_written(folder):
    reader = RayFolder(folder)
    assert reader.kinds == ["primary", "shadow"]
    (scene,) = reader.scenes(reader.kinds)
    assert scene.triangles.tobytes() == TRIANGLES.tobytes()
    assert all(one.rays.rays.tobytes() == RAYS.tobytes() for one in scene.sets)
    with open_tracer(scene.triangles, device="brute") as brute:
        closest, shadow = (one.judged.right for one in scene.sets)
        assert closest.tobytes() == brute.closest_hit(RAYS).tobytes()  # type: ignore[union-attr]
        assert shadow.tobytes() == brute.any_hit(RAYS).tobytes()  # type: ignore[union-attr]


def test_the_result_file_has_all_rounds_and_says_what_was_traced(folder, tmp_path, capsys):
    assert read(folder, tmp_path / "a.json", "--repeat", "6") == 0
    figures = json.loads((tmp_path / "a.json").read_text())
    assert_explained([figures, {"measurements": [nested_keys()]}], figure_keys.RAYS)
    primary, shadow = figures["measurements"]
    assert (primary["kind"], shadow["kind"], primary["query"], shadow["query"]) == (
        "primary", "shadow", "closest", "any"
    )  # fmt: skip
    assert len(primary["seconds"]) == 6
    assert primary["rays_sha256"] == hashlib.sha256((folder / "two" / "primary-rays.npy").read_bytes()).hexdigest()
    assert "compared with the CPU: primary 3 of 3, shadow 3 of 3 rays" in capsys.readouterr().out
    assert read(folder, tmp_path / "b.json", "--rays", "shadow") == 0
    assert [one["kind"] for one in json.loads((tmp_path / "b.json").read_text())["measurements"]] == ["shadow"]


def nested_keys():
    """Returns the keys of objects that are null where hits are right and the CPU traces."""
    paths = [key.removeprefix("measurements[].").split(".") for key in figure_keys.RAYS]
    names = {path[0] for path in paths if len(path) == 2} & {"steps", "wrong"}
    return {name: {path[1]: None for path in paths if path[0] == name and len(path) == 2} for name in names}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("two/primary-prim_id.npy", np.array([1, 1, MISS], np.uint32)),
        ("two/primary-t.npy", np.array([2.0, 0.5000001, np.inf], np.float32)),
        ("two/shadow-prim_id.npy", np.array([0, MISS, MISS], np.uint32)),
    ],
)
def test_a_hit_that_is_not_the_reference_strikes_a_kernel_out(folder, tmp_path, capsys, name, value):
    with_reference(folder, name, value)
    assert read(folder, tmp_path / "a.json") == 1
    wrong, right = json.loads((tmp_path / "a.json").read_text())["measurements"][:: 1 if "primary" in name else -1]
    assert (wrong["seconds"], wrong["relative"], wrong["rate"]) == ([], None, 0.0)
    assert wrong["wrong"]["differing"] == 1
    assert right["wrong"] is None
    assert "Struck out: bvh8 on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"sha256": "', '"sha256": "0', 1), "its SHA-256 is not that of the manifest"),
        (lambda text: text.replace("two/triangles.npy", "../triangles.npy"), "is not in the folder"),
        (lambda text: text.replace("ray sets 1", "ray sets 2"), "expected the format"),
        (lambda text: text.replace('"count": 3', '"count": 4'), "has shape (3, 8), not (4, 8)"),
        (lambda text: text.replace('"query": "any"', '"query": "all"'), "not readable ray sets"),
        (lambda text: text[:-9], "not a manifest"),
    ],
)
def test_folders_that_are_not_as_they_should_be_are_refused(folder, tmp_path, capsys, change, said):
    manifest = folder / "manifest.json"
    manifest.write_text(change(manifest.read_text()))
    assert read(folder, tmp_path / "a.json") == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_rays_that_were_changed_are_found(folder, tmp_path, capsys):
    path = folder / "two" / "shadow-rays.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert read(folder, tmp_path / "a.json") == 2
    assert f"{path}: its SHA-256 is not that of the manifest" in capsys.readouterr().err


def test_scenes_are_recorded_and_read(tmp_path, capsys):
    given = ["cornell", "--size", "4x3", "--samples", "1", "--rays", "primary,ao", "--ao-rays", "1", "--device", "cpu"]
    assert cli.main(["bench", "rays", *given, "--write", str(tmp_path / "sets")]) == 0
    assert "cornell: primary, 12 rays, " in capsys.readouterr().out
    assert read(tmp_path / "sets", tmp_path / "a.json", "--repeat", "1") == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine").touch()
    assert cli.main(["bench", "rays", *given, "--write", str(tmp_path / "other")]) == 2
    assert "it is not empty" in capsys.readouterr().err


def results(path, kernels, **changes):
    """Writes a result file with a row for each kernel."""
    rows = [
        {
            "scene": "two",
            "kind": "ao",
            "kernel": name,
            "query": "any",
            "rays": 1_000_000,
            "seconds": rounds,
            "wrong": {"ray": 0} if name == "wrong" else None,
            "triangles_sha256": "a",
            "rays_sha256": "b",
            **changes,
        }
        for name, rounds in kernels.items()
    ]
    file = {"format": "tracecore result 1", "device": "cpu", "circumstances": {"machine": {"processor": "Some CPU"}}}
    path.write_text(json.dumps(file | {"measurements": rows} | {key: changes[key] for key in changes if key in file}))
    return str(path)


def test_results_are_told_apart_only_where_intervals_part(tmp_path, capsys):
    rounds = [0.5, 0.49, 0.51, 0.505, 0.495]
    kernels = {
        "quick": ([value / 2 for value in rounds], "2.000", "1.922-2.082", "FASTER"),
        "same": ([value / 1.01 for value in rounds], "1.010", "0.970-1.051", "SAME"),
        "slow": ([value * 4 for value in rounds], "0.250", "0.240-0.260", "SLOWER"),
    }
    before = results(
        tmp_path / "a.json", dict.fromkeys(kernels, rounds) | {"wrong": rounds, "few": [0.5], "gone": rounds}
    )
    after = results(
        tmp_path / "b.json", {name: made for name, (made, *_) in kernels.items()} | {"wrong": rounds, "few": [0.1]}
    )
    assert cli.main(["bench", "compare", before, after]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = {line.split()[2]: line.split()[3:] for line in lines if line.startswith("two ")}
    assert {name: (cells[2], cells[3], cells[4]) for name, cells in found.items() if name in kernels} == {
        name: tuple(expected) for name, (_, *expected) in kernels.items()
    }
    assert (found["quick"][0], found["quick"][1]) == ("2", "4")
    assert found["wrong"] == ["struck", "out", "struck", "out", "-", "-", "-"]
    assert found["few"] == ["2", "10", "5.000", "-", "-"]
    assert f"Only in {before}: gone on ao of two" in lines


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rays_sha256": "c"}, "ao of 'two' are other rays or triangles"),
        ({"triangles_sha256": "c"}, "ao of 'two' are other rays or triangles"),
        ({"scene": "three"}, "no scene, kind of rays and kernel in common"),
        ({"device": "emulator"}, "one is of the cpu, the other of the emulator"),
        ({"format": "tracecore result 2"}, "not a result file"),
        ({"seconds": [1.0, -1.0]}, "not a readable result file"),
        ({"rays": "many"}, "not a readable result file"),
    ],
)
def test_files_that_do_not_fit_are_refused_in_a_line(tmp_path, capsys, changes, said):
    before = results(tmp_path / "a.json", {"k": [1.0] * 5})
    after = results(tmp_path / "b.json", {"k": [1.0] * 5}, **changes)
    assert cli.main(["bench", "compare", before, after]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("rounds", "left_out"), [(5, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5), (30, 9), (100, 39)]
)
def test_intervals_of_medians_are_those_of_the_tables(rounds, left_out):
    seconds = list(map(float, range(1, rounds + 1)))
    assert median_interval(seconds[::-1]) == (left_out + 1.0, rounds - left_out)
