"""This module builds dishes of glass, porcelain and metal. Each stands on y = 0 around the y axis and is made once, to
stand anywhere."""

import numpy as np

from scenes.meshes.shapes import arc, box, curve, lathe
from scenes.model import Mesh
from scenes.shipped.modelling import pose, tube
from scenes.shipped.scripts.kitchen.materials import of
from scenes.shipped.scripts.surfaces import joined, moved

#: Points of a profile: radius and height, in metres. A point that is there twice is a corner.
Profile = list[tuple[float, float]]

WINE_GLASS: Profile = [
    (0.0, 0.0),
    (0.033, 0.0),
    (0.033, 0.0),
    (0.034, 0.0012),
    (0.028, 0.0030),
    (0.012, 0.0055),
    (0.0046, 0.014),
    (0.0036, 0.045),
    (0.0048, 0.080),
    (0.018, 0.092),
    (0.034, 0.114),
    (0.0385, 0.140),
    (0.0365, 0.170),
    (0.0330, 0.198),
    (0.0322, 0.1988),
    (0.0314, 0.198),
    (0.0349, 0.170),
    (0.0369, 0.140),
    (0.0325, 0.1155),
    (0.017, 0.0955),
    (0.0, 0.0915),
]
TUMBLER: Profile = [
    (0.0, 0.0),
    (0.026, 0.0),
    (0.026, 0.0),
    (0.029, 0.003),
    (0.031, 0.03),
    (0.035, 0.098),
    (0.0342, 0.0995),
    (0.0332, 0.098),
    (0.0293, 0.03),
    (0.0275, 0.011),
    (0.023, 0.008),
    (0.0, 0.0075),
]
BOTTLE: Profile = [
    (0.0, 0.0),
    (0.032, 0.0),
    (0.032, 0.0),
    (0.037, 0.006),
    (0.0375, 0.05),
    (0.0375, 0.17),
    (0.033, 0.205),
    (0.017, 0.240),
    (0.0145, 0.262),
    (0.0145, 0.290),
    (0.0165, 0.294),
    (0.0165, 0.300),
    (0.0130, 0.3015),
    (0.0115, 0.299),
    (0.0115, 0.262),
    (0.0135, 0.240),
    (0.0295, 0.203),
    (0.0345, 0.17),
    (0.0345, 0.05),
    (0.0335, 0.010),
    (0.028, 0.0055),
    (0.0, 0.0095),
]
PLATE: Profile = [
    (0.0, 0.003),
    (0.058, 0.003),
    (0.058, 0.003),
    (0.060, 0.0),
    (0.064, 0.0),
    (0.066, 0.004),
    (0.092, 0.0085),
    (0.130, 0.0195),
    (0.1315, 0.0212),
    (0.130, 0.0225),
    (0.092, 0.0118),
    (0.078, 0.0078),
    (0.060, 0.0068),
    (0.0, 0.0066),
]
CUP: Profile = [
    (0.0, 0.004),
    (0.021, 0.004),
    (0.021, 0.004),
    (0.022, 0.0),
    (0.026, 0.0),
    (0.028, 0.005),
    (0.037, 0.022),
    (0.0415, 0.045),
    (0.0435, 0.070),
    (0.0428, 0.0714),
    (0.0418, 0.070),
    (0.0393, 0.045),
    (0.0345, 0.023),
    (0.022, 0.009),
    (0.0, 0.0075),
]
TEAPOT: Profile = [
    (0.0, 0.003),
    (0.046, 0.003),
    (0.046, 0.003),
    (0.048, 0.0),
    (0.053, 0.0),
    (0.056, 0.006),
    (0.076, 0.03),
    (0.084, 0.065),
    (0.072, 0.10),
    (0.048, 0.119),
    (0.045, 0.122),
    (0.045, 0.122),
    (0.047, 0.1245),
    (0.043, 0.128),
    (0.020, 0.138),
    (0.008, 0.141),
    (0.008, 0.141),
    (0.007, 0.147),
    (0.014, 0.156),
    (0.010, 0.164),
    (0.0, 0.166),
]
KETTLE: Profile = [
    (0.0, 0.0),
    (0.088, 0.0),
    (0.088, 0.0),
    (0.094, 0.006),
    (0.095, 0.03),
    (0.085, 0.08),
    (0.062, 0.112),
    (0.040, 0.124),
    (0.040, 0.124),
    (0.041, 0.128),
    (0.020, 0.134),
    (0.006, 0.136),
    (0.006, 0.136),
    (0.006, 0.142),
    (0.013, 0.150),
    (0.009, 0.158),
    (0.0, 0.160),
]
POT: Profile = [
    (0.0, 0.0),
    (0.098, 0.0),
    (0.098, 0.0),
    (0.103, 0.005),
    (0.104, 0.03),
    (0.104, 0.115),
    (0.104, 0.115),
    (0.108, 0.1175),
    (0.108, 0.119),
    (0.1015, 0.1185),
    (0.1015, 0.112),
    (0.1015, 0.112),
    (0.1015, 0.03),
    (0.100, 0.006),
    (0.094, 0.003),
    (0.094, 0.003),
    (0.0, 0.003),
]
LID: Profile = [
    (0.0, 0.1205),
    (0.098, 0.1205),
    (0.107, 0.1200),
    (0.1085, 0.1212),
    (0.106, 0.123),
    (0.080, 0.132),
    (0.030, 0.139),
    (0.008, 0.140),
    (0.008, 0.140),
    (0.007, 0.148),
    (0.017, 0.154),
    (0.016, 0.162),
    (0.0, 0.164),
]
PAN: Profile = [
    (0.0, 0.0),
    (0.078, 0.0),
    (0.078, 0.0),
    (0.086, 0.003),
    (0.098, 0.038),
    (0.0972, 0.0393),
    (0.0955, 0.038),
    (0.084, 0.006),
    (0.076, 0.003),
    (0.0, 0.003),
]
JAR: Profile = [
    (0.0, 0.0),
    (0.046, 0.0),
    (0.046, 0.0),
    (0.050, 0.005),
    (0.053, 0.05),
    (0.050, 0.105),
    (0.042, 0.120),
    (0.042, 0.128),
    (0.046, 0.130),
    (0.046, 0.136),
    (0.030, 0.144),
    (0.009, 0.147),
    (0.009, 0.147),
    (0.009, 0.154),
    (0.016, 0.161),
    (0.012, 0.169),
    (0.0, 0.171),
]
CROCK: Profile = [
    (0.0, 0.0),
    (0.050, 0.0),
    (0.050, 0.0),
    (0.054, 0.005),
    (0.058, 0.07),
    (0.055, 0.140),
    (0.0565, 0.146),
    (0.0535, 0.149),
    (0.0505, 0.144),
    (0.0525, 0.07),
    (0.048, 0.010),
    (0.042, 0.007),
    (0.0, 0.007),
]

