"""A table of bad plugins, each with the command that meets it and what must come out.

`python tests/support/bad_plugins.py` runs every case and counts those that end badly. Each case runs in a fork of this
process, so that a plugin may end, crash or flood its process without harm.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120.0
"""Time after which a case counts as hanging."""
FLOOD = 20_000
"""Characters of output from which a case counts as a flood."""


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


ERRORS = {
    "Exception": "raise Exception('oops')",
    "BaseException": "raise BaseException('oops')",
    "GeneratorExit": "raise GeneratorExit('oops')",
    "KeyboardInterrupt": "raise KeyboardInterrupt('oops')",
    "CancelledError": "import asyncio; raise asyncio.CancelledError('oops')",
    "sys.exit": "import sys; sys.exit(3)",
    "sys.exit text": "import sys; sys.exit('oops')",
    "os._exit": "import os; os._exit(3)",
    "StopIteration": "raise StopIteration('oops')",
    "MemoryError": "raise MemoryError",
    "RecursionError": "f = lambda: f(); f()",
    "AssertionError": "assert False",
    "no message": "raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})",
    "message that interrupts": "raise type('Mute', (BaseException,), "
    "{'__str__': lambda self: exec('raise KeyboardInterrupt')})",
    "message of 1 MB": "raise ValueError('oops ' * 200_000)",
    "message of many lines": "raise ValueError('oops\\n' * 200_000)",
    "message with escapes": "raise ValueError('\\x1b]0;owned\\x07\\x9b31m\\u202e')",
    "message that is not UTF-8": "raise ValueError('\\udcff oops')",
    "group": "raise BaseExceptionGroup('oops', [ValueError('a'), KeyboardInterrupt()])",
    "a class's own": "raise type('\\x1b[31mRed', (BaseException,), {})('oops')",
}
"""What a plugin raises or does: a statement."""

BASE = """
from benchrunner import (
    ACCURACY, Backbone, BackboneFamily, BoardFile, Classify, Executor, Labels, Leaderboard, Method, Metric, NamedRecipe,
    OneBackbone, Outcome, RowsFrom, Source, Split, Table, Task, hookimpl,
)
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
RUN = ("run", "bad/task", "--quiet", "--device", "cpu", "--runs", "runs")
LIST = ("list", "--json")
NAMED = ("plugin bad is set aside",)

