"""This package holds the commands, a module each; what several share is in `arguments`.

A command is a module named as its row of `COMMANDS`, with `add_arguments(parser)`, which adds the arguments that it
takes, and `run(arguments)`, which does what it is for and returns the exit status. It is imported when it is asked for,
and imports what is heavy inside `run`, so that help and wrong arguments are answered at once.
"""

#: The commands, whose names have one word or two, with a line of help each.
COMMANDS = {
    "render": "make a picture of a scene, and its statistics",
    "merge": "make a picture of its parts, which 'render --part' has made",
    "view": "show a scene in the browser as its picture converges, or a picture file",
    "compare": "tell how far a picture is from a reference",
    "denoise": "take the noise out of a picture file (extra denoise)",
    "photons": "trace photons until N are stored, and tell how fast that went and why not faster",
    "bench": "compare traversal kernels: all of them on the same rays of a scene",
    "bench dispatch": "photons by resident and streamed dispatch, size of batches, and how many are in flight",
    "bench error": "error of drivers at equal time, and how honest their pictures are about their noise",
    "bench pictures": "pictures: how long they take, what takes the time, and their error over time",
    "bench film": "films: how long they take, and what their threads do meanwhile",
    "bench gather": "what it costs to sort photons and to look for them",
    "bench shading": "what it costs to shade a photon, nanoseconds per ray",
    "bench builders": "builders of trees: their seconds and memory, and the quality of what they build",
    "bench embree": "the CPU tracer against Embree on one core, round by round",
    "bench launches": "launches and dispatch on a GPU, nothing done with the hits",
    "bench rays": "keep rays of scenes with their hits in a folder, for any tracer, or time kernels on such a folder",
    "bench compare": "compare two result files of 'bench rays': FASTER, SAME or SLOWER, row by row",
    "tune": "measure which kernels are fastest on this GPU, for --kernel auto",
    "check": "try a kernel of your own on hard cases",
    "simulate": "simulate traversal kernels: SIMD efficiency, and the rate if memory took no time",
    "reproduce": "make tables of the literature again, with published figures beside ours",
    "scene": "list the scenes that come with the program, tell what a scene holds, or write it to other files",
    "convert": "write a scene to files of another format",
    "doctor": "tell what runs on this machine, what is missing and how to get it",
}
