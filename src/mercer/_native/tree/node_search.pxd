# The records of a search for splits. They belong to the module node_search, the only one that may cimport the
# definition files split_scan, step_scan, random_scan, median_scan, category_scan, impurity and node_steps: a compiled
# module finds the extension types of another by the name of its room, where the Python file lies.

# The side to which a split sends rows with missing values.
cdef enum:
    RIGHT
    LEFT
    NONE_MISSING

# The value of `sign` without monotone constraints; 1 and -1 ask for rising and falling means, 0 for the bounds only.
cdef enum:
    NO_ORDER = 2

# Which splits a search tries: every cut, one cut drawn at random, the cuts for medians, or sets of categories.
cdef enum:
    ALL_CUTS
    RANDOM_CUTS
    MEDIAN_CUTS
    CATEGORY_SETS


cdef class Table:
    """How the columns are coded besides their codes."""

    cdef const unsigned char[:, ::1] coarse
    cdef const unsigned char[:, ::1] coarse_matrix
    cdef const int[:, ::1] missing
    cdef const int[:, ::1] edges
    cdef const double[::1] values
    cdef const long long[::1] offsets
    cdef const unsigned char[::1] kinds


cdef class Target:
    """What each row adds to the sums of its node."""

    cdef const int[:, ::1] slots
    cdef const double[:, ::1] amounts
    cdef const double[::1] weight
    cdef const int[:, ::1] ranks


cdef class Limits:
    """Which splits are allowed, and what they are judged by."""

    cdef const signed char[::1] signs
    cdef double min_rows
    cdef double min_weight
    cdef double n_outputs
    cdef double coarse_rows
    cdef Py_ssize_t max_features
    cdef Py_ssize_t bounded_slot
    cdef Py_ssize_t order_slot
    cdef Py_ssize_t most_sets
    cdef int impurity
    cdef int scan
    cdef bint exact_squares
    cdef bint is_random


cdef class Medians:
    """Scratch of a search by medians."""

    cdef int[:, ::1] places
    cdef double[:, ::1] values
    cdef double[:, :, :, ::1] trees
    cdef double[:, ::1] sums


cdef class Sets:
    """Scratch of a search by sets of categories, and the sets that it chooses."""

    cdef int[::1] where
    cdef int[::1] names
    cdef int[::1] order
    cdef double[:, ::1] cells
    cdef double[::1] axis
    cdef double[::1] image
    cdef unsigned char[:, ::1] goes


cdef class Node:
    """The node under search: its rows, the candidate split, the best split so far, and scratch."""

    cdef const int[::1] rows
    cdef const int[::1] features
    cdef int[::1] order
    cdef Py_ssize_t start
    cdef Py_ssize_t count
    cdef Py_ssize_t first
    cdef Py_ssize_t index
    cdef bint is_kept
    cdef bint is_coarse
    cdef long long seed
    cdef double weight
    cdef double low
    cdef double high

    cdef Py_ssize_t feature
    cdef long long cut
    cdef int side
    cdef int sign

    cdef double best_worth
    cdef Py_ssize_t best_feature
    cdef long long best_cut
    cdef int best_side
    cdef double best_threshold

    cdef double[::1] total
    cdef double[::1] left
    cdef double[::1] sums
    cdef int[:, ::1] own_slots
    cdef double[:, ::1] own_amounts
    cdef double[::1] own_weight
    cdef double[:, ::1] quads
    cdef long long[:, ::1] keys
    cdef int[:, ::1] few
    cdef double[::1] cells
    cdef double[::1] values
    cdef double[::1] steps
    cdef Medians medians
    cdef Sets sets


cdef class Growth:
    """A tree that grows in native calls; the places in `stack` and `links` are named in node_steps.pxd."""

    cdef int[::1] rows
    cdef int[::1] spare
    cdef double[:, ::1] spare_quads
    cdef const int[:, ::1] labels
    cdef const double[:, ::1] targets
    cdef const double[::1] weight
    cdef const long long[::1] firsts
    cdef double min_rows
    cdef double min_weight
    cdef double max_depth
    cdef double unit
    cdef double whole_weight
    cdef double min_decrease
    cdef double rounding
    cdef double max_visits
    cdef public Py_ssize_t height
    cdef public Py_ssize_t n_nodes
    cdef long long[:, ::1] stack
    cdef int[:, ::1] links
    cdef double[:, ::1] numbers
