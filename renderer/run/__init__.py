"""This package makes something with a driver: a picture, a sequence of them, or a run of photons alone.

In: a scene, settings, and a driver's class. Out: files of pictures, statistics and timelines.

`render_call` has the call that users make. It makes a `plan` of what they ask for, and by that plan the subjects make
what is asked for, each in a package of its own:

`picture` makes one picture, `sequence` frames, `photon_run` photons alone; `resuming` has pictures and frames go on
where they stopped, and the `members` of a fleet make shares of all of it.

What several of them use lies beside them: `memory` foretells how much they take, `containment` opens another tracer
where one fails, `motion` says at which times passes look at a scene, `first_run` shows what is compiled, `statistics`
and `timeline` hold what was measured, and `halton` has points that are spread evenly.
"""
