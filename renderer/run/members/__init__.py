"""This package shares pictures, sequences and photon runs out to the members of a fleet (`renderer.fleet`).

In: a plan. Out: what its passes, frames or photons are, with the bits that one process gives them.

`open_fleet` opens the fleet of some settings, and has members begin ahead. `fleet_driver` has them make passes, which
`pass_supply` cuts into shares; `picture_member`, `frame_member` and `photon_member` are what works in a member's
process, to which `sent_tree` brings the tree; and `member_figures` says how each has fared.
"""
