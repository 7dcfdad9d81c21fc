"""BSDFs: light that is not lost, draws against their density, reciprocity, and known answers."""

import math

import numpy as np
import pytest
from bsdf_draws import BLACK, WHITE, drawn, evaluated, kept, numbers, packed, reflected, seen_from, slanted, sphere
from merl import PHONG_LIKE, TABLES
from single_precision import float32

from shaders.bsdfs import anisotropic, dielectric, measured, metal, nff, oren_nayar, plastic, principled, sheen
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_GLOSSY, LOBE_SHARP, MOST_NUMBERS

AMBER = (0.9, 0.578, 0.1)
GOLD = {"specular": WHITE, "eta": (0.18, 0.42, 1.37), "k": (3.42, 2.35, 1.77)}
METAL, PLASTIC, GLASS, PRINCIPLED = metal.BSDF, plastic.BSDF, dielectric.BSDF, principled.BSDF


def seen_at(cosine, **changes):
    """How a surface is looked at, from a direction off the axes."""
    return seen_from(slanted(cosine), **changes)


#: Surfaces that lose no light, by a label: of every alpha, and every index for those that have one.
LOSSLESS = {
    "metal": lambda root, ior: packed(METAL, roughness=root),
    "metal by an index": lambda root, ior: packed(METAL, roughness=root, eta=WHITE, k=(1e6, 1e6, 1e6)),
    "plastic": lambda root, ior: packed(PLASTIC, roughness=root, ior=ior),
    "glass": lambda root, ior: packed(GLASS, roughness=root, ior=ior),
    "principled": lambda root, ior: packed(PRINCIPLED, {"metalness": 0.4}, roughness=root, ior=ior),
    "lacquered": lambda root, ior: packed(PRINCIPLED, {"coat": 0.7, "coat_roughness": root}, roughness=0.6, ior=ior),
}
ROWS = {
    "metal": METAL,
    "metal by an index": METAL,
    "plastic": PLASTIC,
    "glass": GLASS,
    "principled": PRINCIPLED,
    "lacquered": PRINCIPLED,
}

#: Coloured surfaces that spread light.
ROUGH = {
    "dull gold": (METAL, packed(METAL, roughness=0.7, **GOLD)),
    "satin copper": (METAL, packed(METAL, roughness=0.4, specular=(0.95, 0.64, 0.54))),
    "lacquered copper": (
        METAL,
        packed(METAL, {"coat": 0.8, "coat_roughness": 0.5}, roughness=0.8, specular=(0.95, 0.6, 0.5)),
    ),
    "satin plastic": (PLASTIC, packed(PLASTIC, {"specular_weight": (1.0, 0.5, 0.2)}, diffuse=AMBER, roughness=0.5)),
    "frosted glass": (GLASS, packed(GLASS, roughness=0.6, transmittance=0.9)),
    "half metal": (
        PRINCIPLED,
        packed(
            PRINCIPLED, {"metalness": 0.3, "coat": 0.5, "coat_roughness": 0.45}, diffuse=AMBER, roughness=0.7, ior=1.8
        ),
    ),
    "nff": (nff.BSDF, nff.Nff((0.3, 0.25, 0.2), (0.2, 0.3, 0.1), BLACK, BLACK, 7.0, 1.5)),
    "nff with all": (nff.BSDF, nff.Nff((0.2, 0.1, 0.3), (0.2, 0.1, 0.0), (0.1, 0.3, 0.2), (0.3, 0.1, 0.1), 20.0, 1.5)),
    "cloth": (sheen.BSDF, sheen.Sheen((0.6, 0.3, 0.1), (0.9, 0.3, 0.7), 0.4)),
    "brushed metal": (
        anisotropic.BSDF,
        anisotropic.Anisotropic((0.9, 0.7, 0.4), (2.9, 2.9, 2.5), (3.1, 2.9, 2.7), (0.5, 0.5, 0.5), 0.5, 0.2, 0.1),
    ),
    "measured": (measured.BSDF, PHONG_LIKE),
    "clay": (oren_nayar.BSDF, oren_nayar.OrenNayar((0.9, 0.5, 0.2), 0.8)),
}
ROUGH = {name: (bsdf, float32(parameters)) for name, (bsdf, parameters) in ROUGH.items()}
rough = pytest.mark.parametrize(("bsdf", "parameters"), ROUGH.values(), ids=ROUGH)