#: Inner radius of the fruit bowl, which is part of a sphere; the height of that sphere's middle; the bowl's rim.
BOWL_RADIUS, BOWL_MIDDLE, BOWL_RIM = 0.165, 0.175, 0.100


def turned(profile: Profile, name: str, segments: int = 32, steps: int = 1) -> Mesh:
    """Returns a surface of revolution through the points of a profile."""
    return lathe(curve(profile, steps), segments, of(name))


def wine_glass() -> list[Mesh]:
    """Returns a stemmed glass, 20 cm high."""
    return [turned(WINE_GLASS, "glass", 32, 2)]


def tumbler() -> list[Mesh]:
    """Returns a plain glass, 10 cm high."""
    return [turned(TUMBLER, "glass", 32)]


def bottle() -> list[Mesh]:
    """Returns an open bottle, 30 cm high."""
    return [turned(BOTTLE, "glass", 28, 2)]


def bowl() -> list[Mesh]:
    """Returns a wide glass bowl on a foot, 6 mm thick; its inside is part of a sphere."""
    outer, inner = BOWL_RADIUS + 0.006, BOWL_RADIUS
    foot = [[0.0, 0.0], [0.05, 0.0], [0.054, 0.003]]
    ends = [np.degrees(np.arcsin((height - BOWL_MIDDLE) / r)) for r, height in ((outer, 0.013), (outer, BOWL_RIM))]
    rim = np.degrees(np.arcsin((BOWL_RIM - BOWL_MIDDLE) / inner))
    outside = arc((0.0, BOWL_MIDDLE), outer, (ends[0], ends[1]), 14)
    inside = arc((0.0, BOWL_MIDDLE), inner, (rim, -90.0), 20)
    edge = (outside[-1:] + inside[:1]) / 2.0 + [0.0, 0.003]
    return [lathe(np.concatenate([foot, outside, edge, inside]), 44, of("glass"))]


def plate(name: str = "porcelain") -> list[Mesh]:
    """Returns a dinner plate, 26 cm wide."""
    return [turned(PLATE, name, 36)]


