"""Commands that are killed by SIGKILL just before their n-th change of a file system, and then repeated.

Run as a script, this module is the command line of the inline plugins. KILL_AT is the number of the change that the
process does not live to make. COUNT names a file that gets a line for each change, with the kind and the path.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import forked

CHANGES = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink"})
"""Audit events of Python that change a file system; `open` for writing is the other."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def count_changes(root: Path, kill_at: int, count: Path | None) -> None:
    """Count this process's changes below a folder, and kill the process before a certain one."""
    changes = 0

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal changes
        if event == "open":
            path, _, flags = arguments
            if not isinstance(flags, int) or not flags & WRITING:
                return
        elif event in CHANGES:
            path = arguments[0]
        else:
            return
        name = "" if isinstance(path, int) else os.fsdecode(path)
        if not name or (name.startswith("/") and not name.startswith(str(root))):
            return
        changes += 1
        if changes == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if count is not None:
            os.write(lines, f"{event} {name}\n".encode())

    lines = -1 if count is None else os.open(count, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.addaudithook(audit)


@dataclass(frozen=True)
class KillPoints:
    """One command whose folder is prepared by `prepare`, run whole once, and killed at chosen changes."""

    folder: Path
    words: Sequence[str]
    prepare: Callable[[Path], object]
    program: Sequence[str] = (__file__,)
    environment: Mapping[str, str] = field(default_factory=dict)
    contents: Callable[[Path], Mapping[str, Any]] = lambda folder: all_contents(folder)
    imports: Sequence[str] = ()
    refusal: str = ""
    """What the repeated command may say where the killed one had finished its work."""

    def whole(self) -> tuple[list[str], Mapping[str, Any]]:
        """Run the command to its end; return its changes of the file system, and what it leaves."""
        home = self._fresh("whole")
        code, err = self._run(home, COUNT=str(self.folder / "changes.txt"))
        assert code == 0, err
        return (self.folder / "changes.txt").read_text().splitlines(), self.contents(home)

    def faults(self, point: int, expected: Mapping[str, Any]) -> list[str]:
        """Kill the command before a change and repeat it; list what differs from what the whole command leaves."""
        home = self._fresh("killed")
        code, err = self._run(home, KILL_AT=str(point))
        if code != -signal.SIGKILL:
            return [f"{point}: not killed, but exit code {code}: {err}"]
        code, err = self._run(home)
        if code and not (self.refusal and self.refusal in err):
            return [f"{point}: exit code {code} of the repeated command: {err}"]
        left = self.contents(home)
        names = [f"{point}: {name} is missing" for name in expected.keys() - left.keys()]
        names += [f"{point}: {name} was left" for name in left.keys() - expected.keys()]
        return names + [
            f"{point}: {name} differs" for name in expected.keys() & left.keys() if left[name] != expected[name]
        ]

    def _fresh(self, name: str) -> Path:
        home = self.folder / name / "home"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        self.prepare(home)
        return home

    def _run(self, home: Path, **environment: str) -> tuple[int, str]:
        more = {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path.endswith(("support", "tests"))),
            "BENCHRUNNER_CACHE": str(home / "cache"),
            "BENCHRUNNER_RUNS": str(home / "runs"),
            "BENCHRUNNER_DATA": str(home / "data"),
            "ROOT": str(home),
            "OMP_NUM_THREADS": "1",
            **self.environment,
            **environment,
        }
        process = forked.Process(
            [*self.program, *self.words], cwd=home, env={**os.environ, **more}, imports=self.imports
        )
        _out, err = process.communicate()
        return process.wait(), err


VARYING = ("timings", "started", "ended", "path", "command", "checksum", "data", "work", "folder")
"""Keys of JSON files that differ from run to run."""


def all_contents(home: Path) -> dict[str, Any]:
    """Everything that a command leaves: file -> bytes, or JSON without times. Locks do not count.

    Folders have no content, and the files in the folder `made`, which name the time, none that is compared.
    """
    contents: dict[str, Any] = {}
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        if path.name.startswith((".lock", ".lease")):
            continue
        if path.is_dir() or name.startswith("made/"):
            contents[name] = None
        elif path.name == "log.jsonl":
            contents[name] = [json.loads(line).get("loss") for line in path.read_text().splitlines()]
        elif path.suffix == ".json":
            contents[name] = without_times(json.loads(path.read_text()))
        else:
            contents[name] = path.read_bytes()
    return contents


def without_times(value: Any) -> Any:
    """Return a JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: without_times(inner) for name, inner in value.items() if name not in VARYING}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def main() -> int:
    """Run the command line of the inline plugins, or with INSTALLED that of the installed ones."""
    from benchrunner.command_line.main import main
    from benchrunner.results import discover
    from inline import mood, pairs, plugins as inline_plugins

    plugins = discover() if "INSTALLED" in os.environ else inline_plugins(register_tasks=[mood(), pairs()])
    count = os.environ.get("COUNT")
    count_changes(Path(os.environ["ROOT"]), int(os.environ.get("KILL_AT", 0)), Path(count) if count else None)
    return main(plugins=plugins)


if __name__ == "__main__":
    sys.exit(main())
