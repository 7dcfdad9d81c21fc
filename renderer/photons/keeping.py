"""The last stage of shading: photons that are kept, fates that are counted, and paths that go on."""

import numpy as np

from renderer.photons.batch import PATH_DEPTH, PATH_FLUX, Chunk
from renderer.photons.chunk_views import (
    BLOCK_STEP,
    FATE_BITS,
    FATE_MASK,
    FATES,
    NO_FATE,
    ONE_STORED,
    WAITING_STEP,
)
from renderer.photons.store import (
    PHOTON_BLOCK_BYTES,
    PHOTONS_ABSORBED,
    PHOTONS_STORED,
    PHOTONS_TERMINATED,
    STORE_COLUMNS,
    PhotonOutput,
)
from renderer.shading.chunks import RAY_DIRECTION, View
from renderer.simd.columns import (
    CHUNK,
    LINE_BYTES,
    close_gaps,
    column_of,
    copy_line,
    each,
    get_word,
    pack_columns,
    put,
    three,
    whole,
)
from shaders.compilation import compiled as inlined
from tracecore.compilation.vector import address


@inlined
def keep_photons(photons: int, count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Store the photons of a chunk, with gaps where one is not to stay. photons: where they wait already."""
    last = photons + 6 * WAITING_STEP
    columns = three(photons, WAITING_STEP) + three(photons + 3 * WAITING_STEP, WAITING_STEP) + (last,)
    waits = output.waits[0] + close_gaps(address(chunk.counters), (ONE_STORED, ONE_STORED), count, columns)
    if waits >= CHUNK:
        waits -= CHUNK
        fill_block(address(output.waiting), address(output.blocks) + PHOTON_BLOCK_BYTES * output.filled[0], waits)
        output.filled[0] += 1
    output.waits[0] = waits


@inlined
def fill_block(waiting: int, block: int, rest: int) -> None:
    """Move photons that wait to a block, and the rest of them to the front."""
    for word in range(STORE_COLUMNS):
        for line in range(0, BLOCK_STEP, LINE_BYTES):
            copy_line(waiting + WAITING_STEP * word + line, block + BLOCK_STEP * word + line)
    each(move_photon, whole(rest), waiting)


@inlined
def move_photon(i: int, waiting: int) -> None:
    """Copy a photon that waits behind a whole block to the front."""
    for word in range(STORE_COLUMNS):
        first = waiting + word * WAITING_STEP
        put(first, i, get_word(first, CHUNK + i))


@inlined
def add_fates(count: int, chunk: Chunk, output: PhotonOutput) -> None:
    """Count what became of the hits of a chunk."""
    total = NO_FATE
    for i in range(count):
        total = np.uint32(total + chunk.counters[i])
    for counter in (PHOTONS_STORED, PHOTONS_ABSORBED, PHOTONS_TERMINATED):
        output.counters[counter] += np.int64(total & FATE_MASK)
        total >>= FATE_BITS


@inlined
def keep_paths(view: View, count: int) -> int:
    """Move the paths that go on behind those before; returns how many they are.

    A whole vector ends no later than the rays looked at, so that none is lost that is still to be shaded.
    """
    chunk, step = view.chunk, view.step
    sources = column_of(chunk.position) + column_of(chunk.wi) + column_of(chunk.flux)
    targets = (
        three(view.kept_rays, step)
        + three(view.kept_rays + RAY_DIRECTION * step, step)
        + three(view.kept_paths + PATH_FLUX * step, step)
    )
    numbers = (address(chunk.photon), address(chunk.depth))
    kept = (view.kept_paths, view.kept_paths + PATH_DEPTH * step)
    return pack_columns(address(chunk.counters), (FATES, NO_FATE), count, sources + numbers, targets + kept)