@pytest.mark.parametrize(
    ("label", "ior"), [(name, ior) for name in LOSSLESS for ior in ((1.0,) if ROWS[name] is METAL else (1.1, 1.5, 2.4))]
)
@pytest.mark.parametrize("root", [0.0, 0.15, 0.25, 0.45, 0.75, 1.0])
def test_in_a_white_furnace_surfaces_are_white(label, ior, root):
    """No light is lost, whatever the roughness and the direction: glass from either side."""
    bsdf, parameters = ROWS[label], LOSSLESS[label](root, ior)
    for is_outside in (True, False) if bsdf.eta else (True,):
        found = [kept(bsdf, parameters, seen_at(z, is_outside=is_outside)) for z in (0.1, 0.5, 1.0)]
        np.testing.assert_allclose(found, 1.0, atol=1e-3 if is_outside else 2e-3)


def reflected_at(cosine, ior):
    """Fresnel's reflectance of clear borders at cosines, (n,)."""
    cosine_t = np.sqrt(np.maximum(0.0, 1.0 - (1.0 - cosine**2) / ior**2))
    parallel = (ior * cosine - cosine_t) / (ior * cosine + cosine_t)
    perpendicular = (cosine - ior * cosine_t) / (cosine + ior * cosine_t)
    return 0.5 * (parallel**2 + perpendicular**2)


@pytest.mark.parametrize("ior", [1.2, 1.5, 2.0])
@pytest.mark.parametrize("diffuse", [0.1, 0.578, 0.95])
def test_light_goes_to_and_fro_under_a_smooth_coat(ior, diffuse):
    """As photons do it that are followed one by one until they get out or are absorbed."""
    rng, cosine, photons = np.random.default_rng(5), 0.6, 200_000
    inside = rng.random(photons) > reflected_at(np.array(cosine), ior)
    out, below = np.count_nonzero(~inside), np.count_nonzero(inside)
    while below:
        below = rng.binomial(below, diffuse)  # type: ignore[assignment]
        leaving = rng.random(below) > reflected_at(np.sqrt(rng.random(below)), 1.0 / ior)
        out, below = out + np.count_nonzero(leaving), np.count_nonzero(~leaving)
    parameters = packed(PLASTIC, diffuse=(diffuse,) * 3, ior=ior)
    assert PLASTIC.albedo(parameters, seen_at(cosine).wo)[0] == pytest.approx(out / photons, abs=4e-3)


@pytest.mark.parametrize(
    ("bsdf", "parameters"),
    [
        (METAL, packed(METAL, {"coat": 0.6}, specular=(0.95, 0.64, 0.54))),
        (METAL, packed(METAL, {"coat": 0.6}, **GOLD)),
        (PLASTIC, packed(PLASTIC, {"specular_weight": (1.0, 0.2, 0.1)}, diffuse=AMBER)),
        (PRINCIPLED, packed(PRINCIPLED, {"metalness": 0.4, "coat": 0.6}, diffuse=AMBER)),
    ],
)
def test_a_photon_has_the_same_power_whichever_lobe_it_takes(bsdf, parameters):
    """The sum over channels after lobes without spread is what they reflect of all of it. Of gold alike numbers choose,
    which are not quite its own."""
    seen = seen_at(0.5, carried=(0.3, 2.0, 0.5), follow=0.0)
    _, lobe, light = drawn(bsdf, parameters, seen, numbers(1 << 10))
    assert set(lobe) == {LOBE_SHARP}
    power = light @ np.float64(seen.carried)
    np.testing.assert_allclose(power, power.mean(), rtol=0.03 if max(getattr(parameters, "eta", BLACK)) > 0.0 else 2e-5)


@pytest.mark.parametrize("roughness", [0.0, 0.5])
@pytest.mark.parametrize("cosine", [1e-4, 0.3, 1.0])
def test_an_index_of_1_is_no_border(roughness, cosine):
    seen = seen_at(cosine)
    parameters = packed(GLASS, ior=1.0, roughness=roughness, transmittance=0.5)
    wi, lobe, weight = drawn(GLASS, parameters, seen, numbers(256))
    np.testing.assert_array_equal(wi, np.broadcast_to(-np.float32(seen.wo), wi.shape))
    assert np.all(weight == np.float32(0.5))
    assert np.all(lobe == LOBE_SHARP)
    assert evaluated(GLASS, parameters, seen, wi[:1])[2] == 0.0


@pytest.mark.parametrize(("bsdf", "own"), [(METAL, {}), (METAL, {"coat": 0.5}), (PLASTIC, {}), (PRINCIPLED, {})])
def test_smooth_facets_mirror_to_the_bit(bsdf, own):
    seen = seen_at(0.37, follow=0.0)
    wi, lobe, _ = drawn(bsdf, packed(bsdf, own), seen, numbers(256))
    x, y, z = seen.wo
    np.testing.assert_array_equal(wi, np.broadcast_to((-x, -y, z), wi.shape))
    assert np.all(lobe == LOBE_SHARP)


