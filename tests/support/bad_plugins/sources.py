"""Plugins whose sources return no rows that can be used."""

from collections.abc import Iterator

from bad_plugins.case import RUN, Case, registered, wrong

RETURNED = {
    "None": "None",
    "ragged columns": "{'a': ['x'], 'label': ['glad', 'sad']}",
    "a column less": "{'a': ['x']}",
    "columns of objects": "{'a': [object()], 'label': [object()]}",
    "names that are numbers": "{1: ['x'], 2: ['glad']}",
    "a generator": "({} for _ in range(3))",
}
"""What the function of a `RowsFrom` returns."""


def cases() -> Iterator[Case]:
    """Give functions and sources that return something else than rows."""
    for name, value in RETURNED.items():
        train = f"Split('train', (RowsFrom(lambda workspace: {value}),))"
        task = f"[task(splits={{'train': {train}, 'dev': rows('dev')}})]"
        yield wrong(f"source that returns {name}", registered(task), "bad/task|bad_case", RUN, (1, 2))
    yield wrong(
        "source that returns no Rows",
        "class S(Source):\n    def where(self, workspace): return 'here'\n"
        "    def read(self, workspace): return [1]\n"
        + registered("[task(splits={'train': Split('train', (S(),)), 'dev': rows('dev')})]"),
        r"The source S of bad/task, split 'train', returned \[1\], not Rows",
        RUN,
        (1,),
    )
