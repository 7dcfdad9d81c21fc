"""This module builds what is fitted along the kitchen's back wall: cupboards, counter, sink, stove, hood and fridge."""

from scenes.document import Part
from scenes.meshes.shapes import box, curve, lathe
from scenes.model import Mesh
from scenes.shipped.modelling import loft, pose, tube
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.kitchen.room import BACK_WINDOW, GAP, HEIGHT
from scenes.shipped.scripts.surfaces import frame, joined, level, moved, placed, rounded

#: Width of the cupboards below the counter, side by side from FIRST on. One has drawers, one is below the sink.
UNIT, FIRST, DRAWERS, SINK, UNITS = 0.56, 0.02, 1, 3, 5
#: Heights of what things stand on, in metres.
COUNTER, HOB = 0.90, 0.912
#: Left ends of stove and fridge along x, and middles of the stove's burners along x and z.
STOVE, FRIDGE = 2.84, 3.50
BURNERS = ((2.99, 0.18), (3.29, 0.18), (2.99, 0.44), (3.29, 0.44))
#: Front of the cupboards without their doors.
FRONT = 0.56
SINK_MIDDLE = FIRST + (SINK + 0.5) * UNIT


def parts() -> list[Part]:
    """Returns all that stands along the wall. Burners share a mesh, and so do knobs."""
    plate, switch = burner(), knob()
    return [
        *placed(carcasses(), (0.0, 0.0, 0.0)),
        *placed(tiles(), (0.0, 0.0, 0.0)),
        *fronts(),
        *placed(sink(), (SINK_MIDDLE, 0.0, 0.36)),
        *placed(tap(), (SINK_MIDDLE, COUNTER + GAP, 0.055)),
        *placed(stove(), (STOVE, 0.0, 0.0)),
        *(part for x, z in BURNERS for part in placed([plate], (x, COUNTER + GAP, z))),
        *(part for k in range(5) for part in placed([switch], (STOVE + 0.10 + 0.1 * k, 0.80, 0.617))),
        *placed(hood(), (STOVE + 0.3, 0.0, 0.26)),
        *placed(fridge(), (FRIDGE, 0.0, 0.0)),
    ]


def carcasses() -> list[Mesh]:
    """Returns cupboards without fronts, their plinth, and the counter, in pieces around the sink."""
    start, left, right, end = FIRST, FIRST + SINK * UNIT, FIRST + (SINK + 1) * UNIT, FIRST + UNITS * UNIT
    under = COUNTER - 0.04
    cupboards = [
        box((start, 0.10, GAP), (left - GAP, under - GAP, FRONT), of("sage")),
        box((left, 0.10, GAP), (right, 0.63, FRONT), of("sage")),
        box((right + GAP, 0.10, GAP), (end, under - GAP, FRONT), of("sage")),
        box((start, GAP, GAP), (end, 0.10 - GAP, FRONT - 0.06), of("sage")),
        box((start, 1.45, GAP), (start + 2.0 * UNIT, 2.15, 0.33), of("sage")),
        box((start - 0.015, 2.15 + GAP, GAP), (start + 2.0 * UNIT + 0.015, 2.19, 0.375), of("sage"), 0.008),
    ]
    slabs = [
        box((0.002, under, GAP), (left - GAP, COUNTER, 0.62), of("oak"), 0.004),
        box((left, under, GAP), (right, COUNTER, 0.105), of("oak"), 0.002),
        box((right + GAP, under, GAP), (end + 0.01, COUNTER, 0.62), of("oak"), 0.004),
    ]
    return [joined(cupboards), joined(slabs)]


def tiles() -> list[Mesh]:
    """Returns tiled boards on the wall behind the counter, beside and below the window."""
    left, right, front, low = BACK_WINDOW.left - 0.06, BACK_WINDOW.right + 0.06, 0.009, COUNTER + 0.002
    boards = [
        box((GAP, low, GAP), (left - GAP, 1.45 - GAP, front), of("wall tiles")),
        box((left, low, GAP), (right, BACK_WINDOW.low, front), of("wall tiles")),
        box((right + GAP, low, GAP), (FRIDGE, 1.60, front), of("wall tiles")),
    ]
    return [joined(boards)]


