"""Arrays whose memory goes back to its owner as soon as nobody looks at it any more.

Fresh memory costs a page fault for each 4 KB when it is first written to, and in a virtual machine maybe one of the
host too. What is made again and again, such as the picture of a pass, takes memory that was written to before.
"""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


class _Loan:
    """Is what all views of lent memory refer to, so that it ends with the last of them."""

    def __init__(self, memory: npt.NDArray[Any]) -> None:
        self.__array_interface__ = memory.__array_interface__


def lent(memory: npt.NDArray[Any], give_back: Callable[[npt.NDArray[Any]], None]) -> npt.NDArray[Any]:
    """Returns an array with the memory of another one.

    give_back: called with the other one once the array and all views of it are gone, in whichever thread drops the
    last of them.
    """
    loan = _Loan(memory)
    weakref.finalize(loan, give_back, memory).atexit = False
    return np.asarray(loan)
