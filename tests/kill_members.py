"""Kills members of fleets at random times while they make pictures, and looks whether these have the right bits.

    python tests/kill_members.py [--kills 100] [--seed 0] [--fleet host|cluster|both]

A fleet of one host goes on without a member that was killed, so that all but one of its members are killed, and the
next picture has new ones. Of a cluster workers are killed again and again, as Dask's nannies start others in their
places. Pictures are by several drivers, all on the CPU. A line for each picture says how many members were killed
while it was made; the last one sums up. The status is 1 unless all pictures are there and have the
sha256 of one process's.
"""

import argparse
import hashlib
import logging
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psutil

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import renderer
from renderer.errors import RenderError
from renderer.fleet import seats
from renderer.fleet.seats import Seat
from renderer.run.members import open_fleet

#: Members of a fleet, and pictures that they make in turn, of which `sppm` needs each pass for the next one.
MEMBERS, DRIVERS = 4, ("photon", "sppm", "path", "photons-only")

#: What the processes of members run: of a host, and those that Dask's nannies start.
HOST_MEMBER, WORKER = "renderer.fleet.member", "multiprocessing.spawn"

#: Seconds that a worker has been there before it is killed: Dask starts no other one for one that has not come yet.
LEAST_AGE = {"host": 0.0, "cluster": 4.0}

#: Seconds between two kills, on average: members of a host begin in less time than Dask starts a worker.
SECONDS = {"host": 0.7, "cluster": 2.5}

SHARED: dict[str, dict[str, Any]] = {"host": {"gpus": MEMBERS}, "cluster": {"cluster": f"local:{MEMBERS}"}}


@cache
def digest(fleet: str, driver: str, passes: int) -> str:
    """Returns the sha256 of a picture. fleet: "host" or "cluster", or "" for this process."""
    chosen: dict[str, Any] = {"driver": driver, "size": (96, 72), "passes": passes, "quiet": True, "device": "cpu"}
    shared = {"device": "auto", "threads": 1, **SHARED[fleet]} if fleet == "host" else SHARED.get(fleet, {})
    picture = renderer.render("cornell", **chosen | {"threads": 1} | shared)
    return hashlib.sha256(picture.image.tobytes()).hexdigest()


def members(fleet: str) -> list[psutil.Process]:
    """Returns the processes of the members that this process has."""
    words, found = HOST_MEMBER if fleet == "host" else WORKER, []
    for process in psutil.Process().children(recursive=True):
        try:
            is_old = time.time() - process.create_time() >= LEAST_AGE[fleet]
            if is_old and words in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


@contextmanager
def killing(fleet: str, most: int, chance: random.Random) -> Iterator[list[int]]:
    """Kills up to so many members at random times within the block. Yields the list to which their numbers come."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while len(killed) < most and not over.wait(chance.expovariate(1.0 / SECONDS[fleet])):
            there = members(fleet)
            if len(there) > 1:
                one = chance.choice(there)
                one.kill()
                killed.append(one.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


def main(words: list[str] | None = None) -> int:
    """Kills as many members as asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fleet", choices=("host", "cluster", "both"), default="both")
    parser.add_argument("--passes", type=int, default=400, help="of each picture")
    asked = parser.parse_args(words)
    fleets = ("host", "cluster") if asked.fleet == "both" else (asked.fleet,)
    logging.disable(logging.WARNING)
    open_fleet.HAS_SOCKETS = False  # so that the workers of a cluster are Dask's
    seats.seats_of_gpus = lambda gpus, threads: [Seat(number, "cpu", threads or 1) for number in range(int(gpus))]
    chance, kills, wrong, number = random.Random(asked.seed), 0, 0, 0
    while kills < asked.kills:
        driver, fleet = DRIVERS[number // len(fleets) % len(DRIVERS)], fleets[number % len(fleets)]
        number, started = number + 1, time.monotonic()
        right = digest("", driver, asked.passes)
        most = min(MEMBERS - 1 if fleet == "host" else 1 << 30, asked.kills - kills)
        with killing(fleet, most, chance) as killed:
            try:
                found = digest.__wrapped__(fleet, driver, asked.passes)
                verdict = "the same bits" if found == right else "OTHER BITS"
            except RenderError as error:
                found, verdict = "", f"NO PICTURE: {error}"
        kills, wrong = kills + len(killed), wrong + (found != right)
        print(f"{fleet} {driver}: {len(killed)} killed in {time.monotonic() - started:.1f} s, {verdict}", flush=True)
    print(f"{kills} members killed under {number} pictures, of which {wrong} have not the bits of one process's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
