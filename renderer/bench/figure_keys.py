"""This module explains the keys of the files of figures that commands write with --json, a table for each command.

In a key `[]` stands for each entry of a list, and NAME for any name. It imports nothing that is heavy, as the command
line shows these tables in its help.
"""

from renderer.run.statistics import OF_FILMS, key_lines

#: Meanings of the keys of a command's file, in the order of the file.
Keys = dict[str, str]

_SOFTWARE: Keys = {"software": "what wrote the file: the program and its version"}

CIRCUMSTANCES: Keys = _SOFTWARE | {
    "circumstances.command_line": "words of the command line, without the program's name",
    "circumstances.date": "when it was measured, ISO 8601, in UTC",
    "circumstances.scene": "name of the scene",
    "circumstances.triangles": "triangles of the scene",
    "circumstances.machine.NAME": "facts of the machine, as text: processor, cores, system, GPU, versions",
}

_STEPS: Keys = {
    "nodes": "nodes that a ray visits, mean",
    "triangles": "triangles that a ray is tested with, mean",
    "bytes": "bytes that a ray reads and writes if no cache holds any; null where nodes have no fixed size",
    "node_efficiency": "share of a warp's lanes with work of their own in visits of nodes; null if not known",
    "triangle_efficiency": "the same in tests of triangles",
}


_WRONG_RAY: Keys = {
    "ray": "its number among the rays of this kind and view point, from 0",
    "origin": "its origin, world units",
    "direction": "its direction",
    "expected": "what the CPU hits, in words",
    "found": "what was hit instead",
    "differing": "how many of the compared rays differ",
}


def _under(prefix: str, keys: Keys) -> Keys:
    return {f"{prefix}.{key}": meaning for key, meaning in keys.items()}


COMPARISON: Keys = {
    "device": "what traced: gpu, cpu or emulator",
    "baseline": "name of the kernel that others are compared with",
    "kernels[].kernel": "name of the kernel",
    "kernels[].nodes": "nodes of its tree, as traversed",
    "kernels[].tree_bytes": "bytes of the tree and its triangles, as traversed",
    "kernels[].sah_cost": "expected cost of a ray by the surface area heuristic",
    "kernels[].build_seconds": "seconds to build or read the tree and to pack it; of the first kernel to load machine "
    "code too",
    "kernels[].is_tree_cached": "whether the tree was read, as it was built before",
    "kernels[].registers": "registers of a thread, of closest and any hit; none but on a GPU",
    "kernels[].occupancy": "share of a multiprocessor's threads that resident blocks fill, likewise",
    "kernels[].rays_at_once": "rays that there is room for at once, likewise",
    "measurements[].kernel": "name of the kernel or peer",
    "measurements[].kind": "kind of rays",
    "measurements[].rays": "rays of this kind",
    "measurements[].rate": "median of the rounds, millions of rays per second",
    "measurements[].least": "least of the rounds, likewise",
    "measurements[].most": "most of the rounds, likewise",
    "measurements[].seconds": "seconds of each round",
    "measurements[].view": "view point that the rays come from; none where there is none",
    "measurements[].relative": "rate over that of the baseline on the same rays; null where hits of one are wrong",
    "measurements[].steps": "null where they are not known, or else:",
    **_under("measurements[].steps", _STEPS),
    "measurements[].bound": "millions of rays per second if memory took no time, simulated; null without one",
    "measurements[].agreement": "share of rays that a peer answers as our kernels do; null for kernels",
    "measurements[].compared": "rays whose hits were compared with the CPU's",
    "measurements[].wrong": "null where they are right, or else, for the first ray of which they are not:",
    **_under("measurements[].wrong", _WRONG_RAY),
    "peers[].peer": "name of the peer",
    "peers[].clock": "what its seconds are",
    "photon_runs[].kernel": "name of the kernel of a photon run",
    "photon_runs[].dispatch": "how batches reached it: direct, emulated, streamed or resident",
    "photon_runs[].rate": "median of the runs, millions of rays per second of wall time",
    "photon_runs[].least": "least of the runs, likewise",
    "photon_runs[].most": "most of the runs, likewise",
    "photon_runs[].busy": "share of the time in which the co-processor had something to trace",
    "photon_runs[].wrong": "the first wrong hit in words, for which it was not timed; null where all were right",
    "finished": "false if it was interrupted",
}