PLACES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], tuple[int, ...]]] = {
    "at import": ("fail()", LIST, NAMED, (0,)),
    "in register_commands": (
        "@hooks\ndef register_commands(cli):\n    cli.add_parser('half').set_defaults(run=print)\n    fail()",
        LIST,
        ("plugin bad is set aside: register_commands",),
        (0,),
    ),
    "in a command": (
        "@hooks\ndef register_commands(cli):\n    cli.add_parser('go').set_defaults(run=lambda arguments: fail())",
        ("go",),
        ("benchrunner: The command 'go' of the plugin 'bad' failed",),
        (1,),
    ),
    "in an estimate": (
        "@hooks\ndef register_commands(cli):\n"
        "    cli.add_parser('go').set_defaults(run=print, estimate=lambda arguments: fail())",
        ("--estimate", "go"),
        ("benchrunner: The command 'go' of the plugin 'bad' failed",),
        (1,),
    ),
    "in the list of a family": (
        "class F(BackboneFamily):\n    def listed(self): fail()\n    def find(self, reference, workspace): pass\n"
        "@hooks\ndef register_backbones(): return [F()]",
        LIST,
        NAMED,
        (0,),
    ),
    "in the search of a family": (
        "class F(BackboneFamily):\n    def listed(self): return []\n    def find(self, reference, workspace): fail()\n"
        "@hooks\ndef register_backbones(): return [F()]\n@hooks\ndef register_tasks(): return [task()]",
        (*RUN, "--method", "finetune", "--backbone", "x/y"),
        ("The plugin 'bad' failed on x/y",),
        (2,),
    ),
    "in a source": (
        "def read(workspace): fail()\n@hooks\ndef register_tasks():\n"
        "    return [task(splits={'train': rows('train'), 'dev': Split('dev', (RowsFrom(read),))})]",
        RUN,
        ("The source RowsFrom of bad/task, split 'dev', failed",),
        (1,),
    ),
    "in the check of rows": (
        "class P(Classify):\n    def check(self, rows, *, labelled): fail()\n"
        "@hooks\ndef register_tasks(): return [task(problem=P(('glad', 'sad')))]",
        RUN,
        ("The check of the rows of bad/task, split 'train', failed",),
        (1,),
    ),
    "in the identity of a problem": (
        "class P(Classify):\n    def identity(self): fail()\n"
        "@hooks\ndef register_tasks(): return [task(problem=P(('glad', 'sad')))]",
        RUN,
        ("Planning a fit of .* to bad/task with the method 'majority' failed",),
        (1,),
    ),
    "in decoding": (
        "class P(Classify):\n    def decode(self, outputs, table, settings): fail()\n"
        "@hooks\ndef register_tasks(): return [task(problem=P(('glad', 'sad')))]",
        RUN,
        ("traceback.txt",),
        (1,),
    ),
    "in a metric": (
        "def compute(gold, predicted): fail()\n@hooks\n"
        "def register_tasks(): return [task(metrics=(Metric('m', compute),))]",
        RUN,
        ("traceback.txt",),
        (1,),
    ),
    "in a method's check": (
        "class M(Bad):\n    def check(self, problem): fail()\n@hooks\ndef register_methods(): return [M()]\n"
        "@hooks\ndef register_tasks(): return [task(method='bad-method')]",
        RUN,
        ("Planning a fit of .* to bad/task with the method 'bad-method' failed",),
        (1,),
    ),
    "in fit": (
        "class M(Bad):\n    def fit(self, job): fail()\n@hooks\ndef register_methods(): return [M()]\n"
        "@hooks\ndef register_tasks(): return [task(method='bad-method')]",
        RUN,
        ("traceback.txt",),
        (1,),
    ),
    "in predict": (
        "class M(Bad):\n    def predict(self, job, table): fail()\n@hooks\ndef register_methods(): return [M()]\n"
        "@hooks\ndef register_tasks(): return [task(method='bad-method')]",
        RUN,
        ("traceback.txt",),
        (1,),
    ),
    "in an executor": (
        "class E(Executor):\n    name, about = 'bad-executor', 'bad'\n    def run(self, fits, runner): fail()\n"
        "@hooks\ndef register_executors(): return [E()]\n@hooks\ndef register_tasks(): return [task()]",
        (*RUN, "--executor", "bad-executor"),
        ("The executor 'bad-executor' failed",),
        (1,),
    ),
    "in an executor between fits": (
        "class E(Executor):\n    name, about = 'bad-executor', 'bad'\n    def run(self, fits, runner):\n"
        "        for fit in fits:\n            fail()\n            yield fit, runner.run(fit)\n"
        "@hooks\ndef register_executors(): return [E()]\n@hooks\ndef register_tasks(): return [task()]",
        (*RUN, "--executor", "bad-executor"),
        ("The executor 'bad-executor' failed",),
        (1,),
    ),
    "in on_fit_error": (
        "class M(Bad):\n    def fit(self, job): raise ValueError('of the fit')\n@hooks\n"
        "def register_methods(): return [M()]\n@hooks\ndef on_fit_error(fit): fail()\n"
        "@hooks\ndef register_tasks(): return [task(method='bad-method')]",
        RUN,
        ("The observer on_fit_error of plugin 'bad' failed", "ValueError: of the fit"),
        (1,),
    ),
    **{
        f"in {kind}": (f"@hooks\ndef {kind}():\n    fail()", LIST, NAMED, (0,))
        for kind in ("register_tasks", "register_methods", "register_leaderboards", "register_executors")
    },
    **{
        f"in {kind}": (f"@hooks\ndef {kind}():\n    fail()\n    yield", LIST, NAMED, (0,))
        for kind in ("register_backbones", "register_recipes")
    },
    **{
        f"in {kind}": (
            f"@hooks\ndef {kind}(): fail()\n@hooks\ndef register_tasks(): return [task()]",
            RUN,
            (f"The observer {kind} of plugin 'bad' failed",),
            (0,),
        )
        for kind in ("before_study", "before_fit", "after_fit", "after_predict", "after_study")
    },
}
"""Where a plugin fails: its module, the command that gets there, what must be said, and the exit codes."""


def _raised() -> Iterator[Case]:
    """Every kind of error in every place of a plugin."""
    for place, (source, words, said, codes) in PLACES.items():
        for error, statement in ERRORS.items():
            if place in ("in a command", "in an estimate") and "exit" in error:
                continue  # a command may end its process: see `_commands`
            yield Case(f"{error} {place}", BASE.format(error=statement) + source, words, said, codes)


def _wrong(name: str, code: str, said: str, words: tuple[str, ...] = LIST, codes: tuple[int, ...] = (0,)) -> Case:
    return Case(name, BASE.format(error="pass") + textwrap.dedent(code), words, (said,), codes)