def test_metalness_mixes_what_is_metal_and_what_is_not():
    wi, _ = sphere(PRINCIPLED, 8)
    seen, own = seen_at(0.6), {"coat": 0.3, "coat_roughness": 0.6}
    none, some, whole = (
        evaluated(PRINCIPLED, packed(PRINCIPLED, own | {"metalness": m}, diffuse=AMBER, roughness=0.6), seen, wi)
        for m in (0.0, 0.25, 1.0)
    )
    for i in range(2):
        np.testing.assert_allclose(some[i], 0.75 * none[i] + 0.25 * whole[i], rtol=1e-5, atol=1e-7)
    assert not whole[0].any()


def test_what_is_diffuse_below_a_coat_has_its_colour():
    """Of a plastic it is deeper."""
    seen, (wi, _) = seen_at(0.6), sphere(PRINCIPLED, 8)
    white, amber, plastic = (
        evaluated(bsdf, packed(bsdf, diffuse=color, roughness=0.6), seen, wi)[0]
        for bsdf, color in ((PRINCIPLED, WHITE), (PRINCIPLED, AMBER), (PLASTIC, AMBER))
    )
    np.testing.assert_allclose(amber, white * np.float32(AMBER), rtol=1e-5, atol=1e-7)  # type: ignore[arg-type]
    assert np.all(plastic[wi[:, 2] > 0.1] < 0.99 * amber[wi[:, 2] > 0.1])