BENCH: Keys = CIRCUMSTANCES | COMPARISON

#: A result file, which `bench compare` reads.
RAYS: Keys = CIRCUMSTANCES | {
    "format": "tracecore result 1",
    "device": COMPARISON["device"],
    **{key: meaning for key, meaning in COMPARISON.items() if key.startswith("measurements[]")},
    "measurements[].scene": "name of the scene",
    "measurements[].query": "closest, what is hit first, or any, whether anything is",
    "measurements[].triangles_sha256": "SHA-256 of the file of the triangles",
    "measurements[].rays_sha256": "SHA-256 of the file of the rays",
}

SIMULATE: Keys = _SOFTWARE | {
    "gpu.name": "GPU that bounds are for",
    "gpu.multiprocessors": "multiprocessors that it has",
    "gpu.clock": "its highest clock in normal use, GHz",
    "gpu.issue": "instructions of a warp that a multiprocessor begins in a clock",
    "gpu.alu": "how many of them its ALU pipes take, those of comparisons, integers and logic",
    "gpu.arch": "architecture that kernels are compiled for, to count instructions",
    "gpu.width": "lanes of its warps",
    "simulations[].kernel": "name of the kernel",
    "simulations[].kind": "kind of rays",
    "simulations[].loop": "loop that its steps are done in",
    "simulations[].width": "lanes of a simulated warp",
    "simulations[].rays": "rays that were simulated",
    **_under("simulations[].steps", _STEPS),
    "simulations[].efficiency": "share of lanes with work in visits and tests together; null if there were none",
    "simulations[].bound": "millions of rays per second if memory took no time; null without a compiler",
    "simulations[].compared": "rays whose hits were compared with the CPU's",
    "simulations[].wrong": "null where they are right, or else, for the first ray of which they are not:",
    **_under("simulations[].wrong", _WRONG_RAY),
}

_TREE: Keys = {
    "builder": "way to build a tree: exact, binned, fast, ploc or reinserted",
    "seconds": "median of the rounds, processor time of one thread",
    "least": "least of the rounds, likewise",
    "most": "most of the rounds, likewise",
    "thread_seconds": "median of the rounds, wall time of all threads; null where one thread builds",
    "bytes": "most bytes of arrays while it is built, for each triangle, the tree included and the triangles not",
    "nodes": "nodes of the binary tree",
    "sah_cost": "expected cost of a ray by the surface area heuristic",
}

REPRODUCE: Keys = CIRCUMSTANCES | {
    "table": "name of the table",
    "rows.NAME": "kernel that stands for a row of the paper",
    "published[].scene": "scene of the paper (aila-laine-2009 alone has this list)",
    "published[].row": "row of the paper",
    "published[].kind": "kind of rays",
    "published[].efficiency": "SIMD efficiency of visits and of tests, per cent; null where the paper has none",
    "published[].simulated": "simulated rate, millions of rays per second",
    "published[].measured": "measured rate, likewise",
    **_under("trees[]", _TREE),
    **COMPARISON,
}

DISPATCH: Keys = CIRCUMSTANCES | {
    "rows[].dispatch": "how batches reached the kernel: direct, emulated, streamed or resident",
    "rows[].batch_rays": "rays in a batch",
    "rows[].in_flight": "batches in flight per thread",
    "rows[].rays_per_second": "median of the runs, rays per second of wall time, end to end",
}

ERROR: Keys = CIRCUMSTANCES | {
    "rows[].driver": "name of the driver",
    "rows[].seconds": "wall time of its passes (without --estimates), with --to-noise the mean over the pictures",
    "rows[].passes": "passes by then",
    "rows[].error": "relative error of the picture against the reference, or with --estimates against the others",
    "rows[].estimated": "estimated noise over the error, median of the pictures (with --estimates)",
    "rows[].least": "least of the pictures, likewise",
    "rows[].most": "most of the pictures, likewise",
    "rows[].noise": "asked for (this row and all below with --to-noise)",
    "rows[].reached": "noise of the noisiest tile, but for a hundredth of them",
    "rows[].samples": "of a pixel, mean over pixels and pictures",
    "rows[].whole_passes": "passes over the whole picture that are as quiet, five times as many as samples at most",
    "rows[].whole_seconds": "wall time of these",
}

