"""`tracecore reproduce`: its tables, the marks of published figures, what it refuses."""

import json
from dataclasses import replace

import pytest
from small_scenes import lamp_in_box

from renderer import cli
from renderer.bench import comparison, simulation
from renderer.bench.end_to_end import EndToEnd
from renderer.bench.files import Run
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, Measurement, over_baseline
from renderer.bench.literature import (
    AILA_LAINE,
    AILA_LAINE_RATES,
    BARCZAK,
    GUNTHER,
    LIER,
    LIER_REFERENCES,
    PAPERS,
    Mark,
)
from renderer.bench.ray_generators import KINDS, RayPlan
from renderer.bench.reproduction import BLOCKS, Reproduction
from tracecore.analysis.instruction_counts import StepInstructions
from tracecore.analysis.steps import StepsPerRay
from tracecore.kernels.strategies import strategy_names

SMALL = ["--device", "emulator", "--size", "8x6", "--ao-rays", "2", "--repeat", "1"]
COSTS = StepInstructions(ray=60, node=50, leaf=8, triangle=70, inside=20, turn=8)


def made_of(paper, *, rates=None, **known):
    """A reproduction in which each kernel of a paper has a rate of its own: 1, 2, and so on."""
    rates = rates or {kernel: k + 1.0 for k, kernel in enumerate(paper.rows.values())}
    ones = [
        Measurement(kernel=kernel, kind=kind, rays=48, rate=rate, least=0.5 * rate, most=2.0 * rate, **known)
        for kernel, rate in rates.items()
        for kind in paper.kinds
    ]
    facts = [
        KernelFacts(kernel=kernel, nodes=7, tree_bytes=2_500_000, sah_cost=1.5, build_seconds=0.25, registers=(32, 40))
        for kernel in rates
    ]
    runs = [
        EndToEnd(kernel=kernel, dispatch=dispatch, rate=rate * speed, least=1, most=99, busy=0.5)
        for kernel, rate in rates.items()
        for dispatch, speed in (("streamed", 2.0), ("resident", 10.0))
    ]
    baseline = next(iter(rates))
    found = Comparison(
        device="emulator",
        baseline=baseline,
        kernels=tuple(facts),
        measurements=tuple(over_baseline(ones, baseline)),
        photon_runs=tuple(runs) if paper.has_photon_run else (),
    )
    run = Run(
        words=("reproduce", paper.name, "a scene"),
        snapshot=lamp_in_box(),
        views=[],
        plan=RayPlan(size=(8, 6), in_morton_order=True, occlusion_rays=2, radius=1.0, photon_rays=40, seed=0),
        device="emulator",
        baseline=baseline,
        threads=None,
    )
    return Reproduction(paper=paper, run=run, found=found)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_every_row_is_a_kernel_and_has_a_line(paper):
    assert set(paper.rows.values()) <= set(strategy_names())
    assert set(paper.kinds) <= set(KINDS)
    blocks = BLOCKS[paper.name](paper.rows, made_of(paper).found, made_of(paper).run)
    for head, *rows in blocks:
        assert [(row[0], row[1]) for row in rows] == list(paper.rows.items())
        assert all(len(row) == len(head) and all(row) for row in rows)


def test_published_rates_stand_beside_ours_and_say_how_they_are_known():
    primary, ao, diffuse = made_of(AILA_LAINE, bound=20.0).blocks
    assert primary[0] == [
        "primary: 48 rays",
        "kernel",
        "simulated",
        "measured",
        "of simulated",
        "Conference",
        "Sibenik",
    ]
    rows = {row[0]: row[2:] for row in primary}
    assert rows["while-while"] == ["20", "2 (1-4)", "10.0%", "166.7 -> 88.0 (53%)", "-"]
    assert rows["persistent if-if"][3:] == ["-", "-"]
    recalled = {row[0]: row[5:] for row in ao}
    assert recalled["persistent while-while"] == ["160.7? -> 130.7? (81%?)", "-"]
    assert recalled["persistent speculative while-while"] == ["169.1? -> 134.5? (80%?)", "- -> 119.6?"]
    assert [row[5] for row in diffuse[1:4]] == ["36.7 -> 16.6 (45%)", "81.4 -> 44.5 (55%)", "70.5 -> 45.3 (64%)"]


