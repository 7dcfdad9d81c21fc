"""This module writes films, .mp4 and .webm, by PyAV, which has FFmpeg's encoders (extra film).

The same frames give the same file with one version of PyAV: the encoders have as many threads on every machine, the
containers hold neither a time nor a random name, and x264 does without its macroblock tree, with which small frames
differ from process to process.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from PIL import Image

from renderer.errors import UsageError
from renderer.film.image_file import rate_of
from scenes.files.marks import WRITTEN_BY

#: Films, by suffix: the name of the encoder, and its options.
VIDEOS: dict[str, tuple[str, dict[str, Any]]] = {
    ".mp4": ("libx264", {"crf": "18", "preset": "slow", "x264-params": "mbtree=0"}),
    ".webm": ("libvpx-vp9", {"crf": "24", "b": "0", "cpu-used": "2"}),
}

#: Threads of an encoder: what it makes depends on how many there are.
ENCODER_THREADS = 4

#: Numbers that stand for the primaries and the matrix of BT.709, the transfer curve of sRGB, and levels of 16 to 235,
#: by ITU-T H.273 and FFmpeg.
BT709, SRGB_CURVE, STUDIO_RANGE = 1, 13, 1


def check_video(path: Path) -> None:
    """Raises `UsageError` where PyAV is not installed. path: of the film that is to be written."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"'{path}' needs PyAV, which is not installed; install it with: pip install 'tracecore[film]'"
        ) from error


def check_video_size(path: Path, size: tuple[int, int]) -> None:
    """Raises `UsageError` where a film cannot have frames of this width and height, pixels."""
    if path.suffix.lower() == ".mp4" and (size[0] % 2 or size[1] % 2):
        even = "x".join(str(side + side % 2) for side in size)
        raise UsageError(
            f"cannot write '{path}': width and height of an .mp4 are even, and frames would have {size[0]}x{size[1]} "
            f"pixels; choose {even}, or name a .webm"
        )


def write_video(file: BinaryIO, suffix: str, frames: Iterable[Image.Image], frames_per_second: float) -> None:
    """Writes a film; one frame at a time is in memory.

    file: open to write, at its start.
    suffix: as in `VIDEOS`, which is the name of the container too.
    frames: RGB, all of one size.
    """
    import av
    from av.video.reformatter import VideoReformatter

    name, options = VIDEOS[suffix]
    rate = rate_of(frames_per_second)
    reformatter = VideoReformatter()
    with av.open(file, "w", format=suffix[1:], options={"fflags": "+bitexact"}) as container:
        container.metadata["comment"] = WRITTEN_BY
        stream = None
        for number, image in enumerate(frames):
            if stream is None:
                stream = container.add_stream(name, rate, options=options)
                stream.width, stream.height, stream.pix_fmt = *image.size, "yuv420p"
                context = stream.codec_context
                context.thread_count, context.flags = ENCODER_THREADS, context.flags | av.codec.context.Flags.bitexact
                context.colorspace = context.color_primaries = BT709
                context.color_trc, context.color_range = SRGB_CURVE, STUDIO_RANGE
            shown = reformatter.reformat(
                av.VideoFrame.from_image(image), format="yuv420p", dst_colorspace=BT709, dst_color_range=STUDIO_RANGE
            )
            shown.pts, shown.time_base = number, 1 / rate
            container.mux(stream.encode(shown))
        if stream is not None:
            container.mux(stream.encode())
