"""Terms of texts: runs of word symbols, runs of symbols of given lengths, and runs of words.

Texts stand one after the other in one array of symbols, code points or ASCII bytes, with one symbol between each two.
`ends` has the end of each text. Each distinct term has a number in the order of first occurrence; what the functions
write are the numbers of the terms of each text, one for each occurrence. A function returns before the first text whose
terms a table may not have room for, and goes on there when it is called again.
"""

import cython

symbol = cython.fused_type(cython.uchar, cython.uint)

# Hashes have 32 bits, kept in 64: products do not overflow, compiled or not. The factor is that of FNV-1a.
FACTOR = cython.declare(cython.longlong, 0x01000193)
BITS = cython.declare(cython.longlong, 0xFFFFFFFF)
# Kinds of symbols, as bits.
WORD = cython.declare(cython.int, 1)
SPACE = cython.declare(cython.int, 2)
BLANK = cython.declare(cython.int, 32)


@cython.cclass
class TermTable:
    """Distinct terms: slots by hash, and what each term is.

    Parameters
    ----------
    slots : (2**k,) the number of the term in each slot, or -1
    starts, lengths : (m,) where a term of symbols first occurs; or the two parts of a term of parts
    hashes : (m,)
    size : (2,) the number of terms, and the start value of all hashes
    """

    slots: cython.int[::1]
    starts: cython.longlong[::1]
    lengths: cython.longlong[::1]
    hashes: cython.longlong[::1]
    size: cython.longlong[::1]

    def __init__(self, slots, starts, lengths, hashes, size):
        self.slots, self.starts, self.lengths, self.hashes, self.size = slots, starts, lengths, hashes, size

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def has_room(self, terms: cython.longlong) -> cython.bint:
        """Return whether as many more terms leave half of the slots free."""
        wanted: cython.longlong = self.size[0] + terms
        return 2 * wanted <= self.slots.shape[0] and wanted <= self.hashes.shape[0]

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def add(
        self, slot: cython.longlong, start: cython.longlong, length: cython.longlong, code: cython.longlong
    ) -> cython.int:
        """Number a new term in a free slot."""
        term: cython.int = cython.cast(cython.int, self.size[0])
        self.slots[slot] = term
        self.starts[term] = start
        self.lengths[term] = length
        self.hashes[term] = code
        self.size[0] += 1
        return term


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def number_run(
    symbols: cython.const[symbol][::1],
    table: TermTable,
    start: cython.longlong,
    length: cython.longlong,
    running: cython.longlong,
) -> cython.int:
    """Return the number of the term that a run of symbols is."""
    code: cython.longlong = running ^ (running >> 15)
    mask: cython.longlong = table.slots.shape[0] - 1
    slot: cython.longlong = code & mask
    term: cython.int = table.slots[slot]
    while term >= 0:
        if table.hashes[term] == code and table.lengths[term] == length:
            first: cython.longlong = table.starts[term]
            same = 0
            while same < length and symbols[first + same] == symbols[start + same]:
                same += 1
            if same == length:
                return term
        slot = (slot + 1) & mask
        term = table.slots[slot]
    return table.add(slot, start, length, code)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def number_pair(table: TermTable, head: cython.longlong, word: cython.longlong) -> cython.int:
    """Return the number of the term that a term and one more word make."""
    code: cython.longlong = (table.size[1] ^ head) * FACTOR & BITS
    code = ((code ^ (code >> 15)) ^ word) * FACTOR & BITS
    code = code ^ (code >> 15)
    mask: cython.longlong = table.slots.shape[0] - 1
    slot: cython.longlong = code & mask
    term: cython.int = table.slots[slot]
    while term >= 0:
        if table.starts[term] == head and table.lengths[term] == word:
            return term
        slot = (slot + 1) & mask
        term = table.slots[slot]
    return table.add(slot, head, word, code)


def merge_runs(
    symbols: cython.const[symbol][::1],
    starts: cython.const[cython.longlong][::1],
    lengths: cython.const[cython.longlong][::1],
    hashes: cython.const[cython.longlong][::1],
    n: cython.Py_ssize_t,
    table: TermTable,
    arena: cython.uint[::1],
    filled: cython.longlong,
    numbers: cython.longlong[::1],
):
    """Find the first `n` terms of some texts in a table, whose terms stand in `arena`; those that are new are added.

    Writes the number of each, and returns how much of the arena is filled; table and arena have room for all of them.
    """
    mask: cython.longlong = table.slots.shape[0] - 1
    with cython.nogil:
        for i in range(n):
            slot = hashes[i] & mask
            term = table.slots[slot]
            while term >= 0:
                if table.hashes[term] == hashes[i] and table.lengths[term] == lengths[i]:
                    first, same = table.starts[term], 0
                    while same < lengths[i] and arena[first + same] == symbols[starts[i] + same]:
                        same += 1
                    if same == lengths[i]:
                        break
                slot = (slot + 1) & mask
                term = table.slots[slot]
            if term < 0:
                for same in range(lengths[i]):
                    arena[filled + same] = symbols[starts[i] + same]
                term = table.add(slot, filled, lengths[i], hashes[i])
                filled += lengths[i]
            numbers[i] = term
    return filled


def merge_pairs(
    heads: cython.const[cython.longlong][::1],
    words: cython.const[cython.longlong][::1],
    n: cython.Py_ssize_t,
    numbers: cython.const[cython.longlong][::1],
    table: TermTable,
    out: cython.longlong[::1],
):
    """Find the first `n` terms of parts of some texts in a table; those that are new are added.

    `numbers` are those of the words in their own table. A head is there a word w as 2 w, or a pair p as 2 p + 1.
    """
    n_words: cython.longlong = numbers.shape[0]
    with cython.nogil:
        for i in range(n):
            head = heads[i]
            head = 2 * numbers[head] if head < n_words else 2 * out[head - n_words] + 1
            out[i] = number_pair(table, head, numbers[words[i]])


