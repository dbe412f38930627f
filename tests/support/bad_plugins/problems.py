"""Plugins whose problems and metrics return something else than they must."""

from collections.abc import Iterator

from bad_plugins.case import RUN, Case, registered, wrong
from bad_plugins.places import PROBLEM

DECODE = "def decode(self, outputs, table, settings): return "
CHECK = "def check(self, rows, *, labelled): return "
METHODS = {
    "decode that returns None": (f"{DECODE}None", "decoded None", (1, 2)),
    "decode with an answer less": (f"{DECODE}['glad']", "decoded 1 answers", (1, 2)),
    "decode of objects": (f"{DECODE}[object()] * 3", "traceback|JSON", (1, 2)),
    "identity of objects": ("def identity(self): return {'a': object()}", "bad/task", (1, 2)),
    "check that returns None": (f"{CHECK}None", "bad/task checked 3 rows and returned None", (1, 2)),
    "check that drops a row": (f"{CHECK}rows.table[1:]", "bad/task checked 3 rows and returned a table of 2", (1, 2)),
}
"""Method of a problem -> its code, what must be said, and the exit codes."""

SCORES = {"a text": "'high'", "None": "None"}
"""What a metric returns."""


def cases() -> Iterator[Case]:
    """Give problems and metrics whose methods return wrong values."""
    for name, (line, said, codes) in METHODS.items():
        yield wrong(name, PROBLEM.format(line), said, RUN, codes)
    for name, value in SCORES.items():
        task = f"[task(metrics=(Metric('m', lambda gold, predicted: {value}),))]"
        yield wrong(f"metric that returns {name}", registered(task), "traceback", RUN, (1,))
