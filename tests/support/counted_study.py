"""A comparison whose starts of fits are counted: `compare` of tiny backbones in a process that tests kill or starve.

The process runs `SCRIPT`: a command line of the inline task and board, with a plugin that writes a line to `starts.txt`
at the first step of each fit. STEP stretches each training step by seconds; DELETE names a file that is deleted in the
second fit.
"""

import contextlib
import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
import inline
from benchrunner import Workspace
from benchrunner_kit.testing import TinyBackbone

SCRIPT = """
import os, pathlib, sys, time
import benchrunner.runs.planner
from benchrunner.results import discover
from benchrunner.command_line.main import main
from inline import own, plugin

starts = pathlib.Path("starts.txt")

def starting(fit):
    path = pathlib.Path(os.environ["RUNS"], fit.id, "record.json")
    is_finished = path.exists() and '"status": "done"' in path.read_text()
    with starts.open("a") as lines:
        print(fit.id, "again" if is_finished else "new", file=lines)
    if os.environ.get("DELETE") and len(starts.read_text().splitlines()) == 2:
        os.unlink(os.environ["DELETE"])

def on_progress(fit, event):
    if event.kind == "step":
        if event.done == 1:
            starting(fit)
        time.sleep(float(os.environ.get("STEP", "0")))

if os.environ.get("DELETE"):
    benchrunner.runs.planner.Planner.most_splits = 1  # as in a study of more splits than are kept in memory
counting = plugin(on_progress=on_progress)
sys.exit(main(plugins=discover(extra=[("own", own()), ("counting", counting)], installed=False)))
"""


class CountedStudy:
    """Runs one comparison again and again in one folder."""

    def __init__(self, folder: Path, *, lr: str = "1e-2", restarts: int = 2) -> None:
        self.folder, self.runs = folder, folder / "runs"
        self.recipe = ("--lr", lr, "--restarts", str(restarts))
        inline.files(1, folder / "data")
        (folder / "compare.py").write_text(SCRIPT)
        for seed in range(3):
            model = folder / f"model{seed}"
            model.mkdir()
            encoder = TinyBackbone().load(Workspace(folder, folder), seed=0)
            for weight in encoder.parameters():
                weight.data.mul_(1 + 0.25 * seed)  # other weights, and so another backbone
            encoder.save(model)

    def start(self, *backbones: str, session: bool = False, **environment: str) -> forked.Process:
        """Start the comparison."""
        words = ["compare.py", "compare", *(backbones or ("model0", "model1")), "--tasks", "mood", *self.recipe]
        places = ["--data", "data", "--runs", str(self.runs), "--device", "cpu", "--checkpoint-every", "0"]
        more = {
            "PYTHONPATH": str(Path(inline.__file__).parent),
            "BENCHRUNNER_CACHE": str(self.folder / "cache"),
            "OMP_NUM_THREADS": "1",
            "RUNS": str(self.runs),
            **environment,
        }
        environ = {**os.environ, **more}
        words += [*places, "--quiet", "--json", "--name", "study"]
        return forked.Process(words, env=environ, cwd=self.folder, start_new_session=session)

    def run(self, *backbones: str, **environment: str) -> tuple[int, str, str]:
        """Run the comparison to its end; return exit code, standard output and standard error."""
        process = self.start(*backbones, **environment)
        out, err = process.communicate()
        return process.wait(), out, err

    def kill(self, process: forked.Process) -> None:
        """Kill every process of the command with SIGKILL."""
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def starts(self) -> list[tuple[str, str]]:
        """The id of each fit that was started, in order, and whether it was `new` or finished before (`again`)."""
        path = self.folder / "starts.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(line.split()[0], line.split()[1]) for line in lines]

    def begun(self) -> Counter[str]:
        """Fit -> how often it was started."""
        return Counter(fit for fit, _ in self.starts())

    def finished(self) -> set[str]:
        """Ids of the fits that are done."""
        records = {path.parent.name: path.read_text() for path in self.runs.glob("*/record.json")}
        return {fit for fit, text in records.items() if json.loads(text)["status"] == "done"}


def contents(runs: Path) -> dict[str, Any]:
    """Everything in a runs folder that must be equal bit for bit: file -> bytes, or JSON without times and paths."""
    files: dict[str, Any] = {}
    for path in sorted(runs.rglob("*")):
        name = path.relative_to(runs).as_posix()
        if path.name in ("record.json", "study.json"):
            files[name] = _without_times(json.loads(path.read_text()))
        elif path.name == "log.jsonl":
            files[name] = [json.loads(line)["loss"] for line in path.read_text().splitlines()]
        elif path.is_file() and path.name != ".lock":
            files[name] = path.read_bytes()
    return files


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_times(inner)
            for name, inner in value.items()
            if name not in ("timings", "started", "ended", "path", "command", "checksum", "data")
        }
    return [_without_times(inner) for inner in value] if isinstance(value, list) else value


class SmallDisk:
    """A file system of a given size on the memory, mounted at a folder. Only root may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def mount(self, kilobytes: int) -> bool:
        """Mount the file system; return whether that is possible here."""
        return self._mounted("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs")

    def resize(self, options: str) -> None:
        """Change the options of the mounted file system, for example `size=5m` or `ro`."""
        assert self._mounted("-o", f"remount,{options}")

    def _mounted(self, *words: str) -> bool:
        try:
            return subprocess.run(["mount", *words, str(self.folder)], capture_output=True).returncode == 0
        except OSError:
            return False

    def unmount(self) -> None:
        """Remove the file system and what is on it."""
        subprocess.run(["umount", str(self.folder)], capture_output=True)


def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Yield a disk that is unmounted afterwards."""
    disk = SmallDisk(folder)
    yield disk
    disk.unmount()
