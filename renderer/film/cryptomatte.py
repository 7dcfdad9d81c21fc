"""What covers a picture's pixels, as Cryptomatte keeps it in an .exr, by which programs that put pictures together cut
out objects and materials.

Friedman, Jones: Fully Automatic ID Mattes with Support for Motion Blur and Transparency, 2015; the channels, names and
hashes are those of the specification that goes with it (Psyop: Cryptomatte Specification 1.2.0).
"""

import json
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

#: Names of the layers.
OBJECTS, MATERIALS = "CryptoObject", "CryptoMaterial"

#: Of the exponent of a float32, all of whose bits must not be the same: a hash is no infinity, NaN or denormal.
EXPONENT, LAST_OF_EXPONENT = 0xFF, 1 << 23


class Mattes:
    """Is what covers a picture's pixels, by names.

    coverage: (height, width, 2, ranks, 2), of objects and of materials numbers and shares, as
        `renderer.camera_paths.coverage` has them.
    materials: names of all of them; one without a name, and each object, is called by its number.
    """

    def __init__(self, coverage: Floats, materials: Sequence[str] = ()) -> None:
        self._of = dict(zip((OBJECTS, MATERIALS), np.moveaxis(coverage, 2, 0), strict=True))
        self._materials = materials

    def _name(self, layer: str, number: int) -> str:
        if layer == OBJECTS:
            return f"object {number}"
        return (self._materials[number] if number < len(self._materials) else "") or f"material {number}"

    def layers(self) -> dict[str, Floats]:
        """Returns layers of a file, (height, width, 4) float32 each: hash and share of one, and of the next."""
        found = {}
        for layer, coverage in self._of.items():
            numbers, places = np.unique(coverage[..., 0].astype(int), return_inverse=True)
            words = [0 if number < 0 else hash_of(self._name(layer, number)) for number in numbers.tolist()]
            hashes = np.array(words, np.uint32).view(np.float32)
            values = np.stack([hashes[places.reshape(coverage.shape[:3])], coverage[..., 1]], axis=-1)
            for pair in range(0, values.shape[2], 2):
                found[f"{layer}{pair // 2:02}"] = values[:, :, pair : pair + 2].reshape(*values.shape[:2], -1)
        return found

    def header(self) -> dict[str, str]:
        """Returns attributes of the file, by which other programs find the layers, and names in them."""
        attributes: dict[str, str] = {}
        for layer, coverage in self._of.items():
            numbers = np.unique(coverage[..., 0].astype(int)).tolist()
            names = [self._name(layer, number) for number in numbers if number >= 0]
            manifest = {name: f"{hash_of(name):08x}" for name in names}
            key = "cryptomatte/" + f"{murmur3(layer.encode()):08x}"[:7]
            attributes |= {
                f"{key}/name": layer,
                f"{key}/hash": "MurmurHash3_32",
                f"{key}/conversion": "uint32_to_float32",
                f"{key}/manifest": json.dumps(manifest, separators=(",", ":"), ensure_ascii=False),
            }
        return attributes


def hash_of(name: str) -> int:
    """Returns the hash of a name, 32 bits that are those of a float32 which is a number."""
    found = murmur3(name.encode("utf-8", "replace"))
    return found ^ LAST_OF_EXPONENT if found >> 23 & EXPONENT in (0, EXPONENT) else found


def murmur3(content: bytes) -> int:
    """Returns MurmurHash3_x86_32 of bytes, without a seed (Appleby: SMHasher, 2011)."""
    state, whole = 0, len(content) // 4 * 4
    for (word,) in struct.iter_unpack("<I", content[:whole]):
        state = (_turned(state ^ _mixed(word), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= _mixed(int.from_bytes(content[whole:], "little")) ^ len(content)
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return state ^ state >> 16


def _mixed(word: int) -> int:
    return _turned(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & 0xFFFFFFFF
