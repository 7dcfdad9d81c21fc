"""This module makes the elements of Mitsuba's XML, with numbers from which the same float64 are read."""

from xml.etree.ElementTree import Element

from scenes.model import Color, Doubles


def node(tag: str, /, **attributes: str) -> Element:
    """Returns an element with attributes."""
    return Element(tag, attributes)


def named(tag: str, name: str, value: float | str | bool) -> Element:
    """Returns a parameter: its kind is the tag."""
    if isinstance(value, str):
        return node(tag, name=name, value=value)
    return node(tag, name=name, value=str(value).lower() if isinstance(value, bool | int) else repr(float(value)))


def color(name: str, value: Color) -> Element:
    """Returns a parameter that is a colour, linear."""
    return node("rgb", name=name, value=", ".join(repr(float(channel)) for channel in value))


def matrix(name: str, value: Doubles) -> Element:
    """Returns a transform, (4, 4)."""
    made = node("transform", name=name)
    made.append(node("matrix", value=" ".join(repr(number) for number in value.ravel().tolist())))
    return made


def children(parent: Element, *elements: Element) -> None:
    """Puts elements into another one."""
    parent.extend(elements)