PICTURES: Keys = CIRCUMSTANCES | {
    "pictures[].scene": "name of the scene",
    "pictures[].driver": "name of the driver",
    "pictures[].device": "what traced: gpu or cpu",
    "pictures[].kernel": "name of the traversal kernel",
    "pictures[].shading": "what shaded: cpu, or gpu, where waves stay there",
    "pictures[].threads": "CPU threads that shade",
    "pictures[].width": "pixels",
    "pictures[].height": "pixels",
    "pictures[].photons": "photons asked for in each pass; null for two for each pixel",
    "pictures[].passes": "passes of a picture",
    "pictures[].seconds": "wall time of rendering, without load, build and compiling: median of the pictures",
    "pictures[].least": "least of the pictures, likewise",
    "pictures[].most": "most of the pictures, likewise",
    "pictures[].rays": "rays of a picture; this and all below is of the median one",
    "pictures[].rays_per_second": "rays by the wall time of rendering",
    "pictures[].busy": "share of the wall time of rendering in which the device traced",
    "pictures[].limited_by": "what to make faster first: kernel, transfer, shading, lookup, map, python or queue",
    "pictures[].trace": "seconds in which threads traced or waited for hits, their mean",
    "pictures[].wait": "of these they waited; 0 on a CPU that traces in place",
    "pictures[].shade": "seconds in which they shaded, likewise",
    "pictures[].lookup": "of these they looked up photons for eye paths",
    "pictures[].map": "seconds in which they put photons into maps, likewise",
    "pictures[].idle": "seconds in which they had nothing to do, likewise",
    "pictures[].python": "seconds of theirs that are nothing of the above, likewise",
    "pictures[].start": "seconds of making the driver: its tables, its threads, and loading its compiled code",
    "pictures[].film": "seconds of adding passes to the picture, while threads may be at work",
    "pictures[].noise": "relative noise that the picture estimates of itself",
    "pictures[].errors[].passes": "passes by then: 1, 2, 4 ... and all",
    "pictures[].errors[].seconds": "wall time of rendering by then",
    "pictures[].errors[].error": "relative error against the reference",
    "peers[].scene": "name of the scene",
    "peers[].peer": "name of the peer, and of the way in which it renders",
    "peers[].device": "what it runs on: gpu or cpu",
    "peers[].errors[].passes": "samples of each pixel of a picture of its own",
    "peers[].errors[].seconds": "wall time of rendering it, median",
    "peers[].errors[].error": "relative error against the reference",
}

#: What the threads of a film of one process do, by the keys of its statistics.
FILM_ROWS: Keys = {
    key: meaning for key, meaning in OF_FILMS.items() if key not in ("seconds.wall", "seconds.main.wait_members")
}

FILM: Keys = CIRCUMSTANCES | {
    "films[].scene": "name of the scene",
    "films[].driver": "name of the driver",
    "films[].device": "what traced: gpu or cpu",
    "films[].kernel": "name of the traversal kernel",
    "films[].shading": "what shaded: cpu, or gpu, where waves stay there",
    "films[].threads": "CPU threads that shade",
    "films[].passes": "passes of the first frame",
    "films[].triangles": "triangles of the first frame",
    "films[].width": "pixels",
    "films[].height": "pixels",
    "films[].frames": "frames of a film",
    "films[].seconds": "wall time of the command, its start and its end with it: median of the films",
    "films[].least": "least of the films, likewise",
    "films[].most": "most of the films, likewise",
    "films[].frames_per_second": "frames by the wall time of the command",
    "films[].rays_share": "share of the wall time in which the main thread waited for those that trace and shade; this "
    "and all below is of the median film",
    "films[].outside": "wall time to begin the process and to end it",
    **_under("films[]", {key.removeprefix("seconds."): meaning for key, meaning in FILM_ROWS.items()}),
}

GATHER: Keys = CIRCUMSTANCES | {
    "photons": "photons in the map",
    "sort_seconds": "processor time to sort them into cells",
    "points": "points at which photons were gathered",
    "gather_seconds": "processor time of all gathers, over all threads",
}

