"""This module says how much memory a picture takes at its peak, before anything of it is made, and refuses what does
not fit.

What the program itself takes, its code and libraries, is not in it. Figures of bytes are measured, see
docs/lab/reliability.md.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from renderer.errors import UsageError
from scenes.files.memory import free_bytes, gigabytes, needed_bytes, usable_bytes

if TYPE_CHECKING:
    from renderer.drivers.driver import Driver, RenderSettings
    from scenes.model import Snapshot

#: Bytes of the program: its code, what it has compiled, and libraries.
PROGRAM_BYTES = 210_000_000
#: Bytes of a texel: as it was read, as eye paths look it up (three float32, beside what they are decoded to while they
#: are packed), as photons do, and what decoding takes; and how many times as many there are with the coarser images of
#: a mip filter.
TEXEL_BYTES, MIP_SHARE = 3 + 12 + 12 + 4 + 14, 4 / 3
#: Bytes of a photon that is kept by a photon run, and of one of the round under way, on its way to its place; and how
#: many are stored of each that is sent out, where walls are of middling grey: by a run, and by a pass, which leaves out
#: where lights shine straight to.
KEPT_BYTES, ROUND_BYTES = 24, 46
STORED_BY_RUN, STORED_BY_PASS = 2.0, 0.85
#: Bytes of a photon that several processes have traced, while one of them makes the map that all share, in all
#: processes together; and where photons are traced ahead of a pass, what is there of other passes meanwhile.
SHARED_MAP_BYTES, AHEAD_BYTES = 200, 56
#: Bytes of a triangle on a GPU with its share of the tree: 48 of its own, and of nodes 2 to 64, by kernel and scene.
#: Batches that a thread has there at once.
GPU_TRIANGLE_BYTES, GPU_BATCHES = 96, 4
#: Bytes of a triangle while a GPU builds the tree, and names of the builders that it may be.
GPU_BUILD_BYTES, GPU_BUILDERS = 380, ("ploc",)
#: Paths of a wave that a large GPU shades; bytes of one there, and of each of its shadow rays.
WAVE_PATHS, PATH_BYTES, SHADOW_BYTES = 144 * 12 * 512, 232, 120
#: Sums of the film, two numbers each, with room for the next one: of a column of the picture, which has one for either
#: half of the passes, and of one beside it. Bytes of a pixel while files are made of them.
FILM_SUMS, FEATURE_SUMS, FILE_BYTES = 8, 4, 80
#: Columns that a half of an adaptive film has beside those of the picture (`renderer.film.adaptive`).
ADAPTIVE_COLUMNS = 4
#: Films of each member that adds its passes up: one that is made, and one on its way.
RUNS_AT_ONCE = 2

#: Frames of a sequence whose files are written at once, each by a thread of its own; where processes share them out.
WRITERS, MEMBERS_WRITERS = 2, 4

#: What helps where there is too little memory for a picture.
REMEDY = "use a smaller --size, fewer --photons or a smaller scene"


class Sharing(NamedTuple):
    """Says which processes of this host make pictures.

    members: that do, beside this one; 0 where it does so alone.
    is_by_frames: whether each of them makes frames of its own, or this process does, with the next ones ready.
    """

    members: int = 0
    is_by_frames: bool = False


ALONE = Sharing()


@dataclass(frozen=True)
class Estimate:
    """Holds how many bytes each part takes at the peak, in all processes of this host together.

    parts: by what it is.
    processes: how many there are.
    """

    parts: dict[str, int]
    processes: int = 1

    @property
    def total(self) -> int:
        """Returns the bytes of all parts."""
        return sum(self.parts.values())

    @property
    def of_program(self) -> int:
        """Returns the bytes of the program itself."""
        return PROGRAM_BYTES * self.processes

    def __str__(self) -> str:
        """Returns the estimate on one line."""
        parts = ", ".join(f"{name} {gigabytes(size)}" for name, size in self.parts.items() if size >= 50_000_000)
        return f"about {gigabytes(self.total)}{f' ({parts})' if parts else ''}"


def scene_bytes(snapshot: "Snapshot") -> dict[str, int]:
    """Returns the bytes of a scene that is ready to be traced, by its parts."""
    texels = sum(
        texture.pixels.shape[0] * texture.pixels.shape[1] * (MIP_SHARE if texture.filter == "mip" else 1.0)
        for texture in snapshot.textures
    )
    return {"triangles": needed_bytes(len(snapshot.positions)), "textures": int(TEXEL_BYTES * texels)}


def picture_bytes(
    snapshot: "Snapshot",
    driver: "type[Driver]",
    settings: "RenderSettings",
    most_passes: int | None = None,
    sharing: Sharing = ALONE,
) -> Estimate:
    """Estimates a picture of a snapshot by a driver.

    settings: of the driver, in each process that makes passes.
    most_passes: that are made, or None for no end.
    sharing: says which processes of this host make it.
    """
    from renderer.film.layers import LAYER_ALBEDO, columns_of

    width, height = settings.film_size
    processes, pictures, members = sharing.members + 1, 1, sharing.members
    if sharing.is_by_frames:
        pictures, members = max(1, sharing.members), 0  # of each picture
    is_opened_ahead = sharing.is_by_frames and processes == 1
    films = 1 + WRITERS if is_opened_ahead else 1
    if members:
        from renderer.drivers.shares import run_of

        films += RUNS_AT_ONCE * members if run_of(most_passes, members) > 1 else 0
    columns = columns_of(settings)
    of_half = min(columns, LAYER_ALBEDO) + (ADAPTIVE_COLUMNS if settings.adaptive else 0)
    sums = FILM_SUMS * of_half + FEATURE_SUMS * max(0, columns - LAYER_ALBEDO)
    of_picture = {"film": width * height * (8 * films * sums + FILE_BYTES)}
    of_picture["passes under way"] = _passes_bytes(driver, settings, most_passes, members, processes)
    of_picture |= _maps_bytes(driver, settings, members)
    parts = {name: processes * size for name, size in scene_bytes(snapshot).items()}
    if is_opened_ahead:
        from renderer.drivers.driver import pass_bytes

        parts["the next two frames"] = 2 * parts["triangles"] + pass_bytes(driver, settings)
    elif sharing.is_by_frames:
        parts["the next frame of each"] = parts["triangles"]
        parts["frames to be written"] = MEMBERS_WRITERS * of_picture["film"]
    return Estimate(parts | {name: pictures * size for name, size in of_picture.items()}, processes)


def _passes_bytes(
    driver: "type[Driver]", settings: "RenderSettings", most_passes: int | None, members: int, processes: int
) -> int:
    """Returns the bytes of the passes of a picture that are under way, or of their parts.

    members: that make them, or 0; what comes from another process is in memory once more.
    processes: that share the memory.
    """
    from renderer.drivers.driver import IMAGES_OF_PASS, image_bytes, pass_bytes, passes_under_way
    from tracecore.threads import usable_cores

    images = image_bytes(settings)
    if members and driver.is_sequential:
        return members * (images + images // IMAGES_OF_PASS)
    threads, most = settings.threads or usable_cores(), pass_bytes(driver, settings)
    passes = max(1, members) * max(1, passes_under_way(driver, threads, most, processes))
    of_pass = pass_bytes(driver, settings, STORED_BY_PASS) + (images // IMAGES_OF_PASS if members else 0)
    return of_pass * (passes if most_passes is None else min(passes, most_passes))


def _maps_bytes(driver: "type[Driver]", settings: "RenderSettings", members: int) -> dict[str, int]:
    """Returns the bytes of photon maps that several passes or members share, if they do."""
    from renderer.drivers.driver import MAP_BYTES, photons_of_a_pass

    if not driver.traces_photons:
        return {}
    sent_out = photons_of_a_pass(settings)
    if driver.has_one_map:
        return {"photon map": int((SHARED_MAP_BYTES if members else MAP_BYTES + KEPT_BYTES) * STORED_BY_RUN * sent_out)}
    if driver.is_sequential and members:
        return {"photon maps": int((SHARED_MAP_BYTES + AHEAD_BYTES) * STORED_BY_PASS * sent_out)}
    return {}


def gpu_bytes(
    snapshot: "Snapshot",
    settings: "RenderSettings",
    builder: str | None = None,
    driver: "type[Driver] | None" = None,
    *,
    is_frame: bool = False,
) -> Estimate:
    """Estimates what a picture of a snapshot takes of a GPU's memory, by any kernel; masks of cut-outs are left out.

    builder: of its tree, by name, None for the default.
    driver: that makes it, where the GPU is to shade.
    is_frame: whether it is one of a sequence, of which the next is opened meanwhile.
    """
    from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES
    from tracecore.rays import HIT
    from tracecore.threads import usable_cores

    slots = (settings.threads or usable_cores()) * GPU_BATCHES * (1 + MAX_LIGHT_SAMPLES)
    batches = slots * settings.batch_rays * HIT.itemsize
    of_triangle = GPU_BUILD_BYTES if builder in GPU_BUILDERS else GPU_TRIANGLE_BYTES
    parts = {"triangles with their tree": of_triangle * len(snapshot.positions), "batches": batches}
    if driver is not None and settings.shading != "cpu":
        parts |= _waves_bytes(snapshot, settings, driver)
        parts |= {"the next frame": sum(parts.values())} if is_frame else {}
    return Estimate(parts)


def _waves_bytes(snapshot: "Snapshot", settings: "RenderSettings", driver: "type[Driver]") -> dict[str, int]:
    """Returns the bytes of what is shaded on a GPU, where that has room for all (`renderer.gpu`)."""
    from renderer.camera_paths.lighting import MAX_LIGHT_SAMPLES
    from renderer.drivers.driver import MAP_BYTES, photons_of_a_pass
    from renderer.film.layers import columns_of
    from renderer.gpu.eye_waves import MOST_PASSES, PATHS_TOGETHER
    from renderer.gpu.photon_waves import MOST_PHOTONS, PHOTON_BYTES

    pixels = settings.width * settings.height
    passes = max(1, min(PATHS_TOGETHER // pixels, MOST_PASSES))
    waves = WAVE_PATHS * (PATH_BYTES + SHADOW_BYTES * (1 + MAX_LIGHT_SAMPLES))
    images = 2 * 8 * columns_of(settings) * passes * pixels  # of the passes under way, and of those before
    parts = {"scene that is shaded": sum(scene_bytes(snapshot).values()), "waves and images": waves + images}
    if driver.traces_photons:
        stored = int(STORED_BY_PASS * photons_of_a_pass(settings))
        parts["photons"] = PHOTON_BYTES * MOST_PHOTONS + MAP_BYTES * stored * (1 if driver.has_one_map else passes)
    return parts


def told_of_gpu(estimate: Estimate, device: str) -> str | None:
    """Returns an estimate and what a GPU has, to be read by people, or None where no GPU will be used.

    device: as `tracecore.open_tracer` takes it.
    """
    from tracecore import device_and_index
    from tracecore.cuda.device import gpu_memory, gpu_name, gpu_unavailable_reason

    name, index = device_and_index(device)
    if name not in ("auto", "gpu"):
        return None
    if reason := gpu_unavailable_reason(index):
        return None if name == "auto" else f"GPU        {estimate}; it cannot be used: {reason}"
    free, total = gpu_memory(index)
    return f"GPU        {estimate}; {gigabytes(free)} of {gigabytes(total)} of the {gpu_name(index)} are free"


def told(estimate: Estimate) -> str:
    """Returns an estimate and what there is, to be read by people."""
    free = free_bytes()
    there = "" if free is None else f"; {gigabytes(free)} are free"
    processes = f" in {estimate.processes} processes" if estimate.processes > 1 else ""
    return f"memory     {estimate}, and {gigabytes(estimate.of_program)} of the program itself{processes}{there}"


def check_fits(estimate: Estimate, remedy: str = REMEDY) -> None:
    """Raises `UsageError` where an estimate does not fit into the memory that there is. remedy: in words."""
    usable = usable_bytes()
    room = None if usable is None else usable - estimate.of_program
    if room is not None and estimate.total > room:
        raise UsageError(f"this takes {estimate}, and there is room for {gigabytes(max(room, 0))}; {remedy}")
