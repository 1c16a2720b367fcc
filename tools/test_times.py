"""Log the CPU seconds of every test, or of a sample of the tests where all would take too long.

``python -m pytest -n 0 -p tools.test_times --times-file FILE [--every 16]`` writes a line for each test: the CPU
seconds of its setup, call and teardown, with all threads and ended child processes, and its name. CPU seconds do not
count the time that other programs take on a busy machine. ``python -m tools.test_times FILE [--every 16]`` prints sums
by folder and by test function; with ``--every n`` each sampled test stands for n.
"""

import argparse
import collections
import resource

# Lines of the longest test functions that are printed: those below them take less than a second in all.
LONGEST = 60


def measure_cpu():
    """Return the CPU seconds that this process, its threads and its ended children have used."""
    shares = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(share.ru_utime + share.ru_stime for share in shares)


class CpuLog:
    """A pytest plugin that writes the CPU seconds of each test to a file."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")  # noqa: SIM115  # closed when the run ends
        self.last = measure_cpu()

    def pytest_runtest_logstart(self):
        self.last = measure_cpu()

    def pytest_runtest_logfinish(self, nodeid):
        self.file.write(f"{measure_cpu() - self.last:.4f}\t{nodeid}\n")
        self.file.flush()

    def pytest_unconfigure(self):
        self.file.close()


def pytest_addoption(parser):
    parser.addoption("--times-file", help="append the CPU seconds of each test to this file")
    parser.addoption("--every", type=int, default=1, help="run one test in this many")


def pytest_configure(config):
    path = config.getoption("--times-file")
    if path:
        config.pluginmanager.register(CpuLog(path))


def pytest_collection_modifyitems(config, items):
    """Keep every n-th test, as collected: sums over many tests then have a small error."""
    every = config.getoption("--every")
    if every > 1:
        kept = set(range(every // 2, len(items), every))
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i not in kept])
        items[:] = [item for i, item in enumerate(items) if i in kept]


def sum_times(lines, key):
    """Return the number of tests and their CPU seconds for each value of a function of a test's name, longest first."""
    counts, seconds = collections.Counter(), collections.Counter()
    for line in lines:
        time, _, name = line.rstrip("\n").partition("\t")
        counts[key(name)] += 1
        seconds[key(name)] += float(time)
    return [(group, counts[group], total) for group, total in seconds.most_common()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    with open(arguments.file, encoding="utf-8") as file:
        lines = file.readlines()
    for title, key in (
        ("folder", lambda name: "/".join(name.split("::")[0].split("/")[:2])),
        ("test function", lambda name: name.split("[")[0]),
    ):
        print(f"{'tests':>7} {'CPU s':>9}  {title}")
        for group, count, seconds in sum_times(lines, key)[:LONGEST]:
            print(f"{count * arguments.every:7d} {seconds * arguments.every:9.1f}  {group}")


if __name__ == "__main__":
    main()