def _tasks() -> Iterator[Case]:
    changes = {
        "problem None": ("problem=None", "bad/task: the problem is None, not a Problem"),
        "problem of a text": ("problem='classify'", "the problem is 'classify', not a Problem"),
        "problem as a class": ("problem=Classify", "not a Problem"),
        "metrics without a tuple": ("metrics=ACCURACY", r"metrics is a tuple, such as \(ACCURACY,\)"),
        "metrics None": ("metrics=None", "metrics is a tuple"),
        "metrics of functions": ("metrics=(len,)", "metrics is a tuple"),
        "no metrics": ("metrics=()", "needs at least one metric"),
        "splits as a list": ("splits=[rows('train')]", "splits is a mapping of names to Split"),
        "splits None": ("splits=None", "splits is a mapping of names to Split"),
        "splits of sources": ("splits={'train': 1}", "splits is a mapping of names to Split"),
        "sources without a tuple": (
            "splits={'train': Split('train', RowsFrom(len))}",
            "sources of a split are a tuple",
        ),
        "sources of paths": ("splits={'train': Split('train', ('a.tsv',))}", "sources of a split are a tuple"),
        "a role of its own": ("splits={'train': Split('training', ())}", "role is one of train, dev, test"),
        "rows of a text": ("splits={'train': Split('train', (), 'many')}", "official number or None"),
        "no train split": ("splits={'dev': rows('dev')}", "needs exactly one split of the role 'train'"),
        "recipe of a mapping": ("recipe={'lr': 1}", "the recipe is .*, not a Recipe"),
        "no text about": ("about=None", "the task 'bad/task' needs a text as its about, not None"),
        "about of bytes": ("about=b'x'", "needs a text as its about"),
        "about of 1 MB": ("about=3 * 'x' or ['x' * 10**6]", "bad/task"),
        "method None": ("method=None", "needs a text as its method"),
        "name None": ("name=None", "A task's name is 'suite/task'"),
        "name of bytes": ("name=b'bad/task'", "A task's name is 'suite/task'"),
        "name with escapes": ("name='bad/\\x1b[31m'", "without control characters"),
        "name of 1 MB": ("name='bad/' + 'x' * 10**6", "must be short"),
        "select_on of a text": ("select_on='dev'", "select_on is a tuple"),
    }
    for name, (change, said) in changes.items():
        yield _wrong(f"task with {name}", f"@hooks\ndef register_tasks(): return [task({change})]", said)
    values = {
        "None": "None",
        "one task": "task()",
        "a text": "'bad/task'",
        "texts": "['bad/task']",
        "a class": "[Task]",
        "the module": "[__import__('os')]",
        "a value whose repr fails": "[type('R', (), {'__repr__': lambda self: 1 / 0})()]",
        "a value whose repr is 1 MB": "[type('R', (), {'__repr__': lambda self: 'x' * 10**6})()]",
        "a value whose class fails": "[type('R', (), {'__class__': property(lambda self: 1 / 0)})()]",
        "the same task twice": "[task(), task()]",
    }
    for name, value in values.items():
        yield _wrong(f"register_tasks gives {name}", f"@hooks\ndef register_tasks(): return {value}", NAMED[0])
    yield _wrong("register_tasks is no function", "register_tasks = hooks(lambda a, b: [])", NAMED[0])
    yield _wrong("hooks without a mark", "def register_tasks(): return []", "is '@hookimpl' missing")
    yield _wrong("a hook of another name", "@hooks\ndef register_task(): return []", "unknown hook 'register_task'")


def _fields() -> Iterator[Case]:
    method = "class M(Bad):\n    {}\n@hooks\ndef register_methods(): return [M()]"
    for name, line in {
        "about None": "about = None",
        "about deleted": "about = property(lambda self: 1 / 0)",
        "name None": "name = None",
        "name of a number": "name = 3",
        "needs_backbone of a text": "needs_backbone = 'no'",
        "recipe_fields of a text": "recipe_fields = 'bilstm_width'",
        "recipe_defaults of a list": "recipe_defaults = ['lr']",
        "the name of one of the core's": "name = 'majority'",
    }.items():
        yield _wrong(f"method with {name}", method.format(line), NAMED[0])
    yield _wrong(
        "method without about",
        "class M(Method):\n    name = 'm'\n    def fit(self, job): ...\n"
        "    def predict(self, job, table): ...\n@hooks\ndef register_methods(): return [M()]",
        "the method 'm' needs a text as its about",
    )
    yield _wrong(
        "method without predict",
        "class M(Method):\n    name, about = 'm', 'm'\n    def fit(self, job): ...\n"
        "@hooks\ndef register_methods(): return [M()]",
        NAMED[0],
    )
    for name, value in {"about": "about = None", "a name": "name = None", "a sound name": "name = 'a\\x1bb'"}.items():
        yield _wrong(
            f"executor without {name}",
            "class E(Executor):\n    name, about = 'e', 'e'\n"
            f"    def run(self, fits, runner): ...\n    {value}\n@hooks\ndef register_executors(): return [E()]",
            NAMED[0],
        )
    backbone = (
        "class B(Backbone):\n    name, about = 'bad/b', 'b'\n    {}\n    def revision(self, workspace): return ''\n"
        "    def load(self, workspace, *, seed): ...\n@hooks\n"
        "def register_backbones(): return [OneBackbone(B(), lambda folder: None)]"
    )
    for name, line in {
        "about None": "about = None",
        "about that fails": "about = property(lambda self: 1 / 0)",
        "name None": "name = None",
    }.items():
        yield _wrong(f"backbone with {name}", backbone.format(line), NAMED[0])
    yield _wrong(
        "board without a url",
        "kind = Table(('id', 'mood'), Labels({'glad': '1', 'sad': '0'}))\n@hooks\n"
        "def register_leaderboards(): return [Leaderboard('b', 'B', None, 'b.zip', "
        "files=(BoardFile('m.tsv', 'mine/mood', 'test', rows=20, kind=kind),))]",
        NAMED[0],
    )
    yield _wrong(
        "recipe with unknown fields",
        "@hooks\ndef register_recipes(): return [NamedRecipe(name='r', about='r', source='r', values={'learning': 1})]",
        NAMED[0],
    )
    yield _wrong(
        "recipe without values",
        "@hooks\ndef register_recipes(): return [NamedRecipe(name='r', about='r', source='r', values=None)]",
        NAMED[0],
    )


