"""This module makes the table of settings in `docs/python.md`.

`python -m renderer.settings.manual docs/python.md` renews it.
"""

import re
import sys
from pathlib import Path

from renderer.settings.picture import Settings
from renderer.settings.setting import Setting, settings_of

#: In the manual, the table stands between these lines.
BLOCK = re.compile(r"(<!-- settings -->\n).*?(<!-- end -->)", re.DOTALL)

HEAD = "| setting | effect | value | default |\n|---|---|---|---|\n"


def with_table(text: str) -> str:
    """Returns the text of the manual with a row for each setting."""
    rows = "".join(map(row, settings_of(Settings).values()))
    return BLOCK.sub(lambda found: found[1] + HEAD + rows + found[2], text)


def row(one: Setting) -> str:
    """Returns the row of a setting."""
    default = one.fallback or ("None" if one.default is None else f"`{one.default!r}`")
    return f"| `{one.name}` | {one.about} | {one.kind.expected} | {default} |\n"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")
