"""When Python looks for garbage."""

import gc
from collections.abc import Iterator

import pytest

from tracecore.collector import collector_paused, modules_kept


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leaves nothing frozen."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_no_garbage_is_looked_for_within_the_block() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_is_imported_is_not_looked_through_again() -> None:
    with modules_kept():
        assert not gc.isenabled()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    assert gc.isenabled()
    kept = [[] for _ in range(1000)]
    with modules_kept():
        pass
    assert gc.get_freeze_count() <= frozen < frozen + len(kept)