def _commands() -> Iterator[Case]:
    add = "@hooks\ndef register_commands(cli):\n    {}\n"
    go = ("go",)
    yield _wrong(
        "command that ends with sys.exit(3)",
        add.format("cli.add_parser('go').set_defaults(run=lambda arguments: exit(3))"),
        "^",
        go,
        (3,),
    )
    yield _wrong(
        "command that ends with a text",
        add.format("cli.add_parser('go').set_defaults(run=lambda arguments: exit('oops \\x1b[31m'))"),
        "oops",
        go,
        (1,),
    )
    for name, value in {
        "a text": "'done'",
        "a float": "1.5",
        "a number above 255": "1000",
        "a negative number": "-1",
        "a list": "[0]",
        "an object": "object()",
    }.items():
        yield _wrong(
            f"command that returns {name}",
            add.format(f"cli.add_parser('go').set_defaults(run=lambda arguments: {value})"),
            "The command 'go' of the plugin 'bad' returned .*, where an exit code",
            go,
            (1,),
        )
    yield _wrong(
        "command that returns True",
        add.format("cli.add_parser('go').set_defaults(run=lambda arguments: True)"),
        "^",
        go,
        (1,),
    )
    yield _wrong(
        "estimate of a text",
        add.format("cli.add_parser('go').set_defaults(run=print, estimate=lambda arguments: 'an hour')"),
        "The estimate of The command 'go'|The estimate of the command 'go'",
        ("--estimate", "go"),
        (1,),
    )
    aside = "plugin bad is set aside: register_commands"
    for name, line in {
        "removes a core command": "del cli.choices['list']",
        "clears all commands": "cli.choices.clear(); cli.choices['list']",
        "replaces a core command": "cli.add_parser('list').set_defaults(run=print)",
        "has no run": "cli.add_parser('go')",
        "has a text as its run": "cli.add_parser('go').set_defaults(run='go')",
        "has a number as its name": "cli.add_parser(3).set_defaults(run=print)",
        "has an empty name": "cli.add_parser('').set_defaults(run=print)",
        "has a name with escapes": "cli.add_parser('\\x1b[31m').set_defaults(run=print)",
        "has a number as its help": "cli.add_parser('go', help=3).set_defaults(run=print)",
        "is no parser": "cli.choices['go'] = 3",
    }.items():
        yield _wrong(f"command that {name}", add.format(line), aside)
    for name, line in {
        "help with %": "cli.add_parser('go', help='100% of it').set_defaults(run=print)",
        "help with %s": "cli.add_parser('go', help='%s %(nope)s %d').set_defaults(run=print)",
        "help with escapes": "cli.add_parser('go', help='\\x1b[31mred').set_defaults(run=print)",
        "help of 1 MB": "cli.add_parser('go', help='x' * 10**6).set_defaults(run=print)",
    }.items():
        yield _wrong(f"command with {name}", add.format(line), "list +list tasks", ("--help",))
    yield _wrong(
        "option with % in its help",
        add.format("p = cli.add_parser('go'); p.set_defaults(run=print); p.add_argument('--all', help='100% of %s')"),
        "100% of",
        ("go", "--help"),
    )
    yield _wrong(
        "option whose type fails",
        add.format(
            "p = cli.add_parser('go'); p.set_defaults(run=print); p.add_argument('--all', type=lambda text: {}[text])"
        ),
        "plugin|option|--all|go",
        ("go", "--all", "1"),
        (1, 2),
    )
    yield _wrong(
        "command that prints for --json",
        add.format("cli.add_parser('go').set_defaults(run=lambda arguments: print('{}'))"),
        r"\{\}",
        go,
    )


