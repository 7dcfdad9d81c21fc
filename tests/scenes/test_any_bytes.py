"""Files of every format with anything in them are read soundly, or are refused by an error of bad files."""

from pathlib import Path

import pytest
from fuzz_readers import FORMATS, archive_of, members_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

#: Where a piece of a file is taken out, how long it is, and what comes in its place.
PLACES = st.tuples(
    st.integers(0, 2000),
    st.integers(0, 12),
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from(
            [b"", b" nan ", b" -1 ", b" 1e39 ", b" 99999999999 ", b"\n", b'"', b"<", b"{", b"}", b"[", b"\\"]
        ),
    ),
)
CHANGES = st.lists(PLACES, min_size=1, max_size=4)
ARCHIVES = [name for name, kind in FORMATS.items() if kind.is_archive]

often = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def changed(data: bytes, places: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, new in places:
        place %= len(data) + 1
        data = data[:place] + new + data[place + length :]
    return data


def seeds_of(name: str, folder: Path) -> list[bytes]:
    return list(FORMATS[name].seeds(folder))


@pytest.mark.parametrize("name", FORMATS)
def test_seeds_are_read(tmp_path, name):
    kind = FORMATS[name]
    for seed in seeds_of(name, tmp_path):
        path = tmp_path / f"a.{kind.suffix}"
        path.write_bytes(seed)
        assert kind.is_read(path)


@pytest.mark.parametrize("name", FORMATS)
@often
@given(seed=st.integers(0, 1), places=CHANGES)
def test_changed_files_are_read_or_refused(tmp_path, name, seed, places):
    seeds = seeds_of(name, tmp_path)
    path = tmp_path / f"a.{FORMATS[name].suffix}"
    path.write_bytes(changed(seeds[seed % len(seeds)], places))
    FORMATS[name].is_read(path)


@pytest.mark.parametrize("name", ARCHIVES)
@often
@given(which=st.integers(0, 9), places=CHANGES)
def test_archives_of_changed_arrays_are_read_or_refused(tmp_path, name, which, places):
    """Their checksums are right."""
    members = members_of(seeds_of(name, tmp_path)[0])
    array = sorted(members)[which % len(members)]
    path = tmp_path / f"a.{FORMATS[name].suffix}"
    path.write_bytes(archive_of(members | {array: changed(members[array], places)}))
    FORMATS[name].is_read(path)
