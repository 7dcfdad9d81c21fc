"""The two halves of a picture's passes, which are independent pictures. The sampler has the same function compiled."""


def half_of(index: int) -> int:
    """Returns the half, 0 or 1, of a picture's passes to which a pass belongs.

    Passes 2 k and 2 k + 1 lie in different halves, so that a pass is number `index // 2` of its half. The halves follow
    the sequence of Thue and Morse, the parity of the ones among the binary digits, and not that of the last digit
    alone: whatever goes on slowly from pass to pass, or takes its turns by powers of two as the times of motion blur
    do, is shared evenly. (Allouche, Shallit: The Ubiquitous Prouhet-Thue-Morse Sequence, 1999.)

    index: of the pass, 0..2^32-1.
    """
    ones = index ^ (index >> 16)
    ones ^= ones >> 8
    ones ^= ones >> 4
    ones ^= ones >> 2
    return (ones ^ (ones >> 1)) & 1


def in_second_half(passes: int) -> int:
    """Returns how many of the first so many passes of a picture belong to half 1."""
    return passes // 2 + passes % 2 * half_of(passes - 1)
