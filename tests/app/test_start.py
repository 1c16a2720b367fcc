"""Commands start quickly: they load no module that they do not use."""

import subprocess
import sys

import pytest

import mercer
from mercer.app.start import spare_modules
from mercer.datasets import load_rents
from mercer.linear_model import Ridge
from mercer.preprocessing import TableEncoder

# Modules that take a tenth of a second or more to load, and that a prediction by a linear model does not use.
SPARED = (
    "scipy.stats._stats_py",
    "scipy.interpolate._bsplines",
    "scipy.optimize",
    "rich.progress",
    "psutil",
    "numpy.f2py.crackfortran",
    "mercer.app.table.roles",
    "sklearn.tree",
    "sklearn.linear_model",
    "sklearn.metrics",
    "matplotlib",
    "mercer.kernels",
    "pandas",
)


@pytest.fixture
def rents(tmp_path):
    from sklearn.pipeline import make_pipeline

    frame = load_rents().frame
    model = make_pipeline(TableEncoder(sparse_output=False), Ridge()).fit(frame[["area_m2", "lift"]], frame["rent"])
    mercer.save(model, tmp_path / "model.mercer")
    frame.head(3).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def test_predict_loads_only_what_the_model_needs(rents):
    program = (
        f"import sys; from mercer.app.command import main; code = main(['predict', {str(rents)!r}, "
        f"{str(rents / 'new.csv')!r}, '-o', {str(rents / 'out.csv')!r}]); "
        f"print(code, [name for name in {SPARED!r} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "0 []"
    assert len((rents / "out.csv").read_text().splitlines()) == 4


def test_a_spared_module_is_whole_when_it_is_used():
    program = (
        "from mercer.app.start import spare_modules\n"
        "with spare_modules():\n"
        "    import scipy.stats\n"
        "    from scipy import stats as early\n"
        "import sys\n"
        "assert 'scipy.stats' not in sys.modules\n"
        "import scipy.stats\n"
        "assert scipy.stats.norm.cdf(0.0) == early.norm.cdf(0.0) == 0.5\n"
        "assert scipy.stats is sys.modules['scipy.stats'] and scipy.stats.__file__\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_spared_class_is_whole_when_it_is_used():
    program = (
        "from mercer.app.start import spare_modules\n"
        "with spare_modules():\n"
        "    from sklearn.preprocessing import SplineTransformer\n"
        "import sys, numpy\n"
        "assert 'scipy.interpolate' not in sys.modules and 'numpy.f2py' not in sys.modules\n"
        "rows = numpy.linspace(0, 1, 9)[:, None]\n"
        "assert numpy.allclose(SplineTransformer(4).fit_transform(rows).sum(axis=1), 1.0)\n"
        "assert numpy.f2py.get_include() and numpy.f2py is sys.modules['numpy.f2py']\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_hidden_module_can_be_imported_afterwards():
    program = (
        "from mercer.app.start import spare_modules\n"
        "with spare_modules():\n"
        "    import sklearn.base\n"
        "import importlib.util\n"
        "hidden = [name for name in ('rich.progress', 'psutil') if importlib.util.find_spec(name.split('.')[0])]\n"
        "assert all(importlib.import_module(name) for name in hidden)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_module_that_is_loaded_already_is_left_alone():
    import scipy.stats

    with spare_modules():
        assert sys.modules["scipy.stats"] is scipy.stats
