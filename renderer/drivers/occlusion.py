"""The driver `ao`."""

import numpy as np

from renderer.camera_paths.loops import run_occlusion
from renderer.drivers.driver import Caustics, Radiance, RenderSettings
from renderer.drivers.eye import LOOP_CODE, EyeDriver
from renderer.drivers.pass_site import PassSite
from renderer.photons.lookup import no_photons
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
    ray_class = RayClass.OCCLUSION
    code = (run_occlusion, *LOOP_CODE)

    def __init__(self, snapshot: Snapshot, tracer: Tracer, settings: RenderSettings) -> None:
        super().__init__(snapshot, tracer, settings)
        corners = snapshot.positions.reshape(-1, 3).astype(np.float64)
        extent = np.ptp(corners, axis=0) if len(corners) else np.zeros(3)
        self._reach = OCCLUSION_REACH * float(np.linalg.norm(extent))

    def trace_pass(self, index: int, site: PassSite) -> Radiance:
        """Returns the pixels of a pass: the unoccluded share in all three channels."""
        job = self.eye_job(site, self.eye_task(index), no_photons(), reach=self._reach)
        return self.run_eye_loop(site, run_occlusion, job, 1)
