"""Order the unknowns of a sparse symmetric matrix so that few zeros fill in when they are eliminated.

The next unknown is one with the fewest neighbours (minimum degree). Eliminating it joins its neighbours with each
other. These cliques are kept as lists, called elements: an unknown has a list of elements and of the unknowns beside it
that no element covers. Degrees are bounds from above (Amestoy, Davis and Duff, 1996, An approximate minimum degree
ordering algorithm), and unknowns with equal lists are merged and eliminated together.
"""

import cython

# Rows of `table`, which has a column for each unknown; an eliminated one gives its number to its element.
# The place of its list, how long it is, and how many elements lead it.
BEGIN = cython.declare(cython.Py_ssize_t, 0)
LENGTH = cython.declare(cython.Py_ssize_t, 1)
ELEMENTS = cython.declare(cython.Py_ssize_t, 2)
# One of the kinds below; how many unknowns were merged into it; its degree, or the unknowns of an element.
KIND = cython.declare(cython.Py_ssize_t, 3)
WEIGHT = cython.declare(cython.Py_ssize_t, 4)
DEGREE = cython.declare(cython.Py_ssize_t, 5)
# Chains of unknowns of one degree: the first of each degree, and the one after and before each unknown.
HEAD = cython.declare(cython.Py_ssize_t, 6)
NEXT = cython.declare(cython.Py_ssize_t, 7)
LAST = cython.declare(cython.Py_ssize_t, 8)
# The turn in which something was last met, and in which OUTSIDE was last counted: the unknowns of an element that the
# newest element has not.
SEEN = cython.declare(cython.Py_ssize_t, 9)
COUNTED = cython.declare(cython.Py_ssize_t, 10)
OUTSIDE = cython.declare(cython.Py_ssize_t, 11)
# Chains of merged unknowns: the next one, and the last of the chain that begins here.
FOLLOWER = cython.declare(cython.Py_ssize_t, 12)
TAIL = cython.declare(cython.Py_ssize_t, 13)
# The key of an unknown's list; the first unknown with a key; the elements in the order in which they were made.
KEY = cython.declare(cython.Py_ssize_t, 14)
KEY_HEAD = cython.declare(cython.Py_ssize_t, 15)
MADE = cython.declare(cython.Py_ssize_t, 16)
# Kinds: an unknown that is left, an element, and one that is merged, or covered by another element.
UNKNOWN = cython.declare(cython.int, 0)
ELEMENT = cython.declare(cython.int, 1)
GONE = cython.declare(cython.int, 2)


