"""t-SNE on a GPU, rows already in place. Run by hand:

    python -m benchmarks.device_tsne                                            1 million rows of 50 float32 numbers
    python -m benchmarks.device_tsne --device cpu --rows 2000 --iterations 100  a rehearsal without a GPU

The first fit is of few rows and compiles what the device must compile. The seconds of neighbours and affinities are
measured apart. The fit is made twice, to see that both maps have the same bits. Writes device.json into the folder that
the variable OUT names, if it is set.
"""

import argparse
import warnings

import torch

from benchmarks.device import Table, timed

WIDTH = 50
PERPLEXITY = 30.0
# Groups of different sizes and spreads, so that the map has structure at several scales.
GROUPS = 40


def make_rows(rows, device):
    """Gaussian groups in 10 dimensions, turned into 50 columns with a little noise."""
    torch.manual_seed(0)
    centres = 4.0 * torch.randn((GROUPS, 10), device=device)
    spread = 0.5 + torch.rand((GROUPS, 1), device=device)
    # Squares of uniform numbers: small groups and large ones.
    label = (torch.rand(rows, device=device) ** 2 * GROUPS).long().clamp(max=GROUPS - 1)
    low = centres[label] + spread[label] * torch.randn((rows, 10), device=device)
    return low @ torch.randn((10, WIDTH), device=device) + 0.1 * torch.randn((rows, WIDTH), device=device)


def measure(table, device, rows, iterations):
    """Neighbours and affinities alone, then whole fits."""
    from mercer._source.placement import Placement
    from mercer.manifold import TSNE
    from mercer.manifold._tsne._device.affinities import find_affinities_there

    X = make_rows(rows, device)

    def fit(given):
        return TSNE(method="fft", perplexity=PERPLEXITY, max_iter=iterations, random_state=0).fit(given)

    fit(X[:1000])
    seconds = timed(lambda: find_affinities_there(X, [PERPLEXITY], Placement.of(X)), device, repeats=1)
    table.add(f"neighbours and affinities of {rows} x {WIDTH} float32", seconds)
    models = []
    seconds = timed(lambda: models.append(fit(X)), device, repeats=2)
    same = float(torch.equal(models[0].embedding_, models[-1].embedding_))
    table.add(
        f"TSNE: mercer, {rows} x {WIDTH} float32 on the device, {iterations} iterations",
        seconds,
        kl=models[-1].kl_divergence_,
        iterations_taken=models[-1].n_iter_,
        same_bits=same,
    )


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--iterations", type=int, default=1000)
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    table = Table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(table, device, options.rows, options.iterations)
    table.write({"device": name, "torch": torch.__version__, "rows": options.rows})


if __name__ == "__main__":
    main()
