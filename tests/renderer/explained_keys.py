"""What files of figures hold, compared with what the help says of their keys."""

import re

import pytest

from renderer import cli


def paths_of(value, path=""):
    """The keys of a value of JSON: `a.b` in an object, `a[].b` in each entry of a list of objects."""
    if isinstance(value, dict):
        return {found for key, part in value.items() for found in paths_of(part, f"{path}.{key}" if path else key)}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {found for part in value for found in paths_of(part, f"{path}[]")}
    return {path}


def assert_explained(files, keys):
    """All keys that these files have together are in the table, and no others, but for lists that are empty."""
    free = {key.removesuffix("NAME") for key in keys if key.endswith(".NAME")}
    found = set()
    for path in set().union(*map(paths_of, files)):
        known = next((start for start in free if path.startswith(start)), None)
        found.add(path if known is None else f"{known}NAME")
    empty = {path for path in found - set(keys) if any(key.startswith(f"{path}[]") for key in keys)}
    assert found - empty == set(keys)


def assert_help_explains(command, keys, capsys):
    with pytest.raises(SystemExit):
        cli.main([*command.split(), "--help", "all"])
    text = capsys.readouterr().out
    assert [key for key in keys if not re.search(rf"^  {re.escape(key)} +{re.escape(keys[key])}$", text, re.M)] == []
