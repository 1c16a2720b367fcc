"""Shapley values of trees for the game in which an unknown column has its value in a row of a background.

For a row x and a background row b the columns of a coalition come from x and the others from b. On the way to a leaf
only columns at whose splits x and b part count: a columns on whose side only x is, and b columns on whose side only b
is. The leaf is reached by the coalitions that hold the former and none of the latter, so its value v adds
v (a - 1)! b! / (a + b)! to each of the former and takes v a! (b - 1)! / (a + b)! from each of the latter. A walk goes
down both sides of a split only where x and b part by a column on which they have not parted before.
"""

import cython

if cython.compiled:
    from cython.cimports.mercer._native.tree import packed_nodes
else:
    from mercer._native.tree import packed_nodes


@cython.cclass
class Parting:
    """The players at whose columns the row and the background row have parted on the way down.

    A player is a column, or a group of columns that come from one row. `players` has that of each column. `sides` says
    for each player whether they have: 0 if not, 1 if the path goes with the row and -1 with the background
    row. `listed` are those that have, in order. `single` has the weight of a player by how many are with the row and
    with the background row, `double` that of a pair; see `add_background_shares`.
    """

    players: cython.const[cython.int][::1]
    sides: cython.schar[::1]
    listed: cython.int[::1]
    single: cython.const[cython.double][:, ::1]
    double: cython.const[cython.double][:, ::1]

    def __init__(self, players, sides, listed, single, double):
        self.players, self.sides, self.listed, self.single, self.double = players, sides, listed, single, double

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_leaf(
        self,
        value: cython.double,
        count: cython.int,
        own: cython.int,
        shares: cython.double[::1],
        pairs: cython.double[:, ::1],
    ) -> cython.void:
        """Add the value of a leaf to the shares of the `count` players that have parted, `own` of them with the row."""
        other: cython.int = count - own
        plus: cython.double = value * self.single[own - 1, other] if own > 0 else 0.0
        minus: cython.double = value * self.single[other - 1, own] if other > 0 else 0.0
        for i in range(count):
            player: cython.int = self.listed[i]
            shares[player] += plus if self.sides[player] > 0 else -minus
        if pairs.shape[0] > 0:
            self.add_pairs(value, count, own, pairs)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_pairs(
        self, value: cython.double, count: cython.int, own: cython.int, pairs: cython.double[:, ::1]
    ) -> cython.void:
        """Add the value of a leaf to the shares of pairs, the lower player first."""
        other: cython.int = count - own
        for i in range(count):
            for j in range(i):
                first: cython.int = min(self.listed[i], self.listed[j])
                second: cython.int = max(self.listed[i], self.listed[j])
                if self.sides[first] != self.sides[second]:
                    part = -self.double[own - 1, other - 1]
                elif self.sides[first] > 0:
                    part = self.double[own - 2, other]
                else:
                    part = self.double[other - 2, own]
                pairs[first, second] += value * part


@cython.cclass
class Forest:
    """Packed trees, the leaf values of one output (nodes,), and the side of each node for both rows: 1 is right."""

    nodes: cython.const[packed_nodes.Node][::1]
    words: cython.const[cython.longlong][::1]
    values: cython.const[cython.double][::1]

    def __init__(self, nodes, words, values):
        self.nodes, self.words, self.values = nodes, words, values

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def descend(
        self,
        node: cython.Py_ssize_t,
        x: cython.const[cython.double][::1],
        z: cython.const[cython.double][::1],
        count: cython.int,
        own: cython.int,
        parting: Parting,
        shares: cython.double[::1],
        pairs: cython.double[:, ::1],
    ) -> cython.void:
        """Add the shares of the leaves below a node that a mixture of the row x and the background row z can reach."""
        while self.nodes[node].mark & packed_nodes.SPLIT:
            column: cython.int = self.nodes[node].mark >> packed_nodes.COLUMN_SHIFT
            here: cython.Py_ssize_t = packed_nodes.find_right(x[column], node, self.nodes, self.words)
            there: cython.Py_ssize_t = packed_nodes.find_right(z[column], node, self.nodes, self.words)
            with_row: cython.Py_ssize_t = node + 1 + (self.nodes[node].skip if here else 0)
            with_other: cython.Py_ssize_t = node + 1 + (self.nodes[node].skip if there else 0)
            player: cython.int = parting.players[column]
            if parting.sides[player] != 0 or with_row == with_other:
                node = with_row if parting.sides[player] >= 0 else with_other
                continue
            parting.listed[count] = player
            parting.sides[player] = 1
            self.descend(with_row, x, z, count + 1, own + 1, parting, shares, pairs)
            parting.sides[player] = -1
            self.descend(with_other, x, z, count + 1, own, parting, shares, pairs)
            parting.sides[player] = 0
            return
        parting.add_leaf(self.values[node], count, own, shares, pairs)


def add_background_shares(
    X: cython.const[cython.double][:, ::1],
    background: cython.const[cython.double][:, ::1],
    forest,
    roots: cython.const[cython.int][::1],
    weights,
    scratch,
    shares: cython.double[:, ::1],
    pairs: cython.double[:, :, ::1],
) -> None:
    """Add to the shares of rows, summed over background rows and trees.

    Parameters
    ----------
    X : (n, d)
    background : (m, d)
    forest : nodes, words, values
        Packed nodes, the sets of categories, and the values (nodes,) of leaves for one output.
    roots : (trees,)
    weights : single, double
        ``single[i, j]`` is i! j! / (i + j + 1)!, the integral of t^i (1 - t)^j from 0 to 1: the weight of a player
        beside i others on its own side and j on the other side. `double` is the same, for pairs.
    scratch : players (d,), sides (players,) of zeros, listed (players,)
        The first is read only.
    shares : (n, players), added to
    pairs : (n, players, players), added to above the diagonal, or (n, 0, 0)
    """
    trees: Forest = Forest(*forest)
    parting: Parting = Parting(*scratch, *weights)
    with cython.nogil:
        for t in range(roots.shape[0]):
            for i in range(X.shape[0]):
                for b in range(background.shape[0]):
                    trees.descend(roots[t], X[i], background[b], 0, 0, parting, shares[i], pairs[i])
