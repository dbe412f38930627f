"""Change the wiring of the core in one place at a time, and count the changes that no test notices.

    pip install coverage
    python benchmarks/mutation.py --folder /tmp/mutation --draw 300

The tests run on a copy of the checkout below the folder. At the first start the lines that each test executes are
noted; then each mutant meets the tests that execute its line, the fastest first. A second start goes on: `--again`
meets survivors again, with the tests as they are now. Linux only: the processes of a mutant's tests are ended with it.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import ctypes
import functools
import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutants import Mutant, drawn

ROOT = Path(__file__).resolve().parent.parent
WIRING = (
    "studies/selection.py",
    "studies/study_run.py",
    "studies/planning.py",
    "studies/predictions.py",
    "studies/other_figures.py",
    "studies/kept/*.py",
    "runs/**/*.py",
    "training/*.py",
    "plugins/*.py",
    "io/*.py",
    "fits/*.py",
    "workspace.py",
)
TESTS = ("tests/**/test_*.py",)
NOT_MET = ("meta", "fuzz", "support")
"""Folders below tests/ whose tests do not meet mutants."""
LIBRARIES = (
    *("torch", "torch._dynamo", "tokenizers", "safetensors.torch", "pyarrow.parquet", "pandas", "scipy.stats"),
    *("sklearn.metrics", "rich.table", "datasets", "transformers", "jsonschema", "coverage", "pytest"),
)
"""Imported once: the tests of every mutant run in a fork."""
PYTEST = ("-q", "-p", "no:cacheprovider", "-W", "ignore:Module already imported")
START_SECONDS = 20
"""Seconds of the imports of the first process that a test starts, which only the first test of a file has noted."""
SLOWER, GRACE_SECONDS = 5, 120
"""A mutant whose tests take this many times their usual seconds, and these seconds more, is killed by the time."""
OWN_FAULT = 70
FAULTS = (3, 5, OWN_FAULT)
"""Exit codes of a fork in which pytest could not run the tests."""
USAGE_ERROR = 4
"""Exit code of pytest if files cannot be imported, as after many mutations."""
RECORD_SECONDS = 1800
"""Longest time of a file of tests while its lines are noted."""
SURVIVORS = Path(__file__).with_name("mutation_survivors.txt")
"""Changes that no test needs to notice, each with the reason in the line below."""
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): orphans become children of this process."""


@dataclass
class Test:
    """A test that passes on the unchanged core."""

    id: str
    seconds: float = 0
    passed: bool = False
    set_up: float = 0
    """Seconds of the first test of its file, in which the file's shared fixtures are set up."""
    starts_processes: bool = False
    """Whether it starts other processes of Python, which import the libraries again."""
    lines: dict[str, set[int]] = field(default_factory=dict)

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]

    def executes(self, mutant: Mutant, bodies: dict[str, set[int]]) -> bool:
        """Return whether the test executes the changed statement.

        A statement that runs at import is one of every test that executes any function of the file.
        """
        first, last = mutant.lines
        wanted = range(first, last + 1) if mutant.function else bodies[mutant.file]
        return not self.lines.get(mutant.file, set()).isdisjoint(wanted)


def found(root: Path, globs: Sequence[str]) -> list[Path]:
    """List the files that one of the globs finds, each once."""
    files = set[Path]()
    for glob in globs:
        files.update(root.glob(glob))
    return sorted(files)


