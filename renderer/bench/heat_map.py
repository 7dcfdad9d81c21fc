"""Heat maps show figures of the rays of a picture, pixel by pixel, in colours.

Inactive lanes by pixel are those of Günther, Popov, Seidel, Slusallek: Realtime Ray Tracing on GPU with BVH-based
Packet Traversal, 2007, figure 2.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from renderer.bench.ray_generators import RayPlan, morton_order
from renderer.errors import UsageError
from renderer.plain_text import rounded
from tracecore.analysis.steps import StepSequences
from tracecore.dispatch.tracer import Tracer
from tracecore.emulator.tracer import EmulatedTracer
from tracecore.kernels.step_records import Step
from tracecore.rays import Floats
from tracecore.tracers.gpu import GpuTracer

Doubles = npt.NDArray[np.float64]
Pixels = npt.NDArray[np.uint8]

#: What is counted, ray by ray.
COUNTED = {"node steps": Step.NODE, "triangle tests": Step.TRIANGLE}
INACTIVE = "inactive lanes"

#: Colours at equal steps, as sRGB: viridis, in which equal steps look equal (van der Walt, Smith, 2015).
VIRIDIS = ("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725")

#: Share of the pixels that may be beyond the scale.
OUTLIER_SHARE = 0.005

#: Pixels: least width of the picture, margins around all, the scale beside it, room for its numbers, and letters.
LEAST_WIDTH = 320
BORDER, SCALE_WIDTH, NUMBERS_WIDTH = 8, 14, 52
LETTERS = 13


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatMap:
    """This is a figure for each pixel of a picture.

    view, kernel, quantity: names of the view point, of the kernel, and of what is shown.
    values: (height, width) float64.
    is_share: whether the values are shares of 1, so that the scale ends there.
    """

    view: str
    kernel: str
    quantity: str
    values: Doubles
    is_share: bool = False

    @property
    def title(self) -> str:
        """Returns the title of the map, with the mean."""
        return f"{self.kernel}, {self.view}: {self.quantity}, mean {self.label(float(self.values.mean()))}"

    def label(self, value: float) -> str:
        """Returns a number of the scale as text."""
        return f"{value:.0%}" if self.is_share else rounded(value, 3)


def by_pixel(values: npt.ArrayLike, plan: RayPlan) -> Doubles:
    """Returns the means over the samples of each pixel, (height, width).

    values: (n,), of a plan's camera rays in their order.
    """
    width, height = plan.size
    placed = np.empty(width * height)
    order = morton_order(width, height) if plan.in_morton_order else slice(None)
    placed[order] = np.reshape(values, (-1, plan.samples)).mean(axis=1)
    return placed.reshape(height, width)


def top_of(*maps: HeatMap) -> float:
    """Returns where a scale for all of these maps ends: nearly all pixels are below it."""
    if all(one.is_share for one in maps):
        return 1.0
    return max(1.0, *(float(np.quantile(one.values, 1.0 - OUTLIER_SHARE)) for one in maps))


def colored(shares: Doubles) -> Pixels:
    """Returns the sRGB colours, (..., 3), of shares from 0 to 1."""
    colors = np.array([tuple(bytes.fromhex(color)) for color in VIRIDIS], np.float64)
    positions = np.linspace(0.0, 1.0, len(colors))
    channels = [np.interp(shares, positions, colors[:, k]) for k in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


def heat_map(heat: HeatMap, top: float) -> Image.Image:
    """Returns the picture of a map: a title, the map, and a scale from 0 to `top`."""
    picture = enlarged(colored(heat.values / top))
    height, width = picture.shape[:2]
    title_height = LETTERS + BORDER
    left, upper = BORDER, BORDER + title_height
    bar_left = left + width + BORDER
    image = Image.new("RGB", (bar_left + SCALE_WIDTH + NUMBERS_WIDTH, upper + height + BORDER), "white")
    image.paste(Image.fromarray(picture), (left, upper))
    bar = np.broadcast_to(np.linspace(1.0, 0.0, height)[:, None], (height, SCALE_WIDTH))
    image.paste(Image.fromarray(colored(bar)), (bar_left, upper))
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(LETTERS)
    draw.text((left, BORDER), heat.title, fill="black", font=font)
    # The numbers at the ends of the scale do not stand out beyond it.
    for share, anchor in ((0.0, "ls"), (0.25, "lm"), (0.5, "lm"), (0.75, "lm"), (1.0, "la")):
        place = (bar_left + SCALE_WIDTH + 4, upper + (1.0 - share) * (height - 1))
        draw.text(place, heat.label(share * top), fill="black", font=font, anchor=anchor)
    return image


def enlarged(pixels: Pixels) -> Pixels:
    """Returns the pixels enlarged by a whole number, to a width of at least LEAST_WIDTH."""
    factor = -(-LEAST_WIDTH // pixels.shape[1])
    return pixels.repeat(factor, axis=0).repeat(factor, axis=1)


def heat_maps(tracer: Tracer, rays: Floats, view: str, plan: RayPlan) -> list[HeatMap]:
    """Returns heat maps of what a kernel does for the camera rays of a plan, given in their order.

    Only a GPU counts inactive lanes.
    """
    return [
        HeatMap(
            view=view,
            kernel=tracer.name,
            quantity=quantity,
            values=by_pixel(values, plan),
            is_share=quantity == INACTIVE,
        )
        for quantity, values in ray_figures(tracer, rays).items()
    ]


def ray_figures(tracer: Tracer, rays: Floats) -> dict[str, Doubles]:
    """Returns what the tracer counts for each ray, (n,) each, by the name of the quantity.

    Raises `UsageError` where the tracer does not count its steps.
    """
    if isinstance(tracer, GpuTracer):
        counts = tracer.count_steps(rays)
        steps, inactive = counts.steps, {INACTIVE: counts.inactive}
    elif isinstance(tracer, EmulatedTracer):
        steps, inactive = steps_of_rays(tracer.record_steps(rays), len(rays)), {}
    else:
        raise UsageError(f"kernel {tracer.name} of the {tracer.device} does not count its steps")
    by_step = {name: steps[:, step].astype(np.float64) for name, step in COUNTED.items()}
    return by_step | inactive


def steps_of_rays(sequences: StepSequences, rays: int) -> npt.NDArray[np.int64]:
    """Returns how many steps of each kind every ray takes, (rays, 4) by `Step`; the rays of a packet take the same
    ones.
    """
    return sequences.of_items.repeat(sequences.rays, axis=0)[:rays]