def fill_slots(hashes: cython.const[cython.longlong][::1], n: cython.Py_ssize_t, slots: cython.int[::1]):
    """Put the first `n` terms into `slots`, which are all -1; their number is a power of two above `n`."""
    mask: cython.longlong = slots.shape[0] - 1
    with cython.nogil:
        for term in range(n):
            slot = hashes[term] & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = cython.cast(cython.int, term)


def find_words(
    symbols: cython.const[symbol][::1],
    ends: cython.const[cython.longlong][::1],
    kinds: cython.const[cython.uchar][::1],
    shortest: cython.longlong,
    table: TermTable,
    ids: cython.int[::1],
    pointers: cython.longlong[::1],
    text: cython.Py_ssize_t,
):
    """Write the words of texts, from number `text` on: the longest runs of word symbols, of `shortest` or more.

    Returns the text to go on with; the words of text i end at ``pointers[i + 1]``.
    """
    with cython.nogil:
        while text < ends.shape[0]:
            i = ends[text - 1] + 1 if text > 0 else 0
            last = ends[text]
            if not table.has_room((last - i) // shortest):
                break
            n = pointers[text]
            while i < last:
                if kinds[symbols[i]] & WORD:
                    start, running = i, table.size[1]
                    while i < last and kinds[symbols[i]] & WORD:
                        running = (running ^ symbols[i]) * FACTOR & BITS
                        i += 1
                    if i - start >= shortest:
                        ids[n] = number_run(symbols, table, start, i - start, running)
                        n += 1
                else:
                    i += 1
            text += 1
            pointers[text] = n
    return text


def squeeze_spaces(
    symbols: cython.const[symbol][::1],
    ends: cython.const[cython.longlong][::1],
    kinds: cython.const[cython.uchar][::1],
    padded: cython.bint,
    out: symbol[::1],
    out_ends: cython.longlong[::1],
):
    """Write texts in which one blank stands for each run of two or more spaces; or for each run, ends included.

    With `padded`, the words of a text stand between single blanks, and a text without words is empty.
    """
    n: cython.longlong = 0
    with cython.nogil:
        for text in range(ends.shape[0]):
            i = ends[text - 1] + 1 if text > 0 else 0
            last, begun = ends[text], n
            while i < last:
                run = i
                while i < last and kinds[symbols[i]] & SPACE:
                    i += 1
                if padded:
                    # A text that ends in a word, or in spaces, gets its last blank below.
                    if i < last and (i > run or n == begun):
                        out[n] = BLANK
                        n += 1
                elif i > run:
                    out[n] = symbols[run] if i - run == 1 else BLANK
                    n += 1
                while i < last and not kinds[symbols[i]] & SPACE:
                    out[n] = symbols[i]
                    n += 1
                    i += 1
            if padded and n > begun:
                out[n] = BLANK
                n += 1
            out_ends[text] = n
            out[n] = 10
            n += 1


def find_runs(
    symbols: cython.const[symbol][::1],
    ends: cython.const[cython.longlong][::1],
    shortest: cython.longlong,
    longest: cython.longlong,
    padded: cython.bint,
    table: TermTable,
    ids: cython.int[::1],
    pointers: cython.longlong[::1],
    text: cython.Py_ssize_t,
):
    """Write all runs of `shortest` to `longest` symbols of texts; with `padded`, those inside a word and its blanks.

    A padded word that is shorter than all of them is a run itself. Returns the text to go on with.
    """
    with cython.nogil:
        while text < ends.shape[0]:
            start = ends[text - 1] + 1 if text > 0 else 0
            last = ends[text]
            if not table.has_room((last - start) * (longest - shortest + 1)):
                break
            n = pointers[text]
            while start < last - padded:
                stop = last
                if padded:
                    stop = start + 1
                    while symbols[stop] != BLANK:
                        stop += 1
                    stop += 1
                for i in range(start, stop):
                    running = table.size[1]
                    length = 1
                    while length <= longest and i + length <= stop:
                        running = (running ^ symbols[i + length - 1]) * FACTOR & BITS
                        if length >= shortest or (padded and i == start and length == stop - start):
                            ids[n] = number_run(symbols, table, i, length, running)
                            n += 1
                        length += 1
                # The blank behind a word is that before the next one.
                start = stop - 1 if padded else stop
            text += 1
            pointers[text] = n
    return text


def join_words(
    words: cython.const[cython.int][::1],
    starts: cython.const[cython.longlong][::1],
    n_words: cython.int,
    fewest: cython.longlong,
    most: cython.longlong,
    table: TermTable,
    ids: cython.int[::1],
    pointers: cython.longlong[::1],
    text: cython.Py_ssize_t,
):
    """Write all runs of `fewest` to `most` words of texts; a run is a shorter run and one more word.

    Those of one word keep its number, and pair number p of the table is `n_words` + p. Returns the text to go on with.
    """
    with cython.nogil:
        while text < starts.shape[0] - 1:
            last = starts[text + 1]
            if not table.has_room((last - starts[text]) * (most - 1)):
                break
            n = pointers[text]
            for i in range(starts[text], last):
                term = words[i]
                if fewest <= 1:
                    ids[n] = term
                    n += 1
                length = 2
                while length <= most and i + length <= last:
                    term = n_words + number_pair(table, term, words[i + length - 1])
                    if length >= fewest:
                        ids[n] = term
                        n += 1
                    length += 1
            text += 1
            pointers[text] = n
    return text
