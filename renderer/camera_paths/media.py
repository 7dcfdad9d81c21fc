"""What media take from eye paths and their shadow rays (`renderer.scene.media`)."""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from renderer.camera_paths.paths import EYE_MEDIA, EYE_THROUGHPUT, SHADOW_MEDIA, SHADOW_WORDS, EyeChunk, ShadowRays
from renderer.photons.media import Inside, pick_media
from renderer.scene.media import Media, MediaTables, absorption_of, share_left, tables_of
from renderer.scene.photon_scene import INSIDE_OF_SOLIDS
from renderer.shading.chunks import ALL_BITS, HIT_ID, RAY_DIRECTION, View
from renderer.simd.columns import (
    WORD_BYTES,
    column,
    each,
    get,
    get3,
    get_word,
    pack_columns,
    put3,
    set_column,
    whole,
)
from shaders.compilation import compiled as inlined
from shaders.float32 import ONE, ZERO
from shaders.vector import dot, multiply
from tracecore.compilation.borrowing import borrowed
from tracecore.compilation.units import unit
from tracecore.compilation.vector import address
from tracecore.rays import MISS, Ids


class ShadowsInside(NamedTuple):
    """Has the addresses of the columns of shadow rays, `step` bytes apart, and of the answers to them."""

    rays: int
    radiance: int
    stacks: int
    answers: int
    step: int
    answers_step: int
    tables: MediaTables


@unit(types.none, need=INSIDE_OF_SOLIDS)
def absorb_throughput(
    wanted: tuple[np.uint32, np.uint32], view: View, counts: tuple[int, int], tables: MediaTables
) -> None:
    """Take from the paths of a chunk what is absorbed on the way to their vertices. For the arguments see
    `pick_media`."""
    pick_media(EYE_MEDIA, wanted, view, counts)
    each(absorb_from_path, whole(counts[0]), (view.chunk, tables))


@inlined
def absorb_from_path(i: int, data: Inside) -> None:
    """Write the share of light from a vertex that reaches the eye."""
    chunk, tables = data
    share = share_left(chunk.media[i], chunk.distance[i], tables)
    set_column(chunk.throughput, i, multiply(column(chunk.throughput, i), share))


@inlined
def absorb_endless_ray(paths: int, step: int, row: int, tables: MediaTables) -> None:
    """Take all light from a path that leaves the scene in a medium that absorbs it. paths: address of the first
    word."""
    absorption = absorption_of(get_word(paths + EYE_MEDIA * step, row), tables)
    throughput = get3(paths + EYE_THROUGHPUT * step, step, row)
    left = (
        throughput[0] if absorption[0] <= ZERO else ZERO,
        throughput[1] if absorption[1] <= ZERO else ZERO,
        throughput[2] if absorption[2] <= ZERO else ZERO,
    )
    put3(paths + EYE_THROUGHPUT * step, step, row, left)


@inlined
def keep_eye_media(view: View, hits: int) -> None:
    """Move the stacks of the paths that go on behind those before."""
    chunk: EyeChunk = view.chunk
    kept = (view.kept_paths + EYE_MEDIA * view.step,)
    pack_columns(address(chunk.goes), (ALL_BITS, ALL_BITS), hits, (address(chunk.media),), kept)


@unit(types.none, need=INSIDE_OF_SOLIDS)
def absorb_shadow_rays(media: Media, shadows: ShadowRays, answers: Ids) -> None:
    """Take from shadow rays what is absorbed on their way to the light, or to the sheet that they met.

    answers: (slots, 4, column) uint32.
    """
    media, shadows = borrowed(media), borrowed(shadows)
    step, answers_step = WORD_BYTES * shadows.rays.shape[2], WORD_BYTES * answers.shape[2]
    for slot in range(len(shadows.counts)):
        data = ShadowsInside(
            rays=address(shadows.rays) + 8 * step * slot,
            radiance=address(shadows.radiance) + 3 * step * slot,
            stacks=address(shadows.paths) + (SHADOW_WORDS * slot + SHADOW_MEDIA) * step,
            answers=address(answers) + 4 * answers_step * slot,
            step=step,
            answers_step=answers_step,
            tables=tables_of(media),
        )
        each(absorb_shadow_ray, whole(shadows.counts[slot]), data)


@inlined
def absorb_shadow_ray(i: int, data: ShadowsInside) -> None:
    """Write what a shadow ray carries to its end."""
    direction = get3(data.rays + RAY_DIRECTION * data.step, data.step, i)
    is_free = get_word(data.answers + HIT_ID * data.answers_step, i) == np.uint32(MISS)
    t = get(data.answers, i)
    distance = math.sqrt(dot(direction, direction)) * (ONE if is_free else t)
    share = share_left(get_word(data.stacks, i), distance, data.tables)
    put3(data.radiance, data.step, i, multiply(get3(data.radiance, data.step, i), share))
