"""This module holds the limits of what is read: how large, how many, how deep. They are far above what scenes have, and
keep what is wrong with a file, or meant to harm, from taking minutes or all memory before it is told.

Numbers that a format alone knows, such as the length of a name, stand where they are used.
"""

#: Triangles that the shapes of a scene have, each shape counted once or in each place, as its reader says.
MAX_TRIANGLES = 20_000_000
#: Shapes in their places.
MAX_PARTS = 1_000_000
#: Corners of one polygon.
MAX_CORNERS = 100_000
#: Files that are included, those included again and again counted each time, and words of those read again.
MAX_INCLUDES, MAX_WORDS_AGAIN = 20_000, 20_000_000
#: Pixels of a picture, which are those of 16384 x 16384, and of all pictures of a scene together, or all textures that
#: are made of them.
MAX_PIXELS, MAX_ALL_PIXELS = 1 << 28, 1 << 30
#: Of these, all pictures of a scene may have so many whatever their files hold, and beyond them so many for each byte.
FREE_PIXELS, MAX_PIXELS_PER_BYTE = 1 << 27, 100
#: How many times larger than packed what is unpacked may be, from a size on, in bytes.
MAX_RATIO, FREE_OF_RATIO = 100, 1 << 25
#: Things that are wrong with a file until nothing more of it is read.
MAX_FAULTS = 1000
#: Names of which the way to a value consists, such as a.b.c.
MAX_NAMES = 100
