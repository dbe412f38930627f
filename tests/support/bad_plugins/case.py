"""A case of the table: a bad plugin, the command that meets it, and what must come out."""

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A bad plugin and the command that meets it."""

    name: str
    source: str
    """The plugin's module."""
    words: tuple[str, ...]
    said: tuple[str, ...]
    """Regular expressions that the output or the errors must match."""
    codes: tuple[int, ...] = (0,)
    files: tuple[tuple[str, str], ...] = ()
    """Further files of the distribution: path -> content; `LINK:target` makes a link, `FOLDER` a folder."""
    package: bool = False
    """Whether the plugin is a package, not a module."""


LIST = ("list", "--json")
RUN = ("run", "bad/task", "--quiet", "--device", "cpu", "--runs", "runs")
SET_ASIDE = "plugin bad is set aside"

BASE = """
from benchrunner import ACCURACY, Classify, Metric, NamedRecipe, RowsFrom, Source, Split, Task, hookimpl
from benchrunner_submit import BoardFile, Leaderboard
from benchrunner.engine import Backbone, BackboneFamily, Method, OneBackbone, Outcome
from benchrunner.results import Executor
from benchrunner_submit import Labels, Table
hooks = hookimpl

def fail():
    {error}

def rows(role):
    def read(workspace):
        return {{"a": ["glad day", "sad day", "glad sun"], "label": ["glad", "sad", "glad"]}}
    return Split(role, (RowsFrom(read),))

def task(**changes):
    fields = dict(name="bad/task", about="glad?", problem=Classify(("glad", "sad")), metrics=(ACCURACY,))
    splits = {{role: rows(role) for role in ("train", "dev")}}
    return Task(**{{**fields, "splits": splits, "method": "majority", **changes}})

class Bad(Method):
    name, about, needs_backbone = "bad-method", "bad", False
    def fit(self, job):
        job.model.mkdir(parents=True, exist_ok=True)
        return Outcome()
    def predict(self, job, table):
        import numpy
        return numpy.ones((table.num_rows, 2), dtype="float32")
"""
"""Beginning of a bad plugin's module: imports, sound values to change, and `fail`, whose statement is filled in."""


def registered(value: str, kind: str = "tasks") -> str:
    """Write the hook that offers a value; `kind` is the end of the hook's name."""
    return f"@hooks\ndef register_{kind}(): return {value}\n"


def wrong(name: str, code: str, said: str, words: tuple[str, ...] = LIST, codes: tuple[int, ...] = (0,)) -> Case:
    """Make a case whose module is the common beginning and some code."""
    return Case(name, BASE.format(error="pass") + textwrap.dedent(code), words, (said,), codes)
