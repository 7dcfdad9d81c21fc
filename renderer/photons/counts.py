"""The fates of photon paths, counted."""

from dataclasses import dataclass


@dataclass
class PhotonCounts:
    """Fates of photon paths: emitted = absorbed + escaped + terminated, exactly. One path stores any number of photons.

    aimed: of those emitted, sent to what there is to light, to mirrors or to glass, and nowhere else.
    wanting: not paths, but pixels around which passes found fewer photons than they need.
    absorbed: ended by Russian roulette on a surface. escaped: left the scene. terminated: cut at `max_bounces`.
    """

    emitted: int = 0
    aimed: int = 0
    stored: int = 0
    absorbed: int = 0
    escaped: int = 0
    terminated: int = 0
    wanting: int = 0

    def add(self, other: "PhotonCounts") -> None:
        """Add the counts of another run."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)
