"""Photons: from the lights through the scene into a map, and from the map to whoever looks for them.

In: the packed scene and the task of a pass. Out: a photon map, and the light that photons bring to a point. A photon is
made in `emission`, followed in `shading`, kept in `store`, sorted in `building`, and found through `searching`,
`photon_map` and `lookup`.
"""
