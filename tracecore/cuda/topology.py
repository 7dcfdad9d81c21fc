"""Which cores of the host are near a GPU, as Linux tells it."""

from pathlib import Path

from tracecore.cuda.driver import installed_driver

#: Where Linux has a folder for each device of the bus.
PCI_DEVICES = Path("/sys/bus/pci/devices")


def cores_near(index: int, devices: Path = PCI_DEVICES) -> frozenset[int]:
    """Returns the cores that share a memory controller with a GPU; none where that is not known.

    index: of the GPU, from 0.
    devices: folder of the devices of the bus.
    """
    try:
        address = installed_driver().bus_address(index).lower()
        return read_cores((devices / address / "local_cpulist").read_text())
    except (OSError, RuntimeError, ValueError):
        return frozenset()


def read_cores(text: str) -> frozenset[int]:
    """Returns the cores of a list such as "0-3,8,10-11". Raises `ValueError` for what is none."""
    ranges = [part.split("-") for part in text.strip().split(",") if part]
    return frozenset(core for first, *last in ranges for core in range(int(first), int((last or [first])[0]) + 1))
