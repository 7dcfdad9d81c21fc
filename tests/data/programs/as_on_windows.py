import ctypes
import json

import llvmlite.binding
from numba import njit

from tracecore.compilation import clock

TICKS, FREQUENCY = 9_123_456_789_012_345, 10_000_000
given = {"ways": 0}
writes = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64))


def writer(value):
    def write(place):
        place[0] = value
        return 1

    return writes(write)


def give():
    given["ways"] += 1
    return 1


played = {
    "QueryPerformanceCounter": writer(TICKS),
    "QueryPerformanceFrequency": writer(FREQUENCY),
    "SwitchToThread": ctypes.CFUNCTYPE(ctypes.c_int)(give),
}
for name, function in played.items():
    llvmlite.binding.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
clock.IS_WINDOWS = True


@njit
def told():
    clock.give_way()
    return clock.nanoseconds()


print(json.dumps({"told": told(), **given}))
