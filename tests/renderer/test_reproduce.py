"""`tracecore reproduce`: its tables, published figures and ours, claims of the texts, builders, what it refuses."""

import json
from dataclasses import replace

import pytest
from explained_keys import assert_explained, assert_help_explains
from small_scenes import lamp_in_box

from renderer import cli
from renderer.bench import comparison, figure_keys, reproduction, simulation
from renderer.bench.builder_benchmark import BuiltTree
from renderer.bench.dispatch_benchmark import EndToEnd
from renderer.bench.figure_file import write_figures
from renderer.bench.files import Run
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, KernelMeasurement, PeerFacts, over_baseline
from renderer.bench.literature import AILA_LAINE, BARCZAK, GUNTHER, LIER, PAPERS
from renderer.bench.literature.aila_laine import AILA_LAINE_RATES
from renderer.bench.literature.lier import LIER_REFERENCES
from renderer.bench.literature.paper import Claim
from renderer.bench.ray_generators import KINDS, RayPlan
from renderer.bench.reproduction import Reproduction
from renderer.bench.workload import WrongRay
from tracecore.analysis.instruction_counts import StepInstructions
from tracecore.analysis.steps import StepsPerRay
from tracecore.kernels.strategies import strategy_names

SMALL = ["--device", "emulator", "--size", "8x6", "--ao-rays", "2", "--repeat", "1"]
#: Percentages of table 1 of Aila and Laine, measured of simulated, which the paper prints beside the rates: camera
#: rays, ambient occlusion and diffuse rays of each row, for each scene.
PRINTED_SHARES = {
    "Conference": "43 39 45  53 54 55  70 67 64  71 67 60  82 86 88  81 81 77  86 80 66",
    "Fairy": "53 43 48  58 60 57  73 70 62  74 68 55  86 86 87  85 85 77  89 83 67",
    "Sibenik": "58 41 55  62 62 64  81 77 71  82 75 62  87 89 90  90 91 82  92 90 67",
}
TREES = [
    BuiltTree(
        builder=name,
        seconds=k + 1.0,
        least=k + 0.5,
        most=k + 2.0,
        thread_seconds=None,
        bytes=9.0,
        nodes=9,
        sah_cost=cost,
    )
    for k, (name, cost) in enumerate({"exact": 20.0, "binned": 25.0, "fast": 40.0}.items())
]
COSTS = StepInstructions(ray=60, node=50, leaf=8, triangle=70, inside=20, iteration=8)


def made_of(paper, *, rates=None, **known):
    """A reproduction in which each kernel of a paper has a rate of its own: 1, 2, and so on."""
    rates = rates or {kernel: k + 1.0 for k, kernel in enumerate(paper.rows.values())}
    ones = [
        KernelMeasurement(kernel=kernel, kind=kind, rays=48, rate=rate, least=0.5 * rate, most=2.0 * rate, **known)
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
        command_line=("reproduce", paper.name, "a scene"),
        snapshot=lamp_in_box(),
        views=[],
        plan=RayPlan(size=(8, 6), in_morton_order=True, occlusion_rays=2, radius=1.0, photon_rays=40, seed=0),
        device="emulator",
        baseline=baseline,
        threads=None,
    )
    return Reproduction(paper=paper, run=run, found=found, trees=TREES if paper.has_construction else ())


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_every_row_is_a_kernel_and_has_a_line(paper):
    assert set(paper.rows.values()) <= set(strategy_names())
    assert set(paper.kinds) <= set(KINDS)
    blocks = made_of(paper).blocks
    for head, *rows in blocks:
        assert all(len(row) == len(head) and all(row) for row in rows)
    of_kernels = [rows for head, *rows in blocks if head[1] == "kernel"]
    assert len(of_kernels) >= 1
    for rows in of_kernels:
        assert [(row[0], row[1]) for row in rows[: len(paper.rows)]] == list(paper.rows.items())
        assert all(row[1] == "published" for row in rows[len(paper.rows) :])


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_claims_are_of_rows_and_kinds_of_their_table(paper):
    for claim in paper.claims:
        assert {claim.row, claim.over} <= set(paper.rows)
        assert set(claim.kinds) <= set(paper.kinds)
        assert claim.least is not None or claim.most is not None


