"""How much memory a pass takes, by the fields of its driver, and how many passes may so be under way at once."""

from renderer.drivers.driver import Driver
from renderer.film.layers import LAYER_COLUMNS
from renderer.settings.picture import RenderSettings
from scenes.files.memory import usable_bytes

#: Photons of a pass where the user names no number: so many for each pixel, where memory for them is moderate.
PHOTONS_PER_PIXEL, MOST_USUAL_PHOTONS = 2, 10_000_000

#: Bytes of a photon while a map is made of it: in its store, on its way to a cell, in the map, and its share of cells.
MAP_BYTES = 96

#: Photons that a pass stores for each that it sends out, as long as no pass has told.
STORED_GUESS = 4

#: Pictures in memory for each pass under way: its own, and one that is finished and waits to be added.
IMAGES_OF_PASS = 2

#: Passes under way may take this share of the memory of the machine.
MEMORY_SHARE = 0.4

#: Bytes that a machine is taken to have which does not tell.
USUAL_MEMORY = 1 << 33


def photons_of_a_pass(settings: RenderSettings) -> int:
    """Returns how many photons a pass sends out for a map: what the user says, or by the size of the picture."""
    return settings.photons or min(PHOTONS_PER_PIXEL * settings.width * settings.height, MOST_USUAL_PHOTONS)


def image_bytes(settings: RenderSettings) -> int:
    """Returns how much memory the images of a pass take."""
    return IMAGES_OF_PASS * 8 * LAYER_COLUMNS[settings.layers] * settings.width * settings.height


def pass_bytes(driver: type[Driver], settings: RenderSettings, stored: float = STORED_GUESS) -> int:
    """Returns about how much memory a pass takes, before there is any.

    stored: photons that it stores for each that it sends out.
    """
    has_maps = driver.traces_photons and not driver.has_one_map
    return image_bytes(settings) + (int(MAP_BYTES * stored * photons_of_a_pass(settings)) if has_maps else 0)


def memory_for_passes() -> float:
    """Returns how many bytes the passes under way may take together: a share of what there is, or is allowed."""
    usable = usable_bytes()
    return MEMORY_SHARE * (USUAL_MEMORY if usable is None else usable)


def passes_under_way(driver: type[Driver], threads: int, bytes_of_pass: int, processes: int = 1) -> int:
    """Returns how many passes may be under way at once: as many as there are threads, if memory allows.

    processes: that share the memory.
    """
    return min(threads, int(memory_for_passes() / processes / bytes_of_pass)) if driver.is_concurrent else 1