@pytest.mark.parametrize("cosine", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("ior", [1.3, 1.5, 2.0])
def test_a_smooth_plastic_has_the_colour_that_mitsuba_gives_it(cosine, ior):
    mi = pytest.importorskip("mitsuba")
    mi.set_variant("scalar_rgb")
    theirs = mi.load_dict(
        {
            "type": "plastic",
            "nonlinear": True,
            "int_ior": ior,
            "ext_ior": 1.0,
            "diffuse_reflectance": {"type": "rgb", "value": list(AMBER)},
        }
    )
    interaction = mi.SurfaceInteraction3f()
    interaction.wi = mi.Vector3f(math.sqrt(1.0 - cosine * cosine), 0.0, cosine)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    diffuse = sum(
        np.array(theirs.eval(mi.BSDFContext(), interaction, [math.sqrt(1.0 - z * z), 0.0, z])) * w * np.pi
        for z, w in zip(0.5 + 0.5 * nodes, weights, strict=True)
    )
    parameters = packed(PLASTIC, diffuse=AMBER, ior=ior)
    expected = diffuse + reflected_at(np.array(cosine), ior)
    np.testing.assert_allclose(PLASTIC.albedo(parameters, seen_at(cosine).wo), expected, rtol=0.01)


@rough
def test_values_are_reciprocal(bsdf, parameters):
    """But for the square of the index, where light crosses to another medium."""
    pairs = np.random.default_rng(3).normal(size=(60, 2, 3))
    pairs[:, :, 2] = np.abs(pairs[:, :, 2])
    pairs /= np.linalg.norm(pairs, axis=2, keepdims=True)
    for wi, wo in pairs:
        for is_crossing in (False, True) if bsdf is GLASS else (False,):
            turned = np.array([1.0, 1.0, -1.0 if is_crossing else 1.0])
            there, back = (
                np.add(
                    *evaluated(bsdf, parameters, seen_from(tuple(a), is_outside=side, tables=TABLES), [b * turned])[:2]
                )
                for a, b, side in ((wo, wi, True), (wi, wo, not is_crossing))
            )
            eta = float(bsdf.eta(parameters, True)) if is_crossing else 1.0
            np.testing.assert_allclose(there, eta**2 * back, rtol=2e-3, atol=1e-6)


@rough
@pytest.mark.parametrize(("cosine", "follow"), [(0.9, 1.0), (0.3, 1.0), (0.6, 0.0)])
def test_the_density_is_that_of_draws(bsdf, parameters, cosine, follow, assert_fits):
    """Cells are of equal size in the root of |z| and in azimuth; the share of the density that is missing is that of
    draws that have none: those which are lost below the surface, and sharp ones."""
    cells, draws = 10, 1 << 18
    seen = seen_at(cosine, follow=follow, carried=(1.0, 0.5, 0.2), tables=TABLES)
    wi, lobe, _ = drawn(bsdf, parameters, seen, np.random.default_rng(2).random((draws, 3), np.float32))
    wi = wi[(lobe == LOBE_BASE) | (lobe == LOBE_GLOSSY)]
    np.testing.assert_allclose(np.linalg.norm(wi, axis=1), 1.0, atol=1e-5)
    assert bsdf is GLASS or wi[:, 2].min() > 0.0
    root = np.copysign(np.sqrt(np.abs(wi[:, 2])), wi[:, 2])
    counts, *_ = np.histogram2d(
        root, np.arctan2(wi[:, 1], wi[:, 0]), (2 * cells, cells), ((-1.0, 1.0), (-np.pi, np.pi))
    )
    nodes, weights = np.polynomial.legendre.leggauss(16)
    step = (np.arange(2 * cells)[:, None] + 0.5 + 0.5 * nodes) / cells - 1.0
    azimuth = np.pi * ((np.arange(cells)[:, None] + 0.5 + 0.5 * nodes) / cells * 2.0 - 1.0)
    root, azimuth = np.meshgrid(step.ravel(), azimuth.ravel(), indexing="ij")
    z, sine = root * np.abs(root), np.sqrt(1.0 - root**4)
    directions = np.stack([sine * np.cos(azimuth), sine * np.sin(azimuth), z], axis=-1).reshape(-1, 3)
    pdf = evaluated(bsdf, parameters, seen, directions)[2].reshape(z.shape) * np.abs(root) * np.pi / cells**2
    expected = np.einsum("aibj,i,j->ab", pdf.reshape(2 * cells, 16, cells, 16), weights, weights) * draws
    lost = draws - len(wi)
    assert expected.sum() == pytest.approx(len(wi), rel=5e-3)
    assert_fits(np.append(counts, lost), np.append(expected, draws - expected.sum()), 40)


@rough
@pytest.mark.parametrize("carried", [WHITE, (0.1, 0.2, 3.0)])
def test_draws_keep_what_is_reflected_on_average(bsdf, parameters, carried):
    """Which quadrature finds and the albedo says: that of measured surfaces, of metals, and of metals under rough
    lacquer is about it, and that of cloth and of what only nff has is not asked for here."""
    for cosine, follow in ((0.2, 1.0), (0.8, 1.0), (0.5, 0.0)):
        seen = seen_at(cosine, carried=carried, follow=follow, tables=TABLES)
        found, expected = kept(bsdf, parameters, seen), reflected(bsdf, parameters, seen, 120)
        if bsdf is nff.BSDF:
            expected += np.add(parameters.mirror, parameters.transmission)
        np.testing.assert_allclose(found, expected, atol=4e-3)
        if follow == 1.0 and bsdf in (METAL, PLASTIC, GLASS, PRINCIPLED):
            is_exact = bsdf is not METAL and (bsdf is not PRINCIPLED or parameters.coat == 0.0)
            np.testing.assert_allclose(found, bsdf.albedo(parameters, seen.wo), atol=2e-3 if is_exact else 0.04)


@rough
def test_the_base_is_what_enters_times_what_it_reflects(bsdf, parameters):
    seen = seen_at(0.7, tables=TABLES)
    for wi in sphere(bsdf, 4)[0]:
        base, rest, _ = evaluated(bsdf, parameters, seen, [wi])
        entering = np.array(bsdf.entering(parameters, float32(tuple(wi))))
        expected = entering * bsdf.reflectance(parameters, seen.wo) / np.pi
        np.testing.assert_allclose(base[0], expected if wi[2] > 0.0 else 0.0, rtol=1e-5, atol=1e-7)
        assert rest.min() >= 0.0
        assert wi[2] < 0.0 or np.all((entering >= 0.0) & (entering <= 1.0))


@rough
def test_nothing_with_a_spread_lies_below_an_opaque_surface(bsdf, parameters):
    """Not even close to the mirror image of a grazing direction."""
    if bsdf is not GLASS:
        below = [tuple(-x for x in slanted(0.1)), (0.0, 0.0, -1.0)]
        assert not any(part.any() for part in evaluated(bsdf, parameters, seen_at(0.1, tables=TABLES), below))


@rough
def test_numbers_fit_and_lobes_are_told(bsdf, parameters):
    assert sum(np.size(number) for number in parameters) <= MOST_NUMBERS
    lobes = set(drawn(bsdf, parameters, seen_at(0.5, tables=TABLES), numbers(1 << 12))[1])
    assert LOBE_GLOSSY in lobes
    assert (LOBE_BASE in lobes) == bsdf.stores(parameters)
    assert (LOBE_SHARP in lobes) == bsdf.is_sharp(parameters)
