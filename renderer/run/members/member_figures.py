"""What the statistics say of the members of a fleet: what traces, and how each has fared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from renderer.run.statistics import ratio

if TYPE_CHECKING:
    from renderer.fleet.fleet import FleetShares
    from renderer.scene.render_context import RenderContext


class TracerReport(NamedTuple):
    """Says what traces in a member: its kernel, device and dispatch by name, and why it is this kernel."""

    kernel: str
    kernel_choice: str
    device: str
    dispatch: str

    @classmethod
    def of(cls, context: RenderContext) -> Self:
        """Returns the report of a context's tracer."""
        tracer = context.tracer
        return cls(tracer.name, context.kernel_choice, tracer.device, tracer.dispatch)


def member_figures(tracer: TracerReport, shares: FleetShares, rays: Mapping[str, int]) -> dict[str, Any]:
    """Returns what traces, and "members": of each its name, the items that it made, its rays, its share of all rays,
    and why it was left out, or None.

    tracer: of a member; those of the others are the same.
    rays: that each has traced, by its name.
    """
    total = sum(rays.values())
    rows = [
        {
            "name": name,
            "items": items,
            "rays": rays.get(name, 0),
            "share": ratio(rays.get(name, 0), total),
            "lost": shares.lost.get(name),
        }
        for name, items in shares.made.items()
    ]
    return {**tracer._asdict(), "members": rows}