def _returned() -> Iterator[Case]:
    task_of = "@hooks\ndef register_tasks(): return [task({})]\n"
    for name, value in {
        "None": "None",
        "a text": "'rows'",
        "a list": "[1, 2]",
        "a number": "3",
        "ragged columns": "{'a': ['x'], 'label': ['glad', 'sad']}",
        "no columns": "{}",
        "columns of numbers": "{'a': [1, 2], 'label': [3, 4]}",
        "a column less": "{'a': ['x']}",
        "columns of objects": "{'a': [object()], 'label': [object()]}",
        "mixed columns": "{'a': ['x', 1], 'label': ['glad', None]}",
        "names that are numbers": "{1: ['x'], 2: ['glad']}",
        "labels of its own": "{'a': ['x'], 'label': ['\\x1b[31mred']}",
        "a generator": "({} for _ in range(3))",
    }.items():
        yield _wrong(
            f"source that returns {name}",
            task_of.format(
                f"splits={{'train': Split('train', (RowsFrom(lambda workspace: {value}),)), 'dev': rows('dev')}}"
            ),
            "bad/task|bad_case",
            RUN,
            (1, 2),
        )
    yield _wrong(
        "source that returns no Rows",
        "class S(Source):\n    def where(self, workspace): return 'here'\n"
        "    def read(self, workspace): return [1]\n"
        + task_of.format("splits={'train': Split('train', (S(),)), 'dev': rows('dev')}"),
        r"The source S of bad/task, split 'train', returned \[1\], not Rows",
        RUN,
        (1,),
    )
    method = "class M(Bad):\n    {}\n@hooks\ndef register_methods(): return [M()]\n" + task_of.format(
        "method='bad-method'"
    )
    for name, line, said in (
        ("fit that returns None", "def fit(self, job): return None", "'bad-method' returned None, not an Outcome"),
        ("fit that returns a text", "def fit(self, job): return 'done'", "'bad-method' returned 'done'"),
        ("fit with an unknown status", "def fit(self, job): return Outcome(status='perfect')", "bad-method|perfect"),
        ("predict that returns None", "def predict(self, job, table): return None", "predicted None|bad-method"),
        ("predict that returns a text", "def predict(self, job, table): return 'abc'", "bad-method|bad/task|traceback"),
        (
            "predict with too few rows",
            "def predict(self, job, table):\n        import numpy\n        return numpy.ones((1, 2))",
            "1 outputs, where 3 were expected",
        ),
        (
            "predict of another shape",
            "def predict(self, job, table):\n        import numpy\n        return numpy.ones((3, 7))",
            "bad-method|bad/task|traceback",
        ),
        (
            "predict of objects",
            "def predict(self, job, table):\n        import numpy\n        return numpy.array([None] * 3)",
            "bad-method|bad/task|traceback",
        ),
    ):
        yield _wrong(name, method.format(line), said, RUN, (1,))
    problem = "class P(Classify):\n    {}\n" + task_of.format("problem=P(('glad', 'sad'))")
    for name, line, said in (
        ("decode that returns None", "def decode(self, outputs, table, settings): return None", "decoded None"),
        (
            "decode with an answer less",
            "def decode(self, outputs, table, settings): return ['glad']",
            "decoded 1 answers",
        ),
        ("decode with a generator", "def decode(self, outputs, table, settings): return (a for a in 'abc')", "decoded"),
        ("decode of objects", "def decode(self, outputs, table, settings): return [object()] * 3", "traceback|JSON"),
        ("identity of objects", "def identity(self): return {'a': object()}", "bad/task"),
        ("identity None", "def identity(self): return None", "bad/task|bad"),
        ("check that returns None", "def check(self, rows, *, labelled): return None", "bad/task"),
    ):
        yield _wrong(name, problem.format(line), said, RUN, (1, 2) if "identity None" not in name else (0, 1, 2))
    for name, value in {"a text": "'high'", "None": "None", "a list": "[1]"}.items():
        yield _wrong(
            f"metric that returns {name}",
            task_of.format(f"metrics=(Metric('m', lambda gold, predicted: {value}),)"),
            "traceback",
            RUN,
            (1,),
        )
    executor = (
        "class E(Executor):\n    name, about = 'e', 'e'\n    def run(self, fits, runner):\n        {}\n"
        "@hooks\ndef register_executors(): return [E()]\n" + task_of.format("")
    )
    for name, line in {
        "returns None": "return None",
        "returns a text": "return 'done'",
        "returns a number": "return 3",
        "yields None": "yield None",
        "yields a fit alone": "yield next(iter(fits))",
        "yields a record of nothing": "yield next(iter(fits)), None",
        "yields nothing": "yield from ()",
        "yields a foreign fit": "import dataclasses\n        for fit in fits:\n            record = runner.run(fit)\n"
        "            yield dataclasses.replace(fit, seed=99), record",
        "yields a foreign record": "import dataclasses\n        for fit in fits:\n"
        "            yield fit, dataclasses.replace(runner.run(fit), id='0' * 16)",
        "yields a fit twice": "for fit in 2 * list(fits):\n            yield fit, runner.run(fit)",
    }.items():
        yield _wrong(f"executor that {name}", executor.format(line), "executor 'e'", (*RUN, "--executor", "e"), (1,))
    family = (
        "class F(BackboneFamily):\n    def listed(self): return {}\n"
        "    def find(self, reference, workspace): return {}\n@hooks\ndef register_backbones(): return [F()]\n"
    )
    yield _wrong("family that lists None", family.format("None", "None"), NAMED[0])
    yield _wrong("family that lists texts", family.format("['a']", "None"), NAMED[0])
    yield _wrong(
        "family that finds a text",
        family.format("[]", "'a'") + task_of.format(""),
        "The plugin 'bad' failed on x/y",
        (*RUN, "--method", "finetune", "--backbone", "x/y"),
        (2,),
    )