def test_only_what_is_marked_as_recalled_has_a_question_mark():
    marks = {
        (scene, row, kind): rates.mark
        for scene, of_scene in AILA_LAINE_RATES.items()
        for row, of_row in of_scene.items()
        for kind, rates in of_row.items()
    }
    assert {row for _, row, _ in marks} <= set(AILA_LAINE.rows)
    for kind, (head, *rows) in zip(AILA_LAINE.kinds, made_of(AILA_LAINE).blocks, strict=True):
        for row in rows:
            for scene, cell in zip(head[5:], row[5:], strict=True):
                assert ("?" in cell) == (marks.get((scene, row[0], kind)) is Mark.RECALLED)
                assert (cell == "-") == ((scene, row[0], kind) not in marks)
    assert any(note.startswith("?: recalled, not checked against the paper") for note in AILA_LAINE.notes)
    assert any("as quoted by others; the paper was not at hand" in note for note in AILA_LAINE.notes)


def test_without_a_bound_there_is_a_dash():
    assert made_of(AILA_LAINE).blocks[0][1][2:5] == ["-", "1 (0.5-2)", "-"]


def test_every_kernel_is_compared_with_each_reference():
    head, *rows = made_of(LIER).blocks[0]
    assert head[3:] == ["over Aila 2012", "over Ylitie 2017", "over Guthe 2014"]
    kernels = list(LIER.rows.values())
    assert kernels[0] == "replacing-while-while"
    for row in rows:
        rate = kernels.index(row[1]) + 1
        assert row[3:] == [f"{rate / (kernels.index(name) + 1):.2f}" for name in LIER_REFERENCES.values()]


def test_photon_runs_and_kernels_are_compared_with_a_ray_per_lane():
    ((head, *rows),) = made_of(BARCZAK).blocks
    assert head[2:] == [
        *("streamed", "busy", "over the first"),
        *("resident", "busy", "over the first"),
        *("alone: 48 rays", "over the first", "published"),
    ]
    assert rows[0][1] == "while-while"
    assert rows[2][2:] == ["6 (1-99)", "50%", "3.00", "30 (1-99)", "50%", "3.00", "3 (1.5-6)", "3.00", "-"]


def test_frames_and_lanes_follow_from_rates_and_steps():
    steps = StepsPerRay(nodes=1.0, triangles=1.0, bytes=None, node_efficiency=0.75)
    trees, frames, lanes = made_of(GUNTHER, steps=steps).blocks
    assert trees[0][0] == "12 triangles"
    assert trees[1][2:] == ["7", "2.5", "1.5", "0.25", "-"]
    assert frames[2][2:] == ["2 (1-4)", "4.167e+04", "2.083e+04", "32/40", "-"]  # 2e6 / 48, and with 48 shadow rays
    assert lanes[0][2:4] == ["primary: nodes", "primary: triangles"]
    assert lanes[1][2:] == ["25.0%", "-", "25.0%", "-", "-"]


def test_without_lights_there_are_no_frames_with_shadows():
    made = made_of(replace(GUNTHER, kinds=("primary",)))
    _, frames, lanes = made.blocks
    assert frames[1][3:5] == ["2.083e+04", "-"]
    assert len(lanes[0]) == 5


@pytest.fixture
def few_rows(monkeypatch):
    """So that it is quick."""

    def cut(paper, rows):
        monkeypatch.setitem(PAPERS, paper.name, replace(paper, rows=rows))

    return cut


