"""The records of a tree that grows, and the names that searches for splits and the growth of nodes share.

``mercer._native.records`` has the NumPy types of these records.
"""

import cython

# What a row adds to its node: 1, its weight, its amount, and its target. Four numbers are joined by one wide addition.
Quad = cython.struct(one=cython.double, weight=cython.double, amount=cython.double, target=cython.double)
# A node: its left child (the right one is next; -1 at a leaf); the split, by the column `feature`, with the greatest
# code that goes left and the least that does not, the side of missing rows, and the threshold where cuts are random;
# its rows, whether all of their targets are equal, its depth and its weight.
GrownNode = cython.struct(
    left=cython.int,
    feature=cython.int,
    greatest_left=cython.int,
    least_right=cython.int,
    side=cython.int,
    rows=cython.int,
    pure=cython.int,
    depth=cython.int,
    threshold=cython.double,
    weight=cython.double,
)
# A node that is still to be split: its index, where its rows begin and end, and the seed of its draws.
Waiting = cython.struct(
    node=cython.longlong, start=cython.longlong, stop=cython.longlong, seed=cython.longlong, depth=cython.longlong
)
# The best split of a node: its gain (the decrease of impurity, in the units of the search), the threshold of a random
# cut, the column (-1 if no split is allowed), the last code that goes left (-1 for a set of categories), the side of
# missing rows, and whether the code is a coarse one.
BestSplit = cython.struct(
    gain=cython.double,
    threshold=cython.double,
    feature=cython.longlong,
    cut=cython.longlong,
    side=cython.longlong,
    is_coarse=cython.longlong,
)
# The rows of a node that is divided: where they begin and end, and where they begin once they are divided.
Span = cython.struct(start=cython.longlong, stop=cython.longlong, place=cython.longlong)
# What a division found: how many rows went left, the greatest code among them, and the least code among the others.
Division = cython.struct(left_rows=cython.longlong, greatest_left=cython.longlong, least_right=cython.longlong)
# A category that is present in a node: its rows, their weight, and what orders the categories.
Category = cython.struct(rows=cython.double, weight=cython.double, key=cython.double)

# The side to which a split sends rows with missing values.
RIGHT = 0
LEFT = 1
NONE_MISSING = 2
# The value of `sign` without monotone constraints; 1 and -1 ask for rising and falling means, 0 for the bounds only.
NO_ORDER = 2
# Which splits a search tries: every cut, one cut drawn at random for each feature, the cuts for medians, sets of
# categories, or a random cut of the first feature drawn that varies, which is taken as it is.
ALL_CUTS = 0
RANDOM_CUTS = 1
MEDIAN_CUTS = 2
CATEGORY_SETS = 3
ANY_CUT = 4
