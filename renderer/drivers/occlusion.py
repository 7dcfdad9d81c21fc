"""The driver `ao`."""

import numpy as np

from renderer.camera_paths.loops import run_occlusion
from renderer.camera_paths.task import OCCLUDE
from renderer.drivers.driver import Caustics, RenderSettings
from renderer.drivers.eye import LOOP_CODE, EyeDriver
from renderer.scene.photon_scene import HAS_MEDIA, SHEET
from scenes.model import Snapshot
from tracecore.dispatch.tracer import Tracer
from tracecore.kernels.choice import RayClass

#: Ambient occlusion reaches this share of the scene's diagonal.
OCCLUSION_REACH = 0.2


class OcclusionDriver(EyeDriver):
    """Shows ambient occlusion: how much of the hemisphere over a point is free up to a fifth of the
    scene's diagonal.
    """

    name = "ao"
    summary = "ambient occlusion, to look at shapes"
    takes = frozenset()
    curve = "linear"
    caustics = Caustics.NONE
    is_opaque = True
    has_paths = False
    has_light_groups = False
    ray_class = RayClass.OCCLUSION
    diffuse = OCCLUDE
    run_loop = staticmethod(run_occlusion)
    code = (run_occlusion, *LOOP_CODE)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        scene = self.scene.photon_scene
        is_clear = SHEET | HAS_MEDIA  # which nothing is here
        self.scene = self.scene._replace(photon_scene=scene._replace(flags=scene.flags & ~is_clear))
        corners = snapshot.positions.reshape(-1, 3).astype(np.float64)
        extent = np.ptp(corners, axis=0) if len(corners) else np.zeros(3)
        self.reach = OCCLUSION_REACH * float(np.linalg.norm(extent))

    def _shadow_slots(self) -> int:
        """Returns 1: a ray leaves each hit."""
        return 1