@cython.final
@cython.cclass
class Elimination:
    """The lists of a matrix that is being eliminated.

    `places` (3 m + 2 n,) begins with the m neighbours of all unknowns, and takes the lists of elements behind them;
    `table` (17, n) is described above; `order` (n,) takes the unknowns as they are eliminated.
    """

    places: cython.int[::1]
    table: cython.int[:, ::1]
    order: cython.int[::1]
    base: cython.Py_ssize_t
    free: cython.Py_ssize_t
    n_made: cython.Py_ssize_t
    lowest: cython.Py_ssize_t
    turn: cython.int
    done: cython.Py_ssize_t
    work: cython.Py_ssize_t

    def __init__(self, places, table, order, n_neighbours):
        self.places, self.table, self.order = places, table, order
        self.base = self.free = n_neighbours
        self.n_made = self.lowest = self.turn = self.done = self.work = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def link(self, unknown: cython.int) -> cython.void:
        """Put an unknown at the head of the chain of its degree."""
        table = self.table
        degree: cython.Py_ssize_t = table[DEGREE, unknown]
        head: cython.int = table[HEAD, degree]
        table[NEXT, unknown] = head
        table[LAST, unknown] = -1
        if head >= 0:
            table[LAST, head] = unknown
        table[HEAD, degree] = unknown
        if degree < self.lowest:
            self.lowest = degree

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def unlink(self, unknown: cython.int) -> cython.void:
        """Take an unknown out of the chain of its degree."""
        table = self.table
        after: cython.int = table[NEXT, unknown]
        before: cython.int = table[LAST, unknown]
        if after >= 0:
            table[LAST, after] = before
        if before >= 0:
            table[NEXT, before] = after
        else:
            table[HEAD, table[DEGREE, unknown]] = after

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_lowest(self) -> cython.int:
        """Return the first unknown of lowest degree, and take it out of its chain."""
        while self.table[HEAD, self.lowest] < 0:
            self.lowest += 1
        pivot: cython.int = self.table[HEAD, self.lowest]
        self.unlink(pivot)
        return pivot

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge(self, unknown: cython.int, other: cython.int) -> cython.void:
        """Let an unknown be eliminated right after another one."""
        table = self.table
        table[KIND, unknown] = GONE
        table[WEIGHT, other] += table[WEIGHT, unknown]
        table[FOLLOWER, table[TAIL, other]] = unknown
        table[TAIL, other] = table[TAIL, unknown]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def make_room(self, size: cython.Py_ssize_t) -> cython.void:
        """Move the lists of elements together if fewer than `size` places are free behind them."""
        table, places = self.table, self.places
        if self.free + size <= places.shape[0]:
            return
        kept: cython.Py_ssize_t = 0
        self.work += self.free - self.base
        self.free = self.base
        for made in range(self.n_made):
            element: cython.int = table[MADE, made]
            if table[KIND, element] == ELEMENT:
                table[MADE, kept] = element
                kept += 1
                begin = self.free
                for k in range(table[BEGIN, element], table[BEGIN, element] + table[LENGTH, element]):
                    if table[KIND, places[k]] == UNKNOWN:
                        places[self.free] = places[k]
                        self.free += 1
                table[BEGIN, element] = begin
                table[LENGTH, element] = self.free - begin
        self.n_made = kept

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gather(self, begin: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.int:
        """Append the unknowns of a list that are not gathered yet; return how many they stand for."""
        table, places = self.table, self.places
        size: cython.int = 0
        for k in range(begin, stop):
            unknown: cython.int = places[k]
            if table[KIND, unknown] == UNKNOWN and table[SEEN, unknown] != self.turn:
                table[SEEN, unknown] = self.turn
                places[self.free] = unknown
                self.free += 1
                size += table[WEIGHT, unknown]
                self.unlink(unknown)
        self.work += stop - begin
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def form_element(self, pivot: cython.int) -> cython.void:
        """Make an element of the neighbours of a pivot; the elements that it had are covered by this one."""
        table, places = self.table, self.places
        # No list of elements moves those of unknowns: the pivot's own stays where it is.
        self.make_room(table.shape[1])
        begin: cython.Py_ssize_t = table[BEGIN, pivot]
        middle: cython.Py_ssize_t = begin + table[ELEMENTS, pivot]
        start: cython.Py_ssize_t = self.free
        size: cython.int = 0
        self.turn += 1
        table[SEEN, pivot] = self.turn
        for k in range(begin, middle):
            element: cython.int = places[k]
            if table[KIND, element] == ELEMENT:
                size += self.gather(table[BEGIN, element], table[BEGIN, element] + table[LENGTH, element])
                table[KIND, element] = GONE
        size += self.gather(middle, begin + table[LENGTH, pivot])
        table[KIND, pivot] = ELEMENT
        table[BEGIN, pivot] = start
        table[LENGTH, pivot] = self.free - start
        table[DEGREE, pivot] = size
        table[MADE, self.n_made] = pivot
        self.n_made += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_outside(self, pivot: cython.int) -> cython.void:
        """Count for each element that meets the pivot's how many of its unknowns the pivot's has not."""
        table, places = self.table, self.places
        for k in range(table[BEGIN, pivot], table[BEGIN, pivot] + table[LENGTH, pivot]):
            unknown: cython.int = places[k]
            for m in range(table[BEGIN, unknown], table[BEGIN, unknown] + table[ELEMENTS, unknown]):
                element: cython.int = places[m]
                if table[COUNTED, element] != self.turn:
                    table[COUNTED, element] = self.turn
                    table[OUTSIDE, element] = table[DEGREE, element]
                table[OUTSIDE, element] -= table[WEIGHT, unknown]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shorten_list(self, unknown: cython.int, pivot: cython.int) -> cython.void:
        """Drop from an unknown's list what the pivot's element covers, add that element, and bound the degree."""
        table, places = self.table, self.places
        begin: cython.Py_ssize_t = table[BEGIN, unknown]
        middle: cython.Py_ssize_t = begin + table[ELEMENTS, unknown]
        stop: cython.Py_ssize_t = begin + table[LENGTH, unknown]
        write: cython.Py_ssize_t = begin
        degree: cython.int = 0
        key: cython.Py_ssize_t = 0
        for m in range(begin, middle):
            element: cython.int = places[m]
            if table[KIND, element] == ELEMENT:
                if table[OUTSIDE, element] == 0:
                    # All of its unknowns are in the pivot's element.
                    table[KIND, element] = GONE
                else:
                    degree += table[OUTSIDE, element]
                    key += element
                    places[write] = element
                    write += 1
        kept: cython.Py_ssize_t = write
        for m in range(middle, stop):
            other: cython.int = places[m]
            if table[KIND, other] == UNKNOWN and table[SEEN, other] != self.turn:
                degree += table[WEIGHT, other]
                key += other
                places[write] = other
                write += 1
        self.work += stop - begin
        if write == begin:
            # Its neighbours are those of the pivot: it is eliminated with it.
            table[DEGREE, pivot] -= table[WEIGHT, unknown]
            self.merge(unknown, pivot)
            return
        # At least one entry was dropped: the pivot, or an element that the pivot had. There is room for the new one.
        places[write] = places[kept]
        places[kept] = pivot
        table[ELEMENTS, unknown] = kept + 1 - begin
        table[LENGTH, unknown] = write + 1 - begin
        table[DEGREE, unknown] = min(table[DEGREE, unknown], degree)
        table[KEY, unknown] = key % table.shape[1]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def are_equal(self, unknown: cython.int, other: cython.int) -> cython.bint:
        """Return whether the list of `other` has the entries of that of `unknown`, which were seen in this turn."""
        table, places = self.table, self.places
        if table[LENGTH, unknown] != table[LENGTH, other] or table[ELEMENTS, unknown] != table[ELEMENTS, other]:
            return False
        for k in range(table[BEGIN, other], table[BEGIN, other] + table[LENGTH, other]):
            if table[SEEN, places[k]] != self.turn:
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_chain(self, first: cython.int) -> cython.void:
        """Merge the unknowns with equal lists among those of one key."""
        table, places = self.table, self.places
        while first >= 0:
            self.turn += 1
            if table[NEXT, first] >= 0:
                for k in range(table[BEGIN, first], table[BEGIN, first] + table[LENGTH, first]):
                    table[SEEN, places[k]] = self.turn
            before: cython.int = first
            other: cython.int = table[NEXT, first]
            while other >= 0:
                self.work += table[LENGTH, other]
                if self.are_equal(first, other):
                    self.merge(other, first)
                    table[NEXT, before] = table[NEXT, other]
                else:
                    before = other
                other = table[NEXT, other]
            first = table[NEXT, first]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_equal(self, pivot: cython.int) -> cython.void:
        """Merge the unknowns of the pivot's element that have equal lists; only those with equal keys are compared."""
        table, places = self.table, self.places
        begin: cython.Py_ssize_t = table[BEGIN, pivot]
        stop: cython.Py_ssize_t = begin + table[LENGTH, pivot]
        for k in range(begin, stop):
            if table[KIND, places[k]] == UNKNOWN:
                table[NEXT, places[k]] = table[KEY_HEAD, table[KEY, places[k]]]
                table[KEY_HEAD, table[KEY, places[k]]] = places[k]
        for k in range(begin, stop):
            if table[KIND, places[k]] == UNKNOWN:
                first = table[KEY_HEAD, table[KEY, places[k]]]
                table[KEY_HEAD, table[KEY, places[k]]] = -1
                self.merge_chain(first)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def close_element(self, pivot: cython.int) -> cython.void:
        """Write the pivot and what was merged into it to the order; chain the unknowns of its element by degree."""
        table, places = self.table, self.places
        unknown: cython.int = pivot
        while unknown >= 0:
            self.order[self.done] = unknown
            self.done += 1
            unknown = table[FOLLOWER, unknown]
        left: cython.int = table.shape[1] - self.done
        begin: cython.Py_ssize_t = table[BEGIN, pivot]
        write: cython.Py_ssize_t = begin
        for k in range(begin, begin + table[LENGTH, pivot]):
            unknown = places[k]
            if table[KIND, unknown] == UNKNOWN:
                places[write] = unknown
                write += 1
                # The unknowns of this element beside itself, and those outside; at most all that are left.
                degree: cython.int = min(table[DEGREE, unknown] + table[DEGREE, pivot], left)
                table[DEGREE, unknown] = max(degree - table[WEIGHT, unknown], 0)
                self.link(unknown)
        # The list of the newest element is the last one.
        self.free = write
        table[LENGTH, pivot] = write - begin
        if write == begin:
            table[KIND, pivot] = GONE


def eliminate(graph: Elimination, most_work: cython.Py_ssize_t) -> bool:
    """Eliminate unknowns until all are, or until `most_work` entries of lists were read; return whether all are.

    One elimination ends what it began: it reads at most all lists.
    """
    with cython.nogil:
        if graph.turn == 0:
            graph.lowest = graph.order.shape[0]
            for k in range(graph.order.shape[0]):
                graph.link(k)
        graph.work = 0
        while graph.done < graph.order.shape[0] and graph.work < most_work:
            pivot = graph.take_lowest()
            graph.form_element(pivot)
            graph.count_outside(pivot)
            first = graph.table[BEGIN, pivot]
            for k in range(first, first + graph.table[LENGTH, pivot]):
                graph.shorten_list(graph.places[k], pivot)
            graph.merge_equal(pivot)
            graph.close_element(pivot)
    return graph.done == graph.order.shape[0]
