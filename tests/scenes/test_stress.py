"""The scene for tracers: as many triangles as were asked for, of all sizes, many of them shared."""

import pytest

from scenes.shipped import stress


@pytest.fixture(scope="module")
def large():
    return stress.scene(100_000)


@pytest.mark.parametrize("count", [1_001, 1_007, 12_345, 54_321])
def test_any_number_will_do(count):
    assert len(stress.scene(count).at(0.0).positions) == count


def test_meshes_are_shared(large):
    document = large.document
    assert document.stored_triangles < 0.2 * document.triangles
    heads = {id(part.shape) for part in document.parts if part.shape.material == stress.WHITE}
    assert 30 < len(heads) < len(document.parts) / 10


def test_same_bits_twice(large):
    first, second = large.at(0.0), stress.scene(100_000).at(0.0)
    for name in ("positions", "normals", "uvs", "material_ids"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