def test_published_rates_stand_beside_ours():
    steps = StepsPerRay(nodes=1.0, triangles=1.0, bytes=None, node_efficiency=0.75, triangle_efficiency=0.4)
    primary, ao, _, _ = made_of(AILA_LAINE, bound=20.0, steps=steps).blocks
    heads = ["kernel", "lanes", "simulated", "measured", "of simulated", "Conference", "Fairy", "Sibenik"]
    assert primary[0] == ["primary: 48 rays", *heads]
    rows = {row[0]: row[2:] for row in primary}
    assert rows["while-while"][:4] == ["75/40", "20", "2 (1-4)", "10.0%"]
    assert rows["while-while"][4:] == [
        "78/63; 166.7 -> 88.0 (53%)",
        "74/69; 83.0 -> 47.8 (58%)",
        "82/67; 130.8 -> 81.2 (62%)",
    ]
    assert rows["packet"][4] == "149.2 -> 63.6 (43%)"
    assert rows["persistent if-if"][4:] == ["-", "-", "-"]
    assert {row[0]: row[8] for row in ao}["persistent speculative while-while"] == "70/41; 132.8 -> 119.6 (90%)"


@pytest.mark.parametrize("scene", AILA_LAINE_RATES)
def test_rates_give_the_percentages_that_the_paper_prints(scene):
    """Which is to say that neither was copied wrongly."""
    rates = [rates for of_row in AILA_LAINE_RATES[scene].values() for rates in of_row.values()]
    assert [round(100 * one.of_simulated) for one in rates] == list(map(int, PRINTED_SHARES[scene].split()))
    assert set(AILA_LAINE_RATES[scene]) < set(AILA_LAINE.rows)


def test_claims_hold_within_five_points():
    between = Claim(row="a", over="b", kinds=("primary",), least=1.1, most=1.2)
    assert [between.holds(ratio) for ratio in (1.04, 1.06, 1.24, 1.26)] == [False, True, True, False]
    assert between.range == "1.1 to 1.2"
    assert replace(between, most=1.1).range == "about 1.1"
    below, above = replace(between, least=None), replace(between, most=None)
    assert (below.range, below.holds(0.1), below.holds(1.3)) == ("at most 1.2", True, False)
    assert (above.range, above.holds(0.9), above.holds(9.0)) == ("at least 1.1", False, True)


def test_claims_stand_beside_our_ratios():
    kernels = list(LIER.rows.values())
    rates = dict.fromkeys(kernels, 1.0) | {"grouped-2": 0.97, "grouped-4": 0.5, "bvh4": 2.0}
    head, *rows = made_of(LIER, rates=rates).blocks[-1]
    assert head[3:] == ["published", "single views", "ours", "agrees"]
    by_claim = {(row[0], row[1], row[2]): row[3:] for row in rows}
    two, four, aila = "2 lanes a ray, tree of width 2", "4 lanes, width 4", "Aila, Laine, Karras 2012"
    assert by_claim[two, aila, "primary"] == ["about 1", "at least 0.7", "0.97", "yes"]
    assert by_claim[four, aila, "primary"] == ["about 0.8", "at least 0.7", "0.50", "no"]
    assert by_claim[four, "Guthe 2014", "bounce8"] == ["at least 1.65", "up to 2.7", "0.25", "no"]
    without = made_of(replace(LIER, kinds=("primary",))).blocks[-1]
    assert {row[2] for row in without[1:]} == {"primary"}


STEPS = StepsPerRay(nodes=1.0, triangles=1.0, bytes=2.0, node_efficiency=0.75, triangle_efficiency=0.5)


