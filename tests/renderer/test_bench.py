"""`tracecore bench`: what it measures, what it refuses."""

import json
from itertools import pairwise

import pytest

from renderer import cli
from renderer.bench import kernel_benchmark
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement, kernel_names, over_baseline
from renderer.bench.table import table
from tracecore.kernels.strategies import strategy_names

SMALL = [
    "--device",
    "emulator",
    "--size",
    "8x6",
    "--samples",
    "1",
    "--ao-rays",
    "2",
    "--photon-rays",
    "40",
    "--repeat",
    "2",
]


def run(capsys, *options):
    status = cli.main(["bench", *options])
    return status, capsys.readouterr()


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    options = [
        "--end-to-end",
        "--store",
        "3000",
        "--kernels",
        "while-while,bvh4",
        "--baseline",
        "bvh4",
        "--rays",
        "primary,ao,photon",
        "--json",
        str(path),
    ]
    assert cli.main(["bench", "cornell", *SMALL, *options]) == 0
    return json.loads(path.read_text())


def test_every_kernel_traces_the_same_rays(figures):
    by_kernel = [
        [(m["kind"], m["rays"]) for m in figures["measurements"] if m["kernel"] == k] for k in ("while-while", "bvh4")
    ]
    assert by_kernel[0] == by_kernel[1]
    counts = dict(by_kernel[0])
    assert counts["primary"] == 48
    assert counts["photon"] == 40
    assert 0 < counts["ao"] <= 96


def test_rates_lie_in_their_range_and_are_over_the_baseline(figures):
    for one in figures["measurements"]:
        assert 0.0 < one["least"] <= one["rate"] <= one["most"]
        base = next(m for m in figures["measurements"] if (m["kernel"], m["kind"]) == ("bvh4", one["kind"]))
        assert one["relative"] == one["rate"] / base["rate"]
        assert one["steps"]["nodes"] > 0.0
        assert 64 * one["steps"]["nodes"] < one["steps"]["bytes"]
        assert 0.0 < one["steps"]["node_efficiency"] <= 1.0
        assert one["bound"] > 100.0 > one["rate"]  # of a GPU, and of its emulator
    assert figures["baseline"] == "bvh4"
    assert [facts["kernel"] for facts in figures["kernels"]] == ["while-while", "bvh4"]
    assert all(facts["nodes"] > 0 for facts in figures["kernels"])


def test_photon_runs_are_timed_end_to_end(figures):
    runs = figures["photon_runs"]
    assert [(run["kernel"], run["dispatch"]) for run in runs] == [("while-while", "emulated"), ("bvh4", "emulated")]
    assert all(0.0 < run["least"] <= run["rate"] <= run["most"] and 0.0 < run["busy"] <= 1.0 for run in runs)


def test_an_interrupt_leaves_what_was_measured(capsys, monkeypatch, tmp_path):
    def until_the_third(tracer, rays, repeats):
        if tracer.name == "if-if":
            raise KeyboardInterrupt
        return Measurement(kernel=tracer.name, kind=rays.kind, rays=48, rate=1.0, least=1.0, most=1.0)

    monkeypatch.setattr(kernel_benchmark, "measure", until_the_third)
    path = tmp_path / "part.json"
    given = [*SMALL, "--rays", "primary", "--kernels", "while-while,bvh4,if-if", "--json", str(path)]
    status, figures = run(capsys, "cornell", *given)
    assert status == 130
    assert "interrupted: what was measured by then" in figures.err
    part = json.loads(path.read_text())
    assert [one["kernel"] for one in part["measurements"]] == ["while-while", "bvh4"]
    assert not part["finished"]
    status, figures = run(capsys, "cornell", *given, "--baseline", "if-if")
    assert status == 130
    assert "what was measured" not in figures.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--kernels", "fastest"], "unknown kernel for device 'emulator' 'fastest'; there are "),
        (["--rays", "primary,gamma"], "unknown kind of rays 'gamma'; there are primary, ao, shadow, bounce1"),
        (
            ["--kernels", "bvh4", "--baseline", "while-while"],
            "--baseline while-while is not among the kernels compared",
        ),
        (["--json", "/no/such/folder/bench.json"], "cannot write '/no/such/folder/bench.json'"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_read(capsys, options, said):
    status, figures = run(capsys, "nosuch.aff", *SMALL, *options)
    assert status == 2
    assert said in figures.err
    assert figures.err.count("\n") == 1


def test_a_scene_that_is_not_there_is_refused(capsys):
    status, figures = run(capsys, "nosuch.aff", *SMALL)
    assert status == 2
    assert "nosuch.aff" in figures.err


@pytest.mark.parametrize("radius", ["0", "-1", "nan", "inf", "far"])
def test_a_radius_is_a_positive_length(capsys, radius):
    with pytest.raises(SystemExit) as ended:
        cli.main(["bench", "cornell", "--ao-radius", radius])
    assert ended.value.code == 2
    assert "expected a positive number" in capsys.readouterr().err


def test_a_scene_need_not_be_named():
    assert [cli.make_parser().parse_args(["bench", *words]).scene for words in ([], ["kitchen"])] == [
        "cornell",
        "kitchen",
    ]


def test_each_device_has_its_kernels():
    assert kernel_names("cpu") == ["bvh8"]
    assert kernel_names("gpu") == kernel_names("emulator") == list(strategy_names())


def test_the_table_is_aligned_and_complete():
    def measured(kernel, kind, rate):
        return Measurement(kernel=kernel, kind=kind, rays=48, rate=rate, least=rate / 2, most=rate * 2)

    ones = [
        measured(k, kind, rate)
        for k, kind, rate in [("a", "ao", 2.0), ("a", "photon", 3.0), ("bb", "ao", 4.0), ("bb", "photon", 1.5)]
    ]
    facts = [
        KernelFacts(kernel=name, nodes=7, tree_bytes=9, sah_cost=1.0, registers=(32, 40), occupancy=(0.5, 1.0))
        for name in ("a", "bb")
    ]
    found = Comparison(device="gpu", baseline="a", kernels=tuple(facts), measurements=tuple(over_baseline(ones, "a")))
    lines = table(found).splitlines()
    assert lines[2].split() == ["a", "2", "(1-4)", "1.00x", "3", "(1.5-6)", "1.00x", "7", "32/40", "50%/100%"]
    assert lines[3].split() == ["bb", "4", "(2-8)", "2.00x", "1.5", "(0.75-3)", "0.50x", "7", "32/40", "50%/100%"]
    assert lines[1].split() == ["rays", "48", "48"]
    columns = [line.index(word) for line, word in zip(lines[2:], ("2 (1", "4 (2"), strict=True)]
    assert all(a == b for a, b in pairwise(columns))