class Folder:
    """The folder with the copy of the checkout, the notes about tests and the results."""

    def __init__(self, path: Path) -> None:
        self.tree = path / "tree"
        self.notes = path / "notes.jsonl"
        self.results = path / "results.jsonl"
        self.log = path / "output.txt"
        self.start = path / "start"
        path.mkdir(parents=True, exist_ok=True)

    def copy_checkout(self) -> None:
        """Copy every file that git knows or would add."""
        shutil.rmtree(self.tree, ignore_errors=True)
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
            if name and (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)

    def enter(self) -> None:
        """Let this process and its children import the copy, and note lines in new processes."""
        places = [self.tree, *(self.tree / "plugins").iterdir(), self.tree / "leaderboards"]
        sys.path[:0] = [str(place) for place in places]
        os.environ["PYTHONPATH"] = os.pathsep.join([str(self.start), *sys.path[: len(places)]])
        os.environ["MUTATION_PACKAGE"], os.environ["MUTATION_NOTES"] = str(self.tree / "benchrunner"), str(self.notes)
        os.chdir(self.tree)

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Let every new Python process note the lines that it executes."""
        self.start.mkdir(exist_ok=True)
        here = Path(__file__).parent
        code = f"import sys; sys.path.append({str(here)!r}); import executed_lines; executed_lines.note_at_exit()\n"
        (self.start / "sitecustomize.py").write_text(code)
        try:
            yield
        finally:
            shutil.rmtree(self.start)

    def record(self, globs: Sequence[str]) -> None:
        """Run the files of tests that were not run yet, or were changed since, and note the lines of each test."""
        known = {note["done"]: note["hash"] for note in _json_lines(self.notes) if "done" in note}
        for file in found(self.tree, globs):
            name, digest = str(file.relative_to(self.tree)), hashlib.sha256(file.read_bytes()).hexdigest()
            if known.get(name) == digest or file.parts[len(self.tree.parts) + 1] in NOT_MET:
                continue
            _append(self.notes, {"file": name})
            started = time.monotonic()
            with self.noting():
                code = forked(functools.partial(_recorded, name), self.log, RECORD_SECONDS)
            if code in (USAGE_ERROR, *FAULTS):
                raise SystemExit(self.log.read_text())
            _append(self.notes, {"done": name, "hash": digest})
            print(f"{name}: {time.monotonic() - started:.0f} s, exit code {code}", flush=True)

    def tests(self) -> list[Test]:
        """Return the tests that pass, the fastest first, and after them those that start processes."""
        tests: dict[str, Test] = {}
        for note in _json_lines(self.notes):
            if "file" in note:
                for old in [test for test in tests.values() if test.file == note["file"]]:
                    del tests[old.id]
            if "test" not in note:
                continue
            test = tests.setdefault(note["test"], Test(note["test"]))
            test.seconds = note.get("seconds", test.seconds)
            test.starts_processes |= "seconds" not in note
            test.passed |= note.get("passed", False)
            for file, lines in note["lines"].items():
                test.lines.setdefault(file, set()).update(lines)
        first: dict[str, float] = {}
        for test in tests.values():
            test.set_up = first.setdefault(test.file, test.seconds)
        passing = [test for test in tests.values() if test.passed]
        return sorted(passing, key=lambda test: (test.starts_processes, test.set_up + test.seconds))


def _recorded(file: str) -> int:
    import executed_lines
    import pytest

    return pytest.main([*PYTEST, file], plugins=[executed_lines.Recorder()])


def _tested(tests: Sequence[Test]) -> int:
    import pytest

    return pytest.main([*PYTEST, "-x", *(test.id for test in tests)])


def forked(work: Callable[[], int], log: Path, seconds: float) -> int | None:
    """Do some work in a fork with its output in a file; return its exit code, or None if it takes too long."""
    log.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        output = os.open(log, os.O_WRONLY | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(output, stream)
        code = OWN_FAULT
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None
    finally:
        _end_children()


def _end_children() -> None:
    """End all children of this process, and theirs: the children of a process that ends become ours."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in map(int, pids):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def met(mutant: Mutant, tests: Sequence[Test], folder: Folder, budget: float) -> dict[str, Any]:
    """Run the tests that execute a mutant, up to a number of seconds; return what is known about it then."""
    bodies = {mutant.file: _lines_in_functions(folder.tree / mutant.file)}
    chosen = [test for test in tests if test.executes(mutant, bodies)]
    if not chosen:  # processes that are killed note nothing
        chosen = [test for test in tests if test.file.endswith(f"/test_{Path(mutant.file).name}")]
    files = {test.file for test in chosen}
    beside = [test for test in tests if test not in chosen and test.file in files]
    seconds, run = 0.0, list[Test]()
    for test in [*chosen, *beside]:  # a test may see what another test of its file computed for both
        if test.starts_processes and not any(earlier.starts_processes for earlier in run):
            seconds += START_SECONDS
        begun = {earlier.file for earlier in run}
        seconds += test.seconds + (0 if test.file in begun else test.set_up)
        if seconds < budget:
            run.append(test)
    result = {"id": mutant.id, "tests": len(run), "executing": len(chosen)}
    if not run:
        return {**result, "verdict": "undecided" if chosen else "survived", "by": "" if chosen else "no test"}
    file, started = folder.tree / mutant.file, time.monotonic()
    original = file.read_bytes()
    compiled = Path(importlib.util.cache_from_source(str(file)))
    try:
        compiled.unlink(missing_ok=True)
        file.write_bytes(mutant.source(folder.tree))
        code = forked(lambda: _tested(run), folder.log, SLOWER * budget + GRACE_SECONDS)
    finally:
        file.write_bytes(original)
        compiled.unlink(missing_ok=True)
    result["seconds"] = round(time.monotonic() - started, 1)
    output = folder.log.read_text(errors="replace")
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR", "E  "))]
    if code == 0:
        verdict, by = "survived" if len(run) >= len(chosen) else "undecided", ""
    elif code is None:
        verdict, by = "killed", "time"
    elif "no match in any of" in output or code in FAULTS:
        verdict, by = "undecided", output[-300:]
    else:
        verdict, by = "killed", lines[-1] if lines else output[-200:]
    return {**result, "verdict": verdict, "by": by[:300]}


