"""The parts of a network in a file, checked one by one, with the lines that errors name."""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from mercer._types import Array
from mercer.bayesnet._files.source_text import refuse
from mercer.bayesnet._learning.constraints import find_cycle
from mercer.bayesnet._network.network import BayesianNetwork

# Entries of one table at most: 2^24 numbers are 128 MiB. A file with a few lines can name a table of any size.
MOST_ENTRIES = 2**24
# How far the sum of probabilities may be from one: files print few digits.
_SUM_TOLERANCE = 1e-3


@dataclass
class NetworkParts:
    """Variables, parents and tables that were read so far."""

    form: str
    states: dict[str, list[str]] = field(default_factory=dict)
    parents: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[str, Array] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def add_variable(self, name: str, states: list[str], line: int) -> None:
        """Add a variable with its states."""
        if name in self.states:
            rule = f"a variable may be declared once; {name!r} was declared in line {self.lines[name]} already"
            raise refuse(self.form, line, rule, "Remove one of the two.")
        if not states:
            raise refuse(self.form, line, f"variable {name!r} must have at least one state", "List its states.")
        twice = [state for state in states if states.count(state) > 1] if len(set(states)) < len(states) else []
        if twice:
            raise refuse(self.form, line, f"variable {name!r} has the state {twice[0]!r} twice", "Rename one of them.")
        self.states[name] = states
        self.lines[name] = line

    def add_family(self, name: str, parents: list[str], line: int) -> tuple[int, ...]:
        """Store the parents of a variable, and return the shape of its table."""
        for member in (name, *parents):
            if member not in self.states:
                raise refuse(self.form, line, f"{member!r} must be declared before its table", "Declare the variable.")
        if name in self.parents:
            raise refuse(self.form, line, f"variable {name!r} may have one table; this is the second", "Remove one.")
        if len(set(parents)) < len(parents) or name in parents:
            rule = f"the parents of {name!r} must be other variables, each once; got {', '.join(parents)}"
            raise refuse(self.form, line, rule, "Correct the list of parents.")
        # The axes of a table: parents in their order, then the variable itself.
        shape = tuple(len(self.states[member]) for member in (*parents, name))
        if prod(shape) > MOST_ENTRIES:
            rule = f"a table may have at most {MOST_ENTRIES} entries; that of {name!r} would have {prod(shape)}"
            raise refuse(self.form, line, rule, "Split the network, or use fewer parents.")
        self.parents[name] = parents
        return shape

    def find_state(self, name: str, state: str, line: int) -> int:
        """Return the index of a state of a variable."""
        try:
            return self.states[name].index(state)
        except ValueError:
            known = ", ".join(self.states[name][:8])
            rule = f"{name!r} has no state {state!r}; its states are {known}"
            raise refuse(self.form, line, rule, "Correct the state.") from None

    def add_table(self, name: str, table: Array, line: int, lines: Array = None) -> None:
        """Add the table of a variable, whose last axis is its own states; `lines` tells where each row stands."""
        self.check_entries(name, table, line)
        sums = table.sum(axis=-1)
        # Written in this way, NaN is wrong too.
        wrong = ~(np.abs(sums - 1.0) <= _SUM_TOLERANCE)
        if wrong.any():
            place = np.unravel_index(int(np.argmax(wrong)), sums.shape)
            where = line if lines is None else int(lines[place])
            given = ", ".join(
                f"{parent}={self.states[parent][code]}" for parent, code in zip(self.parents[name], place, strict=True)
            )
            rule = (
                f"the probabilities of {name!r}{f' given {given}' if given else ''} must sum to 1; got {sums[place]:g}"
            )
            raise refuse(self.form, where, rule, "Correct them.")
        self.tables[name] = table

    def check_entries(self, name: str, table: Array, line: int) -> None:
        """Raise if an entry is no probability."""
        wrong = ~((table >= 0.0) & (table <= 1.0 + _SUM_TOLERANCE))
        if wrong.any():
            rule = f"the table of {name!r} must hold probabilities from 0 to 1; got {table[wrong].flat[0]:g}"
            raise refuse(self.form, line, rule, "Correct it.")

    def finish(self) -> BayesianNetwork:
        """Return the network; raise if a variable has no table, or if the parents form a cycle."""
        if not self.states:
            raise refuse(self.form, 1, "the file must declare at least one variable", "Is it a file of this format?")
        for name in self.states:
            if name not in self.tables:
                raise refuse(self.form, self.lines[name], f"variable {name!r} has no table", "Add its probabilities.")
        names = list(self.states)
        place = {name: index for index, name in enumerate(names)}
        # A matrix of more than 4096 nodes takes 16 MiB; the network itself then looks for cycles.
        edges = np.zeros((len(names), len(names)), bool) if len(names) <= 4096 else None
        if edges is not None:
            for name, parents in self.parents.items():
                edges[[place[parent] for parent in parents], place[name]] = True
            # The library would refuse a cycle too; here the error can name its line.
            if (cycle := find_cycle(edges)) is not None:
                path = " -> ".join(names[node] for node in cycle)
                line = self.lines[names[cycle[0]]]
                raise refuse(
                    self.form, line, f"parents must not form a cycle; got {path}", "Remove one of these edges."
                )
        states = {name: tuple(values) for name, values in self.states.items()}
        return BayesianNetwork(states, {name: tuple(self.parents[name]) for name in names}, self.tables)
