"""These are the files of `tracecore bench`: which are asked for, whether they can be written, and
what goes into them.
"""

import io
import re
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from glob import escape
from pathlib import Path
from typing import Self

from PIL import Image

from renderer.atomic_file import check_replaceable, write_each, write_whole
from renderer.bench.figure_file import check_files, circumstances_of, write_figures
from renderer.bench.heat_map import HeatMap, heat_map, heat_maps, top_of
from renderer.bench.kernel_benchmark import Comparison
from renderer.bench.page import Circumstances, Figure
from renderer.bench.plot import plot_kernels
from renderer.bench.ray_generators import RayPlan, RaySets
from renderer.bench.report import Pictures, fitted, page
from renderer.bench.view_points import ViewPoint, chosen_views
from renderer.drivers import DRIVERS
from renderer.drivers.driver import RenderSettings
from renderer.errors import UsageError
from renderer.film.film import Film
from renderer.film.image_file import make_default_folder, png_texts
from renderer.film.layers import columns_of
from renderer.film.tone_mapping import ToneMapping
from renderer.scene.render_context import TracerChoice, context_of
from renderer.version import SOFTWARE
from scenes.model import Snapshot
from tracecore import Device
from tracecore.dispatch.tracer import Tracer

#: Most bytes of a page, but for captions.
PAGE_BYTES = 990_000

#: Size and passes of the picture of a view point.
VIEW_SIZE = (240, 180)
VIEW_PASSES = 16


def check_bench_files(arguments: Namespace, device: Device, heat_kernels: Sequence[str]) -> None:
    """Checks the files that --json, --plot, --html and --heatmap ask for, and makes the default folder.

    heat_kernels: names of the kernels of which there are heat maps, each with its view point, kernel and quantity in
    the name of its file.

    Raises `UsageError` now if something could not be written later.
    """
    heat: Path | None = arguments.heatmap
    if heat and device == "cpu":
        raise UsageError("--heatmap needs --device gpu or emulator: the CPU's kernel does not count its steps")
    paths = check_files(arguments)
    if heat:
        names = (f"{escape(heat.stem)}-*-{plain_name(kernel)}-*{escape(heat.suffix)}" for kernel in heat_kernels)
        check_replaceable([path for name in names for path in heat.parent.glob(name)], arguments.replace)
    make_default_folder(paths)


