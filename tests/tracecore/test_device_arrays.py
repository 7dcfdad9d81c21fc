"""Copies of arrays on a device, which memory of the host stands for here."""

import ctypes
import gc
import threading
from types import SimpleNamespace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from tracecore.cuda import device_arrays
from tracecore.cuda.device_arrays import SHARED_BYTES, DeviceArrays


class HostMemory:
    """Is as `DeviceMemory`, on the host; `made` counts what is copied."""

    made: ClassVar[list[int]] = []

    def __init__(self, device, size):
        self.content = np.empty(max(size, 1), np.uint8)
        self.size, self.address = size, self.content.ctypes.data

    @classmethod
    def holding(cls, device, content):
        memory = cls(device, content.nbytes)
        memory.content[: content.nbytes] = content.reshape(-1).view(np.uint8)
        cls.made.append(content.nbytes)
        return memory

    @classmethod
    def holding_each(cls, device, contents):
        return [cls.holding(device, content) for content in contents]


class HostStream:
    """Is as `Stream`, on the host."""

    def __init__(self, device):
        pass

    def clear(self, address, size):
        ctypes.memset(address, 0, size)


class Both(NamedTuple):
    """Is a tuple with a tuple in it."""

    large: np.ndarray
    rest: tuple


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(device_arrays, "DeviceMemory", HostMemory)
    monkeypatch.setattr(device_arrays, "Stream", HostStream)
    monkeypatch.setattr(HostMemory, "made", [])
    return SimpleNamespace(shared_memory={}, sharing=threading.Lock())


def values():
    random = np.random.default_rng(5)
    return Both(
        random.random((SHARED_BYTES // 8, 2)), (random.random(7), 3.5, np.empty((0, 2)), random.random((2, 5)).T)
    )


def test_copies_hold_what_is_on_the_host(device):
    given, arrays = values(), DeviceArrays(device)
    made = arrays.copied(given)
    np.testing.assert_array_equal(made.large, given.large)
    np.testing.assert_array_equal(made.rest[0], given.rest[0])
    np.testing.assert_array_equal(made.rest[3], given.rest[3])
    assert made.rest[1] == 3.5
    assert made.rest[2].shape == (0, 2)
    assert made.large.ctypes.data != given.large.ctypes.data


def test_new_arrays_are_zeros_that_lie_apart(device):
    made = DeviceArrays(device).zeroed(
        lambda places: Both(
            places.zeros((5, 3), np.float64), (places.zeros((0, 4), np.int64), places.zeros((7,), np.uint8))
        )
    )
    parts = (made.large, *made.rest)
    assert [(one.shape, one.dtype) for one in parts] == [((5, 3), "f8"), ((0, 4), "i8"), ((7,), "u1")]
    assert all(not one.any() for one in parts)
    made.rest[1][:] = 255
    assert not made.large.any()
    made.large[:] = -1.0
    assert (made.rest[1] == 255).all()
    assert made.large.ctypes.data != made.rest[1].ctypes.data


def test_small_arrays_are_copied_together(device):
    _ = DeviceArrays(device).copied(values())
    assert len(HostMemory.made) == 1


def test_large_arrays_are_shared_as_long_as_they_are_on_the_host(device):
    given, others = values(), DeviceArrays(device)
    others.share(given)
    first = others.copied(given)
    arrays = DeviceArrays(device)
    arrays.share(given)
    second = arrays.copied(given)
    assert HostMemory.made.count(given.large.nbytes) == 1
    assert second.large.ctypes.data == first.large.ctypes.data
    assert second.rest[0].ctypes.data != first.rest[0].ctypes.data
    np.testing.assert_array_equal(second.large, given.large)
    del given, others, arrays
    gc.collect()
    assert device.shared_memory == {}


def test_what_shares_an_array_keeps_it(device):
    given, arrays = values(), DeviceArrays(device)
    arrays.share(given)
    made, expected = arrays.copied(given), given.large.copy()
    del given
    gc.collect()
    _ = [np.full((SHARED_BYTES // 8, 2), 9.0) for _ in range(8)]  # would take memory that was given back
    np.testing.assert_array_equal(made.large, expected)


def test_arrays_that_are_not_shared_are_copied_for_each(device):
    given = values()
    each = [DeviceArrays(device), DeviceArrays(device)]
    first, second = (arrays.copied(given) for arrays in each)
    assert first.large.ctypes.data != second.large.ctypes.data
