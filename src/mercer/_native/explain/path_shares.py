"""Shapley values of trees for the game in which a row takes both sides of a split by an unknown column.

The sides are weighted by the training rows that took them. A leaf of value v is then worth v times a product over the
distinct columns of its path: o for a known column, which is 1 if the row keeps to the path at all its splits and else
0, and z for an unknown one, the share of training rows that keep to it. The Shapley value of column j at the leaf is

    v (o_j - z_j) times the integral over t from 0 to 1 of the product over the other columns of t o + (1 - t) z,

a polynomial in t, which Gauss's rule with half as many points as columns integrates exactly. All terms are positive:
no digits are lost however deep the tree is, while formulas that take columns out of a path divide by small weights.

One walk over a tree serves 16 rows. At each point t it carries the product down from the root, and sums over leaves
back up. Where a column comes again on a path the change of its factor is applied: the effect of a column at a leaf is
the sum of its changes on the way. Both depend on the tree and on two bits a row alone (has it kept to the path so far,
and does it go left), hence a table of each node.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.explain import share_lanes
    from cython.cimports.mercer._native.tree import packed_nodes
else:
    from mercer._native.explain import share_lanes
    from mercer._native.tree import packed_nodes

# Rows of a block, as in share_lanes.h.
LANES = cython.declare(cython.int, 16)
# Rows of the table of a node, each with a number for each point.
TABLE_ROWS = cython.declare(cython.int, 7)


@cython.cclass
class Paths:
    """What is known of the edge into each node of packed trees.

    `levels` is the depth of a node; `players` and `shares` are the player whose column its edge splits, and the share
    of training rows that keep to the path there at all splits by this player; `above` the level of the last edge by the
    same player or 0, and `distinct` the number of distinct players above the node. A player is a column, or a group of
    columns that are known together.
    """

    levels: cython.int[::1]
    players: cython.int[::1]
    above: cython.int[::1]
    distinct: cython.int[::1]
    shares: cython.double[::1]

    def __init__(self, levels, players, above, distinct, shares):
        self.levels, self.players, self.above, self.distinct = levels, players, above, distinct
        self.shares = shares


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def find_ratio(
    weights: cython.const[cython.double][::1], child: cython.Py_ssize_t, node: cython.Py_ssize_t
) -> cython.double:
    """Return the share of the training rows of a node that went to a child; half where there were none."""
    return weights[child] / weights[node] if weights[node] > 0.0 else 0.5


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(
    child: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    player: cython.int,
    ratio: cython.double,
    route: cython.int[::1],
    paths: Paths,
) -> cython.void:
    """Write what is known of the edge from a node to a child; `route` has the node of each level on the way."""
    level: cython.int = paths.levels[node]
    paths.levels[child] = level + 1
    paths.players[child] = player
    paths.above[child] = 0
    paths.shares[child] = ratio
    paths.distinct[child] = paths.distinct[node]
    while level > 0:
        if paths.players[route[level]] == player:
            paths.above[child] = level
            paths.shares[child] = ratio * paths.shares[route[level]]
            return
        level -= 1
    paths.distinct[child] += 1


def trace_paths(
    nodes: cython.const[packed_nodes.Node][::1],
    weights: cython.const[cython.double][::1],
    roots: cython.const[cython.int][::1],
    sizes: cython.const[cython.int][::1],
    players: cython.const[cython.int][::1],
    arrays,
    route: cython.int[::1],
    most: cython.int[::1],
    deepest: cython.int[::1],
) -> None:
    """Write the fields of `Paths` (`arrays`) of all nodes, and of each tree the most distinct players and the depth.

    `players` has the player of each column; `route` is scratch for a node of each level.
    """
    paths: Paths = Paths(*arrays)
    with cython.nogil:
        for t in range(roots.shape[0]):
            most[t] = deepest[t] = 0
            paths.levels[roots[t]] = 0
            paths.distinct[roots[t]] = 0
            # Nodes come depth first: those on the way to a node are the last seen of their levels.
            for node in range(roots[t], roots[t] + sizes[t]):
                route[paths.levels[node]] = cython.cast(cython.int, node)
                most[t] = max(most[t], paths.distinct[node])
                deepest[t] = max(deepest[t], paths.levels[node])
                if nodes[node].mark & packed_nodes.SPLIT:
                    right = node + 1 + nodes[node].skip
                    player = players[nodes[node].mark >> packed_nodes.COLUMN_SHIFT]
                    enter(node + 1, node, player, find_ratio(weights, node + 1, node), route, paths)
                    enter(right, node, player, find_ratio(weights, right, node), route, paths)


@cython.cclass
class Tables:
    """The tables of the nodes of trees, see `write_table`, and the points and the weights of Gauss's rules."""

    times: cython.const[cython.double][::1]
    rests: cython.const[cython.double][::1]
    quadrature: cython.const[cython.double][::1]
    tables: cython.double[::1]
    effects: cython.double[::1]

    def __init__(self, times, rests, quadrature, tables, effects):
        self.times, self.rests, self.quadrature = times, rests, quadrature
        self.tables, self.effects = tables, effects


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def find_rule(points: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return where the rule of `points` points begins: after those with fewer."""
    return points * (points - 1) // 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_table(
    node: cython.Py_ssize_t,
    right: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    points: cython.Py_ssize_t,
    before: cython.Py_ssize_t,
    weights: cython.const[cython.double][::1],
    paths: Paths,
    out: Tables,
) -> cython.void:
    """Write the table of a node at `place`.

    It begins with the factors of both children for rows that have left the path; then come rows of a number for each
    point: the factors of the left child for rows that go left and right, those of the right child, and the changes of
    the effect of the column, for rows that go to the left child, to the child that is meant by none, to the right one.

    `before` is the node of the last edge by the same player, or negative.
    """
    z_left: cython.double = paths.shares[node + 1]
    z_right: cython.double = paths.shares[right]
    out.tables[place] = find_ratio(weights, node + 1, node)
    out.tables[place + 1] = find_ratio(weights, right, node)
    row: cython.Py_ssize_t = place + 2
    rule: cython.Py_ssize_t = find_rule(points)
    for q in range(points):
        t: cython.double = out.times[rule + q]
        rest: cython.double = out.rests[rule + q]
        weight: cython.double = out.quadrature[rule + q]
        old = 1.0
        effect = 0.0
        if before >= 0:
            old = t + rest * paths.shares[before]
            effect = weight * (1.0 - paths.shares[before]) / old
        to_left: cython.double = t + rest * z_left
        to_right: cython.double = t + rest * z_right
        out.tables[row + q] = to_left / old
        out.tables[row + points + q] = rest * z_left / old
        out.tables[row + 2 * points + q] = rest * z_right / old
        out.tables[row + 3 * points + q] = to_right / old
        out.tables[row + 4 * points + q] = weight * (1.0 - z_left) / to_left - effect
        # Off the path the effect is -z / ((1 - t) z), whatever the share is.
        out.tables[row + 5 * points + q] = -weight / rest - effect
        out.tables[row + 6 * points + q] = weight * (1.0 - z_right) / to_right - effect


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scale_leaf(
    place: cython.Py_ssize_t, side: cython.int, value: cython.double, points: cython.Py_ssize_t, out: Tables
) -> cython.void:
    """Multiply the factors of a child that is a leaf by its value: products become sums over leaves."""
    out.tables[place + side] *= value
    for q in range(2 * points):
        out.tables[place + 2 + 2 * side * points + q] *= value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fold_leaves(place: cython.Py_ssize_t, points: cython.Py_ssize_t, out: Tables) -> cython.void:
    """Change the table of a node whose children are leaves: the sums of both, and the changes that they make."""
    out.tables[place] += out.tables[place + 1]
    row: cython.Py_ssize_t = place + 2
    for q in range(points):
        ll: cython.double = out.tables[row + q]
        lr: cython.double = out.tables[row + points + q]
        rl: cython.double = out.tables[row + 2 * points + q]
        rr: cython.double = out.tables[row + 3 * points + q]
        other: cython.double = out.tables[row + 5 * points + q]
        out.tables[row + q] = ll + rl
        out.tables[row + points + q] = lr + rr
        out.tables[row + 2 * points + q] = out.tables[row + 4 * points + q] * ll + other * rl
        out.tables[row + 3 * points + q] = other * lr + out.tables[row + 6 * points + q] * rr


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_effects(
    node: cython.Py_ssize_t, place: cython.Py_ssize_t, points: cython.Py_ssize_t, paths: Paths, out: Tables
) -> cython.void:
    """Write the effect of the column of the edge into a node for rows that keep to the path there."""
    z: cython.double = paths.shares[node]
    rule: cython.Py_ssize_t = find_rule(points)
    for q in range(points):
        out.effects[place + q] = (1.0 - z) / (out.times[rule + q] + out.rests[rule + q] * z)


def write_tables(
    nodes: cython.const[packed_nodes.Node][::1],
    weights: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    arrays,
    trees: cython.const[cython.longlong][:, ::1],
    rules,
    route: cython.int[::1],
    tables: cython.double[::1],
    effects: cython.double[::1],
) -> None:
    """Write the tables of the nodes of trees, one after the other, for the leaf values `values` (nodes,).

    Parameters
    ----------
    arrays : the fields of `Paths`
    trees : (trees, 5)
        Of each tree the root, the number of nodes, the number of points, and where its tables and its effects begin.
    rules : times, rests, weights
        Points t and 1 - t, and the weights of Gauss's rules with 1, 2, 3... points, one after the other.
    route : (most levels,), scratch
    tables : ((2 + 7 points) for each node,)
    effects : (points for each node, and for one more,), or none
        Written where interactions are asked for; the last are the effects of a column that a row has not kept to.
    """
    paths: Paths = Paths(*arrays)
    out: Tables = Tables(*rules, tables, effects)
    with cython.nogil:
        for t in range(trees.shape[0]):
            write_tree(nodes, weights, values, trees[t], route, paths, out)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_tree(
    nodes: cython.const[packed_nodes.Node][::1],
    weights: cython.const[cython.double][::1],
    values: cython.const[cython.double][::1],
    tree: cython.const[cython.longlong][::1],
    route: cython.int[::1],
    paths: Paths,
    out: Tables,
) -> cython.void:
    """Write the tables of the nodes of one tree."""
    root: cython.Py_ssize_t = tree[0]
    points: cython.Py_ssize_t = tree[2]
    for node in range(root, root + tree[1]):
        route[paths.levels[node]] = cython.cast(cython.int, node)
        if out.effects.shape[0] > 0 and node > root:
            write_effects(node, tree[4] + (node - root) * points, points, paths, out)
        if not nodes[node].mark & packed_nodes.SPLIT:
            continue
        right: cython.Py_ssize_t = node + 1 + nodes[node].skip
        level: cython.Py_ssize_t = paths.above[right]
        before: cython.Py_ssize_t = route[level] if level > 0 else -1
        place = tree[3] + (node - root) * (2 + TABLE_ROWS * points)
        write_table(node, right, place, points, before, weights, paths, out)
        left_ends: cython.bint = not nodes[node + 1].mark & packed_nodes.SPLIT
        right_ends: cython.bint = not nodes[right].mark & packed_nodes.SPLIT
        if left_ends:
            scale_leaf(place, 0, values[node + 1], points, out)
        if right_ends:
            scale_leaf(place, 1, values[right], points, out)
        if left_ends and right_ends:
            fold_leaves(place, points, out)
    if out.effects.shape[0] > 0:
        for q in range(points):
            out.effects[tree[4] + tree[1] * points + q] = -1.0 / out.rests[find_rule(points) + q]


@cython.cclass
class Walk:
    """A walk of a block of rows over a tree: what is read, and the scratch of each level.

    `products` (levels + 1, points x LANES) are at the points of the rule. `masks` (2 levels + 3, LANES) has two rows
    for each level: which rows keep to the path at the edge into it, and which go left at its node. `change`
    (points x LANES) is empty unless interactions are asked for. `route` is the node of each level on the way, and
    `live` whether the edge into it is the last one by its player.
    """

    nodes: cython.const[packed_nodes.Node][::1]
    words: cython.const[cython.longlong][::1]
    above: cython.const[cython.int][::1]
    players: cython.const[cython.int][::1]
    tables: cython.const[cython.double][::1]
    effects: cython.const[cython.double][::1]
    products: cython.double[:, ::1]
    masks: cython.longlong[:, ::1]
    change: cython.double[::1]
    route: cython.int[::1]
    live: cython.uchar[::1]
    mixed: cython.bint
    root: cython.Py_ssize_t
    size: cython.Py_ssize_t
    points: cython.Py_ssize_t
    first_table: cython.Py_ssize_t
    first_effect: cython.Py_ssize_t

    def __init__(self, forest, tables, scratch, mixed):
        self.nodes, self.words, self.above, self.players = forest
        self.tables, self.effects = tables
        self.products, self.masks, self.change, self.route, self.live = scratch
        self.mixed = mixed

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose(
        self, node: cython.Py_ssize_t, level: cython.Py_ssize_t, x: cython.const[cython.double][:, ::1]
    ) -> cython.void:
        """Write which rows go left at a node."""
        column: cython.Py_ssize_t = self.nodes[node].mark >> packed_nodes.COLUMN_SHIFT
        if not self.mixed:
            share_lanes.send(x, column, self.nodes[node].threshold, self.masks, level)
            return
        for lane in range(LANES):
            self.masks[2 * level + 1, lane] = packed_nodes.find_right(x[column, lane], node, self.nodes, self.words) - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_pairs(
        self, player: cython.Py_ssize_t, level: cython.Py_ssize_t, n: cython.Py_ssize_t, pairs: cython.double[:, ::1]
    ) -> cython.void:
        """Add what the changes at a node of `level` mean for its player and each other one, of n, on the way."""
        points: cython.Py_ssize_t = self.points
        for edge in range(1, level + 1):
            other: cython.Py_ssize_t = self.players[self.nodes[self.route[edge - 1]].mark >> packed_nodes.COLUMN_SHIFT]
            if self.live[edge] and other != player:
                cell: cython.Py_ssize_t = min(player, other) * n + max(player, other)
                own: cython.Py_ssize_t = self.first_effect + (self.route[edge] - self.root) * points
                off: cython.Py_ssize_t = self.first_effect + self.size * points
                share_lanes.pair(self.change, self.masks, edge, self.effects, own, off, points, pairs, cell)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def visit(
        self,
        node: cython.Py_ssize_t,
        level: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        spare: cython.Py_ssize_t,
        x: cython.const[cython.double][:, ::1],
        shares: cython.double[:, ::1],
        pairs: cython.double[:, ::1],
    ) -> cython.void:
        """Turn the products of an inner node, at place `at`, into sums over its leaves, and add to the shares.

        Places from `spare` on are free.
        """
        right: cython.Py_ssize_t = node + 1 + self.nodes[node].skip
        player: cython.Py_ssize_t = self.players[self.nodes[node].mark >> packed_nodes.COLUMN_SHIFT]
        before: cython.Py_ssize_t = self.above[right]
        points: cython.Py_ssize_t = self.points
        place: cython.Py_ssize_t = self.first_table + (node - self.root) * (2 + TABLE_ROWS * points)
        left_splits: cython.bint = (self.nodes[node + 1].mark & packed_nodes.SPLIT) != 0
        right_splits: cython.bint = (self.nodes[right].mark & packed_nodes.SPLIT) != 0
        self.route[level] = cython.cast(cython.int, node)
        self.choose(node, level, x)
        if not (left_splits or right_splits):
            share_lanes.end(
                self.products, at, self.masks, before, level, self.tables, place, points, shares, player, self.change
            )
        else:
            share_lanes.split(self.products, at, spare, self.masks, before, level, self.tables, place, points)
            # Below, the last edge by this player is the one into the next level.
            self.live[before] = 0
            self.live[level + 1] = 1
            if left_splits:
                share_lanes.keep(self.masks, before, level, 0)
                self.visit(node + 1, level + 1, spare, spare + 1, x, shares, pairs)
            if right_splits:
                share_lanes.keep(self.masks, before, level, -1)
                self.visit(right, level + 1, at, spare + 1, x, shares, pairs)
            self.live[before] = 1
            share_lanes.join(
                self.products, at, spare, self.masks, before, level, self.tables, place, points, shares, player,
                self.change,
            )  # fmt: skip
        if pairs.shape[0] > 0:
            self.add_pairs(player, level, shares.shape[0], pairs)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_tree(
        self,
        tree: cython.const[cython.longlong][::1],
        X: cython.const[cython.double][:, :, ::1],
        shares: cython.double[:, :, ::1],
        pairs: cython.double[:, :, ::1],
    ) -> cython.void:
        """Add the shares of one tree for all blocks of rows."""
        self.root = tree[0]
        self.size = tree[1]
        self.points = tree[2]
        self.first_table = tree[3]
        self.first_effect = tree[4]
        # A leaf alone has no columns to share among.
        if not self.nodes[self.root].mark & packed_nodes.SPLIT:
            return
        for block in range(X.shape[0]):
            for i in range(self.points * LANES):
                self.products[0, i] = 1.0
            for i in range(LANES):
                self.masks[0, i] = -1
            self.visit(self.root, 0, 0, 1, X[block], shares[block], pairs[block])


def add_path_shares(
    X: cython.const[cython.double][:, :, ::1],
    forest,
    trees: cython.const[cython.longlong][:, ::1],
    tables,
    scratch,
    mixed: cython.bint,
    shares: cython.double[:, :, ::1],
    pairs: cython.double[:, :, ::1],
) -> None:
    """Add to the shares of blocks of rows the Shapley values of some trees.

    Parameters
    ----------
    X : (blocks, d, LANES)
    forest : nodes, words, above, players
        The packed nodes, the sets of categories, the field of `Paths` that says where a player was asked before, and
        the player of each column.
    trees : (trees, 5)
        See `write_tables`.
    tables : tables, effects
    scratch : products, masks, change, route, live
        See `Walk`.
    mixed : bool
        Whether values may be missing or categories.
    shares : (blocks, players, LANES), added to
    pairs : (blocks, players^2, LANES), added to, or (blocks, 0, LANES)
        What pairs of players add together, the lower one first: their Shapley interaction index.
    """
    walk: Walk = Walk(forest, tables, scratch, mixed)
    with cython.nogil:
        for t in range(trees.shape[0]):
            walk.add_tree(trees[t], X, shares, pairs)
