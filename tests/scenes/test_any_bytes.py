"""Files of every format with anything in them become sound scenes, or are refused by an error of bad files."""

import pytest
from fuzz_readers import SEEDS, is_scene
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


@pytest.mark.parametrize("suffix", SEEDS)
def test_seeds_are_scenes(tmp_path, suffix):
    for seed in SEEDS[suffix]:
        path = tmp_path / f"a.{suffix}"
        path.write_text(seed)
        assert is_scene(path)


@pytest.mark.parametrize("suffix", SEEDS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1), places=st.lists(PLACES, min_size=1, max_size=4))
def test_changed_files_are_read_or_refused(tmp_path, suffix, seed, places):
    data = SEEDS[suffix][seed % len(SEEDS[suffix])].encode()
    for place, length, new in places:
        place %= len(data) + 1
        data = data[:place] + new + data[place + length :]
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(data)
    is_scene(path)
