"""The page of `tracecore bench pictures`: its answer first, from figures that are known, and all that it shows."""

import re

import pytest
from test_bench_report import HOSTILE, Page

from renderer.bench.page import Circumstances, Figure
from renderer.bench.picture_report import answer, duration, page, race, seconds_until, target_of
from renderer.bench.picture_scenes import THREAD_SECONDS

ABOUT = Circumstances(
    command_line=("bench", "pictures", HOSTILE), date="2026-01-02", scene="box", triangles=36, machine={"GPU": HOSTILE}
)
PLOT = Figure(caption="8 x 6 pixels", content=b"<svg/>", media_type="image/svg+xml")


def errors(*points):
    """What a row has of (passes, seconds, error)."""
    return [{"passes": passes, "seconds": seconds, "error": error} for passes, seconds, error in points]


def picture(scene, driver, device, *points, **known):
    usual = {"least": 0.9 * points[-1][1], "most": 1.1 * points[-1][1], "rays": 10**6, "rays_per_second": 2e6}
    usual |= {"noise": 0.05, "busy": 0.5, "limited_by": "shading", "passes": points[-1][0]}
    usual |= dict.fromkeys(THREAD_SECONDS, 0.125) | {"scene": scene, "driver": driver, "device": device}
    return usual | {"seconds": points[-1][1], "errors": errors(*points)} | known


def peer(scene, name, device, *points):
    return {"scene": scene, "peer": name, "device": device, "errors": errors(*points)}


#: On the box all reach 10%: after 1 s, after sqrt(2 * 8) s, and after 8 s.
QUICK = picture("box", "path", "gpu", (1, 0.25, 0.4), (4, 1.0, 0.1), (16, 4.0, 0.02), rays_per_second=8e6)
SLOW = picture("box", "path", "cpu", (1, 2.0, 0.2), (4, 8.0, 0.05))
LAST = picture("box", "photon", "cpu", (1, 2.0, 0.3), (4, 8.0, 0.1))
MITSUBA = peer("box", "mitsuba llvm", "cpu", (4, 1.0, 0.2), (16, 3.0, 0.1))
BOX = [QUICK, SLOW, LAST, MITSUBA]
HALL = [picture("hall", "photon", "cpu", (1, 1.0, 0.3), (4, 4.0, 0.2))]
ALL = [*BOX, *HALL, picture(HOSTILE, "photon", "cpu", (1, 1.0, 0.3))]


def test_the_time_until_an_error_is_between_two_pictures():
    assert target_of(BOX) == 0.1
    assert seconds_until(QUICK, 0.1) == pytest.approx(1.0)
    assert seconds_until(SLOW, 0.1) == pytest.approx(4.0)
    assert seconds_until(SLOW, 0.5) == 2.0
    assert seconds_until(SLOW, 0.01) is None
    assert seconds_until(picture("box", "ao", "cpu", (1, 1.0, 0.2), (2, 3.0, 0.0)), 0.1) == 3.0
    assert [one.maker for one in race(BOX)] == [
        "path on the gpu",
        "mitsuba llvm on the cpu",
        "path on the cpu",
        "photon on the cpu",
    ]


def test_the_answer_says_who_is_first_and_by_how_much():
    assert answer([*BOX, *HALL]) == [
        "First to the error that all reach: path on the gpu in box; photon on the cpu in hall.",
        "box: path on the gpu has an error of 10.00% after 1 s, 4.00 times as fast as path on the cpu. The least error "
        "is that of path on the gpu, 2.00% after 4 s. The fastest peer, mitsuba llvm on the cpu, takes 3.00 times as "
        "long.",
        "hall: photon on the cpu has an error of 20.00% after 4 s; nothing else was measured.",
    ]


def test_the_answer_owns_up_to_what_is_alike_or_never_reached():
    near = picture("box", "sppm", "gpu", (1, 0.25, 0.4), (4, 1.02, 0.1))
    late = peer("box", "luxcore", "cpu", (4, 1.0, 0.4))
    (_, box) = answer([QUICK, near, late])
    assert "path on the gpu has an error of 10.00% after 1 s, and sppm on the gpu is as fast." in box
    assert box.endswith("No peer has reached it.")
    assert answer([]) == []


@pytest.fixture(scope="module")
def text():
    return page(ALL, ABOUT, PLOT)


def test_every_figure_is_on_the_page(text):
    rows = Page(text).rows
    assert ["path on the gpu", "1 s", "4 s3.6 – 4.4", "2.00%", "5.00%", "16", "8", "50%"] in rows
    assert ["mitsuba llvm on the cpu", "3 s", "3 s", "10.00%", "–", "16", "–", "–"] in rows
    assert ["path on the gpu", "shading", *["0.125"] * len(THREAD_SECONDS)] in rows
    assert ["photon on the cpu", "hall", "4", "4 s", "20.000%"] in rows


def test_the_page_stands_alone_and_names_are_text(text):
    parsed = Page(text)
    assert parsed.addresses[0].startswith("data:image/svg+xml")
    assert len(parsed.addresses) == 1
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert HOSTILE not in text
    assert parsed.tags.count("script") == 1
    assert "$" not in text


def test_seconds_are_written_as_people_write_them():
    assert duration(12345.6) == "12,300 s"
