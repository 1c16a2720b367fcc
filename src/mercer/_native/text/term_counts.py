"""Counts of the terms of texts as sparse rows, and the hashes of terms."""

import cython

BITS = cython.declare(cython.ulonglong, 0xFFFFFFFF)
# The constants of MurmurHash3.
FIRST = cython.declare(cython.ulonglong, 0xCC9E2D51)
SECOND = cython.declare(cython.ulonglong, 0x1B873593)
THIRD = cython.declare(cython.ulonglong, 0xE6546B64)
FOURTH = cython.declare(cython.ulonglong, 0x85EBCA6B)
FIFTH = cython.declare(cython.ulonglong, 0xC2B2AE35)


def count_terms(
    ids: cython.const[cython.int][::1],
    pointers: cython.const[cython.longlong][::1],
    owners: cython.int[::1],
    places: cython.longlong[::1],
    out_ids: cython.int[::1],
    out_counts: cython.double[::1],
    out_pointers: cython.longlong[::1],
):
    """Write each distinct term of each text once, in the order of first occurrence, and how often it occurs.

    `owners` (terms,) are all -1, and `places` of the same size is scratch.
    """
    n: cython.longlong = 0
    with cython.nogil:
        out_pointers[0] = 0
        for text in range(pointers.shape[0] - 1):
            for i in range(pointers[text], pointers[text + 1]):
                term = ids[i]
                if owners[term] == text:
                    out_counts[places[term]] += 1.0
                else:
                    owners[term] = cython.cast(cython.int, text)
                    places[term] = n
                    out_ids[n] = term
                    out_counts[n] = 1.0
                    n += 1
            out_pointers[text + 1] = n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_entries(
    columns: cython.int[::1], values: cython.double[::1], first: cython.longlong, stop: cython.longlong
) -> cython.void:
    """Sort the entries of a row by column, by Shell's method, which needs no room."""
    gap: cython.longlong = 1
    while gap < (stop - first) // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(first + gap, stop):
            column, value, j = columns[i], values[i], i
            while j >= first + gap and columns[j - gap] > column:
                columns[j], values[j] = columns[j - gap], values[j - gap]
                j -= gap
            columns[j], values[j] = column, value
        gap //= 3


def arrange_rows(
    pointers: cython.const[cython.longlong][::1],
    ids: cython.const[cython.int][::1],
    counts: cython.const[cython.double][::1],
    columns: cython.const[cython.int][::1],
    signs: cython.const[cython.double][::1],
    out_pointers: cython.longlong[::1],
    out_columns: cython.int[::1],
    out_values: cython.double[::1],
):
    """Write rows with the column of each term, sorted, without those of column -1; entries of one column are added up.

    Counts are multiplied by the sign of their term; empty `signs` are ones.
    """
    n: cython.longlong = 0
    with cython.nogil:
        out_pointers[0] = 0
        for row in range(pointers.shape[0] - 1):
            first = n
            for i in range(pointers[row], pointers[row + 1]):
                if columns[ids[i]] >= 0:
                    out_columns[n] = columns[ids[i]]
                    out_values[n] = counts[i] * (signs[ids[i]] if signs.shape[0] > 0 else 1.0)
                    n += 1
            sort_entries(out_columns, out_values, first, n)
            kept = first
            for i in range(first, n):
                if i > first and out_columns[i] == out_columns[kept - 1]:
                    out_values[kept - 1] += out_values[i]
                else:
                    out_columns[kept] = out_columns[i]
                    out_values[kept] = out_values[i]
                    kept += 1
            n = kept
            out_pointers[row + 1] = n


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def rotate(word: cython.ulonglong, bits: cython.int) -> cython.ulonglong:
    """Rotate a word of 32 bits to the left."""
    return ((word << bits) | (word >> (32 - bits))) & BITS


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def scramble(word: cython.ulonglong) -> cython.ulonglong:
    """Return what a word of four bytes adds to the hash."""
    return rotate(word * FIRST & BITS, 15) * SECOND & BITS


def hash_terms(
    data: cython.const[cython.uchar][::1],
    ends: cython.const[cython.longlong][::1],
    seed: cython.ulonglong,
    out: cython.int[::1],
):
    """Write MurmurHash3 (x86, 32 bits) of each term; the bytes of term i end at ``ends[i]``."""
    with cython.nogil:
        for term in range(ends.shape[0]):
            i = ends[term - 1] if term > 0 else 0
            length, state = ends[term] - i, seed
            while i + 4 <= ends[term]:
                word = cython.cast(cython.ulonglong, data[i + 3])
                word = (word << 8) | cython.cast(cython.ulonglong, data[i + 2])
                word = (word << 8) | cython.cast(cython.ulonglong, data[i + 1])
                word = (word << 8) | cython.cast(cython.ulonglong, data[i])
                state = (rotate(state ^ scramble(word), 13) * 5 + THIRD) & BITS
                i += 4
            word = 0
            if i + 2 < ends[term]:
                word = cython.cast(cython.ulonglong, data[i + 2]) << 16
            if i + 1 < ends[term]:
                word ^= cython.cast(cython.ulonglong, data[i + 1]) << 8
            if i < ends[term]:
                word ^= cython.cast(cython.ulonglong, data[i])
                state ^= scramble(word)
            state ^= cython.cast(cython.ulonglong, length)
            state = (state ^ (state >> 16)) * FOURTH & BITS
            state = (state ^ (state >> 13)) * FIFTH & BITS
            state ^= state >> 16
            # The signed number of the same bits.
            signed = cython.cast(cython.longlong, state)
            out[term] = cython.cast(cython.int, signed - ((signed >> 31) << 32))
