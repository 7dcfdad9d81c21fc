"""This module has what commands that measure have in common, beside the settings of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from renderer.settings.setting import File, setting
from scenes.keys.values import Whole


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Holds options that several commands take. A command has those of them that it names to `add_settings`."""

    store: int = setting(
        Whole(1, 2 * 10**9), "photons to store in a photon run, all together", default=1_000_000, group="measuring"
    )
    emit: int | None = setting(
        Whole(1, 10**15),
        "photons to send out in a photon run, whatever is stored of them, in place of --store",
        fallback="as many as --store takes",
        group="measuring",
    )
    repeat: int = setting(
        Whole(1, 1000), "do and time the same N times; the median counts", default=1, group="measuring"
    )
    bound_rays: int = setting(
        Whole(0, 1 << 26),
        "rays of each kind, from which the simulator tells SIMD efficiencies and what a GPU could reach if memory took "
        "no time; 0: none",
        default=1 << 14,
        group="measuring",
    )
    json: Path | None = setting(File(), "write all figures to FILE")
