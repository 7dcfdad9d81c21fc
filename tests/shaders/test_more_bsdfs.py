"""BSDFs by the formulas of their papers, and by what their pages say."""

import math

import numpy as np
import pytest
from bsdf_draws import (
    BLACK,
    WHITE,
    as_array,
    drawn,
    evaluated,
    hemisphere,
    material,
    numbers,
    reflected,
    seen_from,
    slanted,
)
from merl import PHONG_LIKE, TABLES, joined, middles, phong_like
from shading_tables import cloth_table, means_of_cloth
from single_precision import float32

from shaders.bsdfs import anisotropic, dielectric, measured, metal, nff, oren_nayar, sheen
from shaders.bsdfs.bsdf import LOBE_BASE, LOBE_SHARP
from shaders.errors import ShaderError

TINTED = {"diffuse": (0.3, 0.2, 0.1), "specular": (0.4, 0.2, 0.0), "exponent": 100.0, "transmittance": 0.25}


def tinted(own=None, **changes):
    """A material that has something of all lobes of nff."""
    return material(own, **(TINTED | {"roughness": 0.5} | changes))


@pytest.mark.parametrize("ior", [0.0, -1.0, 1.0])
@pytest.mark.parametrize("is_outside", [True, False])
@pytest.mark.parametrize("kind", [nff, dielectric])
def test_without_an_index_light_goes_straight_through(kind, ior, is_outside):
    packed = kind.pack(tinted(diffuse=BLACK, specular=BLACK, transmittance=0.5, ior=ior, roughness=0.3))
    wo = float32((0.6, 0.123456, math.sqrt(1.0 - 0.36 - 0.123456**2)))
    wi, lobe, weight = drawn(kind.BSDF, packed, seen_from(wo, is_outside=is_outside), numbers(1000))
    assert np.all(wi == -np.array(wo))
    assert np.all(weight == np.float32(0.5))
    assert np.all(lobe == LOBE_SHARP)
    assert dielectric.eta(float32(packed), is_outside) == 1.0


def test_nothing_is_reflected_where_the_index_does_not_change():
    """Not even where Fresnel's equations are rounded to a little more than 0, and the number is 0."""
    for cosine in np.linspace(0.01, 0.99, 99):
        wo = float32(slanted(cosine))
        assert dielectric.behind_border(wo, np.float32(1.0), np.float32(0.0)) == tuple(-w for w in wo)  # type: ignore[arg-type]


@pytest.mark.parametrize(("cosine", "is_outside"), [(0.9, True), (0.3, True), (0.9, False), (0.5, False)])
@pytest.mark.parametrize(
    "glass", [nff.Nff(BLACK, BLACK, BLACK, WHITE, 0.0, 1.5), dielectric.Dielectric(WHITE, 1.5, 0.0)]
)
def test_glass_reflects_by_fresnel_and_refracts_by_snell(glass, cosine, is_outside):
    bsdf = nff.BSDF if isinstance(glass, nff.Nff) else dielectric.BSDF
    eta = 1.5 if is_outside else 1.0 / 1.5
    assert dielectric.eta(float32(glass), is_outside) == pytest.approx(eta)
    wi, lobe, weight = drawn(bsdf, glass, seen_from(slanted(cosine), is_outside=is_outside), numbers(1 << 16))
    assert np.all(lobe == LOBE_SHARP)
    assert np.all(weight == 1.0)
    sine = math.sqrt(1.0 - cosine**2) / eta
    inside = math.sqrt(max(0.0, 1.0 - sine**2))
    across = ((cosine - eta * inside) / (cosine + eta * inside)) ** 2
    share = 0.5 * (across + ((eta * cosine - inside) / (eta * cosine + inside)) ** 2)
    assert np.mean(wi[:, 2] > 0.0) == pytest.approx(share if sine < 1.0 else 1.0, abs=4e-3)
    expected = (-0.6 * sine, 0.8 * sine, -inside)
    np.testing.assert_allclose(wi[wi[:, 2] < 0.0], np.tile(expected, (np.sum(wi[:, 2] < 0.0), 1)), atol=1e-6)


