"""Says what a kernel strategy is: a way to traverse on the GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracecore import cutouts
from tracecore.bvh.builders import build_by
from tracecore.bvh.tree import BinaryTree
from tracecore.cutouts import CutoutTables
from tracecore.errors import KernelError
from tracecore.kernels import launch_records, ring_records, step_records
from tracecore.kernels.loop import WHILE_WHILE, Loop
from tracecore.kernels.step_records import WARP_LANES
from tracecore.layout.ahead import packed
from tracecore.layout.device_layout import DeviceLayout, PackedTree
from tracecore.rays import Floats

#: Entries of a stack that is compiled for no scene in particular.
USUAL_STACK = 64

#: Threads of a launch at most, and as many rays, so that 32 bits hold the index of each with room to spare: of the two
#: halves that a ray is loaded by, and of the rays that persistent warps ask for beyond the last one.
MOST_THREADS = 1 << 31
#: Entries of a stack at least, and by how many larger ones than the usual grow.
_LEAST_STACK, _STACK_STEP = 32, 16


@dataclass(frozen=True, kw_only=True)
class KernelStrategy:
    """Is a way to traverse on the GPU: a `.cu` file and what the host must know of it.

    name: as on the command line.
    source: the `.cu` file; it defines how a ray is traced and then includes `kernels/rounds.cuh` or
    `kernels/walks.cuh`, which state the contract.
    layout: how the tree lies in memory.
    citation: author, title, year.
    lanes_per_ray: lanes of a warp side by side that trace the same ray, a power of two.
    packet_rays: rays side by side that go through the tree together.
    loop: what the kernel does in which order, for the simulator, which compares it with what `walks.cuh` sees.
    persistent: warps stay and take the next rays when theirs are done, so a launch only fills the device.
    block_size: threads of a block.
    least_threads: threads that a multiprocessor must be able to hold, by which the compiler limits registers; with 0 it
    does as it thinks best.
    stack_size: entries of a ray's traversal stack; by default what the tree needs.
    max_leaf, triangle_block: triangles in a leaf, and how many are tested at the cost of one, for the builder.
    defines: named constants of this kernel alone.
    Raises `KernelError` where a value cannot be.
    """

    name: str
    source: Path
    layout: DeviceLayout
    citation: str
    lanes_per_ray: int = 1
    packet_rays: int = 1
    loop: Loop = WHILE_WHILE
    persistent: bool = False
    block_size: int = 128
    least_threads: int = 1024
    stack_size: int | None = None
    max_leaf: int = 4
    triangle_block: int = 1
    defines: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.block_size % WARP_LANES != 0 or not WARP_LANES <= self.block_size <= 1024:
            raise KernelError(f"kernel {self.name!r}: block_size {self.block_size} is no multiple of 32 up to 1024")
        if self.lanes_per_ray not in (1, 2, 4, 8, 16, 32):
            raise KernelError(f"kernel {self.name!r}: lanes_per_ray {self.lanes_per_ray} is no power of two up to 32")
        if "extent" not in (self.layout.scene.names or ()):
            raise KernelError(f"kernel {self.name!r}: its struct Scene has no `float extent`, the largest coordinate")

    def constants(
        self,
        stack_size: int = USUAL_STACK,
        *,
        resident: bool = False,
        has_cutouts: bool = False,
        counted: bool = False,
    ) -> dict[str, str]:
        """Returns all named constants that the source is compiled with.

        stack_size: as from `stack_for`.
        resident: whether for resident dispatch, rather than streamed.
        has_cutouts: whether there are triangles that are not solid.
        counted: whether with marks of its steps (`steps`).
        """
        chosen = {
            "BLOCK_SIZE": self.block_size,
            "LEAST_BLOCKS": self.least_threads // self.block_size,
            "STACK_SIZE": stack_size,
            "LANES_PER_RAY": self.lanes_per_ray,
            "PERSISTENT": int(self.persistent and not resident),  # alike in resident dispatch, where all stay
            "RESIDENT": int(resident),
            "CUTOUTS": int(has_cutouts),
            "COUNTED": int(counted),
            "DEVICE_COUNT": 0,
            "ITEM_LANES": self.lanes_per_ray * self.packet_rays,
            **self.defines,
        }
        return {
            **launch_records.DEFINES,
            **ring_records.DEFINES,
            **cutouts.DEFINES,
            **step_records.DEFINES,
            **self.layout.defines,
            **{name: str(value) for name, value in chosen.items()},
        }

    @property
    def with_device_count(self) -> "KernelStrategy":
        """The same for launches that read on the device how many rays there are, which takes some more registers."""
        return replace(self, defines={**self.defines, "DEVICE_COUNT": 1})

    def build(self, triangles: Floats, builder: str | None = None) -> BinaryTree:
        """Returns the tree that suits the kernel.

        triangles: (t, 3, 3) float32, checked.
        builder: a name of `BUILDERS`, None for the default.
        """
        return build_by(builder, triangles, max_leaf=self.max_leaf, triangle_block=self.triangle_block)

    def takes(self, tree: BinaryTree) -> bool:
        """Returns whether the kernel's layout has room for the leaves of a tree, which may be built for another one."""
        return self.layout.max_leaf is None or int(tree.count.max(initial=0)) <= self.layout.max_leaf

    def pack(self, tree: BinaryTree, triangles: Floats, tables: CutoutTables | None = None) -> PackedTree:
        """Returns what the kernel reads of a scene.

        tree: built over the triangles.
        triangles: (t, 3, 3) float32, checked.
        tables: of their cut-outs, None if all are solid.
        Raises `KernelError` where the layout has no room for the scene, or the kernel traces no cut-outs.
        """
        return self.with_cutouts(packed(self.layout.pack, tree, triangles), tables)

    def with_cutouts(self, packed: PackedTree, tables: CutoutTables | None) -> PackedTree:
        """Returns a packed scene with tables of its cut-outs, None if all are solid. Raises `KernelError` where the
        kernel traces none.
        """
        if tables is None:
            return packed
        if not set(tables._fields) <= set(self.layout.scene.names or ()):
            raise KernelError(
                f"kernel {self.name!r} traces no cut-outs: its struct Scene has no {', '.join(tables._fields)}; "
                "use another kernel"
            )
        return replace(packed, arrays={**packed.arrays, **tables._asdict()})

    def stack_for(self, packed: PackedTree) -> int:
        """Returns how many entries of stack to compile for a scene. Raises `KernelError` where its own `stack_size` is
        too small.
        """
        if self.stack_size is None:  # a few sizes: scenes alike share a compiled kernel
            few = next((size for size in (_LEAST_STACK, USUAL_STACK) if packed.stack <= size), None)
            return few or -(-packed.stack // _STACK_STEP) * _STACK_STEP
        if self.stack_size < packed.stack:
            raise KernelError(
                f"kernel {self.name!r} has a stack of {self.stack_size} entries, but this tree needs {packed.stack}; "
                "register the strategy with a larger stack_size, or with none"
            )
        return self.stack_size

    @property
    def most_rays(self) -> int:
        """Returns how many rays one launch takes at most: more are cut into launches. Indices of threads have
        32 bits.
        """
        return MOST_THREADS // self.lanes_per_ray

    def blocks_for(self, rays: int) -> int:
        """Returns how many blocks have threads for so many rays, one each."""
        return -(-rays * self.lanes_per_ray // self.block_size)
