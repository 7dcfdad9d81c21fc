"""Which kernel is chosen, by what was measured."""

from dataclasses import replace

import pytest

from tracecore.kernels import choice
from tracecore.kernels.choice import DEFAULT_KERNEL, FACTS, LEAD, RateFacts, RayClass, RayWay, choose_kernel
from tracecore.kernels.strategies import strategy_names

SHIPPED = RateFacts(
    architecture="sm_90",
    way=RayWay.RING,
    rays=RayClass.INCOHERENT,
    rates={DEFAULT_KERNEL: 100.0, "bvh4": 200.0},
    source="a test",
)


@pytest.fixture
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts of two architectures that choose differently."""
    older = replace(SHIPPED, architecture="sm_75", rates={"if-if": 3.0, "bvh4": 2.0})
    monkeypatch.setattr(choice, "FACTS", (SHIPPED, older, replace(SHIPPED, way=RayWay.LAUNCH, rates={"warp": 1.0})))


def test_facts_name_kernels_that_there_are_each_once_and_where_they_come_from() -> None:
    for facts in FACTS:
        assert facts.rates.keys() <= {*strategy_names()}
        assert DEFAULT_KERNEL in facts.rates
        assert all(rate > 0.0 for rate in facts.rates.values())
        assert "docs/lab/kernel-choice.md" in facts.source
    assert len({(facts.architecture, facts.way, facts.rays) for facts in FACTS}) == len(FACTS)


@pytest.mark.parametrize(("rays", "name"), [*((rays, "persistent-if-if") for rays in RayClass), (None, DEFAULT_KERNEL)])
def test_the_ring_of_an_h200_chooses_a_kernel_of_binary_trees(rays: RayClass | None, name: str) -> None:
    """What leads alone, as it replaces rays, does not lead there, and compressed trees lead by less than counts."""
    assert choose_kernel("sm_90", rays).name == name


def test_launches_on_an_h200_choose_by_class_of_rays() -> None:
    chosen = {rays: choose_kernel("sm_90", rays, RayWay.LAUNCH).name for rays in RayClass}
    assert chosen == {
        RayClass.COHERENT: "persistent-bvh4",
        RayClass.INCOHERENT: "replacing-compressed-bvh8",
        RayClass.OCCLUSION: "persistent-bvh4",
    }


@pytest.mark.parametrize("rays", RayClass)
def test_waves_that_an_h200_shades_choose_wide_trees(rays: RayClass) -> None:
    """Those of whose waves nothing is known have what launches have."""
    assert choose_kernel("sm_90", rays, RayWay.WAVES).name == "persistent-bvh4"


@pytest.mark.parametrize(("lead", "chosen"), [(LEAD - 0.001, DEFAULT_KERNEL), (LEAD + 0.001, "bvh4")])
def test_a_small_lead_chooses_nothing(lead: float, chosen: str) -> None:
    facts = replace(SHIPPED, rates={"if-if": 90.0, "bvh4": 100.0 * (1.0 + lead), DEFAULT_KERNEL: 100.0})
    assert facts.chosen == chosen


@pytest.mark.parametrize(
    ("architecture", "kernel", "reason"),
    [
        ("sm_90", "bvh4", "auto: incoherent rays, sm_90"),
        ("sm_120", "bvh4", "auto: incoherent rays, sm_90 instead of sm_120"),
        ("sm_80", "if-if", "auto: incoherent rays, sm_75 instead of sm_80"),
    ],
)
@pytest.mark.usefixtures("_known")
def test_an_architecture_that_was_not_measured_takes_the_nearest(architecture: str, kernel: str, reason: str) -> None:
    found = choose_kernel(architecture, RayClass.INCOHERENT)
    assert (found.name, found.reason) == (kernel, reason)


@pytest.mark.usefixtures("_known")
def test_what_was_not_measured_keeps_the_default() -> None:
    found = choose_kernel("sm_90", RayClass.COHERENT)
    assert (found.name, found.reason) == (DEFAULT_KERNEL, "auto: coherent rays, the default as none was measured")
    assert choose_kernel("sm_90", None).reason == "auto: rays of all kinds"


@pytest.mark.usefixtures("_known")
def test_what_was_tuned_goes_first() -> None:
    tuned = [replace(SHIPPED, way=RayWay.LAUNCH, rates={"if-if": 1.0}), replace(SHIPPED, rates={"packet-8": 1.0})]
    found = choose_kernel("sm_90", RayClass.INCOHERENT, tuned=tuned)
    assert (found.name, found.reason) == ("packet-8", "auto: incoherent rays, tuned on this GPU")
    assert choose_kernel("sm_90", RayClass.INCOHERENT, RayWay.LAUNCH, tuned).name == "if-if"
    assert choose_kernel("sm_90", RayClass.OCCLUSION, tuned=tuned).name == DEFAULT_KERNEL


def test_of_kernels_that_are_as_fast_the_first_is_chosen() -> None:
    rates = {"if-if": 90.0, "bvh4": 97.0, "compressed-bvh8": 100.0, DEFAULT_KERNEL: 80.0}
    assert replace(SHIPPED, rates=rates).chosen == "bvh4"
