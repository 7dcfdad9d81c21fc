"""The files of `tracecore bench`: a page that stands alone, plots, and what is refused before anything is measured."""

import importlib.util
import io
import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from headless_browser import Browser, browser_program
from markupsafe import escape
from PIL import Image

from renderer import cli
from renderer.bench import files as bench_files
from renderer.bench import view_points
from renderer.bench.answer import answer, what_next
from renderer.bench.dispatch_benchmark import EndToEnd
from renderer.bench.figure_file import gpu_facts
from renderer.bench.kernel_benchmark import Comparison, KernelFacts, KernelMeasurement, PeerFacts, over_baseline
from renderer.bench.page import Circumstances, Figure
from renderer.bench.plot import compact_svg, family, plot_kernels, relative_range
from renderer.bench.report import Pictures, fitted, page
from renderer.bench.table import table
from renderer.bench.workload import WrongRay
from tracecore.analysis.steps import StepsPerRay
from tracecore.cuda import device as gpu_device
from tracecore.emulator.library import emulator_unavailable_reason

HOSTILE = "<script>alert('\"&"


class Page(HTMLParser):
    """Rows of tables, as the texts of their cells; addresses; and tags."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.addresses, self.text = [], [], [], ""
        self._open = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]
        if tag == "tr":
            self.rows.append([])
        self._open = tag
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._open = None

    def handle_data(self, data):
        self.text += data
        if self._open in ("td", "th", "small"):
            self.rows[-1][-1] += data


def measured(kernel, kind, view, rate, **known):
    seconds = tuple(1.0 / (factor * rate) for factor in (0.95, 0.995, 1.0, 1.005, 1.05))
    return KernelMeasurement(
        **{"seconds": seconds} | known,
        kernel=kernel,
        kind=kind,
        view=view,
        rays=48,
        rate=rate,
        least=0.9 * rate,
        most=1.2 * rate,
    )


STEPS = StepsPerRay(nodes=31.5, triangles=4.25, bytes=1234.0, node_efficiency=0.815)
FOUND = Comparison(
    device="gpu",
    baseline="while-while",
    kernels=(
        KernelFacts(
            kernel="while-while", nodes=7, tree_bytes=900, sah_cost=1.5, registers=(32, 40), occupancy=(0.5, 1)
        ),
        KernelFacts(kernel=HOSTILE, nodes=5, tree_bytes=800, sah_cost=2.5),
    ),
    measurements=tuple(
        over_baseline(
            [
                measured("while-while", "ao", "front", 111.0, steps=STEPS, bound=222.0),
                measured("while-while", "ao", HOSTILE, 112.0, steps=STEPS, bound=224.0),
                measured("while-while", "photon", "none", 113.0),
                measured(HOSTILE, "ao", "front", 114.0),
                measured(HOSTILE, "ao", HOSTILE, 115.0),
            ],
            "while-while",
        )
    ),
)
RUN = EndToEnd(kernel="while-while", dispatch="resident", rate=123.4, least=100.0, most=150.0, busy=0.98)
ABOUT = Circumstances(
    command_line=("bench", "a b.aff", HOSTILE), date="2026-01-02", scene=HOSTILE, triangles=36, machine={"GPU": HOSTILE}
)
PICTURES = Pictures(
    plots=[Figure(caption="a plot", content=b"<svg/>", media_type="image/svg+xml")],
    views=[Figure(caption=HOSTILE, content=b"png")],
)


@pytest.fixture(scope="module")
def text():
    return page(replace(FOUND, photon_runs=(RUN,)), ABOUT, PICTURES)


def test_every_measurement_is_on_the_page(text):
    rows = Page(text).rows
    for one in FOUND.measurements:
        row = next(row for row in rows if row[:3] == [one.kernel, one.kind, one.view])
        assert row[3:8] == ["48", *(f"{x:.4g}" for x in (one.rate, one.least, one.most, one.relative))]
    assert ["while-while", "123.4 (100-150)", "98%"] in rows
    counted = next(row for row in rows if row[:3] == ["while-while", "ao", "front"])
    assert counted[8:] == ["31.5", "4.25", "1,234", "81.5%", "–", "222", "50.0%", ""]


def test_names_are_text_and_nothing_else(text):
    parsed = Page(text)
    assert parsed.tags.count("script") == 1
    assert HOSTILE not in text
    assert text.count("&lt;script&gt;alert(") > 8
    assert shlex.join(("tracecore", *ABOUT.command_line)) in parsed.text


def test_the_page_needs_nothing_else(text):
    parsed = Page(text)
    assert len(parsed.addresses) == 2
    assert all(address.startswith("data:image/") for address in parsed.addresses)
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert "link" not in parsed.tags
    assert "$" not in text


def steps(nodes, lanes):
    return StepsPerRay(nodes=nodes, triangles=4.0, bytes=None, node_efficiency=lanes)


def contest(*measurements, **known):
    kernels = [
        KernelFacts(kernel=name, nodes=7, tree_bytes=9, sah_cost=1.0)
        for name in dict.fromkeys(one.kernel for one in measurements)
        if name not in [facts.peer for facts in known.get("peers", ())]
    ]
    base = kernels[0].kernel
    return Comparison(
        **{"device": "gpu", "baseline": base, "kernels": tuple(kernels)} | known,
        measurements=tuple(over_baseline(measurements, base)),
    )


BASE, QUICK, NEXT = (
    measured("while-while", "ao", "front", 100.0, steps=steps(40.0, 0.6), bound=300.0),
    measured("bvh4", "ao", "front", 300.0, steps=steps(20.0, 0.5), bound=303.0),
    measured("persistent-bvh4", "ao", "front", 200.0, steps=steps(20.0, 0.5)),
)


def test_the_answer_says_who_wins_by_how_much_and_why():
    lead, ao, photon = answer(
        contest(
            BASE, QUICK, NEXT, measured("while-while", "photon", "none", 9.0), measured("bvh4", "photon", "none", 8.9)
        )
    )
    assert lead == "Fastest: bvh4 on ao; while-while on photon (the same as bvh4)."
    assert ao == (
        "ao: bvh4 traces 300 million rays per second, 3.00 times the baseline while-while and 1.50 times the runner-up "
        "persistent-bvh4, clearly faster. For it, beside while-while: 20 nodes of a ray instead of 40. Against it: "
        "50.0% of lanes with work at nodes instead of 60.0%."
    )
    assert photon == (
        "photon: while-while, the baseline, traces 9 million rays per second, 1.01 times the runner-up bvh4, the same."
    )


def test_the_answer_says_how_sure_a_lead_is():
    def told(best, second):
        rates = zip(("while-while", "bvh4"), (best, second), strict=True)
        ones = [measured(name, "ao", "front", 9.0, seconds=seconds) for name, seconds in rates]
        return [text.partition(";")[0] for text in answer(contest(replace(ones[0], rate=9.1), ones[1]))]

    rounds = (1.0, 1.001, 0.999, 1.0, 1.0)
    lead, ao = told(rounds, tuple(1.02 * value for value in rounds))
    assert lead == "Fastest: while-while on ao (barely)."
    assert "the runner-up bvh4, barely faster." in ao
    lead, ao = told(rounds[:3], rounds)
    assert lead == "Fastest: while-while on ao."
    assert "the runner-up bvh4, of too few rounds to be sure." in ao


def test_the_answer_owns_up_to_what_it_does_not_know():
    slow = replace(BASE, rate=50.0, steps=steps(20.5, 0.5), bound=None)
    assert answer(contest(slow, QUICK))[1].endswith(
        "6.00 times the baseline and runner-up while-while, clearly faster. Its steps, lanes and bound are like those "
        "of while-while: the reason is not among them."
    )
    worse = replace(slow, steps=steps(10.0, 0.5))
    assert answer(contest(worse, QUICK))[1].endswith(
        "Against it, beside while-while: 20 nodes of a ray instead of 10. What makes it faster is not counted here, "
        "such as time for memory."
    )
    assert "rates of the emulator" in answer(contest(BASE, QUICK, device="emulator"))[0]


def test_a_peer_stands_beside_the_fastest_kernel_and_never_wins():
    peer = PeerFacts(peer="embree", clock="wall time")
    found = contest(BASE, QUICK, measured("embree", "ao", "front", 450.0), peers=(peer,))
    assert answer(found)[0] == "Fastest: bvh4 on ao."
    assert answer(found)[1].endswith("The fastest peer on ao, embree, has 1.50 times the rate of bvh4.")
    alone = contest(BASE, measured("embree", "ao", "front", 50.0), peers=(peer,))
    assert answer(alone) == [
        "Only while-while was measured: there is no other kernel to compare it with.",
        "The fastest peer on ao, embree, has 0.50 times the rate of while-while.",
    ]


WRONG = WrongRay(
    ray=17, origin=(0.5, 0.0, 1.0), direction=(0.0, 0.0, 1.0), expected="hits it", found="hits nothing", differing=9
)


def test_what_is_wrong_takes_no_part():
    """It is no fastest kernel, no baseline, no peer, no ratio, no bar and not the best of a column."""
    blind = replace(QUICK, wrong=WRONG)
    found = contest(BASE, blind, NEXT)
    lead, ao, struck = answer(found)
    assert lead == "Fastest: persistent-bvh4 on ao."
    assert "bvh4 traces 200 million rays per second, 2.00 times the baseline and runner-up while-while, " in ao
    assert struck == (
        "Struck out: bvh4 on ao (view point front), whose hits are wrong: ray 17 from (0.5, 0, 1) along (0, 0, 1) hits "
        "nothing, by the CPU it hits it; 9 rays differ."
    )
    assert found.measurements[1].relative is None
    text = page(found, ABOUT, Pictures())
    assert '<td class="best">200' in text
    assert "<td><s>300</s><br>" in text
    assert escape(struck) in text
    assert re.search(r"^bvh4 +struck out  ", table(found), re.M)
    assert " --kernel persistent-bvh4 " in what_next(found, "cornell", ["bench"])[0]


def test_ratios_to_a_baseline_that_is_wrong_are_none():
    found = contest(replace(BASE, wrong=WRONG), QUICK, NEXT)
    assert [one.relative for one in found.measurements] == [None] * 3
    assert answer(found)[1].startswith("ao: bvh4 traces 300 million rays per second, 1.50 times the runner-up persist")
    assert found.has_wrong_kernels
    nobody = contest(replace(BASE, wrong=WRONG), replace(QUICK, wrong=WRONG))
    assert answer(nobody)[0] == "No kernel has the right hits."
    assert " --kernel auto " in what_next(nobody, "cornell", ["bench"])[0]
    page(nobody, ABOUT, Pictures())
    plot_kernels(nobody, "a title", ".png")


def test_what_to_try_next_is_typed_as_it_stands():
    words = ["bench", "a b.aff", "--repeat", "1"]
    picture, report = what_next(contest(BASE, QUICK), "a b.aff", words)
    assert picture.startswith("tracecore render 'a b.aff' --device gpu --kernel bvh4 ")
    assert report.startswith("tracecore bench 'a b.aff' --repeat 1 --html output/bench.html ")
    (simulation,) = what_next(contest(BASE, device="cpu"), "a b.aff", [*words, "--html=x.html"])
    assert simulation.startswith("tracecore simulate 'a b.aff' ")
    for line in (picture, report, simulation):
        cli.make_parser().parse_args(shlex.split(line.split("    ")[0])[1:])


@pytest.mark.skipif(browser_program() is None, reason="no browser is installed")
def test_a_click_sorts_and_a_box_hides_a_family(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page(contest(BASE, QUICK, NEXT), ABOUT, Pictures()))
    browser = Browser(browser_program(), tmp_path / "profile")  # type: ignore[arg-type]
    rows = "[...document.querySelector('tbody').rows].filter(r => r.checkVisibility()).map(r => r.cells[0].textContent)"
    try:
        browser.open(path.as_uri())
        browser.wait_for("document.readyState === 'complete' && document.title !== ''")
        assert browser.value(rows) == ["while-while", "bvh4", "persistent-bvh4"]
        browser.value("document.querySelectorAll('th')[1].click()")
        assert browser.value(rows) == ["bvh4", "persistent-bvh4", "while-while"]
        browser.value("document.querySelectorAll('th')[1].click()")
        assert browser.value(rows) == ["while-while", "persistent-bvh4", "bvh4"]
        assert browser.value("document.getElementById('families').checkVisibility()")
        browser.value("document.querySelectorAll('#families input')[1].click()")
        assert browser.value(rows) == ["while-while"]
    finally:
        browser.close()


@pytest.mark.skipif(emulator_unavailable_reason() is not None, reason="no emulator")
def test_one_command_writes_everything(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(view_points, "CANDIDATES", 512)
    monkeypatch.setattr(bench_files, "VIEW_SIZE", (24, 18))
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; the extra `plot` brings it")
    files = {option: str(tmp_path / name) for option, name in FILES.items()}
    words = ["bench", "cornell", "--device", "emulator", "--kernels", "while-while", "--rays", "primary,photon"]
    words += ["--size", "8x6", "--photon-rays", "20", "--repeat", "1", "--views", "all,1", "--order", "morton"]
    words += [word for option in files.items() for word in option]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.startswith("kernel")
    figures = json.loads((tmp_path / "bench.json").read_text())
    assert figures["circumstances"]["command_line"] == words
    views = [(one["kind"], one["view"]) for one in figures["measurements"]]
    assert views == [("primary", "front"), ("primary", "view1"), ("photon", "none")]
    parsed = Page((tmp_path / "bench.html").read_text())
    heats = sorted(path.name for path in tmp_path.glob("heat-*.png"))
    assert heats == [
        f"heat-{v}-while-while-{q}.png" for v in ("front", "view1") for q in ("node-steps", "triangle-tests")
    ]
    assert parsed.tags.count("img") == 1 + 2 + len(heats)
    assert shlex.join(["tracecore", *words]) in parsed.text
    for name in (*heats, "bench.png"):
        with Image.open(tmp_path / name) as image:
            image.verify()


FILES = {"--json": "bench.json", "--plot": "bench.png", "--html": "bench.html", "--heatmap": "heat.png"}


@pytest.mark.parametrize(
    ("option", "package"), [("--plot", "matplotlib"), ("--html", "matplotlib"), ("--html", "jinja2")]
)
def test_plots_and_pages_need_packages(capsys, monkeypatch, tmp_path, option, package):
    find_spec = importlib.util.find_spec
    absent = {package}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in absent else find_spec(name))
    assert cli.main(["bench", "nosuch.aff", "--device", "emulator", option, str(tmp_path / FILES[option])]) == 2
    assert f"{option} needs {package}; install it with: pip install {package}" in capsys.readouterr().err


def test_kernels_of_one_source_are_a_family():
    assert family("replacing-speculative-if-if") == family("if-if") != family("while-while")
    assert family("nobody knows") == family("embree") == "others"


def test_bars_end_where_views_or_rounds_do():
    ao, _, photon = (FOUND.measurements[i] for i in (3, 0, 2))
    assert relative_range(FOUND, ao) == pytest.approx((115 / 112, 114 / 111))
    assert relative_range(FOUND, photon) == pytest.approx((0.9, 1.2))


def test_drawings_have_two_digits_and_no_indentation():
    drawing = b'<svg>\n   <path d="M 1.23456 -7.5"/>\n<text>1.2345</text></svg>'
    assert compact_svg(drawing) == b'<svg>\n<path d="M 1.23 -7.5"/>\n<text>1.2345</text></svg>'


def test_the_answer_counts_view_points_at_which_the_lead_holds():
    found = contest(BASE, QUICK, replace(BASE, view="back", rate=90.0), replace(QUICK, view="back", rate=80.0))
    assert "while-while, clearly faster, ahead of it at 1 of 2 view points." in answer(found)[1]


def test_pictures_are_shrunk_until_they_fit_a_page():
    noise = Image.effect_noise((64, 48), 100.0)
    figure = Figure(caption="noise", content=bench_files.png(noise))
    large, small = (fitted(Pictures(views=[figure], heat_maps=[figure]), most) for most in (10**6, 1500))
    for pictures, size in ((large, (64, 48)), (small, (32, 24))):
        for one in (*pictures.views, *pictures.heat_maps):
            with Image.open(io.BytesIO(one.content)) as image:
                assert (image.format, image.size, one.media_type) == ("WEBP", size, "image/webp")
    assert sum(len(one.content) for one in (*small.views, *small.heat_maps)) <= 1500


def test_the_gpu_is_known_by_its_name_and_cuda(monkeypatch):
    monkeypatch.setattr(gpu_device, "gpu_unavailable_reason", lambda: None)
    monkeypatch.setattr(gpu_device, "gpu_name", lambda: "Some GPU")
    monkeypatch.setattr(gpu_device, "device_architecture", lambda: "sm_90")
    monkeypatch.setattr(gpu_device, "cuda_versions", lambda: ("13.1", "13.0"))
    assert gpu_facts() == {"GPU": "Some GPU (sm_90)", "CUDA": "13.0; driver for up to 13.1"}
