"""This module counts the prims that a stage will have, before it is composed.

References multiply: twenty lines can say that a prim has two of another, which has two of another, and so on, and
composing them would take all memory. What is counted is an upper bound; each prim of each layer is looked at once.
"""

from collections.abc import Iterator
from pathlib import Path

from pxr import Sdf

from scenes.errors import SceneFileError
from scenes.files.source_file import MAX_PARTS

#: The most prims of a stage.
MAX_PRIMS = 2 * MAX_PARTS
#: Fields of a prim that bring in another.
ARCS = ("references", "payload", "inheritPaths", "specializes")


def check_prims(path: Path, root: Sdf.Layer) -> None:
    """Raises SceneFileError where the stage of a layer would have over MAX_PRIMS prims. path: of the file."""
    try:
        count = PrimCounts().of_prim(root, Sdf.Path.absoluteRootPath)
    except RecursionError as error:
        raise SceneFileError(path, None, "its prims stand too deep inside one another") from error
    if count > MAX_PRIMS:
        raise SceneFileError(path, None, f"its references make over {MAX_PRIMS} prims")


class PrimCounts:
    """Counts prims; what is known of one is kept."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Sdf.Path], int] = {}
        self._stacks: dict[str, list[Sdf.Layer]] = {}

    def of_prim(self, root: Sdf.Layer, path: Sdf.Path) -> int:
        """Returns how many prims there are at and below a path of the layers that a root layer stacks."""
        key = (root.identifier, path)
        if key not in self._known:
            self._known[key] = 0  # in itself nothing more
            specs = [spec for layer in self.stack(root) if (spec := layer.GetPrimAtPath(path))]
            self._known[key] = min(1 + self.below(root, specs), MAX_PRIMS + 1)
        return self._known[key]

    def below(self, root: Sdf.Layer, specs: list[Sdf.PrimSpec]) -> int:
        """Returns how many prims there are below some specs of a prim, with what they bring in."""
        total = 0
        for path in {child.path for spec in specs for child in spec.nameChildren}:
            total += self.of_prim(root, path)
        for spec in specs:
            for variants in spec.variantSets:
                total += max((self.below(root, [variant.primSpec]) for variant in variants.variants), default=0)
            for layer, path in targets(root, spec):
                total += self.of_prim(layer, path)
        return min(total, MAX_PRIMS + 1)

    def stack(self, root: Sdf.Layer) -> list[Sdf.Layer]:
        """Returns a layer and those that it stacks, all that are there."""
        if root.identifier not in self._stacks:
            found: dict[str, Sdf.Layer] = {}
            waiting = [root]
            while waiting:
                layer = waiting.pop()
                if layer.identifier not in found:
                    found[layer.identifier] = layer
                    waiting += [near for name in layer.subLayerPaths if (near := loaded(layer, name))]
            self._stacks[root.identifier] = list(found.values())
        return self._stacks[root.identifier]


def loaded(layer: Sdf.Layer, name: str) -> Sdf.Layer | None:
    """Returns a layer that another names, if it is open."""
    return Sdf.Layer.Find(place_of(layer, name)) if name else None


def place_of(layer: Sdf.Layer, name: str) -> str:
    """Returns where an asset is that a layer names: beside the layer, wherever usd-core would look for it too."""
    found = Sdf.ComputeAssetPathRelativeToLayer(layer, name)
    is_nowhere = found == name and not Path(name).is_absolute() and ":" not in name and name[:1] not in ".@"
    return Sdf.ComputeAssetPathRelativeToLayer(layer, f"./{name}") if is_nowhere else found


def targets(root: Sdf.Layer, spec: Sdf.PrimSpec) -> Iterator[tuple[Sdf.Layer, Sdf.Path]]:
    """Yields the layers and paths of what a spec brings in, also where it is an instance: all of them are walked."""
    for field in ARCS:
        edits = spec.GetInfo(field)
        for item in [] if edits is None else edits.GetAddedOrExplicitItems():
            if isinstance(item, Sdf.Path):
                yield root, item
                continue
            layer = loaded(spec.layer, item.assetPath) if item.assetPath else root
            if layer is not None:
                default = layer.GetDefaultPrimAsPath()
                yield layer, item.primPath or default or Sdf.Path.absoluteRootPath
