from numba import types

from tracecore.compilation.cached import Cached
from tracecore.compilation.units import Unit


def kept(one):
    one.enable_caching()
    return one


def half(x):
    return x / 2


half = kept(Unit(half, types.float64))


def quarter(x, is_odd):
    if is_odd:
        raise ValueError("odd")
    return half(half(x))


quarter = kept(Unit(quarter, types.float64))


def third(x):
    return x / 3


third = kept(Unit(third, types.float64))


def whole(x, is_odd):
    return quarter(x, is_odd) + third(x)


whole = kept(Cached(whole))
