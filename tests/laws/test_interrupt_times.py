"""Seconds of work after Ctrl-C. Other work on the machine may stretch them, hence soak; `test_control` counts calls."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.soak

LONG = {
    "KMeans": "from mercer.cluster import KMeans; m = KMeans(300, n_init=50, init='random', random_state=0)",
    "LogisticRegression": "from mercer.linear_model import LogisticRegression; "
    "m = LogisticRegression(solver='saga', tol=1e-30, max_iter=100000)",
    "Ridge": "from mercer.linear_model import Ridge; m = Ridge(solver='sag', tol=1e-30, max_iter=100000)",
    "SGDClassifier": "from mercer.linear_model import SGDClassifier; m = SGDClassifier(tol=None, max_iter=100000)",
    "KernelDensity": "from mercer.neighbors import KernelDensity; m = KernelDensity(bandwidth='cross_validation')",
    "SVC": "from mercer.svm import SVC; m = SVC(C=1e3, tol=1e-9)",
    "PCA": "from mercer.decomposition import PCA; m = PCA(40, svd_solver='power', tol=1e-30)",
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_is_honoured_within_a_fifth_of_a_second(name):
    """Asked of a process of its own, at a moment of the clock's choosing, on data that take much longer.

    What counts is the processor time that the fit takes after the signal, in one thread: it is the same on a machine
    that does other work besides.
    """
    program = f"""
import time, warnings
import numpy as np
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(50_000, 50))
y = (X[:, 0] > 0).astype(int)
{LONG[name]}
if "n_jobs" in m.get_params():
    m.set_params(n_jobs=1)
print("ready", flush=True)
try:
    m.fit(X, y)
except KeyboardInterrupt:
    print(time.process_time(), flush=True)
"""
    assert measure_work_after_interrupt(program) < 0.2


def measure_work_after_interrupt(program):
    """Start the program, send it Ctrl-C when it has fitted for 0.3 s, and return the processor time of its answer."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout.readline().strip() == "ready"
    begun = read_processor_time(process.pid)
    while (sent := read_processor_time(process.pid)) < begun + 0.3 and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    answer, _ = process.communicate(timeout=120)
    assert answer, "the fit ended by itself before the signal"
    return float(answer) - sent


def read_processor_time(pid):
    """The processor seconds of another process, all threads together, as Linux counts them: in hundredths."""
    if not os.path.exists("/proc/self/stat"):
        pytest.skip("only Linux tells the processor time of another process without further packages")
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    # The fields after the name of the program: user time is the twelfth, system time the thirteenth.
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
