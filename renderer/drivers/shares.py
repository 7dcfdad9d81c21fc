"""Shares of the work of a pass, that several processes make.

A whole pass is one share. One that is cut has, where it looks at photons, a share for each range of them, then one that
puts all of them into maps, and then its parts, which look up in these maps: photons are traced once and maps are made
once, whatever the number of processes.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from renderer.drivers.driver import Carried, Driver, MadeShare
from renderer.drivers.eye import EyeDriver
from renderer.drivers.pass_photons import PassPhotons, Photons
from renderer.drivers.pass_site import TILE, PassSite
from renderer.drivers.photon import PhotonDriver
from renderer.fleet.fleet import Common
from renderer.photons.lookup import PhotonLookup
from renderer.photons.ranges import PhotonRange
from tracecore.workers.tasks import Team

#: Pixels, one after the other in the order in which they are visited, that are in the same part of a pass.
PART_RUN = 8 * TILE * TILE

#: Passes of a run, which a member adds up before it sends them: so many runs for each member at least, so that all end
#: together; fewest passes, for which the sums are smaller than the passes; and most.
RUNS_OF_MEMBER, LEAST_RUN, MOST_RUN = 8, 8, 256


@dataclass(frozen=True)
class Share:
    """Is a pass, the part of one that a process makes beside others, or a run of passes that it makes and adds up.

    index: of the pass, 0-based; of a run, of its first one.
    part, parts: which part of its pixels, of how many.
    carried: what the pass needs of those before it, where it needs something.
    given: the photons to look up, or None where whoever makes the share is to trace them.
    passes: how many the run has, 1 where it is none.
    """

    index: int
    part: int = 0
    parts: int = 1
    carried: Carried | None = field(default=None, compare=False)
    given: Common[PhotonLookup] | None = field(default=None, compare=False)
    passes: int = 1

    def __str__(self) -> str:
        """Returns its name in words."""
        if self.passes > 1:
            return f"passes {self.index} to {self.index + self.passes - 1}"
        part = "" if self.parts == 1 else f"part {self.part} of {self.parts} of "
        return f"{part}pass {self.index}"


@dataclass(frozen=True)
class PhotonShare:
    """Is a range of the photons of a pass, that are to be traced. index: of the pass, 0-based."""

    index: int
    photons: PhotonRange

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"{self.photons} of pass {self.index}"


@dataclass(frozen=True)
class MapShare:
    """Stands for the maps of a pass, that are to be made of photons which have been traced.

    index: of the pass, 0-based.
    given: all photons, range by range.
    """

    index: int
    given: Common[tuple[Photons, ...]] = field(compare=False)

    def __str__(self) -> str:
        """Returns its name in words."""
        return f"the photon maps of pass {self.index}"


AnyShare = Share | PhotonShare | MapShare


def run_of(passes: int | None, members: int) -> int:
    """Returns how many passes make a run, or 1 where passes are sent one by one.

    passes: of the picture, or None where nobody knows.
    members: that make them.
    """
    run = min(MOST_RUN, (passes or 0) // (RUNS_OF_MEMBER * max(1, members)))
    return run if run >= LEAST_RUN else 1


def part_of(pixels: npt.NDArray[np.int32], share: Share) -> npt.NDArray[np.int32]:
    """Returns those indices of pixels, in their order, that are in the part of a share: runs of them in turn."""
    if share.parts == 1:
        return pixels
    return pixels[np.arange(len(pixels)) // PART_RUN % share.parts == share.part]


def made_shares(driver: Driver, shares: Iterator[AnyShare | None]) -> Generator[MadeShare]:
    """Yields shares of a driver's passes in the order in which they are taken; as many are under way at once as passes
    are.

    shares: None stands for one that is not there yet. A driver that cannot wait for it makes those before it, and no
    more.
    """
    if not isinstance(driver, EyeDriver):
        return driver.passes(share.index for share in known(shares))
    return driver.made_in_order(partial(make_share, driver), shares)


def known(shares: Iterator[AnyShare | None]) -> Iterator[AnyShare]:
    """Yields shares up to the first that is not there yet."""
    return iter(lambda: next(shares, None), None)


def make_share(driver: EyeDriver, share: AnyShare, team: Team) -> MadeShare:
    """Returns what is made of a pass, of a part of it, or of the photons that it looks up."""
    if isinstance(share, Share):
        photon_map = None if share.given is None else share.given.content
        return make_part(driver, share, PassSite(team, part_of(driver.pixels, share), photon_map))
    assert isinstance(driver, PhotonDriver)
    site = PassSite(team, driver.pixels)
    photons = PassPhotons(driver.photon_requests(share.index), driver.emitted, site)
    if isinstance(share, PhotonShare):
        made = MadeShare(photons.trace(share.photons.indices), site.work, {})
    else:  # the site keeps its memory, for what is returned
        photons = replace(photons, traced=share.given.content)
        made = MadeShare(driver.build_maps(share.index, photons), site.work, {})
    if driver.is_sequential:
        team.await_before()  # in the order of the shares, so that each knows that those before are done
    team.release_next()
    return made


def make_part(driver: EyeDriver, share: Share, site: PassSite) -> MadeShare:
    """Returns the pixels of a pass, or those of a part of it alone."""
    if share.carried is not None:
        site.team.await_before()  # what is under way goes on from something else
        driver.take_up(share.index, share.carried)
    image = driver.trace_pass(share.index, site)
    made = driver.finish_pass(share.index, site, image)
    return made if share.parts == 1 else made._replace(values=image[site.pixels])