def with_all_that_there_can_be(found):
    """The same with a peer, one kernel whose steps are known, and one that is known as kernels of a GPU are."""
    of_gpu = replace(found.kernels[0], occupancy=(0.5, 1.0), rays_at_once=(64, 96))
    wrong = WrongRay(
        ray=3, origin=(0.0,) * 3, direction=(0.0,) * 3, expected="hits nothing", found="hits nothing", differing=1
    )
    counted = replace(found.measurements[0], steps=STEPS, wrong=wrong)
    return replace(
        found,
        kernels=(of_gpu, *found.kernels[1:]),
        measurements=(counted, *found.measurements[1:]),
        peers=(PeerFacts(peer="embree", clock="a clock"),),
    )


def test_there_is_no_table_of_a_kernel_that_is_wrong(monkeypatch, capsys):
    found = with_all_that_there_can_be(made_of(GUNTHER).found)
    monkeypatch.setattr(reproduction, "measured", lambda *_: found)
    assert cli.main(["reproduce", "gunther-2007", "cornell", *SMALL]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no table, as a kernel is wrong. Struck out: while-while on primary" in said.err


def test_the_help_explains_every_key_of_the_file(tmp_path, capsys):
    files = []
    for paper in PAPERS.values():
        made = made_of(paper)
        files.append(tmp_path / f"{paper.name}.json")
        figures = replace(made, found=with_all_that_there_can_be(made.found)).as_dict()
        write_figures(files[-1], made.run.circumstances, figures)
        assert_help_explains(f"reproduce {paper.name}", figure_keys.REPRODUCE, capsys)
    assert_explained([json.loads(file.read_text()) for file in files], figure_keys.REPRODUCE)
    assert_help_explains("reproduce", figure_keys.REPRODUCE, capsys)


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
    published = {row[1]: row[-1] for row in rows}
    assert (published["packet-8"], published["warp-triangles-8"]) == ("about 1", "about 1.25")


@pytest.fixture
def few_rows(monkeypatch):

    def cut(paper, rows):
        monkeypatch.setitem(PAPERS, paper.name, replace(paper, rows=rows, claims=()))

    return cut


def test_a_table_is_printed_and_written(few_rows, monkeypatch, capsys, tmp_path):
    few_rows(AILA_LAINE, {"packet": "packet-8", "while-while": "while-while"})
    monkeypatch.setattr(simulation, "step_instructions", lambda *_: COSTS)
    figures, page = tmp_path / "table.json", tmp_path / "table.md"
    files = ["--json", str(figures), "--markdown", str(page), "--bound-rays", "64"]
    assert cli.main(["reproduce", "aila-laine-2009", "cornell", *SMALL, *files]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].startswith("Aila, Laine: Understanding")
    assert all(note in printed and note in page.read_text() for note in AILA_LAINE.notes)
    assert [line.split()[0] for line in printed.splitlines() if "of simulated" in line] == [
        "primary:",
        "ao:",
        "diffuse:",
    ]
    found = json.loads(figures.read_text())
    assert [(one["kernel"], one["kind"]) for one in found["measurements"]] == [
        (kernel, kind) for kernel in ("packet-8", "while-while") for kind in AILA_LAINE.kinds
    ]
    assert found["measurements"][0]["rays"] == 48
    assert all(one["bound"] > one["rate"] for one in found["measurements"])
    assert found["published"][-1] == {
        "scene": "Sibenik",
        "row": "persistent speculative while-while",
        "kind": "diffuse",
        "efficiency": [57, 40],
        "simulated": 70.0,
        "measured": 46.8,
    }
    lines = page.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| while-while | while-while | ")]
    assert [row.split(" | ")[6] for row in rows] == [
        "78/63; 166.7 -> 88.0 (53%)",
        "57/39; 160.7 -> 86.3 (54%)",
        "42/35; 81.4 -> 44.5 (55%)",
    ]
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
    figures = capsys.readouterr().out
    assert "made plain" in figures
    assert "2 (1-3)" in figures
