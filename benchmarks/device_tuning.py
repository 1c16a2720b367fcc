"""What a pass of k-means and a scatter matrix spend their time on, and what their constants do to it.

Run by ``python benchmarks/device.py --tune``; the numbers decide the constants in
``mercer._source.device.torch_block``.
"""

import torch

WIDTH, CENTRES = 128, 1024


def tune(table, timed, device, rows):
    """Measure everything below; `timed(function, device, repeats)` gives seconds."""
    X, centres = torch.randn((rows, WIDTH), device=device), torch.randn((CENTRES, WIDTH), device=device)
    time_stages(table, timed, X[: 2**19], centres)
    time_tiles(table, timed, X, centres)
    if device.type == "cuda":
        time_fused(table, timed, X, centres)
    time_batches(table, timed, device, min(rows, 2**18))


def time_stages(table, timed, X, centres):
    """The parts of one block's assignment, in the order in which they run."""
    from mercer._solver.centres.assignment import Assignment
    from mercer._solver.centres.centres import Centres
    from mercer._source.device.source import DeviceSource

    block, ready, device = DeviceSource(X).block(0), Centres(centres), X.device
    labels = ready.nearest(block)[0]
    groups = block.group(labels, CENTRES)
    stages = {
        "nearest centres and distances": lambda: ready.nearest(block),
        "sort by label": lambda: block.group(labels, CENTRES),
        "cut into chunks": lambda: block.group(labels, CENTRES)._levels,
        "sum the rows of each label": lambda: groups.sums(block.X, block.wide),
        "the whole statistic": lambda: Assignment(Centres(centres)).of(block),
    }
    for name, stage in stages.items():
        table.add(f"{len(X)} rows: {name}", timed(stage, device))


def time_tiles(table, timed, X, centres):
    """Scores and their least by tile, in float32 and by three products of ten-bit halves."""
    norms = 0.5 * (centres * centres).sum(1)
    for size in (2**21, 2**22, 2**23, 2**24, 2**26):
        step = size // CENTRES
        for name, search in (("float32", plain_search), ("three short products", split_search)):
            seconds = timed(lambda search=search, step=step: search(X, centres, norms, step), X.device, 1)
            table.add(f"scores and argmin, {name}, tiles of {step} rows", seconds)


def plain_search(X, centres, norms, step):
    """Labels of all rows, tile by tile."""
    parts = [X[start : start + step] for start in range(0, len(X), step)]
    return torch.cat([torch.argmin(torch.addmm(norms, part, centres.T, alpha=-1.0), dim=1) for part in parts])


def split_search(X, centres, norms, step):
    """The same from high and low halves of the numbers, [h, h, l] . [h, l, h], by one product in TF32."""
    high, low = halves(centres)
    right = torch.cat([high, low, high], dim=1)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        labels = []
        for start in range(0, len(X), step):
            first, second = halves(X[start : start + step])
            labels.append(
                torch.argmin(torch.addmm(norms, torch.cat([first, first, second], 1), right.T, alpha=-1.0), 1)
            )
        return torch.cat(labels)
    finally:
        torch.set_float32_matmul_precision(before)


def halves(array):
    """Numbers as their nearest with ten bits of mantissa, and the rest."""
    high = ((array.view(torch.int32) + 4096) & -8192).view(torch.float32)
    return high, array - high


def time_fused(table, timed, X, centres):
    """The fused search against the array operations that it stands for: seconds, and the share of equal labels."""
    from mercer._source.block import DenseBlock
    from mercer._source.device.fused_search import search_nearest
    from mercer._source.device.source import DeviceSource
    from mercer._source.device.torch_block import TorchBlock

    shift, block = centres.mean(0), DeviceSource(X).block(0)
    moved = centres - shift
    given = (centres, moved, 0.5 * (moved * moved).sum(1), shift)
    plain = timed(lambda: DenseBlock.nearest(block, *given), X.device, 1)
    table.add(f"{block.n} rows: search by array operations", plain)
    seconds = timed(lambda: search_nearest(block.X, *given), X.device, 1)
    expected, squares = DenseBlock.nearest(block, *given)
    labels, distances = search_nearest(block.X, *given)
    agreed = float((labels == expected).double().mean())
    off = float(((distances - squares).abs() / squares).max())
    table.add(f"{block.n} rows: fused search", seconds, gain=plain / seconds, agreed=agreed, distances_off=off)
    assert isinstance(block, TorchBlock)


def time_batches(table, timed, device, rows):
    """A scatter matrix of tall float64 rows in one product, and in several that are added up."""
    tall = torch.randn((rows // 128 * 128, 256), dtype=torch.float64, device=device)
    for batch in (1, 8, 32, 128):
        cut = tall.reshape(batch, -1, 256)
        seconds = timed(lambda cut=cut: (cut.mT @ cut).sum(0), device)
        table.add(f"scatter of {len(tall)} x 256 float64 in {batch} products", seconds)
