"""Nearest rows by lists of candidates: bounds hold, and proved answers are exact. Programs are emulated on CPUs."""

import numpy as np
import pytest
import torch

from mercer._solver.neighbours import candidate_search
from mercer._solver.neighbours.candidate_search import CandidateSearch
from mercer._solver.neighbours.device_search import DeviceSearch

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA programs run on NVIDIA GPUs only")


class Listing:
    """What ``nearest_rows.cu`` does, by array operations."""

    def launch(self, grid, threads, given, like):
        queries, limits, rows, tiles, height, capacity, counts, lists = given
        sums = queries.float() @ rows.float().T + limits[:, None]
        for line, slice_ in np.ndindex(len(queries), grid[1]):
            first = 128 * slice_ * height
            found = (sums[line, first : min(first + 128 * height, 128 * tiles)] >= 0).nonzero()[:, 0].flip(0) + first
            counts[slice_, line] = len(found)
            lists[slice_, line, : min(len(found), capacity)] = found[:capacity].to(torch.int32)


class Ranking:
    """What ``rank_candidates.cu`` does, by array operations."""

    def launch(self, grid, threads, given, like):
        rows, queries, own, _, counts, lists, _, slices, capacity, k, squares, indices, known = given
        for line in range(grid[0]):
            parts = [lists[s, line, : min(int(counts[s, line]), capacity)] for s in range(slices)]
            places = torch.cat(parts).long()[:capacity]
            known[line] = int(len(places) == int(counts[:, line].sum()))
            gaps = ((rows[places].double() - queries[line].double()) ** 2).sum(1)
            gaps[places == own[line]] = torch.inf
            order = np.lexsort((places.numpy(), gaps.numpy()))[:k]
            squares[line], indices[line] = torch.inf, 2**31 - 1
            squares[line, : len(order)], indices[line, : len(order)] = gaps[order], places[order]


@pytest.fixture
def emulated(monkeypatch):
    monkeypatch.setattr(CandidateSearch, "_listing", Listing())
    monkeypatch.setattr(CandidateSearch, "_ranking", Ranking())
    monkeypatch.setattr(candidate_search, "_LEAST_SAMPLE", 64)
    monkeypatch.setattr(candidate_search, "_CAPACITY", 256)


def make_rows(dtype, n=700, d=5):
    """Rows far from the origin, 30 of them equal."""
    rows = np.round(np.random.default_rng(0).normal(size=(n, d)), 2) + 100.0
    rows[40:70] = rows[3]
    return torch.asarray(rows.astype(dtype))


def find_all(rows, queries, own, k):
    """Return the answers by all distances."""
    squares = torch.zeros((len(queries), len(rows)), dtype=torch.float64, device=rows.device)
    for column in range(rows.shape[1]):
        squares += (queries[:, column].double()[:, None] - rows[:, column].double()[None, :]) ** 2
    lines = (own >= 0).nonzero()[:, 0]
    squares[lines, own[lines]] = torch.inf
    found = torch.sort(squares, dim=1, stable=True)
    return found.values[:, :k], found.indices[:, :k]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_answers_are_proved_and_exact(emulated, dtype):
    rows = make_rows(dtype)
    own = torch.arange(len(rows))
    shift = rows.double().mean(0)
    search = CandidateSearch(rows, float((rows.double() - shift).abs().max()), shift)
    squares, indices = find_all(rows, rows, own, 6)
    found = search.find(rows, own, 6)
    assert found.proved.all()
    assert torch.equal(found.indices, indices)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-12)


def test_the_product_of_two_lines_is_an_upper_bound(emulated):
    rows = make_rows(np.float64) * torch.asarray([1e-6, 1.0, 3.0, 1e-3, 0.1], dtype=torch.float64)
    shift = rows.mean(0)
    search = CandidateSearch(rows, float((rows - shift).abs().max()), shift)
    lines, lengths = search._lay_queries(rows)
    bounds = lines.double() @ search.table[: len(rows)].double().T
    exact = -search._score(torch.cdist(rows, rows) ** 2, lengths[:, None])
    assert (bounds >= exact - 1e-9 * exact.abs().max()).all()
    # With 11 bits, products are off by 2**-10 of the product of lengths at most, and so is the bound of this.
    assert (bounds - exact <= 2.2 * 2.0**-10 * lengths[:, None] * lengths[None, :] + 1.0).all()


def test_lists_that_overflow_are_not_proved(emulated, monkeypatch):
    monkeypatch.setattr(candidate_search, "_CAPACITY", 16)
    rows = make_rows(np.float64)
    shift = rows.mean(0)
    search = CandidateSearch(rows, float((rows - shift).abs().max()), shift)
    own = torch.full((len(rows),), -1)
    found = search.find(rows, own, 3)
    # 31 equal rows are at distance zero, more than a list holds.
    assert not found.proved[40:70].any()
    indices = find_all(rows, rows, own, 3)[1]
    assert torch.equal(found.indices[found.proved], indices[found.proved])


@needs_gpu
@pytest.mark.parametrize(("n", "d", "k", "dtype"), [(9000, 30, 10, np.float32), (8500, 130, 700, np.float64)])
def test_programs_find_what_all_distances_say(n, d, k, dtype):
    rows = make_rows(dtype, n, d).cuda()
    own = torch.arange(n, device="cuda")
    squares, indices = DeviceSearch(rows, "Test").find_there(rows, k, leave_out_self=True)
    whole = find_all(rows, rows[:500], own[:500], k)
    assert torch.equal(squares[:500], whole[0])
    assert torch.equal(indices[:500], whole[1])
