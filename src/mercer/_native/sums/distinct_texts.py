"""Number the distinct texts of a column, and write a value for each row by the number of its text.

Texts lie one after the other in an array of bytes, as Arrow stores them; numbers are texts of as many bytes as their
type has.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.sums import letters
else:
    from mercer._native.sums import letters

place = cython.fused_type(cython.int, cython.longlong)
value = cython.fused_type(cython.int, cython.longlong, cython.float, cython.double)


def number_texts(
    data: cython.const[cython.uchar][::1],
    starts: cython.const[place][::1],
    known: cython.const[cython.uchar][::1],
    first: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    slots: cython.int[::1],
    texts: cython.ulonglong[:, ::1],
    counts: cython.longlong[::1],
    found: cython.Py_ssize_t,
    codes: cython.int[::1],
):
    """Write the number of the text of each row from `first` on, and return the row reached and the numbers in use.

    Ends early where a new text finds half of the slots taken; see :func:`take_slots`.

    Parameters
    ----------
    data : (bytes,) of all texts
    starts : (n + 1,) where the text of each row begins; it ends where the next one begins
    known : (n,) zero where a text is missing; empty if none is
    slots : a power of two of places, -1 or the number of a text
    texts : (capacity, 3) the hash, the begin and the size of each text, side by side in one line of the cache
    counts : (capacity + 1,) raised by the rows of each text; those of missing ones come first
    found : numbers in use
    codes : (n,) the number of the text of each row, -1 where it is missing
    """
    row: cython.Py_ssize_t = first
    mask: cython.ulonglong = slots.shape[0] - 1
    most: cython.Py_ssize_t = slots.shape[0] // 2
    with cython.nogil:
        while row < stop:
            if known.shape[0] > 0 and known[row] == 0:
                codes[row] = -1
                counts[0] += 1
                row += 1
                continue
            begin = starts[row]
            end = starts[row + 1]
            size = end - begin
            mixed = letters.digest(data, begin, end)
            slot = mixed & mask
            code = slots[slot]
            while code >= 0:
                if texts[code, 0] == mixed and texts[code, 2] == cython.cast(cython.ulonglong, size):
                    if letters.same(data, texts[code, 1], begin, size):
                        break
                slot = (slot + 1) & mask
                code = slots[slot]
            if code < 0:
                if found >= most:
                    break
                code = cython.cast(cython.int, found)
                slots[slot] = code
                texts[code, 0] = mixed
                texts[code, 1] = begin
                texts[code, 2] = size
                counts[code + 1] = 0
                found += 1
            codes[row] = code
            counts[code + 1] += 1
            row += 1
    return row, found


def take_slots(texts: cython.const[cython.ulonglong][:, ::1], found: cython.Py_ssize_t, slots: cython.int[::1]):
    """Write the numbers of the first `found` texts to the slots of their hashes."""
    mask: cython.ulonglong = slots.shape[0] - 1
    slot: cython.Py_ssize_t
    with cython.nogil:
        for slot in range(slots.shape[0]):
            slots[slot] = -1
        for code in range(found):
            slot = texts[code, 0] & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = cython.cast(cython.int, code)


def write_values(
    codes: cython.const[cython.int][::1],
    table: cython.const[value][::1],
    out: value[:, ::1],
    column: cython.Py_ssize_t,
):
    """Write ``table[code + 1]`` to a column of `out` for each code; the first entry is that of the code -1."""
    with cython.nogil:
        for row in range(codes.shape[0]):
            out[row, column] = table[codes[row] + 1]
