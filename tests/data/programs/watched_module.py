from numba import types

from tracecore.compilation.cached import Cached
from tracecore.compilation.merging import Merged
from tracecore.compilation.units import Unit


def kept(one):
    one.enable_caching()
    return one


def halved(x):
    return x / 2


halved = Merged(halved)


def doubled(x):
    return halved(4 * x)


doubled = kept(Unit(doubled, types.float64))


def quadrupled(x):
    return doubled(doubled(x))


quadrupled = kept(Cached(quadrupled))