def test_a_table_is_printed_and_written(few_rows, monkeypatch, capsys, tmp_path):
    few_rows(AILA_LAINE, {"packet": "packet-8", "while-while": "while-while"})
    monkeypatch.setattr(simulation, "step_instructions", lambda *_: COSTS)
    figures, page = tmp_path / "table.json", tmp_path / "table.md"
    files = ["--json", str(figures), "--markdown", str(page), "--bound-rays", "64"]
    assert cli.main(["reproduce", "aila-laine-2009", "cornell", *SMALL, *files]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[0].startswith("Aila, Laine: Understanding")
    assert all(note in told and note in page.read_text() for note in AILA_LAINE.notes)
    assert [line.split()[0] for line in told.splitlines() if "of simulated" in line] == ["primary:", "ao:", "diffuse:"]
    found = json.loads(figures.read_text())
    assert [(one["kernel"], one["kind"]) for one in found["measurements"]] == [
        (kernel, kind) for kernel in ("packet-8", "while-while") for kind in AILA_LAINE.kinds
    ]
    assert found["measurements"][0]["rays"] == 48
    assert all(one["bound"] > one["rate"] for one in found["measurements"])
    assert {"scene": "Sibenik", "mark": "recalled, not checked against the paper"}.items() <= found["published"][
        -1
    ].items()
    lines = page.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| while-while | while-while | ")]
    assert [row.split(" | ")[5] for row in rows] == ["166.7 -> 88.0 (53%)", "160.7 -> 86.3 (54%)", "81.4 -> 44.5 (55%)"]
    assert any(line.startswith("    tracecore reproduce aila-laine-2009 cornell") for line in lines)


def test_photons_are_traced_in_a_plain_scene(few_rows, monkeypatch, capsys, tmp_path):
    asked = []

    def photon_run(snapshot, device, kernels, **options):
        asked.append((len(snapshot.positions), device, kernels, options["photons"], options["repeats"]))
        return [EndToEnd(kernel="while-while", dispatch="emulated", rate=2.0, least=1.0, most=3.0, busy=0.5)]

    few_rows(BARCZAK, {"a ray per lane": "while-while"})
    monkeypatch.setattr(comparison, "end_to_end", photon_run)
    path = tmp_path / "table.json"
    options = ["--photon-rays", "500", "--store", "20000", "--json", str(path)]
    assert cli.main(["reproduce", "barczak-2016", "cornell", *SMALL, *options]) == 0
    found = json.loads(path.read_text())
    assert asked == [(18060 + 2, "emulator", ["while-while"], 20000, 1)]  # two of the light
    assert found["circumstances"]["triangles"] == 18060 + 2
    assert [run["rate"] for run in found["photon_runs"]] == [2.0]
    assert [(alone["kind"], alone["rays"]) for alone in found["measurements"]] == [("photon", 500)]
    told = capsys.readouterr().out
    assert "made plain" in told
    assert "2 (1-3)" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["whitted-1980", "cornell"], "invalid choice: 'whitted-1980'"),
        (["lier-2018", "cornell", "--store", "9"], "unrecognized arguments: --store 9"),
        (["barczak-2016", "cornell", "--store", "9"], "expected a whole number from 20000"),
        (
            ["lier-2018", "nosuch.aff", "--device", "cpu"],
            "the CPU does not have the kernels of the papers; use --device",
        ),
        (["lier-2018", "nosuch.aff", "--device", "emulator", "--camera", "a", "--views", "2"], "cannot both be given"),
        (["lier-2018", "nosuch.aff", "--device", "emulator", "--json", "/no/such/a.json"], "cannot write '/no/such"),
        (["lier-2018", "nosuch.aff", "--device", "emulator", "--markdown", "/no/such/a.md"], "cannot write '/no/such"),
        (["lier-2018", "nosuch.aff", "--device", "emulator"], "nosuch.aff"),
    ],
)
def test_what_cannot_be_is_refused_at_once(capsys, words, said):
    try:
        status = cli.main(["reproduce", *words])
    except SystemExit as ended:
        status = ended.code
    told = capsys.readouterr()
    assert status == 2
    assert said in told.err
    assert told.err.count("\n") == 1
