"""This module reads of an integrator how long paths are at most."""

from collections.abc import Iterator

from scenes.document import Document
from scenes.mitsuba.elements import XmlElement, numbers, snake_case
from scenes.mitsuba.reading import Reading

#: Paths of an integrator that says nothing, where that is a number, with the emitter at their end: `direct` sees what
#: lamps light.
DEPTHS = {"direct": 2.0}
MOST_BOUNCES = 1024


def propose_bounces(integrator: XmlElement, document: Document, reading: Reading) -> None:
    """Proposes as many interactions with surfaces as the paths of an integrator, or of those in it, have at most."""
    for element in nested(integrator):
        depth = DEPTHS.get(element.attributes.get("type", ""), -1.0)
        for child in element.children:
            name = snake_case(child.attributes.get("name", ""))
            if name == "max_depth":
                depth = numbers(child, child.need("value"), 1)[0]
            if name == "hide_emitters" and child.attributes.get("value") == "true":
                reading.note(child, "what glows is seen, though hide_emitters is asked for")
        if 0.0 <= depth < 2.0:
            reading.note(element, f"light is computed that Mitsuba leaves out, by a max_depth of {depth:g}")
        if depth >= 0.0:
            document.settings["max_bounces"] = int(min(max(depth - 1.0, 1.0), MOST_BOUNCES))


def nested(integrator: XmlElement) -> Iterator[XmlElement]:
    """Yields an integrator and those within it."""
    yield integrator
    for child in integrator.children:
        if child.tag == "integrator":
            yield from nested(child)
