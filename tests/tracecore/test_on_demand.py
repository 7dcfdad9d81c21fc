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


def test_a_row_is_what_its_place_names(listed: OnDemand[object]) -> None:
    thing = listed["thing"]
    assert thing is sys.modules["on_demand_module"].thing
    assert listed.get("thing") is thing
    with pytest.raises(KeyError):
        listed["other"]
    with pytest.raises(AttributeError):
        listed["lost"]
