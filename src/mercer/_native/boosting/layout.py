"""Where things stand in the tables of a boosted tree that is being grown.

A node has a row in each of two tables, `numbers` (int64) and `reals` (float64), whose columns are named here. The words
of a node are the sums of those of its rows (see ``boosting_growth``). From FEATURE on a row of `numbers` says how the
node is to be split, or was; a node with the left child 0 is a leaf.

Native code takes these names from the definition file that is made of this module. Python code imports it as it is, so
it needs nothing.
"""

# Columns of `numbers`: left child (the right one is next), depth, row of its histogram, rows; the sums of gradients in
# quanta, and of curvatures in quanta above the bits that count rows; the column of the split, its last bin on the left,
# whether missing values go left, and the two words of the left child.
LEFT = 0
DEPTH = 1
SLOT = 2
COUNT = 3
GRADIENT_WORD = 4
REST_WORD = 5
FEATURE = 6
BIN = 7
MISSING_LEFT = 8
LEFT_GRADIENT = 9
LEFT_REST = 10

# Columns of `reals`: value, sum of curvatures, gain of the split, sum of gradients, bounds of the value.
VALUE = 0
CURVATURE = 1
GAIN = 2
GRADIENT = 3
LOWER = 4
UPPER = 5

# Columns of `asked` (2, 6), what the search of a split is told of a node: sums of gradients and of curvatures, rows,
# bounds of its children's values, and twice what it saves as a leaf, which a split must exceed.
ASKED_GRADIENT = 0
ASKED_CURVATURE = 1
ASKED_ROWS = 2
ASKED_LOWER = 3
ASKED_UPPER = 4
ASKED_SAVING = 5

# Places in `limits`: the l2 penalty, the fewest rows and the least curvature of a leaf, the fewest rows of a category
# that is placed by itself (also added to its curvature), the greatest depth and number of leaves of a tree, and what a
# split must gain for each category beyond the fourth.
L2 = 0
MIN_ROWS = 1
MIN_CURVATURE = 2
MIN_CATEGORY_ROWS = 3
MAX_DEPTH = 4
MAX_LEAVES = 5
CATEGORY_PRICE = 6

# Places in `quanta`: quanta in one unit of gradient and of curvature, the inverse of each, and the bits of the second
# word that count rows.
GRADIENT_SCALE = 0
CURVATURE_SCALE = 1
GRADIENT_UNIT = 2
CURVATURE_UNIT = 3
COUNT_BITS = 4

# Rows of `features` (4, d + 1), int32: where the bins of a column begin in a histogram (the last bin is that of
# missing values), whether it holds categories, 1 where values may only rise with the column and -1 where they may only
# fall, and whether any column has such a direction, so that values are clipped.
OFFSET = 0
CATEGORICAL = 1
DIRECTION = 2
BOUNDED = 3

# Places in `task`, by which the leader tells the threads what to do: the kind of task, its items and the cost of each
# (in pairs of words added); the node split or added, its first child, the child that is added (-1 for none), the row
# of chosen columns; the histogram built and the one it is subtracted from (-1 for none), which children are searched;
# the score of the tree, the loss to compute, and the number of nodes.
KIND = 0
ITEMS = 1
COST = 2
NODE = 3
CHILD = 4
BUILD = 5
SIDE = 6
BUILT = 7
WHOLE = 8
SEARCH_LEFT = 9
SEARCH_RIGHT = 10
OUTPUT = 11
LOSS = 12
NODES = 13

# Kinds of task.
ROOT_ROWS = 0
SPLIT_ROWS = 1
CHILD_ROWS = 2
COLUMNS = 3
SCORES = 4
