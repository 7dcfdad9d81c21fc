"""This package makes something with a driver: one picture, a sequence of them, or a run of photons alone.

In: a scene with a tracer, a driver, and when to stop. Out: files of pictures, statistics and timelines. Its modules, by
their subject:

A picture: `rendering` is the call that users make, from a scene's name and settings to a `plan`; `picture` makes it, by
the loop of `session` over the passes of `making`, which puts drivers in place where the scene moves (`motion`) or a
tracer fails (`containment`). `picture_files` says what is written, `statistics` and `timeline` what it holds,
`missing_light` why it is black, `path_report` what one of its paths met, `memory` what it takes, `first_run` what is
compiled for it.

A sequence: `sequence` makes frames, `film_exposure` meters them.

A photon run: `photon_run`.

Going on: `checkpoint` is the file, `resuming` takes it up and writes it; `frame_key` and `fingerprint` know what it is
of.

Members of a fleet: `fleets` opens it; `fleet_driver` has it make passes, cut by `pass_supply`; `picture_member`,
`frame_member` and `photon_member` make them there, and `member_figures` says how they fared.
"""