def fronts() -> list[Part]:
    """Returns doors, drawers and their handles. Doors of a size share a mesh, and so do handles."""
    tall, short, high = cupboard_front(0.72), cupboard_front(0.495), cupboard_front(0.685)
    upright_bar, level_bar = handle(), moved(handle(), pose((0.0, 0.0, 0.0), -90.0, (0.0, 0.0, 1.0)))
    z, bar = FRONT + GAP, FRONT + 0.023
    left = [FIRST + k * UNIT for k in range(UNITS)]
    doors = [part for k in (0, 2, 4) for part in placed([tall], (left[k], 0.125, z))]
    doors += placed([short], (left[SINK], 0.125, z))
    doors += [part for k in range(2) for part in placed([high], (left[k], 1.457, 0.33 + GAP))]
    bars = [((left[0] + 0.52, 0.66, bar), upright_bar), ((left[2] + 0.04, 0.66, bar), upright_bar)]
    bars += [((left[4] + 0.04, 0.66, bar), upright_bar), ((left[SINK] + 0.04, 0.47, bar), upright_bar)]
    bars += [((left[k] + 0.52 - 0.48 * k, 1.50, 0.353), upright_bar) for k in range(2)]
    for low, height in ((0.125, 0.265), (0.395, 0.265), (0.665, 0.18)):
        doors += placed([cupboard_front(height - 0.005)], (left[DRAWERS], low, z))
        bars.append(((left[DRAWERS] + UNIT / 2.0 - 0.06, low + height / 2.0, bar), level_bar))
    return doors + [part for place, mesh in bars for part in placed([mesh], place)]


def cupboard_front(height: float) -> Mesh:
    """Returns a frame with a panel in it, of the width of a unit, from y = 0, z = 0 on."""
    wide = UNIT - 0.003
    border = frame((0.003, 0.0, 0.0), (wide, height, 0.022), 0.055, of("sage"))
    return joined([border, box((0.054, 0.051, 0.004), (wide - 0.051, height - 0.051, 0.012), of("sage"))])


def handle() -> Mesh:
    """Returns a bow of brass, 12 cm upward from the origin, on a surface across z."""
    bow = [
        (0.0, 0.0, 0.0),
        (0.0, 0.003, 0.022),
        (0.0, 0.02, 0.03),
        (0.0, 0.10, 0.03),
        (0.0, 0.117, 0.022),
        (0.0, 0.12, 0.0),
    ]
    return tube(curve(bow, 2), 0.005, of("brass"), 10)


def sink() -> list[Mesh]:
    """Returns a stoneware basin around x = z = 0, between two cupboards, and its drain."""
    sizes = [
        (0.535, 0.50, 0.631, 0.020),
        (0.535, 0.50, 0.885, 0.020),
        (0.525, 0.49, 0.893, 0.015),
        (0.475, 0.44, 0.893, 0.035),
        (0.465, 0.43, 0.885, 0.040),
        (0.450, 0.415, 0.72, 0.050),
        (0.425, 0.39, 0.70, 0.060),
    ]
    rings = [level(rounded(width, depth, radius), height) for width, depth, height, radius in sizes]
    drain = lathe([[0.0, 0.701], [0.035, 0.701], [0.035, 0.704], [0.02, 0.7025], [0.0, 0.7025]], 24, of("chrome"))
    return [loft(rings, of("porcelain"), 50.0), drain]


def tap() -> list[Mesh]:
    """Returns a tap that bends over the sink, with a lever on each side."""
    chrome = of("chrome")
    foot = [(0.0, 0.0), (0.026, 0.0), (0.026, 0.006), (0.017, 0.014), (0.015, 0.05), (0.0, 0.05)]
    base = lathe(foot, 24, chrome)
    bend = [(0.0, 0.045, 0.0), (0.0, 0.22, 0.0), (0.0, 0.28, 0.05), (0.0, 0.285, 0.12), (0.0, 0.23, 0.165)]
    neck = tube(curve(bend, 6), 0.010, chrome)
    levers = [
        tube([[side * 0.01, 0.04, 0], [side * 0.03, 0.045, 0.0], [side * 0.085, 0.058, 0.012]], 0.006, chrome, 10)
        for side in (-1, 1)
    ]
    return [joined([base, neck, *levers])]


