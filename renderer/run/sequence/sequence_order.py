"""This module says how a sequence of frames is to be made, and where each frame goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from PIL import features

from renderer.errors import UsageError
from renderer.film.animation import ANIMATED
from renderer.film.image_file import check_writable
from renderer.film.picture import PngPicture
from renderer.film.video import VIDEOS, check_video
from renderer.run.picture.picture_files import files_of, statistics_path
from renderer.run.plan import Plan
from renderer.run.timeline import FilmClock

if TYPE_CHECKING:
    from renderer.film.picture import Picture
    from renderer.run.statistics import Statistics

#: What frames may be written as.
STILLS = (".png", ".exr")

#: Digits of a frame's number in its file name, at least and at most.
DIGITS, MOST_DIGITS = 4, 10

Seeds = Literal["same", "own"]


class MadeFrame(NamedTuple):
    """Is a frame that was made and is still to be written.

    file: writes it.
    figures: its statistics, with the key that stands for all that decides it, see `frame_key`.
    """

    file: Picture | PngPicture
    figures: Statistics

    @classmethod
    def of(cls, picture: Picture, suffix: str, key: str) -> MadeFrame:
        """Returns a frame, measured and, where it is for screens, as it is shown. suffix: of its file."""
        file = PngPicture(picture.png) if suffix.lower() == ".png" else picture
        return cls(file, picture.statistics | {"request": key})


#: Has frames made in other processes, of the plan of all and of their numbers: yields each with what was made, in any
#: order.
FramesElsewhere = Callable[[Plan, list[int]], Generator[tuple[int, MadeFrame]]]


@dataclass(frozen=True, kw_only=True)
class SequenceOrder:
    """Says how a sequence is made.

    path: of the animated picture, or the pattern of the frames' names.
    picture: what all frames have.
    seeds: random numbers of every frame, the same in all (noise stands still) or different ones (noise changes).
    resume: whether to keep the frames that are there.
    elsewhere: has frames made in other processes; None where they are made here, one after the other.
    clock: knows what each thread does when.
    timeline_path: where that is written in the end, None for nowhere.
    """

    path: Path
    frames: range
    picture: Plan
    seeds: Seeds = "same"
    resume: bool = False
    frames_per_second: float = 25.0
    elsewhere: FramesElsewhere | None = None
    clock: FilmClock = field(default_factory=FilmClock)
    timeline_path: Path | None = None

    def frame_path(self, frame: int) -> Path:
        """Returns the path where a frame is written."""
        digits = max(DIGITS, len(str(self.frames[-1])))
        return self.path.with_name(f"{self.path.stem}-{frame:0{digits}}{self.still_suffix}")

    @property
    def still_suffix(self) -> str:
        """Returns what the names of the frames' files end in."""
        return ".png" if self.path.suffix.lower() in ANIMATED else self.path.suffix

    @property
    def own_files(self) -> list[Path]:
        """Returns the files of the whole sequence: its animated picture and its timeline, if there are to be such, and
        its statistics.
        """
        animated = [self.path] if self.path.suffix.lower() in ANIMATED else []
        return [*animated, statistics_path(self.path), *filter(None, [self.timeline_path])]

    def frame_files_there(self) -> list[Path]:
        """Returns the files of frames, pictures and statistics, that are there already."""
        number = re.compile(rf"{re.escape(self.path.stem)}-(\d+)\..+")
        found = [(path, number.fullmatch(path.name)) for path in sorted(self.path.parent.iterdir())]
        frames = [(path, int(match[1])) for path, match in found if match and len(match[1]) <= MOST_DIGITS]
        return [
            path
            for path, frame in frames
            if frame in self.frames and path in files_of(self.frame_path(frame), keep_linear=False)
        ]


def check_sequence_path(path: Path) -> None:
    """Raises `UsageError` now if a sequence could not be written later."""
    suffix = path.suffix.lower()
    if suffix not in (*ANIMATED, *STILLS):
        raise UsageError(
            f"cannot write frames as '{path}': the name must end in one of {', '.join(ANIMATED)}, {', '.join(STILLS)}"
        )
    if suffix in VIDEOS:
        check_video(path)
    if suffix == ".webp" and not features.check("webp"):
        raise UsageError(f"cannot write '{path}': Pillow is here without WebP; take .gif or .apng")
    check_writable(path.with_suffix(".png") if suffix in ANIMATED else path)


def of_frame(plan: Plan, seeds: Seeds, frame: int) -> Plan:
    """Returns the plan of one frame's picture, with the number and the seed that it is to have.

    plan: of all frames.
    seeds: as of `SequenceOrder`.
    """
    if plan.film_time is not None:
        plan = replace(plan, film_time=plan.film_time._replace(frame=frame))
    if seeds == "same":
        return plan
    seed = np.random.SeedSequence([plan.settings.seed or 0, frame]).generate_state(1, np.uint64)[0]
    return replace(plan, settings=replace(plan.settings, seed=int(seed)))
