"""Code that runs on a device needs numpy and little else; errors name the extra for the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys

class Absent:
    names = {"numba", "scipy", "sklearn", "matplotlib", "pandas", "xarray", "joblib", "networkx"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return None

sys.meta_path.insert(0, Absent())
"""


def on_a_device(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_plain_engine_runs_without_the_lab() -> None:
    out = on_a_device("""
import pairgossip as pg
run = pg.estimate([1.0, 2.0, 4.0], "gini", "complete", engine="plain", iterations=2000, seed=0)
print(abs(run.mean[-1] - run.target) < 0.1, pg.exact([1.0, 2.0, 4.0], "gini") == run.target)
""")
    assert out == "True True"


def test_many_rows_do_without_compiled_sums() -> None:
    out = on_a_device("""
import numpy as np
import pairgossip as pg
from pairgossip.kernels import calling
calling._FEWEST_PAIRS = calling._FEWEST_ROWS = calling._FEWEST_TO_LOAD = 1
rows = np.random.default_rng(0).normal(size=(50, 2))
print(pg.exact(rows, lambda x, y: (x[:, 0] - y[:, 0]) * (x[:, 1] - y[:, 1]) > 0))
print((pg.exact(rows, "kendall") * 2500 + 2450) / 5000)
""")
    counted, expected = map(float, out.split())
    assert counted == pytest.approx(expected, rel=1e-12)


def test_few_rows_load_no_compiler() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import pairgossip as pg, sys; pg.exact([1.0, 2.0, 4.0], 'gini', interval=0.9);"
            "pg.exact([[1, 2], [2, 1], [3, 3]], 'kendall-b'); print('numba' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            'pg.estimate([1.0, 2.0, 4.0], "gini")',
            "The fast engine (engine='plain' runs without it) needs numba, which is not installed: "
            "pip install 'pairgossip[lab]'.",
        ),
        (
            "pg.graphs.cycle(5).to_networkx()",
            "needs networkx, which is not installed: pip install 'networkx'.",
        ),
        (
            'pg.estimate([1.0, 2.0, 4.0], "gini", engine="plain", seed=0).to_pandas()',
            "Run.to_pandas needs pandas, which is not installed: pip install 'pairgossip[lab]'.",
        ),
        (
            'pg.estimate([1.0, 2.0, 4.0], "gini", engine="plain", seed=0).plot()',
            "Drawing needs matplotlib, which is not installed: pip install 'pairgossip[lab]'.",
        ),
    ],
)
def test_what_is_missing_is_named(code: str, sentence: str) -> None:
    out = on_a_device(f"""
import pairgossip as pg
try:
    {code}
except pg.MissingExtra as missing:
    print(missing)
""")
    assert sentence in out


def test_importing_the_package_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import pairgossip, sys; print('numpy' in sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "False"


def test_a_peer_whose_rows_travel_loads_nothing_else() -> None:
    """It loads neither numpy's generators nor code of sums: small devices have little memory."""
    out = on_a_device("""
import pairgossip.peer.service.service
from pairgossip.peer.specification.spec import parse_spec

text = 'kernel = "gini"\\ncolumns = ["x"]\\n[ranges]\\nx = [0, 1]\\n[algorithm]\\nname = "exchange"'
print(parse_spec(text).measure.name)
unused = ("numpy.random", "numpy.polynomial", "difflib", "pairgossip.sketches", "pairgossip.graphs",
    "pairgossip.peer.sums", "pairgossip.study", "pairgossip.inference.questions",
    "pairgossip.order_statistics.comparisons", "pairgossip.algorithms.methods",
    "pairgossip.counts", "pairgossip.summaries")
print([name for name in unused if name in sys.modules])
import pairgossip.cli
print("numpy.random" in sys.modules)
""")
    assert out.split("\n") == ["gini", "[]", "False"]


def test_sums_run_on_a_device() -> None:
    out = on_a_device("""
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.peer.sums.simulation import start_programs

def find(measure, rows, label):
    names = ["x", "l"][: len(rows[0])]
    ranges = "".join(f"{name} = [0, 1]\\n" for name in names)
    text = f'{measure}\\ncolumns = ["x"]\\n{label}\\n[ranges]\\n{ranges}[algorithm]\\nname = "sums"'
    text += "\\nleast_cell = 1" if "kernel" in measure else ""
    (program,) = start_programs(parse_spec(text), {"a": rows})
    while (ask := program.ask()) is not None:
        program.take(ask, program.contribute(ask) if ask.words else None)
    return program.result

rows = ((0.1, 0.0), (0.7, 0.0), (0.4, 1.0), (0.9, 1.0))
print(find('kernel = "median"', tuple(row[:1] for row in rows), "").value is not None)
print(find('kernel = "auc"', rows, 'label = "l"').value)
print(find('loss = "auc-logistic"', rows, 'label = "l"\\n[learning]\\nl2 = 0.1\\n').finished)
print([name for name in ("numpy.ma", "numpy.random") if name in sys.modules])
""")
    assert out.split() == ["True", "0.75", "True", "[]"]
