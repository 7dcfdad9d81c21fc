"""This module chooses the kernel of a run: the one that is named, or by what is traced and on which GPU."""

from __future__ import annotations

from tracecore import device_and_index
from tracecore.kernels.choice import AUTO, DEFAULT_KERNEL, KernelChoice, RayClass, choose_kernel

#: The choice of a device that has one kernel.
ONLY_ONE = KernelChoice(None, "the only one of the device")


def chosen_kernel(device: str, kernel: str | None, ray_class: RayClass | None) -> KernelChoice:
    """Returns the kernel that rays are traced by in batches.

    device, kernel, ray_class: as those of `TracerChoice`.
    Raises `DeviceError` where there is no such device; one that cannot be used is told when a tracer is opened.
    """
    name, index = device_and_index(device)
    if kernel is not None and kernel != AUTO:
        return KernelChoice(kernel, "named")
    if name == "emulator":
        return KernelChoice(DEFAULT_KERNEL, f"{AUTO}: the default, as the emulator's rates tell of no GPU")
    if name in ("auto", "gpu"):
        from tracecore.cuda.device import gpu_unavailable_reason

        if (gpu_unavailable_reason() if index is None else gpu_unavailable_reason(index)) is None:
            return kernel_of_gpu(index, ray_class)
    return ONLY_ONE


def kernel_of_gpu(index: int | None, ray_class: RayClass | None) -> KernelChoice:
    """Returns the kernel that is chosen for rays on a GPU that can be used.

    index: of the GPU, None for the current one.
    ray_class: what most rays are like, None for rays of all kinds.
    """
    from renderer.scene.tuned_kernels import TunedGpu, tuned_for
    from tracecore.cuda.device import device_architecture, gpu_name

    gpu = TunedGpu(gpu_name(index), device_architecture(index))
    return choose_kernel(gpu.architecture, ray_class, tuned=tuned_for(gpu))