def test_nff_is_scaled_until_the_brightest_channel_is_one():
    kept_as_it_is = nff.pack(tinted())
    assert kept_as_it_is.diffuse == (0.3, 0.2, 0.1)
    assert np.add(kept_as_it_is.phong, kept_as_it_is.mirror) == pytest.approx((0.4, 0.2, 0.0))
    assert (kept_as_it_is.transmission, kept_as_it_is.exponent, kept_as_it_is.ior) == ((0.25,) * 3, 100.0, 1.5)
    scaled = nff.pack(tinted(diffuse=(0.9, 0.2, 0.1), specular=(0.85, 0.2, 0.0)))
    assert np.sum(scaled[:4], axis=0) == pytest.approx((1.0, 0.65 / 2.0, 0.35 / 2.0))
    assert scaled.transmission == pytest.approx((0.125, 0.125, 0.125))


@pytest.mark.parametrize(("changes", "share"), [
    ({}, 0.5), ({"exponent": 300.0}, 0.75), ({"exponent": -1.0}, 0.0), ({"mirror_share": 0.25}, 0.25),
])  # fmt: skip
def test_nff_splits_specular_by_its_exponent_or_as_it_is_told(changes, share):
    packed = nff.pack(tinted(**changes))
    assert packed.mirror == pytest.approx((0.4 * share, 0.2 * share, 0.0))
    assert packed.phong == pytest.approx((0.4 * (1.0 - share), 0.2 * (1.0 - share), 0.0))


def test_known_values_of_the_lobes_of_nff():
    wo = slanted(0.5)
    mirrored = (-wo[0], -wo[1], wo[2])
    both = nff.Nff((0.5, 0.25, 0.0), (0.1, 0.2, 0.4), BLACK, BLACK, 6.0, 1.5)
    base, rest, _ = evaluated(nff.BSDF, both, seen_from(wo), [mirrored])
    assert base[0] == pytest.approx((0.5 / math.pi, 0.25 / math.pi, 0.0))
    assert rest[0] == pytest.approx((0.4 / math.pi, 0.8 / math.pi, 1.6 / math.pi))
    for alone, density in ((both._replace(diffuse=BLACK), 3.5), (both._replace(phong=BLACK), 0.5)):
        pdf = evaluated(nff.BSDF, alone, seen_from(wo), [mirrored])[2]
        assert pdf[0] == pytest.approx(density / math.pi, rel=1e-5)


@pytest.mark.parametrize(("exponent", "lost"), [(1.0, 0.263), (5.0, 0.317), (20.0, 0.331), (100.0, 0.333)])
def test_the_phong_lobe_loses_up_to_a_third_under_even_light(exponent, lost):
    """docs/correctness.md has these figures."""
    phong = nff.Nff(BLACK, WHITE, BLACK, BLACK, exponent, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    cosines = 0.5 + 0.5 * nodes
    by_cosine = [reflected(nff.BSDF, phong, seen_from(slanted(c)))[0] for c in cosines]
    assert 1.0 - np.sum(by_cosine * weights * cosines) == pytest.approx(lost, abs=6e-4)


def fujii(wi, wo, roughness):
    """One bounce of a white surface, as the paper has it, times pi."""
    s = np.dot(wi, wo) - wi[2] * wo[2]
    t = max(wi[2], wo[2]) if s > 0.0 else 1.0
    return (1.0 + roughness * s / t) / (1.0 + (0.5 - 2.0 / (3.0 * np.pi)) * roughness)


def at(degrees, azimuth=0.0):
    """A direction, so many degrees from the normal."""
    angle, azimuth = np.radians(degrees), np.radians(azimuth)
    return (np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth), np.cos(angle))


@pytest.mark.parametrize("roughness", [0.0, 0.3, 1.0])
def test_oren_nayar_is_the_published_formula(roughness):
    """What is missed by one bounce is found by quadrature of the formula, not by the closed form of the code."""
    rho = 0.6
    packed = oren_nayar.OrenNayar((rho, rho, rho), roughness)
    points, solid_angles = hemisphere(48)

    def caught(wo):
        once = np.array([fujii(w, wo, roughness) for w in points])
        return np.sum(once * points[:, 2] * solid_angles) / np.pi

    mean = 1.0 / (1.0 + (0.5 - 2.0 / (3.0 * np.pi)) * roughness) * (1.0 + (2.0 / 3.0 - 28.0 / (15 * np.pi)) * roughness)
    for wi, wo in ((at(0), at(0)), (at(60), at(60)), (at(60), at(60, 180)), (at(80), at(40, 90)), (at(30), at(75, 20))):
        found = np.add(*evaluated(oren_nayar.BSDF, packed, seen_from(wo), [wi])[:2])[0, 0]
        more = rho * rho * mean / (1.0 - rho * (1.0 - mean))
        evenly = more * (1.0 - caught(wi)) * (1.0 - caught(wo)) / max(1.0 - mean, 1e-9)
        assert found == pytest.approx((rho * fujii(wi, wo, roughness) + evenly) / np.pi, abs=1e-4)


