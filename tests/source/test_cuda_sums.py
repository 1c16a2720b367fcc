"""Sums by label and sums of squares by CUDA programs, which are emulated where there is no NVIDIA GPU."""

import numpy as np
import pytest
import torch
from array_api_compat import array_namespace

from mercer._source.device import cuda_scatter, torch_block
from mercer._source.device.torch_block import CudaGroups, TorchBlock
from mercer._source.groups import Groups
from mercer._statistic.moments import Moments

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA programs run on NVIDIA GPUs only")
XP = array_namespace(torch.zeros(1))


class Chunks:
    """What ``group_sums.cu`` does, by array operations."""

    def __init__(self, ordered):
        self.ordered = ordered

    def launch(self, grid, threads, given, like):
        table, _, _, order, starts, begins, k, chunk, sums = given
        for number in range(min(grid[0], int(begins[k]))):
            label = int(torch.searchsorted(begins, torch.asarray(number), right=True)) - 1
            first = int(starts[label]) + (number - int(begins[label])) * chunk
            places = torch.arange(first, min(first + chunk, int(starts[label + 1])))
            sums[number] = table[order[places] if self.ordered else places].double().sum(0)


def group(kind, n, k, device="cpu"):
    """Return labels in groups, some of which are empty."""
    labels = torch.randint(k, (n,), generator=torch.Generator().manual_seed(0))
    labels[labels == 1] = 0
    return kind(labels.to(torch.int16).to(device), k, XP, torch.device(device))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (50, 7), (300, 3), (300, 290)])
def test_chunks_of_a_label_add_up(monkeypatch, n, k):
    monkeypatch.setattr(torch_block, "device_of", lambda table: 0)
    monkeypatch.setattr(CudaGroups, "_find_program", staticmethod(lambda table, real, lanes, ordered: Chunks(ordered)))
    monkeypatch.setattr(torch_block, "_CHUNK", 16)
    monkeypatch.setattr(torch_block, "_LEAST_ROWS", 1)
    monkeypatch.setattr(torch_block, "_THREADS", 16)
    values = torch.randn((n, 3), generator=torch.Generator().manual_seed(1))
    for table in (values, values[:, 0].contiguous()):
        found, expected = (group(kind, n, k).sums(table, torch.float64) for kind in (CudaGroups, Groups))
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@needs_gpu
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (5000, 7, 3), (40000, 96, 512), (3000, 300, 40)])
def test_the_program_sums_by_label_like_array_operations(n, d, k):
    X = torch.randn((n, d), device="cuda")
    groups = group(CudaGroups, n, k, "cuda:0")
    found = groups.sums(X, torch.float64)
    torch.testing.assert_close(found, group(Groups, n, k, "cuda:0").sums(X, torch.float64), rtol=1e-12, atol=1e-9)
    assert torch.equal(found, groups.sums(X, torch.float64))


@pytest.mark.parametrize("d", [1, 32, 33, 100])
def test_products_of_bands_make_a_symmetric_matrix(d):
    bands = -(-d // 32)
    whole = np.random.default_rng(0).normal(size=(32 * bands, 32 * bands))
    whole = whole + whole.T
    tiles = [whole[32 * i : 32 * i + 32, 32 * j : 32 * j + 32].ravel() for i in range(bands) for j in range(i, bands)]
    np.testing.assert_array_equal(np.concatenate(tiles)[cuda_scatter._find_places(d, bands)], whole[:d, :d])


class Scatter:
    """What ``scatter_sums.cu`` does, by array operations: all of it as the sums of the first slice."""

    def __init__(self, *given):
        self.fold = given[4]["FOLD"]

    def launch(self, grid, threads, given, like):
        rows, _, d, n, _, shift, targets, has_targets, pairs, products, sums = given
        bands = -(-d // 32)
        centred = torch.zeros((n, 32 * bands), dtype=torch.float64)
        centred[:, :d] = rows[: n * self.fold].reshape(n, d).double() - shift
        whole = centred.T @ centred
        products.zero_(), sums.zero_()
        tiles = [whole[32 * i : 32 * i + 32, 32 * j : 32 * j + 32] for i in range(bands) for j in range(i, bands)]
        assert len(tiles) == pairs
        products[0] = torch.cat([tile.reshape(-1) for tile in tiles])
        sums[0, : 32 * bands] = centred.sum(0)
        if has_targets:
            aims = targets[: n * self.fold].reshape(n, self.fold).repeat_interleave(d // self.fold, dim=1)
            sums[0, 32 * bands : 32 * bands + d] = (aims * centred[:, :d]).sum(0)


@pytest.mark.parametrize("d", [1, 5, 16, 40])
@pytest.mark.parametrize("with_targets", [False, True])
def test_moments_of_one_pass_are_those_of_array_operations(monkeypatch, with_targets, d):
    monkeypatch.setattr(cuda_scatter, "cuda_program", Scatter)
    X = torch.randn((501, d), generator=torch.Generator().manual_seed(0)) + 10.0
    y = X[:, 0] + 1.0 if with_targets else None
    block = TorchBlock(X, 0, y, None, XP, torch.float64)
    expected = Moments().of(block)
    monkeypatch.setattr(TorchBlock, "has_centred_sums", True)
    found = Moments().of(block)
    for name in ("mean", "scatter", *(("y_mean", "cross", "y_scatter") if with_targets else ())):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-8)
    assert found.weight == expected.weight == 501


@needs_gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("d", [1, 7, 8, 32, 64, 96, 100, 150, 190, 224, 256])
def test_the_program_multiplies_like_array_operations(d, dtype):
    X, y = torch.randn((20_001, d), dtype=dtype, device="cuda") + 50.0, torch.randn(20_001, device="cuda").double()
    assert cuda_scatter.can_sum(X)
    found = cuda_scatter.sum_centred(X, y)
    centred = X.double() - found.shift
    torch.testing.assert_close(found.scatter, centred.T @ centred, rtol=1e-11, atol=1e-7)
    torch.testing.assert_close(found.sums, centred.sum(0), rtol=1e-11, atol=1e-7)
    torch.testing.assert_close(found.cross, centred.T @ y, rtol=1e-11, atol=1e-7)
    assert torch.equal(found.scatter, cuda_scatter.sum_centred(X, y).scatter)
