"""Runs the command of a case in a fork of this process, so that a plugin may end, crash or flood its process."""

import atexit
import json
import logging
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from bad_plugins.case import LIST, Case
from benchrunner.command_line.main import main
from benchrunner.plugins.entry_points import entry_points

SECONDS = 120.0
"""Time after which a case counts as hanging."""
STILL_LOADING = "still loading"
"""What the errors of a command say of a plugin that is slow to load."""
FLOOD = 20_000
"""Characters of output from which a case counts as a flood."""


def complaint(case: Case, folder: Path) -> str:
    """Run a case in a fork; return what is wrong with its end, or an empty text."""
    _install(case, folder / "site")
    out, err = folder / "out", folder / "err"
    child = os.fork()
    if child == 0:
        _run(case, folder, out, err)
    code = _wait(child, err if _is_endless(case) else None)
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
        if _is_endless(case):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # pytest-timeout has set a handler of its own
        atexit._clear()
        logging.getLogger().handlers.clear()  # pytest's
        os.chdir(folder)
        os.environ["BENCHRUNNER_CACHE"] = str(folder / "cache")
        sys.argv = ["benchrunner", *case.words]
        left_out = [point.name for point in entry_points() if (point.name, case.words[0]) != ("tasks", "data")]
        os.environ["BENCHRUNNER_PLUGINS"] = ",".join(f"no:{name}" for name in left_out)
        sys.path.insert(0, str(folder / "site"))
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 71
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.__stdout__, sys.__stderr__):
            stream.flush()
        os._exit(code)


def _is_endless(case: Case) -> bool:
    """Return whether the command of a case never ends by itself: it names the plugin that it waits for."""
    return any(pattern.startswith(STILL_LOADING) for pattern in case.said)


def _wait(child: int, err: Path | None) -> int | None:
    """Return the exit code of a child, negative after a signal; None if it had to be killed.

    `err` are the errors of a child that is ended by SIGALRM once they name a plugin that is still loading: on a busy
    machine it takes long to say so.
    """
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if err is not None and err.exists() and STILL_LOADING in err.read_text(errors="surrogateescape"):
            os.kill(child, signal.SIGALRM)
            err = None
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
    import benchrunner.command_line.main
    import benchrunner.leaderboards.published_choice
    import benchrunner.runs.runner
    import benchrunner.studies.study_options
    import benchrunner.studies.study_run  # noqa: F401
    import inline  # noqa: F401