def _printing() -> Iterator[Case]:
    for name, line in {
        "print": "print('noise')",
        "sys.stdout": "import sys; sys.stdout.write('noise')",
        "sys.__stdout__": "import sys; sys.__stdout__.write('noise')",
        "the descriptor": "import os; os.write(1, b'noise')",
        "a child process": "import os; os.system('echo noise')",
        "a logger": "import logging, sys; logging.basicConfig(stream=sys.stdout); logging.warning('noise')",
        "atexit": "import atexit; atexit.register(print, 'noise')",
    }.items():
        yield _wrong(f"prints by {name} at import", f"{line}\n@hooks\ndef register_tasks(): return [task()]", "noise")
        yield _wrong(
            f"prints by {name} in a hook", f"@hooks\ndef register_tasks():\n    {line}\n    return [task()]", "noise"
        )
        yield _wrong(
            f"prints by {name} in a source",
            f"def read(workspace):\n    {line}\n    return {{'a': ['x'], 'label': "
            "['glad']}\n@hooks\ndef register_tasks(): return [task(splits={'train': Split('train', "
            "(RowsFrom(read),))})]",
            "noise",
            ("data", "status", "bad/task", "--json"),
        )
    yield _wrong(
        "takes standard output away",
        "import sys; sys.stdout = None\n@hooks\ndef register_tasks(): return [task()]",
        "bad/task",
    )
    yield _wrong(
        "an observer that fails at each fit",
        "@hooks\ndef on_progress(fit, event): raise ValueError(event.done)\n"
        "@hooks\ndef register_tasks(): return [task()]",
        "bad/task",
        RUN,
    )


