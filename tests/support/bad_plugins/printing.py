"""Plugins that print, or take the streams away, and observers that fail at every step."""

from collections.abc import Iterator

from bad_plugins.case import RUN, Case, registered, wrong

PRINTED = {
    "print": "print('noise')",
    "the descriptor": "import os; os.write(1, b'noise')",
    "a child process": "import os; os.system('echo noise')",
    "atexit": "import atexit; atexit.register(print, 'noise')",
}
"""How a plugin prints."""


def cases() -> Iterator[Case]:
    """Give plugins that print at import, in a hook and in a source."""
    task = registered("[task()]")
    for name, line in PRINTED.items():
        yield wrong(f"prints by {name} at import", f"{line}\n{task}", "noise")
        hook = f"@hooks\ndef register_tasks():\n    {line}\n    return [task()]"
        yield wrong(f"prints by {name} in a hook", hook, "noise")
        read = f"def read(workspace):\n    {line}\n    return {{'a': ['x'], 'label': ['glad']}}\n"
        source = read + registered("[task(splits={'train': Split('train', (RowsFrom(read),))})]")
        yield wrong(f"prints by {name} in a source", source, "noise", ("data", "status", "bad/task", "--json"))
    yield wrong("takes standard output away", f"import sys; sys.stdout = None\n{task}", "bad/task")
    yield wrong(
        "an observer that fails at each fit",
        f"@hooks\ndef on_progress(fit, event): raise ValueError(event.done)\n{task}",
        "bad/task",
        RUN,
    )
