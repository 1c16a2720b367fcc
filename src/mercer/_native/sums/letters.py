"""The uncompiled twin of ``letters.pxd``."""

_WORD = 2**64 - 1


def digest(data, start, stop):
    """Return a hash of the bytes from `start` to `stop`."""
    start, stop = int(start), int(stop)
    mixed = stop - start
    for at in range(start, stop, 8):
        word = int.from_bytes(bytes(data[at : min(at + 8, stop)]), "little")
        mixed = ((mixed ^ word) * 0x9E3779B97F4A7C15) & _WORD
        mixed ^= mixed >> 32
    return mixed


def same(data, first, second, count):
    """Return whether `count` bytes from `first` on are those from `second` on."""
    first, second, count = int(first), int(second), int(count)
    return bytes(data[first : first + count]) == bytes(data[second : second + count])