def cup(name: str = "porcelain") -> list[Mesh]:
    """Returns a cup with a handle toward +x, on its saucer."""
    ear = [(0.0405, 0.056, 0.0), (0.056, 0.060, 0.0), (0.065, 0.047, 0.0), (0.056, 0.028, 0.0), (0.0365, 0.023, 0.0)]
    saucer = [[0.58 * radius, 0.7 * height] for radius, height in PLATE]
    lift = pose((0.0, 0.0055, 0.0))
    upper = joined([turned(CUP, name, 24), tube(curve(ear, 3), 0.0038, of(name), 8)])
    return [moved(upper, lift), lathe(curve(saucer, 1), 28, of(name))]


def teapot(name: str = "blue glaze") -> list[Mesh]:
    """Returns a teapot with its spout toward +x."""
    spout = curve([(0.070, 0.045, 0.0), (0.105, 0.060, 0.0), (0.122, 0.095, 0.0), (0.142, 0.118, 0.0)], 5)
    ear = curve(
        [(-0.074, 0.088, 0.0), (-0.115, 0.106, 0.0), (-0.132, 0.070, 0.0), (-0.108, 0.034, 0.0), (-0.076, 0.034, 0.0)],
        5,
    )
    radii = np.interp(np.linspace(0.0, 1.0, len(spout)), [0.0, 0.3, 1.0], [0.021, 0.015, 0.0085])
    return [joined([turned(TEAPOT, name, 30, 2), tube(spout, radii, of(name), 12), tube(ear, 0.0065, of(name), 10)])]


def kettle() -> list[Mesh]:
    """Returns a copper kettle with its spout toward +x and a dark handle over it."""
    spout = curve([(0.080, 0.045, 0.0), (0.115, 0.062, 0.0), (0.130, 0.098, 0.0), (0.152, 0.112, 0.0)], 5)
    radii = np.interp(np.linspace(0.0, 1.0, len(spout)), [0.0, 0.4, 1.0], [0.024, 0.015, 0.0095])
    arch = curve(
        [
            (-0.070, 0.100, 0.0),
            (-0.078, 0.165, 0.0),
            (-0.045, 0.205, 0.0),
            (0.045, 0.205, 0.0),
            (0.078, 0.165, 0.0),
            (0.070, 0.100, 0.0),
        ],
        4,
    )
    return [
        joined([turned(KETTLE, "copper", 36, 2), tube(spout, radii, of("copper"), 16)]),
        tube(arch, 0.008, of("iron")),
    ]


def pot() -> list[Mesh]:
    """Returns a steel pot with two handles and a lid."""
    ear = [
        (0.100, 0.085, -0.035),
        (0.128, 0.088, -0.035),
        (0.142, 0.089, -0.018),
        (0.142, 0.089, 0.018),
        (0.128, 0.088, 0.035),
        (0.100, 0.085, 0.035),
    ]
    ears = [moved(tube(curve(ear, 3), 0.0055, of("steel"), 10), pose((0.0, 0.0, 0.0), turn)) for turn in (0.0, 180.0)]
    return [joined([turned(POT, "steel", 40), turned(LID, "steel", 40), *ears])]


def pan() -> list[Mesh]:
    """Returns a copper pan with its handle toward +x."""
    handle = tube([[0.094, 0.033, 0.0], [0.13, 0.042, 0.0], [0.25, 0.062, 0.0]], [0.006, 0.006, 0.009], of("iron"))
    return [turned(PAN, "copper", 36, 2), handle]


def jar(name: str) -> list[Mesh]:
    """Returns a lidded jar, 17 cm high."""
    return [turned(JAR, name, 28)]


def crock() -> list[Mesh]:
    """Returns a crock with three wooden spoons that lean on its rim."""
    leans = ((0.0, 0.028), (130.0, 0.022), (235.0, 0.03))
    return [
        turned(CROCK, "ochre glaze", 28),
        joined([moved(spoon(out), pose((0.0, 0.0, 0.0), turn)) for turn, out in leans]),
    ]


def spoon(out: float) -> Mesh:
    """Returns a wooden spoon that leans outward in a crock. out: radius where its handle stands, on the other side."""
    low, rim = np.array([-out, 0.0145, 0.0]), np.array([0.0445, 0.150, 0.0])
    along = (rim - low) / np.linalg.norm(rim - low)
    path = low + np.outer([0.0, 0.20, 0.235, 0.25, 0.27, 0.29, 0.30], along)
    return tube(path, [0.005, 0.0055, 0.008, 0.016, 0.020, 0.014, 0.004], of("beech"), 12)


