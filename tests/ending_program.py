"""The re-solving of an ending as a linear program, written out plainly."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from solver.endings.tree import Ending
from solver.rules import FOLD


class Rows:
    """Sparse rows that are being written."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, float]] = []
        self.right: list[float] = []

    def add(self, terms: list[tuple[int, float]], right: float = 0.0) -> None:
        self.entries += [(len(self.right), column, factor) for column, factor in terms]
        self.right.append(right)

    def matrix(self, columns: int) -> coo_array:
        rows, places, factors = zip(*self.entries, strict=True)
        return coo_array((factors, (rows, places)), shape=(len(self.right), columns)).tocsr()


class Program:
    """Columns: reach of the hero's cells, how often each hero infostate is reached and matched,
    values of the villain's cells and of its decisions."""

    def __init__(self, ending: Ending, hero: int) -> None:
        self.ending, self.hero, self.villain = ending, hero, 1 - hero
        num_reach = int(ending.cell_start[hero, -1])
        num_values = int(ending.cell_start[1 - hero, -1])
        self.matched = num_reach
        self.value = self.matched + ending.num_infos
        self.best = self.value + num_values
        self.columns = self.best + ending.num_infos
        self.equal, self.less = Rows(), Rows()
        self.reach_terms: dict[int, list] = {c: [(c, -1.0)] for c in range(num_reach)}
        self.value_terms: dict[int, list] = {c: [(self.value + c, -1.0)] for c in range(num_values)}
        for meeting in range(len(ending.meeting_node)):
            self.meet(meeting)

    def share(self, meeting: int, cell: int, is_match: bool) -> list[tuple[int, float]]:
        """Return how often the hero holds a cell and takes an action, as terms."""
        ending = self.ending
        if ending.decider[meeting] != self.hero:
            return [(cell, 1.0)]
        info = ending.info_start[meeting] + cell - ending.span[meeting, self.hero, 0]
        matched = (self.matched + int(info), 1.0)
        return [matched] if is_match else [(cell, 1.0), (matched[0], -1.0)]

    def meet(self, meeting: int) -> None:
        ending, hero, villain = self.ending, self.hero, self.villain
        sign = 1.0 if villain == 0 else -1.0
        mine = range(*ending.span[meeting, hero])
        theirs = range(*ending.span[meeting, villain])
        values: dict[tuple[int, bool], list] = {(v, m): [] for v in theirs for m in (False, True)}
        if ending.decider[meeting] == hero:
            for cell in mine:
                self.less.add([(c, -f) for c, f in self.share(meeting, cell, False)])
        node = ending.meeting_node[meeting]
        if ending.depth[node] == ending.num_slots - 1:
            for v in theirs:
                for h in mine:
                    cells = (v, h) if villain == 0 else (h, v)
                    tile0, tile1 = (int(ending.cell[s, c]) & 63 for s, c in enumerate(cells))
                    result = 1 + (tile0 <= tile1) + (tile0 < tile1)
                    if ending.is_folded[meeting]:
                        pay = sign * ending.pays[meeting, 0]
                        values[v, False] += [(c, f * pay) for c, f in self.share(meeting, h, False)]
                    if ending.is_shown[meeting]:
                        pay = sign * ending.pays[meeting, result]
                        values[v, True] += [(c, f * pay) for c, f in self.share(meeting, h, True)]
        for branch in range(ending.branch_start[meeting], ending.branch_start[meeting + 1]):
            is_match = ending.action[branch] != FOLD
            parts = [range(*ending.part[branch, side]) for side in range(2)]
            starts = ending.move_start[branch]
            for i, v in enumerate(parts[villain]):
                if ending.child[branch] >= 0:
                    child = int(ending.move[villain, starts[villain] + i])
                    values[v, is_match].append((self.value + child, 1.0))
                else:
                    pay = sign * ending.branch_pay[branch]
                    for h in parts[hero]:
                        terms = self.share(meeting, h, is_match)
                        values[v, is_match] += [(c, f * pay) for c, f in terms]
            if ending.child[branch] >= 0:
                for i, h in enumerate(parts[hero]):
                    child = int(ending.move[hero, starts[hero] + i])
                    self.reach_terms[child] += self.share(meeting, h, is_match)
        for v in theirs:
            if ending.decider[meeting] == villain:
                info = ending.info_start[meeting] + v - ending.span[meeting, villain, 0]
                best = self.best + int(info)
                for is_match in (False, True):
                    self.less.add([*values[v, is_match], (best, -1.0)])
                self.value_terms[v].append((best, 1.0))
            else:
                self.value_terms[v] += values[v, False] + values[v, True]

    def solve(self, hero_range, villain_range, bound) -> tuple[float, np.ndarray]:
        """Return the least weighted value, and the villain's values at the root."""
        num_roots = self.ending.cell_start[:, 1]
        for cell, terms in self.reach_terms.items():
            is_root = cell < num_roots[self.hero]
            self.equal.add(terms, -float(hero_range[cell]) if is_root else 0.0)
        for terms in self.value_terms.values():
            self.equal.add(terms)
        roots = self.value + np.arange(num_roots[self.villain])
        for column, most in zip(roots, bound, strict=True):
            self.less.add([(int(column), 1.0)], float(most))
        cost = np.zeros(self.columns)
        cost[roots] = villain_range
        low = np.full(self.columns, -np.inf)
        low[: self.value] = 0.0
        found = linprog(
            cost,
            A_ub=self.less.matrix(self.columns),
            b_ub=self.less.right,
            A_eq=self.equal.matrix(self.columns),
            b_eq=self.equal.right,
            bounds=np.stack([low, np.full(self.columns, np.inf)], axis=1),
        )
        assert found.success, found.message
        return float(found.fun), found.x[roots]