def write_bench_files(arguments: Namespace, heat_kernels: Sequence[str], found: Comparison, run: "Run") -> None:
    """Writes all files that are asked for, also after one that cannot be written. Raises its `WriteError` then.

    heat_kernels: as of `check_bench_files`.
    """
    heat, plot, html = arguments.heatmap, arguments.plot, arguments.html
    heats = list(run.heat_figures(heat_kernels)) if heat else []

    def write_page() -> None:
        drawing = plot_kernels(found, run.title, ".svg")
        plots = [Figure(caption=run.title, content=drawing, media_type="image/svg+xml")]
        pictures = Pictures(plots=plots, views=list(run.view_figures()), heat_maps=heats)
        write_whole(html, bounded_page(found, run.circumstances, pictures).encode())

    writes: list[Callable[[], object]] = [
        partial(write_figures, arguments.json, run.circumstances, found.as_dict()),
        *([lambda: write_whole(plot, plot_kernels(found, run.title, plot.suffix.lower()))] if plot else []),
        *(partial(write_whole, heat.with_stem(f"{heat.stem}-{plain_name(one.caption)}"), one.content) for one in heats),
        *([write_page] if html else []),
    ]
    write_each(*writes)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Holds what was measured: a scene from view points on a device.

    command_line: its words.
    baseline: the name of the kernel that others are compared with.
    """

    command_line: tuple[str, ...]
    snapshot: Snapshot
    views: Sequence[ViewPoint]
    plan: RayPlan
    device: Device
    baseline: str
    threads: int | None

    @classmethod
    def chosen(cls, arguments: Namespace, snapshot: Snapshot, device: Device, baseline: str) -> Self:
        """Returns what the options of a command ask for, on the scene that it has read."""
        return cls(
            command_line=tuple(arguments.command_line),
            snapshot=snapshot,
            views=chosen_views(arguments, snapshot),
            plan=RayPlan.chosen(arguments, snapshot.positions),
            device=device,
            baseline=baseline,
            threads=arguments.threads,
        )

    @cached_property
    def circumstances(self) -> Circumstances:
        """Returns what was run, on which machine and at what time of day."""
        return circumstances_of(self.command_line, self.snapshot.name, len(self.snapshot.positions))

    @property
    def title(self) -> str:
        """Returns the title of a plot."""
        facts = self.circumstances.machine
        device = {"gpu": facts.get("GPU", ""), "cpu": facts["processor"]}.get(self.device, self.device)
        return f"{self.snapshot.name} on {device}: rates relative to {self.baseline}"

    def view_figures(self) -> Iterator[Figure]:
        """Yields a picture for each view point."""
        with context_of(self.snapshot, TracerChoice(device="cpu", threads=self.threads), load_seconds=0.0) as context:
            for view in self.views:
                camera = view.camera
                vectors = (", ".join(f"{x:.3g}" for x in vector) for vector in (camera.eye, camera.forward))
                caption = "{}: from ({}) towards ({})".format(view.name, *vectors)
                yield Figure(caption=caption, content=png(view_picture(self.snapshot, view, context.tracer)))

    def heat_figures(self, kernels: Sequence[str]) -> Iterator[Figure]:
        """Yields heat maps of kernels from all view points; all maps of a quantity have the same scale."""
        maps = [heat for kernel in kernels for heat in self._heat_maps(kernel)]
        tops = {
            quantity: top_of(*(heat for heat in maps if heat.quantity == quantity))
            for quantity in {heat.quantity for heat in maps}
        }
        for heat in maps:
            caption = f"{heat.view}, {heat.kernel}: {heat.quantity}"
            yield Figure(caption=caption, content=png(heat_map(heat, tops[heat.quantity])))

    def _heat_maps(self, kernel: str) -> Iterator[HeatMap]:
        choice = TracerChoice(device=self.device, kernel=kernel, threads=self.threads)
        with context_of(self.snapshot, choice, load_seconds=0.0) as context:
            for view in self.views:
                rays = RaySets(replace(self.snapshot, camera=view.camera), context.tracer, self.plan).primary
                yield from heat_maps(context.tracer, rays, view.name, self.plan)


def bounded_page(found: Comparison, about: Circumstances, pictures: Pictures) -> str:
    """Returns the page with its pictures as large as `PAGE_BYTES` have room for; inside of a page, as base64, they take
    a third more.
    """
    bare = page(found, about, replace(pictures, views=(), heat_maps=()))
    return page(found, about, fitted(pictures, (PAGE_BYTES - len(bare.encode())) * 3 // 4))


def view_picture(snapshot: Snapshot, view: ViewPoint, tracer: Tracer) -> Image.Image:
    """Returns a picture of what is to be seen from a view point: colours of surfaces, darker in corners. It needs no
    light.
    """
    width, height = VIEW_SIZE
    settings = RenderSettings(width=width, height=height, layers="features")
    with closing(DRIVERS["ao"](replace(snapshot, camera=view.camera), tracer, settings)) as driver:
        film = Film(width, height, columns_of(settings))
        for index in range(VIEW_PASSES):
            film.add(driver.render_pass(index))
    return Image.fromarray(ToneMapping(curve="linear")(film.linear * (0.1 + 0.9 * film.layers["albedo"])))


def png(image: Image.Image) -> bytes:
    """Returns the content of a PNG file with this image."""
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True, pnginfo=png_texts({"Software": SOFTWARE}))
    return file.getvalue()


def plain_name(text: str) -> str:
    """Returns a text with letters, digits and hyphens alone, for the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
