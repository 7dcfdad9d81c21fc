"""A picture in a terminal that can show some, by what its environment says of it."""

import base64
import io
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

#: Wider pictures are shown smaller, in pixels.
MOST_WIDTH = 800

#: Bytes of a piece that kitty's protocol takes at a time.
KITTY_PIECE = 4096

#: Colours and rows of a band in sixels.
SIXEL_COLORS, SIXEL_ROWS = 256, 6


def protocol_of(environment: Mapping[str, str]) -> str | None:
    """Returns how a terminal shows pictures, kitty, iterm or sixel, or None where it is not known to."""
    terminal, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if environment.get("TMUX") or terminal.startswith("screen"):
        return None  # what stands between takes the sequences for text
    if "KITTY_WINDOW_ID" in environment or "kitty" in terminal or program == "ghostty":
        return "kitty"
    if program in ("iTerm.app", "WezTerm", "vscode") or environment.get("LC_TERMINAL") == "iTerm2":
        return "iterm"
    return "sixel" if "sixel" in terminal or terminal.startswith(("foot", "mlterm", "yaft")) else None


def picture_text(pixels: Pixels, protocol: str) -> str:
    """Returns the text that shows a picture. pixels: (height, width, 3) uint8. protocol: as `protocol_of` has it."""
    step = -(-pixels.shape[1] // MOST_WIDTH)
    made = {"kitty": _kitty, "iterm": _iterm, "sixel": _sixel}[protocol]
    return made(np.ascontiguousarray(pixels[::step, ::step]))


def _png(pixels: Pixels) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return base64.standard_b64encode(content.getvalue())


def _kitty(pixels: Pixels) -> str:
    """Goyal: Terminal graphics protocol, 2017 (sw.kovidgoyal.net/kitty/graphics-protocol)."""
    data = _png(pixels).decode()
    pieces = [data[i : i + KITTY_PIECE] for i in range(0, len(data), KITTY_PIECE)]
    heads = ["a=T,f=100,", *[""] * (len(pieces) - 1)]
    ends = [*["m=1"] * (len(pieces) - 1), "m=0"]
    return "".join(f"\x1b_G{head}{end};{piece}\x1b\\" for head, end, piece in zip(heads, ends, pieces, strict=True))


def _iterm(pixels: Pixels) -> str:
    """Nachman: iTerm2, Inline Images Protocol, 2014."""
    data = _png(pixels).decode()
    return f"\x1b]1337;File=inline=1;width={pixels.shape[1]}px:{data}\a"


def _sixel(pixels: Pixels) -> str:
    """Digital Equipment Corporation: VT330/VT340 Programmer Reference Manual, volume 2, chapter 14, 1988."""
    from PIL import Image

    image = Image.fromarray(pixels).quantize(SIXEL_COLORS)
    indices, palette = np.asarray(image), np.array(image.getpalette()).reshape(-1, 3)
    colors = "".join(
        f"#{i};2;" + ";".join(str(round(int(part) * 100 / 255)) for part in color) for i, color in enumerate(palette)
    )
    return f"\x1bPq{colors}{'-'.join(_bands(indices))}\x1b\\"


def _bands(indices: Pixels) -> Iterator[str]:
    """Yields each band of six rows: for each colour a character a column, whose bits say in which rows it is."""
    for top in range(0, len(indices), SIXEL_ROWS):
        band = indices[top : top + SIXEL_ROWS]
        bits = 1 << np.arange(len(band))[:, None]
        rows = [
            f"#{color}{np.uint8(63 + np.sum((band == color) * bits, axis=0)).tobytes().decode()}"
            for color in np.unique(band)
        ]
        yield "$".join(rows)
