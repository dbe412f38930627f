"""Plugins whose tasks are wrong."""

from collections.abc import Iterator

from bad_plugins.case import SET_ASIDE, Case, registered, wrong

FIELDS = {
    "problem None": ("problem=None", "bad/task: the problem is None, not a Problem"),
    "metrics without a tuple": ("metrics=ACCURACY", r"metrics is a tuple, such as \(ACCURACY,\)"),
    "splits as a list": ("splits=[rows('train')]", "splits is a mapping of names to Split"),
    "sources without a tuple": ("splits={'train': Split('train', RowsFrom(len))}", "sources of a split are a tuple"),
    "a role of its own": ("splits={'train': Split('training', ())}", "role is one of train, dev, test"),
    "rows of a text": ("splits={'train': Split('train', (), 'many')}", "official number or None"),
    "no text about": ("about=None", "the task 'bad/task' needs a text as its about, not None"),
    "method None": ("method=None", "needs a text as its method"),
    "name None": ("name=None", "A task's name is 'suite/task'"),
    "name with escapes": ("name='bad/\\x1b[31m'", "without control characters"),
    "name of 1 MB": ("name='bad/' + 'x' * 10**6", "needs a short name"),
    "select_on of a text": ("select_on='dev'", "select_on is a tuple"),
    "clusters of a tuple": ("clusters=('a',)", "clusters is the name of a column"),
}
"""What is changed in a task -> the field, and what must be said."""

OFFERS = {
    "None": "None",
    "one task": "task()",
    "texts": "['bad/task']",
    "a value whose repr is 1 MB": "[type('R', (), {'__repr__': lambda self: 'x' * 10**6})()]",
    "a value whose class fails": "[type('R', (), {'__class__': property(lambda self: 1 / 0)})()]",
    "the same task twice": "[task(), task()]",
}
"""What `register_tasks` returns."""


def cases() -> Iterator[Case]:
    """Give tasks with wrong fields, and hooks that offer no tasks."""
    for name, (change, said) in FIELDS.items():
        yield wrong(f"task with {name}", registered(f"[task({change})]"), said)
    for name, value in OFFERS.items():
        yield wrong(f"register_tasks gives {name}", registered(value), SET_ASIDE)
    yield wrong("register_tasks is no function", "register_tasks = hooks(lambda a, b: [])", SET_ASIDE)
    yield wrong("hooks without a mark", "def register_tasks(): return []", "is '@hookimpl' missing")
    yield wrong("a hook of another name", "@hooks\ndef register_task(): return []", "no hook 'register_task'")
    wanted = "the hook after_fit has no argument 'record_': it takes fit, record"
    yield wrong("an argument of another name", "@hooks\ndef after_fit(fit, record_): pass", wanted)
