"""What covers a picture's pixels, as Cryptomatte keeps it in an .exr, by which programs that put pictures together cut
out objects and materials.

Friedman, Jones: Fully Automatic ID Mattes with Support for Motion Blur and Transparency, 2015; the channels, names and
hashes are those of the specification that goes with it (Psyop: Cryptomatte Specification 1.2.0).
"""

import json
import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

#: Names of the layers, and how the names of what is in them begin.
LAYERS = (("CryptoObject", "object"), ("CryptoMaterial", "material"))

#: Of the exponent of a float32, all of whose bits must not be the same: a hash is no infinity, NaN or denormal.
EXPONENT, LAST_OF_EXPONENT = 0xFF, 1 << 23


def channels(coverage: Floats) -> Iterator[tuple[str, Floats]]:
    """Yields names and planes of the channels. coverage: (height, width, 2, ranks, 2), of objects and of materials
    numbers and shares, as `renderer.camera_paths.coverage` has them."""
    for which, (layer, kind) in enumerate(LAYERS):
        numbers, shares = coverage[:, :, which, :, 0], coverage[:, :, which, :, 1]
        known, places = np.unique(numbers, return_inverse=True)
        hashes = np.array([0.0 if one < 0 else as_float(hash_of(name_of(kind, one))) for one in known], np.float32)
        values = np.stack([hashes[places.reshape(numbers.shape)], shares], axis=-1)
        for pair in range(0, values.shape[2], 2):
            four = values[:, :, pair : pair + 2].reshape(*values.shape[:2], -1)
            for channel, name in zip(np.moveaxis(four, 2, 0), "RGBA", strict=False):
                yield f"{layer}{pair // 2:02}.{name}", np.ascontiguousarray(channel)


def header(coverage: Floats) -> dict[str, str]:
    """Returns the attributes of the file, by which other programs find the layers, and names in them."""
    attributes: dict[str, str] = {}
    for which, (layer, kind) in enumerate(LAYERS):
        numbers = np.unique(coverage[:, :, which, :, 0]).astype(int).tolist()
        names = {name: f"{hash_of(name):08x}" for name in (name_of(kind, one) for one in numbers if one >= 0)}
        key = "cryptomatte/" + f"{murmur3(layer.encode()):08x}"[:7]
        attributes |= {
            f"{key}/name": layer,
            f"{key}/hash": "MurmurHash3_32",
            f"{key}/conversion": "uint32_to_float32",
            f"{key}/manifest": json.dumps(names, separators=(",", ":")),
        }
    return attributes


def name_of(kind: str, number: float) -> str:
    """Returns the name of an object or material, which files of scenes number."""
    return f"{kind} {int(number)}"


def hash_of(name: str) -> int:
    """Returns the hash of a name, 32 bits that are those of a float32 which is a number."""
    found = murmur3(name.encode())
    return found ^ LAST_OF_EXPONENT if found >> 23 & EXPONENT in (0, EXPONENT) else found


def as_float(word: int) -> float:
    """Returns the float32 whose bits a word has."""
    return float(struct.unpack("<f", struct.pack("<I", word))[0])


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
