"""This module gives materials the keys that only those of one kind have, as its shader lists them."""

from scenes.keys.tables import Table, Triple
from scenes.keys.values import Key, Kind, Number, Text
from shaders.bsdfs.bsdf import BsdfKey
from shaders.registry import get_shader, shader_names


def own_keys(kind: str) -> tuple[Key, ...]:
    """Returns the keys that only materials of a kind have; none of a kind that is not registered."""
    return tuple(key_of(name, key) for name, key in get_shader(kind).keys.items()) if kind in shader_names() else ()


def own_tables() -> list[Table]:
    """Returns the table of each registered kind that has keys of its own."""
    return [
        Table(f'materials.NAME with kind = "{name}"', sentence(get_shader(name).summary), own_keys(name))
        for name in shader_names()
        if get_shader(name).keys
    ]


def key_of(name: str, key: BsdfKey) -> Key:
    """Returns a key of a scene file. Where it is left out the default of the shader counts."""
    about, default = sentence(key.summary), key.default
    if isinstance(default, str):
        about = sentence(f"{key.summary}; its path, from the folder of the scene file")
        return Key(name, Text(), about, '"surface.binary"', required=True)
    kind: Kind = Triple(key.low, key.high) if isinstance(default, tuple) else Number(key.low, key.high)
    numbers = default if isinstance(default, tuple) else (default,)
    fallback = ", ".join(f"{number:g}" for number in (numbers if len(set(numbers)) > 1 else numbers[:1]))
    return Key(name, kind, about, f"{0.25 * key.low + 0.75 * key.high:g}", fallback=fallback)


def sentence(text: str) -> str:
    """Returns a text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."
