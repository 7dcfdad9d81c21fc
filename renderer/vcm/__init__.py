"""This package follows paths from lamps and from the eye, joins them where they meet and where they see each other, and
weighs what each way of finding a path brings. In come a scene and the settings of a pass, out come pixels.

Georgiev, Krivanek, Davidovic, Slusallek: Light Transport Simulation with Vertex Connection and Merging, 2012.
Hachisuka, Pantaleoni, Jensen: A Path Space Extension for Robust Light Transport Simulation, 2012.
"""