@pytest.mark.parametrize("roughness", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("cosine", [0.05, 0.5, 1.0])
def test_a_white_rough_diffuse_surface_loses_nothing(roughness, cosine):
    white = oren_nayar.OrenNayar((1.0, 0.7, 0.2), roughness)
    lit = reflected(oren_nayar.BSDF, white, seen_from(slanted(cosine)))
    assert lit[0] == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(lit, as_array(oren_nayar.albedo, white, slanted(cosine)), atol=1e-4)


def test_most_of_a_rough_diffuse_surface_is_its_base():
    """So that photons stand for it: all of Lambert's, two fifths of the roughest."""
    for roughness, least in ((0.0, 0.9999), (0.5, 0.65), (1.0, 0.4)):
        packed, wo = oren_nayar.OrenNayar(WHITE, roughness), slanted(0.8)
        wi, solid_angle = hemisphere(32)
        base = evaluated(oren_nayar.BSDF, packed, seen_from(wo), wi)[0]
        assert np.sum(base[:, 0] * solid_angle * wi[:, 2]) > least


def imageworks(wi, wo, alpha):
    """The value of white fibres, (n,), as the paper has it, for directions (n, 3)."""
    fit = (1.0 - alpha) ** 2 * np.array([25.3245, 3.32435, 0.16801, -1.27393, -4.85967])
    a, b, c, d, e = fit + (1.0 - (1.0 - alpha) ** 2) * np.array([21.5473, 3.82987, 0.19823, -1.97760, -4.32054])

    def hiding(cosine):
        def fitted(x):
            return a / (1.0 + b * x**c) + d * x + e

        low, high = np.minimum(cosine, 0.5), np.maximum(cosine, 0.5)
        return np.where(cosine < 0.5, np.exp(fitted(low)), np.exp(2.0 * fitted(0.5) - fitted(1.0 - high)))

    h = (wi + wo) / np.linalg.norm(wi + wo, axis=-1, keepdims=True)
    standing = (2.0 + 1.0 / alpha) * (1.0 - h[:, 2] ** 2) ** (0.5 / alpha) / (2.0 * np.pi)
    return standing / (1.0 + hiding(wi[:, 2]) + hiding(wo[2])) / (4.0 * wi[:, 2] * wo[2])


@pytest.mark.parametrize("alpha", [0.1, 0.35, 0.99])
@pytest.mark.parametrize("cosine", [0.05, 0.4, 0.9])
def test_fibres_reflect_by_the_published_formula(alpha, cosine):
    fibres = sheen.Sheen(BLACK, WHITE, alpha)
    wi, solid_angle = hemisphere(64)
    wo = np.array(slanted(cosine))
    expected = imageworks(wi, wo, alpha)
    rest = evaluated(sheen.BSDF, fibres, seen_from(slanted(cosine)), wi)[1][:, 0]
    is_clear = wi[:, 2] > 1e-3
    np.testing.assert_allclose(rest[is_clear], expected[is_clear], rtol=2e-3, atol=1e-6)
    share = np.sum(expected * wi[:, 2] * solid_angle)
    assert share < 1.0
    np.testing.assert_allclose(as_array(sheen.albedo, fibres, slanted(cosine)), share, atol=3e-3)


@pytest.mark.parametrize("alpha", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("cosine", [0.02, 0.3, 1.0])
def test_white_cloth_loses_nothing(alpha, cosine):
    cloth = sheen.Sheen(WHITE, (1.0, 0.5, 0.0), alpha)
    np.testing.assert_allclose(reflected(sheen.BSDF, cloth, seen_from(slanted(cosine))), 1.0, atol=3e-3)
    np.testing.assert_allclose(as_array(sheen.albedo, cloth, slanted(cosine)), 1.0, atol=1e-6)


def test_the_file_of_cloth_holds_what_is_tabulated():
    np.testing.assert_allclose(sheen.CAUGHT, cloth_table(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(sheen.MEAN_CAUGHT, means_of_cloth(sheen.CAUGHT), rtol=1e-6)


def write_merl(path, values):
    """Writes values (90, 90, 180, 3) as a file of the MERL database."""
    units = np.array([1.0, 1.15, 1.66]) / 1500.0
    content = np.array([90, 90, 180], "<i4").tobytes() + np.moveaxis(values / units, -1, 0).astype("<f8").tobytes()
    path.write_bytes(content)


@pytest.fixture(scope="module")
def merl_file(tmp_path_factory):
    """A file with a highlight, of which some was not measured."""
    path = tmp_path_factory.mktemp("merl") / "plastic.binary"
    values = phong_like(*middles())
    values[:, 85:] = -1.0
    write_merl(path, values)
    return path


def test_what_was_measured_is_read_and_looked_up(merl_file):
    packed, table = (f(tinted(own={"file": str(merl_file)})) for f in (measured.pack, measured.table_of))
    assert table.shape == (measured.TABLE_NUMBERS,)  # type: ignore[union-attr]
    tables = joined(table)
    random = np.random.default_rng(7)
    for _ in range(300):
        wi, wo = (at(*angles) for angles in random.uniform((0.0, 0.0), (70.0, 360.0), (2, 2)))
        base, rest, _ = evaluated(measured.BSDF, packed, seen_from(wo, tables=tables.ctypes.data), [wi])
        expected = phong_like(np.array(wi), np.array(wo))
        # A bin is as wide as two degrees: the highlight changes so much in it.
        np.testing.assert_allclose((base + rest)[0], expected, atol=0.04)
    wi, wo = (middle[40, 20, 50] for middle in middles())
    base, rest, _ = evaluated(measured.BSDF, packed, seen_from(wo, tables=tables.ctypes.data), [wi])
    np.testing.assert_allclose((base + rest)[0], phong_like(wi, wo), rtol=1e-5)


def test_a_measured_lambert_surface_is_all_base(tmp_path):
    write_merl(tmp_path / "chalk.binary", np.full((90, 90, 180, 3), (0.2, 0.1, 0.05)))
    packed, table = measured.read_table(str(tmp_path / "chalk.binary"))
    assert packed.base == pytest.approx((0.2 * np.pi, 0.1 * np.pi, 0.05 * np.pi), rel=1e-5)
    tables = joined(table)
    seen = seen_from(slanted(0.4), tables=tables.ctypes.data)
    base, rest, pdf = evaluated(measured.BSDF, packed, seen, [slanted(0.7)])
    np.testing.assert_allclose(base[0], (0.2, 0.1, 0.05), rtol=1e-5)
    np.testing.assert_allclose(rest[0], 0.0, atol=1e-7)
    assert pdf[0] == pytest.approx(0.7 / np.pi, rel=1e-5)
    assert np.all(drawn(measured.BSDF, packed, seen, numbers(1000))[1] == LOBE_BASE)


@pytest.mark.parametrize("cosine", [0.3, 0.5, 0.95])
def test_the_albedo_of_what_was_measured_is_about_what_it_reflects(cosine):
    seen = seen_from(slanted(cosine), tables=TABLES)
    np.testing.assert_allclose(
        as_array(measured.albedo, PHONG_LIKE, slanted(cosine)), reflected(measured.BSDF, PHONG_LIKE, seen), atol=0.01
    )
    assert PHONG_LIKE.glossy_share > 0.0
    assert 0.1 < PHONG_LIKE.alpha < 0.5


def test_a_file_that_is_none_of_merl_is_refused_in_a_line(tmp_path, merl_file):
    content, path = merl_file.read_bytes(), tmp_path / "bad.binary"
    spoilt = np.frombuffer(content[12:], "<f8").copy()
    spoilt[7] = np.nan
    for bad, message in (
        (b"", "expected a BRDF of the MERL database, 90 x 90 x 180 numbers, got 0 bytes"),
        (np.array([90, 45, 180], "<i4").tobytes() + content[12:], "got 90 x 45 x 180"),
        (content[:-8], "is the file whole"),
        (content + b" ", "is the file whole"),
        (content[:12] + spoilt.tobytes(), "expected finite numbers"),
    ):
        path.write_bytes(bad)
        with pytest.raises(ShaderError, match=message) as raised:
            measured.read_merl(path)
        assert "\n" not in str(raised.value)
        assert str(path) in str(raised.value)
    with pytest.raises(ShaderError, match=r"cannot read .*none.binary: No such file"):
        measured.read_merl(tmp_path / "none.binary")
    with pytest.raises(ShaderError, match="needs the key file"):
        measured.pack(tinted())


BRUSHED = {"anisotropy": 0.75, "rotation": 0.125}


def brushed(own=None, **changes):
    return anisotropic.pack(tinted(specular=WHITE, own=BRUSHED if own is None else own, **changes))


def test_metal_that_is_not_brushed_is_metal():
    """Whatever way it is turned."""
    packed = brushed(own={"rotation": 0.3}, roughness=0.6)
    plain = metal.pack(tinted(specular=WHITE, roughness=0.6))
    wi, _ = hemisphere(8)
    for cosine in (0.3, 0.9):
        seen = seen_from(slanted(cosine))
        ours, theirs = (evaluated(m.BSDF, p, seen, wi) for m, p in ((anisotropic, packed), (metal, plain)))
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-3, atol=1e-5)


def test_highlights_are_wider_across_the_brush_and_turn_with_it():
    """At a rotation of an eighth the wider way is between x and y."""
    packed = brushed(roughness=0.4)
    seen = seen_from((0.0, 0.0, 1.0))
    ways = [at(30, azimuth) for azimuth in (45, 225, 135, 315, 0, 90)]
    values = evaluated(anisotropic.BSDF, packed, seen, ways)[1][:, 0]
    wide, narrow, between = values[:2], values[2:4], values[4:]
    np.testing.assert_allclose([wide[0], narrow[0], between[0]], [wide[1], narrow[1], between[1]], rtol=1e-3)
    assert wide[0] > 2.0 * between[0] > 4.0 * narrow[0]


def test_brushed_facets_cover_the_surface_once():
    facets = anisotropic.Facets(*float32((0.6, 0.25, 0.0, 1.0)))
    h, solid_angle = hemisphere(64)
    densities = [anisotropic.density(facets, float32(one)) for one in h]
    assert np.sum(densities * h[:, 2] * solid_angle) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("roughness", "anisotropy", "least", "most"), [
    (0.5, 0.0, 0.995, 1.005), (0.5, 0.5, 0.955, 1.025), (0.5, 0.9, 0.825, 1.015),
    (0.8, 0.5, 0.895, 1.035), (0.8, 0.9, 0.645, 0.985),
])  # fmt: skip
def test_white_brushed_metal_loses_what_its_page_says(roughness, anisotropy, least, most):
    packed = brushed(own={"anisotropy": anisotropy}, roughness=roughness)
    kept = [
        reflected(anisotropic.BSDF, packed, seen_from(at(angle, azimuth)))[0]
        for angle in (5, 60, 85) for azimuth in (0, 45, 90)
    ]  # fmt: skip
    assert least < min(kept)
    assert max(kept) < most


def test_nff_never_sums_to_more_than_one():
    random = np.random.default_rng(5)
    for _ in range(200):
        colors, through = random.random((2, 3)), float(random.uniform(-0.5, 1.0))
        given, exponent = colors.sum(axis=0) + max(through, 0.0), random.uniform(0.0, 255.0)
        packed = nff.pack(tinted(**dict(zip(("diffuse", "specular"), map(tuple, colors), strict=True)),
            exponent=exponent, transmittance=through))  # fmt: skip
        assert np.sum(packed[:4], axis=0) == pytest.approx(given / max(1.0, given.max()))
        assert min(map(min, packed[:4])) >= 0.0


def test_lobes_are_chosen_by_what_they_would_carry():
    red_and_blue = nff.Nff((1.0, 0.0, 0.0), BLACK, (0.0, 0.0, 1.0), BLACK, 0.0, 1.0)
    for carried, share in (((1.0, 1.0, 0.0), 0.0), ((0.0, 1.0, 1.0), 1.0), ((3.0, 0.0, 1.0), 0.25)):
        seen = seen_from(slanted(0.7), carried=carried)
        lobe = drawn(nff.BSDF, red_and_blue, seen, numbers(10_000))[1]
        assert np.mean(lobe == LOBE_SHARP) == pytest.approx(share, abs=0.02)


def test_the_phong_lobe_reflects_its_color_where_it_stays_above():
    for exponent in (0.0, 1.0, 20.0, 100.0):
        phong = nff.Nff(BLACK, (0.5, 0.25, 1.0), BLACK, BLACK, exponent, 1.0)
        np.testing.assert_allclose(reflected(nff.BSDF, phong, seen_from((0.0, 0.0, 1.0))), phong.phong, rtol=2e-4)
        albedo = as_array(nff.albedo, phong, (0.0, 0.0, 1.0))
        np.testing.assert_allclose(albedo, phong.phong, rtol=1e-6)
