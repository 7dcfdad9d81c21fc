"""Seats: which device and which cores each member of a fleet has."""

from __future__ import annotations

import os
from dataclasses import dataclass

from renderer.errors import UsageError
from renderer.settings.setting import LOCAL, MOST_LOCAL
from tracecore.threads import usable_cores


@dataclass(frozen=True)
class Seat:
    """Says where a member works.

    number: of the member, from 0.
    device: as `tracecore.open_tracer` takes it.
    threads: that it has.
    cores: it may run on, or None for all that there are.
    host: its name, where members are on several.
    neighbours: members that its host has, with this one.
    """

    number: int
    device: str
    threads: int
    cores: frozenset[int] | None = None
    host: str = ""
    neighbours: int = 1

    @property
    def name(self) -> str:
        """Returns what the member is called in messages."""
        return f"{self.host}{':' if self.host else ''}{self.number} ({self.device})"


def seats_of_gpus(gpus: int | str, threads: int | None) -> list[Seat]:
    """Returns a seat for each GPU of this host that is to take part.

    gpus: how many, the first ones; or "all".
    threads: of all together, or None for one for each core.

    Raises `UsageError` where there are not so many, and on Windows.
    """
    if os.name == "nt":
        raise UsageError("--gpus hands sockets to its processes, which Windows does not; take --cluster local:N")
    from tracecore.cuda.device import gpu_count, gpu_unavailable_reason
    from tracecore.cuda.topology import cores_near

    reason = gpu_unavailable_reason()
    there = 0 if reason else gpu_count()
    wanted = there if gpus == "all" else int(gpus)
    if wanted == 0 or wanted > there:
        raise UsageError(f"--gpus {gpus}: there are {there} GPUs here{f' ({reason})' if reason else ''}")
    near = [cores_near(index) for index in range(wanted)]
    return seated([f"gpu:{index}" for index in range(wanted)], near, threads)


def seats_of_workers(address: str, device: str, threads: int | None) -> list[Seat]:
    """Returns a seat for each worker of this host, which share its cores and its GPUs out.

    address: "local:N" for N workers.
    device: of each, as `tracecore.open_tracer` takes it.
    threads: of each, or None for its share of the cores.
    """
    count = workers_of(address)
    each = threads or max(1, usable_cores() // count)
    return [Seat(number, device_of(device, number), each, neighbours=count) for number in range(count)]


def device_of(device: str, number: int) -> str:
    """Returns what a worker traces with: one of the GPUs in turn where the device leaves it open which.

    device: of all workers of a host, as `tracecore.open_tracer` takes it.
    number: of the worker on its host.
    """
    if device not in ("auto", "gpu"):
        return device
    from tracecore.cuda.device import gpu_count, gpu_unavailable_reason

    has_gpu = device == "gpu" or gpu_unavailable_reason() is None
    return f"gpu:{number % max(1, gpu_count())}" if has_gpu else "cpu"


def workers_of(address: str) -> int:
    """Returns N of local:N. Raises `UsageError` where that is no number of workers."""
    text = address.removeprefix(LOCAL)
    if not (text.isdecimal() and 1 <= int(text) <= MOST_LOCAL):
        raise UsageError(f"--cluster {address}: expected {LOCAL}N with N from 1 to {MOST_LOCAL}")
    return int(text)


def members_here(gpus: int | str | None, cluster: str | None) -> int:
    """Returns how many members this host will have; 0 where there are none, or where others have started them.

    gpus, cluster: as a picture's settings have them.
    """
    if cluster is not None:
        return workers_of(cluster) if cluster.startswith(LOCAL) else 0
    if gpus == "all":
        from tracecore.cuda.device import gpu_count, gpu_unavailable_reason

        return 0 if gpu_unavailable_reason() else gpu_count()
    return 0 if gpus is None else int(gpus)


def seated(devices: list[str], near: list[frozenset[int]], threads: int | None) -> list[Seat]:
    """Returns a seat for each device; cores are shared out so that each has as many, as near as may be.

    devices: as `tracecore.open_tracer` takes them.
    near: the cores that are near each device; none where that is not known.
    threads: of all together, or None for one for each core.
    """
    cores = shared_out(near, my_cores())
    each = [len(own) if threads is None else max(1, threads // len(devices)) for own in cores]
    return [
        Seat(number, device, each[number] or usable_cores(), cores[number] or None, neighbours=len(devices))
        for number, device in enumerate(devices)
    ]


def my_cores() -> frozenset[int]:
    """Returns the cores that this process may run on; none where the system does not tell."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def shared_out(near: list[frozenset[int]], cores: frozenset[int]) -> list[frozenset[int]]:
    """Returns disjoint sets of cores, one for each device, as many for each; neighbours by number stay together.

    near: the cores near each device; none where that is not known.
    cores: all that there are; with fewer cores than devices each gets all.
    """
    count = len(near)
    each = len(cores) // count
    if each == 0:
        return [cores] * count
    left, shares = set(cores), []
    for own in near:
        # The nearest first, and of these the lowest numbers.
        nearest = sorted(left, key=lambda core: (core not in own, core))[:each]
        left -= set(nearest)
        shares.append(frozenset(nearest))
    return shares