def _installed() -> Iterator[Case]:
    sound = BASE.format(error="pass") + "@hooks\ndef register_tasks(): return [task()]\n"
    editable = ("bad-1.0.dist-info/direct_url.json", '{"url": "file:///x", "dir_info": {"editable": true}}')
    for name, file in {
        "an editor's lock": ("bad_case/.#model.py", "LINK:me@host.1234"),
        "a link to nowhere": ("bad_case/model.py", "LINK:/nowhere/at/all"),
        "a link to itself": ("bad_case/loop.py", "LINK:loop.py"),
        "a folder named x.py": ("bad_case/x.py", "FOLDER"),
        "a file that is not text": ("bad_case/x.py", "\udcff\x00"),
        "a name that is not UTF-8": ("bad_case/\udcff.py", "x = 1"),
        "a pipe named x.py": ("bad_case/x.py", "PIPE"),
    }.items():
        yield Case(f"editable plugin with {name}", sound, LIST, ("bad/task",), files=(editable, file), package=True)
    for name, text in {
        "no JSON": "{",
        "a list": "[]",
        "null": "null",
        "a number": "3",
        "not UTF-8": "\udcff",
        "100,000 brackets": "[" * 100_000,
        "an odd dir_info": '{"dir_info": 3}',
        "empty": "",
    }.items():
        yield Case(
            f"direct_url.json is {name}",
            sound,
            LIST,
            ("bad/task",),
            files=(("bad-1.0.dist-info/direct_url.json", text),),
        )
    for name, text in {
        "no METADATA": None,
        "empty METADATA": "",
        "METADATA without a version": "Name: bad\n",
        "METADATA that is not UTF-8": "Name: bad\nVersion: 1\nSummary: \udcff\n",
    }.items():
        yield Case(
            f"distribution with {name}",
            sound,
            LIST,
            ("mine/mood",),
            files=(("bad-1.0.dist-info/METADATA", "REMOVED" if text is None else text),),
        )
    for name, text, said in (
        ("names no module", "[benchrunner]\nbad = no_such_module\n", NAMED[0]),
        ("names no attribute", "[benchrunner]\nbad = bad_case:nothing\n", NAMED[0]),
        ("names a number", "[benchrunner]\nbad = bad_case:number\n", NAMED[0]),
        ("has no value", "[benchrunner]\nbad\n", "bad"),
        ("has an empty value", "[benchrunner]\nbad =\n", "bad"),
        ("has no name", "[benchrunner]\n= bad_case\n", "mine/mood"),
        ("names a path", "[benchrunner]\nbad = /etc/passwd\n", "bad"),
        ("has the core's name", "[benchrunner]\ncore = bad_case\n", "core"),
        ("names the plugin twice", "[benchrunner]\nbad = bad_case\nbad = bad_case\n", "mine/mood"),
        ("has escapes", "[benchrunner]\n\x1b[31mbad = no_such_module\n", "set aside"),
        ("is not UTF-8", "[benchrunner]\nbad = bad_case\n\udcff = \udcff\n", "mine/mood"),
        ("has no group", "bad = bad_case\n", "mine/mood"),
    ):
        yield Case(
            f"entry point that {name}",
            sound + "number = 3\n",
            LIST,
            (said,),
            files=(("bad-1.0.dist-info/entry_points.txt", text),),
        )
    yield Case("syntax error", "def register_tasks(:\n", LIST, NAMED)
    yield Case("null bytes in the module", "x = 1\0\n", LIST, NAMED)
    yield Case("missing library", "import no_such_library\n", LIST, (r"No module named 'no_such_library'",))
    yield Case("empty module", "", LIST, ("is '@hookimpl' missing",))
    yield Case(
        "loop at import", "while True: pass\n", LIST, ("still loading the plugin 'bad'",), codes=(-signal.SIGALRM,)
    )
    yield Case(
        "sleep at import",
        "import time; time.sleep(60)\n",
        LIST,
        ("still loading the plugin 'bad'",),
        codes=(-signal.SIGALRM,),
    )
    yield _wrong(
        "loop in a hook",
        "@hooks\ndef register_tasks():\n    while True: pass",
        "still loading the plugin 'bad'",
        codes=(-signal.SIGALRM,),
    )
    yield _wrong(
        "loop in register_commands",
        "@hooks\ndef register_commands(cli):\n    while True: pass",
        "still loading the plugin 'bad'",
        codes=(-signal.SIGALRM,),
    )
    yield _wrong(
        "thread that dies",
        "import threading\nthreading.Thread(target=lambda: 1 / 0).start()\n@hooks\n"
        "def register_tasks(): return [task()]",
        "bad/task",
    )
    yield _wrong(
        "child that exits",
        "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n@hooks\ndef register_tasks(): return [task()]",
        "bad/task",
    )
    yield _wrong(
        "a task of another plugin",
        "@hooks\ndef register_tasks(): return [task(name='mine/mood')]",
        "'mine/mood' is offered by the plugins bad and own: say which, bad:mine/mood or own:mine/mood",
    )
    yield _wrong(
        "a contested task, asked for",
        "@hooks\ndef register_tasks(): return [task(name='mine/mood')]",
        "say which, bad:mine/mood or own:mine/mood",
        ("run", "mine/mood", *RUN[2:]),
        (2,),
    )
    yield _wrong(
        "a contested task, chosen",
        "@hooks\ndef register_tasks(): return [task(name='mine/mood')]",
        "run [0-9a-f]{16}",
        ("run", "bad:mine/mood", *RUN[2:]),
    )
    yield _wrong(
        "a module whose attributes fail",
        "def __getattr__(name): raise BaseException(name)\ndef __dir__(): raise KeyboardInterrupt('oops')",
        NAMED[0],
    )


def cases() -> list[Case]:
    """Return the whole table."""
    tables = (_raised, _tasks, _fields, _commands, _returned, _printing, _installed)
    return [case for table in tables for case in table()]


def few_cases() -> list[Case]:
    """Return a part of the table that has every place, every error, and some of each other kind."""
    errors, raised = list(ERRORS), {case.name: case for case in _raised()}
    names = [f"{errors[number % len(errors)]} {place}" for number, place in enumerate(PLACES)]
    tables = (_tasks, _fields, _commands, _returned, _printing, _installed)
    others = [case for table in tables for case in list(table())[::9] if case.codes != (-signal.SIGALRM,)]
    return [*(raised[name] for name in names if name in raised), *others]


