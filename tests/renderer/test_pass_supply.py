"""Passes are handed out to members in shares, of which each is there once what it needs has been made."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from renderer.drivers.shares import MOST_RUN, MapShare, PhotonShare, Share, run_of
from renderer.photons.ranges import RANGE_PHOTONS
from renderer.run.members.pass_supply import MOST_SEQUENTIAL, Cutting, PassSupply


def supply(passes: int, first: int = 0, carried: Any = None, **cutting: Any) -> PassSupply:
    cut = Cutting(**({"members": 2, "passes": passes, "photons": 2 * RANGE_PHOTONS} | cutting))
    return PassSupply(cut, first, iter(range(first, passes)), carried)


def taken(supply: PassSupply) -> list[str]:
    """Returns the names of all shares that there are now."""
    names = []
    while (share := supply.take()) is not None:
        names.append(str(share))
    return names


def photons(index: int) -> list[str]:
    return [f"photons 0 to 4095 of pass {index}", f"photons 4096 to 8191 of pass {index}"]


def parts(index: int) -> list[str]:
    return [f"part {part} of 2 of pass {index}" for part in range(2)]


def all_of(supply: PassSupply) -> list[Any]:
    shares = []
    while (share := supply.take()) is not None:
        shares.append(share)
    return shares


def test_whole_passes_come_first_and_the_last_ones_are_cut() -> None:
    one = supply(5)
    assert one.left() == 5
    assert taken(one) == [*(f"pass {index}" for index in range(4)), *photons(4)]
    without_photons = supply(5, photons=0)
    assert taken(without_photons) == [*(f"pass {index}" for index in range(4)), *parts(4)]
    assert taken(supply(5, is_whole=True)) == [f"pass {index}" for index in range(5)]
    assert taken(supply(4)) == [f"pass {index}" for index in range(4)]
    unknown = PassSupply(Cutting(members=2, passes=None, photons=9999), 0, iter(range(3)))
    assert unknown.left() is None
    assert taken(unknown) == [f"pass {index}" for index in range(3)]


def test_passes_of_long_pictures_are_handed_out_as_runs() -> None:
    """But for the last one, which is cut, so that all members end together."""
    assert [run_of(passes, 2) for passes in (None, 127, 128, 10**6)] == [1, 1, 8, MOST_RUN]
    one = supply(35, run=16)
    assert one.left() == 3
    shares = all_of(one)
    assert [(share.index, share.passes) for share in shares[:3]] == [(0, 16), (16, 16), (32, 2)]
    assert list(map(str, shares)) == ["passes 0 to 15", "passes 16 to 31", "passes 32 to 33", *photons(34)]
    one.finish(None, 16)
    assert one.wanted == 16
    for whole in ({"is_sequential": True, "photons": 0}, {"is_whole": True}):
        assert "passes" not in " ".join(taken(supply(35, run=16, **whole)))
    ends_early = PassSupply(Cutting(members=2, passes=64, run=16), 20, iter(range(20, 41)))
    assert [(share.index, share.passes) for share in all_of(ends_early)] == [(20, 16), (36, 5)]


def test_photons_then_maps_then_parts() -> None:
    """Photons are given on in their order, whichever came first."""
    one = supply(1)
    second, first = reversed(all_of(one))
    one.note(second, {"whole": 2})
    assert one.take() is None
    one.note(first, {"whole": 1})
    (maps,) = all_of(one)
    assert isinstance(maps, MapShare)
    assert maps.given.content == ({"whole": 1}, {"whole": 2})  # type: ignore[comparison-overlap]
    assert str(maps) == "the photon maps of pass 0"
    one.note(maps, "lookup")
    made = all_of(one)
    assert [str(part) for part in made] == parts(0)
    assert made[0].given is made[1].given
    assert made[0].given.content == "lookup"
    assert not one._maps  # the shares alone keep it


def test_photons_of_passes_are_traced_ahead_of_what_the_passes_need() -> None:
    one = supply(9, is_sequential=True)
    shares = all_of(one)
    assert [str(share) for share in shares] == [*photons(0), *photons(1), *photons(2)]
    assert MOST_SEQUENTIAL == 3
    for share in shares[:4]:
        one.note(share, {})
    maps = all_of(one)
    assert [share.index for share in maps] == [1, 0]
    one.note(maps[0], "second")
    assert one.take() is None  # it needs the pass before
    one.note(maps[1], "first")
    assert taken(one) == parts(0)
    carried = {"radius2": np.ones(3)}
    one.finish(carried)
    made = all_of(one)
    assert [str(share) for share in made] == [*parts(1), *photons(3)]
    assert made[0].carried is carried
    assert made[0].given.content == "second"


def test_a_picture_goes_on_with_what_passes_before_have_left() -> None:
    one = supply(9, first=4, carried={"a": np.ones(1)}, is_sequential=True, photons=0)
    made = all_of(one)
    assert [str(share) for share in made] == parts(4)
    assert list(made[0].carried) == ["a"]


def test_all_passes_wait_for_the_one_map() -> None:
    one = supply(3, has_one_map=True)
    shares = all_of(one)
    assert [str(share) for share in shares] == photons(0)
    assert all(isinstance(share, PhotonShare) for share in shares)
    for share in shares:
        one.note(share, {})
    one.note(all_of(one)[0], "lookup")
    made = all_of(one)
    assert [str(share) for share in made] == ["pass 0", "pass 1", *parts(2)]
    assert all(isinstance(share, Share) and share.given.content == "lookup" for share in made)  # type: ignore[union-attr]
    assert len({id(share.given) for share in made}) == 1
    assert taken(supply(2, has_one_map=True, is_whole=True)) == ["pass 0", "pass 1"]


def test_after_the_first_pass_that_is_not_to_be_made_none_is() -> None:
    asked = []

    def indices() -> Iterator[int]:
        for index in (0, 1):
            asked.append(index)
            yield index
        asked.append(2)

    one = PassSupply(Cutting(members=2, passes=None), 0, indices())
    assert taken(one) == ["pass 0", "pass 1"]
    assert taken(one) == []
    assert asked == [0, 1, 2]
