"""The fates of photon paths, counted."""

from dataclasses import dataclass


@dataclass
class PhotonCounts:
    """Fates of photon paths: emitted = absorbed + escaped + terminated, exactly. One path stores any number."""

    emitted: int = 0
    aimed: int = 0  # of those emitted, sent to what there is to light, to mirrors or to glass, and nowhere else
    stored: int = 0
    absorbed: int = 0  # ended by Russian roulette on a surface
    escaped: int = 0  # left the scene
    terminated: int = 0  # cut at `max_bounces`
    wanting: int = 0  # not paths, but pixels around which passes found fewer photons than they need

    def add(self, other: "PhotonCounts") -> None:
        """Add the counts of another run."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)