def stove() -> list[Mesh]:
    """Returns a stove from x = 0 on: body, black hob, oven door with its window and handle, drawer, and panel of the
    knobs."""
    wide = 0.598
    body = [
        box((0.002, 0.03, 0.02), (wide, 0.884, 0.60), of("enamel"), 0.006),
        box((0.008, 0.19, 0.601), (wide - 0.006, 0.71, 0.626), of("enamel"), 0.008),
        box((0.008, 0.035, 0.601), (wide - 0.006, 0.18, 0.626), of("enamel"), 0.008),
    ]
    dark = [
        box((0.002, 0.885, 0.02), (wide, COUNTER, 0.618), of("black glass"), 0.003),
        box((0.09, 0.26, 0.627), (wide - 0.088, 0.60, 0.630), of("black glass"), 0.001),
    ]
    bar = [
        [0.08, 0.66, 0.625],
        [0.08, 0.66, 0.655],
        [0.09, 0.66, 0.665],
        [0.51, 0.66, 0.665],
        [0.52, 0.66, 0.655],
        [0.52, 0.66, 0.625],
    ]
    shining = [
        box((0.008, 0.72, 0.601), (wide - 0.006, 0.878, 0.616), of("steel"), 0.004),
        tube(bar, 0.008, of("steel")),
    ]
    plinth = box((0.03, GAP, 0.05), (wide - 0.03, 0.03 - GAP, 0.55), of("iron"))
    return [joined(body), joined(dark), joined(shining), plinth]


def hood() -> list[Mesh]:
    """Returns a steel hood over the stove, with its duct to the ceiling, around x = z = 0."""
    sizes = [(0.594, 0.50, 1.60), (0.594, 0.50, 1.66), (0.24, 0.24, 1.88), (0.24, 0.24, HEIGHT - GAP)]
    rings = [level(rounded(width, depth, 0.01, 2), height) for width, depth, height in sizes]
    return [loft(rings, of("steel"), 30.0)]


def fridge() -> list[Mesh]:
    """Returns a fridge with round edges, two doors, handles and feet, from x = 0 on."""
    wide, mint = 0.65, of("mint")
    boxes = [
        box((0.0, 0.05, 0.02), (wide, 1.74, 0.63), mint, 0.03),
        box((0.0, 0.06, 0.633), (wide, 1.20, 0.70), mint, 0.025),
        box((0.0, 1.206, 0.633), (wide, 1.735, 0.70), mint, 0.025),
    ]
    grip = [
        [0.0, 0.0, -0.005],
        [0.0, 0.02, 0.03],
        [0.0, 0.05, 0.04],
        [0.0, 0.17, 0.04],
        [0.0, 0.20, 0.03],
        [0.0, 0.22, -0.005],
    ]
    grips = [moved(tube(curve(grip, 4), 0.011, of("chrome")), pose((0.07, y, 0.70))) for y in (0.93, 1.26)]
    feet = [
        moved(lathe([(0.0, 0.0), (0.025, 0.0), (0.02, 0.06), (0.0, 0.06)], 16, of("iron")), pose((x, GAP, z)))
        for x in (0.08, 0.57)
        for z in (0.10, 0.55)
    ]
    return [joined(boxes), joined(grips), joined(feet)]


def burner() -> Mesh:
    """Returns a round hotplate, 1 cm high."""
    outline = [
        [0.0, 0.0],
        [0.09, 0.0],
        [0.092, 0.004],
        [0.088, 0.010],
        [0.075, 0.010],
        [0.07, 0.005],
        [0.03, 0.005],
        [0.025, 0.009],
        [0.0, 0.009],
    ]
    return lathe(outline, 28, of("iron"))


def knob() -> Mesh:
    """Returns a knob of the stove, whose axis is z."""
    outline = [[0.0, 0.0], [0.019, 0.0], [0.019, 0.004], [0.016, 0.006], [0.015, 0.022], [0.012, 0.025], [0.0, 0.026]]
    return moved(lathe(outline, 16, of("iron")), pose((0.0, 0.0, 0.0), 90.0, (1.0, 0.0, 0.0)))
