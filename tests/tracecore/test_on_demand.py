"""What a registry lists is imported when it is asked for."""

import sys
from pathlib import Path

import pytest

from tracecore.on_demand import OnDemand


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDemand[object]:
    (tmp_path / "on_demand_module.py").write_text("thing = object()")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "on_demand_module", raising=False)
    return OnDemand({"thing": "on_demand_module:thing", "lost": "on_demand_module:lost"})


def test_names_import_nothing(listed: OnDemand[object]) -> None:
    assert (list(listed), len(listed), "thing" in listed, "other" in listed) == (["thing", "lost"], 2, True, False)
    assert "on_demand_module" not in sys.modules


def test_a_row_is_what_its_place_names(listed: OnDemand[object]) -> None:
    thing = listed["thing"]
    assert thing is sys.modules["on_demand_module"].thing
    assert listed.get("thing") is thing
    with pytest.raises(KeyError):
        listed["other"]
    with pytest.raises(AttributeError):
        listed["lost"]


def test_what_is_put_in_later_is_itself(listed: OnDemand[object]) -> None:
    listed["own"] = own = object()
    assert listed["own"] is own
    assert list(listed) == ["thing", "lost", "own"]