def placemat() -> list[Mesh]:
    """Returns a round mat of straw rope, 35 cm wide and 5 mm high."""
    ropes = np.linspace(0.016, 0.160, 7)
    top = [[radius + 0.0130 * k, 0.0045 if k else 0.0035] for radius in ropes for k in (0, 1)]
    outline = [[0.0, 0.0], [0.172, 0.0], [0.177, 0.0025], *top[::-1], [0.0, 0.004]]
    return [lathe(outline, 32, of("straw"), 60.0)]


def knife() -> list[Mesh]:
    """Returns a table knife that lies along z, its point toward -z."""
    blade = box((-0.009, 0.001, -0.125), (0.009, 0.003, 0.0), of("steel"), 0.0008)
    return [joined([blade, box((-0.0075, 0.0, -0.001), (0.0075, 0.008, 0.085), of("steel"), 0.003)])]


def teaspoon() -> list[Mesh]:
    """Returns a small spoon that lies along z, its bowl toward -z."""
    places = np.array([0.07, 0.065, 0.0, -0.035, -0.045, -0.055, -0.068, -0.080, -0.086])
    radii = [0.001, 0.005, 0.0028, 0.0028, 0.006, 0.011, 0.0135, 0.009, 0.001]
    flat = np.diag([1.0, 0.25, 1.0, 1.0])
    return [moved(tube(np.outer(places, [0.0, 0.0, 1.0]) + [0.0, 0.0135, 0.0], radii, of("steel"), 10), flat)]


def apple(name: str) -> list[Mesh]:
    """Returns an apple around the origin, as wide as a ball of 37 mm radius."""
    outline = [
        (0.0, -0.026),
        (0.009, -0.030),
        (0.020, -0.029),
        (0.033, -0.014),
        (0.037, 0.004),
        (0.031, 0.022),
        (0.016, 0.031),
        (0.006, 0.026),
        (0.0, 0.019),
    ]
    stalk = tube(
        curve([[0, 0.019, 0], [0.001, 0.030, 0.001], [0.006, 0.041, 0.003]], 3), [0.0014] * 6 + [0.002], of("stalk"), 8
    )
    return [turned(outline, name, 24, 2), stalk]


def orange() -> list[Mesh]:
    """Returns an orange around the origin, 37 mm in radius."""
    return [lathe(arc((0.0, 0.0), 0.037, (-90.0, 90.0), 12), 24, of("orange"))]


def lemon() -> list[Mesh]:
    """Returns a lemon that lies along x on y = 0."""
    outline = [
        (0.0, -0.046),
        (0.006, -0.042),
        (0.012, -0.037),
        (0.024, -0.022),
        (0.0275, 0.0),
        (0.024, 0.022),
        (0.012, 0.037),
        (0.0, 0.041),
    ]
    return [moved(turned(outline, "lemon", 20, 2), pose((0.0, 0.0275, 0.0), 90.0, (0.0, 0.0, 1.0)))]


def banana() -> list[Mesh]:
    """Returns a banana that lies on y = 0, bent around the y axis."""
    angles = np.radians([-52.0, -48.0, -42.0, -34.0, -20.0, 0.0, 20.0, 34.0, 42.0, 47.0, 54.0, 60.0])
    radii = np.array([0.004, 0.007, 0.012, 0.0155, 0.0175, 0.018, 0.0175, 0.0155, 0.012, 0.008, 0.005, 0.005])
    path = np.stack([0.10 * np.cos(angles), np.full(len(angles), 0.018), 0.10 * np.sin(angles)], axis=-1)
    return [tube(path, radii, of("banana"), 14)]


def bread() -> list[Mesh]:
    """Returns a round loaf, flat below."""
    outline = [
        (0.0, 0.0),
        (0.07, 0.0),
        (0.07, 0.0),
        (0.088, 0.012),
        (0.090, 0.035),
        (0.070, 0.062),
        (0.035, 0.075),
        (0.0, 0.079),
    ]
    return [turned(outline, "crust", 32, 2)]


def rest_in_bowl(radius: float, out: float) -> float:
    """Returns the height of the middle of a ball that lies in the fruit bowl, so far from its axis."""
    return BOWL_MIDDLE - float(np.sqrt((BOWL_RADIUS - radius - 0.001) ** 2 - out**2))