SHADING: Keys = CIRCUMSTANCES | {
    "rows[].surfaces": "plain: diffuse and lit by one square; real: as the scene has them",
    "rows[].threads": "threads that shaded at a time",
    "rows[].nanoseconds": "nanoseconds of one core for one ray",
}

BUILDERS: Keys = CIRCUMSTANCES | {
    "rows[].scene": "name of the scene",
    "rows[].triangles": "triangles of the scene",
    **_under("rows[]", _TREE),
    "rows[].quality": "cost of the exact builder's tree over that of this one: 1 is as good, less is worse; null where "
    "the exact builder was left out",
    "times[].scene": "name of the scene (this and all of times where there is a GPU)",
    "times[].triangles": "triangles of the scene",
    "times[].layout": "what the tree was packed in: bvh2, bvh4 or compressed8",
    "times[].gpu.NAME": "ploc built and packed by the GPU: median wall seconds of a step: upload, locate, sort, join, "
    "number or pack",
    "times[].cpu.NAME": "the same tree by the CPU for the GPU: build, pack or upload",
    "times[].gpu_seconds": "median of the rounds, all steps by the GPU",
    "times[].cpu_seconds": "median of the rounds, all steps by the CPU",
    "rates[].scene": "name of the scene (this and all below with --kernels)",
    "rates[].triangles": "triangles of the scene",
    "rates[].builder": "builder of the tree, as --builder of a render has it",
    "rates[].kernel": "name of the kernel",
    "rates[].kind": "kind of rays",
    "rates[].rays": "rays of this kind, from all view points",
    "rates[].rate": "median of the rounds, millions of rays per second",
    "rates[].least": "least of the rounds, likewise",
    "rates[].most": "most of the rounds, likewise",
    "rates[].relative": "rate over that on the default builder's tree, with the same kernel and rays; null where hits "
    "of one are wrong",
    "rates[].sah_cost": "expected cost of a ray by the surface area heuristic, of the tree as the kernel traverses it",
    "rates[].compared": "rays whose hits were compared with the CPU's",
    "rates[].wrong": "the first wrong ray in words, for which the rate counts for nothing; null where all are right",
}

EMBREE: Keys = CIRCUMSTANCES | {
    "rows[].kind": "camera or diffuse rays",
    "rows[].query": "closest or any hit",
    "rows[].rays": "rays of this kind",
    "rows[].ours": "median rate of the CPU tracer, millions of rays per second of one thread's time",
    "rows[].embree": "that of Embree, likewise",
    "rows[].ratio": "our rate over Embree's, median of the rounds",
    "rows[].least": "least of the rounds, likewise",
    "rows[].most": "most of the rounds, likewise",
    "disagreements[].kind": "camera or diffuse rays",
    "disagreements[].rays": "rays of this kind",
    "disagreements[].is_hit": "rays that one tracer has hit something and the other has not",
    "disagreements[].triangle": "rays that both have hit something, but not the same triangle",
    "disagreements[].distance": "largest difference of the distance, over the distance",
}

LAUNCHES: Keys = CIRCUMSTANCES | {
    "launches[].rays": "rays of one launch",
    "launches[].closest": "millions of rays per second by the device's clock, launch alone",
    "launches[].copied": "the same of wall time, with rays and hits copied",
    "launches[].in_place": "the same of wall time, of calls in a row whose rays and hits lie on the GPU",
    "queues[].dispatch": "how batches reached the kernel: streamed or resident",
    "queues[].threads": "Python threads, each with a queue",
    "queues[].depth": "batches that each has in flight",
    "queues[].rate": "millions of rays per second of wall time",
    "resident[].kernel": "name of the kernel that stays",
    "resident[].threads": "compiled threads, each with a port",
    "resident[].depth": "batches that each has in flight",
    "resident[].rate": "millions of rays per second of wall time",
    "resident[].busy": "share of the time in which the device had work",
    "moves[].kernel": "name of a kernel, one for each layout",
    "moves[].copied": "wall seconds until a tracer has moved all triangles, which are copied to the GPU",
    "moves[].in_place": "the same of triangles that lie on the GPU",
}


def explain(keys: Keys) -> str:
    """Returns the keys and their meaning, one a line under a heading, for the help of the command line."""
    return "\n".join(["keys of the file of --json ([]: of each entry of a list):", *key_lines(keys)])