def _lines_in_functions(file: Path) -> set[int]:
    lines = set[int]()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return lines


def _json_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _append(file: Path, value: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(value) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the copy, the notes and the results")
    parser.add_argument("--change", nargs="+", default=WIRING, metavar="GLOB", help="files of the core to change")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="GLOB", help="files of tests to run")
    parser.add_argument("--draw", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=60, help="usual seconds of the tests that a mutant meets")
    parser.add_argument("--again", action="store_true", help="meet again what was not killed")
    parser.add_argument("--list", action="store_true", help="print the results so far, and run nothing")
    options = parser.parse_args()
    folder = Folder(options.folder.resolve())
    files = [str(file.relative_to(ROOT)) for file in found(ROOT / "benchrunner", options.change)]
    mutants = drawn(ROOT, files, options.draw, options.seed)
    known = {result["id"]: result for result in _json_lines(folder.results)}
    if not options.list:
        folder.copy_checkout()
        folder.enter()
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        for name in LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        folder.record(options.tests)
        tests = folder.tests()
        for mutant in mutants:
            before = known.get(mutant.id)
            if before is None or (options.again and before["verdict"] != "killed"):
                known[mutant.id] = met(mutant, tests, folder, options.budget)
                _append(folder.results, known[mutant.id])
                print(json.dumps(known[mutant.id]), flush=True)
    show(mutants, known)


def show(mutants: Sequence[Mutant], known: dict[str, dict[str, Any]]) -> None:
    """Print every mutant that was not killed, with the reason if it is known, and the numbers of all verdicts."""
    lines = SURVIVORS.read_text(encoding="utf-8").splitlines() if SURVIVORS.exists() else []
    reasons = dict(zip(lines[::2], lines[1::2], strict=True))
    verdicts = collections.Counter[str]()
    for mutant in mutants:
        if mutant.id in known:
            verdict = known[mutant.id]["verdict"]
            verdicts[verdict] += 1
            if verdict != "killed":
                print(f"{verdict}: {mutant.id}\n{reasons.get(mutant.change, '    no reason is known')}")
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()), f"of {len(mutants)} drawn")


if __name__ == "__main__":
    main()
