from renderer.drivers import register_driver
from renderer.drivers.whitted import WhittedDriver


@register_driver
class Half(WhittedDriver):
    name = "half"

    def trace_pass(self, index, site):
        return 0.5 * super().trace_pass(index, site)