def complaint(case: Case, folder: Path) -> str:
    """Run a case in a fork; return what is wrong with its end, or an empty text."""
    _install(case, folder / "site")
    out, err = folder / "out", folder / "err"
    child = os.fork()
    if child == 0:
        _run(case, folder, out, err)
    code = _wait(child)
    printed = out.read_text(errors="surrogateescape") if out.exists() else ""
    errors = err.read_text(errors="surrogateescape") if err.exists() else ""
    return "; ".join(_complaints(case, code, printed, errors))


def _complaints(case: Case, code: int | None, printed: str, errors: str) -> Iterator[str]:
    shown = f"{printed}\n{errors}"
    if code is None:
        yield "it hangs"
    elif code not in case.codes:
        yield f"exit {code}, not {case.codes}: {errors[-300:]!r}"
    if "Traceback (most recent" in shown and "thread" not in case.name:
        yield "a traceback"
    if len(shown) > FLOOD:
        yield f"a flood of {len(shown):,} characters"
    if hidden := set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\udc80-\udcff]", shown)):
        yield f"raw control characters {hidden}"
    for pattern in case.said:
        if not re.search(pattern, shown, re.M):
            yield f"nothing like {pattern!r} in {shown[-600:]!r}"
    if "--json" in case.words and code == 0:
        try:
            listed = json.loads(printed)
        except ValueError:
            yield f"no JSON: {printed[:200]!r}"
        else:
            if case.words == LIST and "mine/mood" not in printed:
                yield f"the sound plugin is lost: {listed}"


def _install(case: Case, site: Path) -> None:
    """Write the distribution of the bad plugin, and that of a sound one, into a folder."""
    files = {
        "bad_case/__init__.py" if case.package else "bad_case.py": case.source,
        "bad-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n",
        "bad-1.0.dist-info/entry_points.txt": "[benchrunner]\nbad = bad_case\n",
        "sound.py": "from inline import own\nplugin = own(register_backbones=[])\n",
        "sound-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: sound\nVersion: 1.0\n",
        "sound-1.0.dist-info/entry_points.txt": "[benchrunner]\nown = sound:plugin\n",
        **dict(case.files),
    }
    for name, text in files.items():
        path = Path(os.fsdecode(os.fsencode(site / name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("LINK:"):
            path.symlink_to(text.removeprefix("LINK:"))
        elif text == "FOLDER":
            path.mkdir()
        elif text == "PIPE":
            os.mkfifo(path)
        elif text != "REMOVED":
            path.write_text(text, encoding="utf-8", errors="surrogateescape")


def _run(case: Case, folder: Path, out: Path, err: Path) -> None:
    """Run the command of a case as a process would, in a fork of this one, and end the fork."""
    code = 70
    try:
        for descriptor, path in ((1, out), (2, err)):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, descriptor)
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if any(pattern.startswith("still loading") for pattern in case.said):
            signal.alarm(4)
        atexit._clear()
        os.chdir(folder)
        os.environ["BENCHRUNNER_CACHE"] = str(folder / "cache")
        sys.argv = ["benchrunner", *case.words]
        sys.path.insert(0, str(folder / "site"))
        code = _main(folder / "site")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 71
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.__stdout__, sys.__stderr__):
            stream.flush()
        os._exit(code)


def _main(site: Path) -> int:
    import importlib.metadata

    from benchrunner.commands.main import main

    everything = importlib.metadata.distributions
    importlib.metadata.distributions = lambda **wanted: everything(**{"path": [str(site)], **wanted})  # type: ignore[assignment]
    return main()


def _wait(child: int) -> int | None:
    """Return the exit code of a child, negative after a signal; None if it had to be killed."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def preload() -> None:
    """Import here what every fork would import."""
    import asyncio  # noqa: F401

    import pandas  # noqa: F401
    import torch  # noqa: F401

    import benchrunner.builtin
    import benchrunner.commands.main
    import benchrunner.leaderboards.published_choice
    import benchrunner.runs.runner
    import benchrunner.studies.study_options
    import benchrunner.studies.study_run  # noqa: F401
    import inline  # noqa: F401


def main(pattern: str = "") -> None:
    """Run the cases whose names match a pattern, and count those that end badly."""
    preload()
    table, bad = [case for case in cases() if re.search(pattern, case.name)], 0
    for case in table:
        with tempfile.TemporaryDirectory() as home:
            if text := complaint(case, Path(home)):
                bad += 1
                print(f"{case.name}: {text[:500]}", flush=True)
    print(f"{len(table)} cases, {bad} ended badly")


if __name__ == "__main__":
    main(*sys.argv[1:])
