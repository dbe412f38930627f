"""Plugins whose modules cannot be imported, do odd things meanwhile, or offer what another plugin offers."""

import signal
from collections.abc import Iterator

from bad_plugins.case import LIST, RUN, SET_ASIDE, Case, registered, wrong

MODULES = {
    "syntax error": ("def register_tasks(:\n", SET_ASIDE),
    "null bytes in the module": ("x = 1\0\n", SET_ASIDE),
    "missing library": ("import no_such_library\n", r"No module named 'no_such_library'"),
    "empty module": ("", r'"about": "bad 1\.0\+source\.'),  # it may be there for its classes alone
}
"""What is wrong with a module -> its text, and what must be said."""

ENDLESS = {
    "loop at import": "while True: pass\n",
    "sleep at import": "import time; time.sleep(60)\n",
    "loop in a hook": "@hooks\ndef register_tasks():\n    while True: pass",
    "loop in register_commands": "@hooks\ndef register_commands(cli):\n    while True: pass",
}
"""Module that never ends; it is stopped by SIGALRM after it was named."""

MEANWHILE = {
    "thread that dies": "import threading\nthreading.Thread(target=lambda: 1 / 0).start()\n",
    "child that exits": "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\n",
}
"""What a sound plugin does as it is imported."""


def cases() -> Iterator[Case]:
    """Give modules that cannot be imported, and tasks that two plugins offer."""
    task = registered("[task()]")
    for name, (text, said) in MODULES.items():
        yield Case(name, text, LIST, (said,))
    for name, text in ENDLESS.items():
        yield wrong(name, text, "still loading the plugin 'bad'", codes=(-signal.SIGALRM,))
    for name, text in MEANWHILE.items():
        yield wrong(name, text + task, "bad/task")
    yield wrong(
        "a module whose attributes fail",
        "def __getattr__(name): raise BaseException(name)\ndef __dir__(): raise BaseException('oops')",
        SET_ASIDE,
    )
    again, offered = (
        registered("[task(name='mine/mood')]"),
        "'mine/mood' is offered by the plugins bad and own: choose",
    )
    yield wrong("a task of another plugin", again, offered, ("doctor",), (1,))
    yield wrong("a task of another plugin, asked for", again, offered, ("run", "mine/mood", *RUN[2:]), (2,))
