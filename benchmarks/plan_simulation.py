"""What it takes to hand out very many fits: `python benchmarks/plan_simulation.py EXECUTOR FOLDER --fits N`.

Fits are stand-ins of 10 ms (`stand_in_plugin.py`). `here` and `local` run them on this machine, `ray` on a Ray that is
started here. `ray-stand-in` is a module in place of Ray, whose tasks end by the clock on `SLOTS` cores. `slurm` has
stand-ins for its commands: `sbatch` notes each array, and a second process of this script writes the records of its
jobs. So the stand-ins do not measure what workers take, but what hands the fits out: processor time and memory of the
command, and the files that it leaves.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stand_in_plugin import install, write_rows

SLOTS = 64
"""Cores of the stand-in for Ray."""
SEATS = 5
"""Restarts of a grid point; the others of a plan have other learning rates."""
EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.listdir", "os.scandir", "os.utime")
SBATCH = """#!/bin/bash
copy=$(mktemp "{home}/XXXXXX.sh")
cp "$1" "$copy"  # the submitter moves its file
echo "$copy" >> "{home}/submitted.txt"
echo "Submitted batch job $(wc -l < "{home}/submitted.txt")"
"""


def stand_in_commands(home: Path) -> None:
    """Write commands of SLURM, and put them on the path."""
    folder = home / "bin"
    folder.mkdir(exist_ok=True)
    texts = {"sbatch": SBATCH.format(home=home), "srun": "", "scancel": "", "sacct": "echo 'JobID|State|NodeList'"}
    for name, text in texts.items():
        (folder / name).write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    (home / "submitted.txt").touch()


def serve(home: Path) -> None:
    """Be SLURM: give jobs their records in the order of submission, and note how many may run and wait at once."""
    from benchrunner.results import FitAnswer, Record, RunFolder
    from benchrunner_clusters import RemoteAnswer

    served, largest = 0, {"queued": 0, "allowed": 0}
    jobs: list[tuple[Path, str]] = []
    allowed: dict[str, int] = {}
    while not (home / "stop").exists():
        arrays = (home / "submitted.txt").read_text().splitlines()
        for number, script in enumerate(arrays[served:], served + 1):
            text = Path(script).read_text()
            array = re.search(r"--array=0-(\d+)%(\d+)", text)
            names = [f"{number}_{index}" for index in range(int(array[1]) + 1)] if array else [str(number)]
            allowed[str(number)] = min(len(names), int(array[2])) if array else 1
            jobs += [(home / "runs" / ".slurm" / name, name) for name in names]
        served = len(arrays)
        largest["queued"] = max(largest["queued"], len(jobs))
        waiting = {name.partition("_")[0] for _, name in jobs}
        largest["allowed"] = max(largest["allowed"], sum(allowed[array] for array in waiting))
        (home / "largest.json").write_text(json.dumps(largest))
        for folder, name in jobs[:64]:
            path = folder / f"{name}_submitted.pkl"
            while not path.exists():
                time.sleep(0.001)
            order = pickle.loads(path.read_bytes()).args[0]
            fit = order.order.fit
            record = Record(fit.id, "done", timings={"seconds": 0.01})
            RunFolder(order.order.workspace.runs, fit.id).keep_record(record)
            content = pickle.dumps(("success", RemoteAnswer(FitAnswer(record))))
            part = folder / "part"
            part.write_bytes(content)
            part.rename(folder / f"{name}_0_result.pkl")
        del jobs[:64]
        time.sleep(0.01)


class StandInRay:
    """Stands for the module `ray`: a task has its answer when its 10 ms on one of the cores are over."""

    exceptions = SimpleNamespace(RayError=OSError, RayTaskError=OSError, RaySystemError=OSError)

    def __init__(self) -> None:
        self.calls = Counter[str]()
        self._sent = 0
        self._began = time.monotonic()

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[object]:
        self.calls["nodes"] += 1
        return [{"Alive": True, "Resources": {"CPU": SLOTS}}]

    def get_runtime_context(self) -> object:
        return SimpleNamespace(get_node_id=lambda: "here")

    def remote(self, what: object) -> object:
        """Return what makes an actor of a class, and a task of a function."""
        make = self._actor if isinstance(what, type) else self._task
        return SimpleNamespace(options=lambda **options: SimpleNamespace(remote=make))

    def _actor(self) -> object:
        return SimpleNamespace(take=SimpleNamespace(remote=lambda: None))

    def _task(self, order: Any, progress: object) -> tuple[int, bytes]:
        self._sent += 1
        return self._sent, pickle.dumps(order)

    def wait(self, tasks: list[tuple[int, bytes]], *, num_returns: int = 1, timeout: float) -> tuple[Any, Any]:
        """Return the tasks that have ended, in the order in which they were sent, as soon as they are enough."""
        self.calls["wait"] += 1
        self.calls["references waited for"] += len(tasks)
        end = time.monotonic() + timeout
        while True:
            ended = int((time.monotonic() - self._began) / 0.01 * SLOTS)
            ready = [task for task in tasks[:num_returns] if task[0] <= ended]
            if len(ready) == num_returns or time.monotonic() >= end:
                return ready, []
            time.sleep(0.005)

    def get(self, task: tuple[int, bytes] | None, timeout: float = 0) -> Any:
        """Return the answer of a task, or what the actor gives."""
        from benchrunner.results import FitAnswer, Record
        from benchrunner_clusters import RemoteAnswer

        self.calls["get"] += 1
        if task is None:
            return {}
        return RemoteAnswer(FitAnswer(Record(pickle.loads(task[1]).order.fit.id, "done")))

    def install(self) -> None:
        """Stand where `import ray` finds it."""
        strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda *arguments, **options: None)
        names = {"ray": self, "ray.util": SimpleNamespace(), "ray.util.scheduling_strategies": strategies}
        sys.modules.update(names)  # type: ignore[arg-type]


def executor_of(name: str) -> object:
    """Return the executor of a name with settings for this machine."""
    if name.startswith("ray"):
        from benchrunner_ray.executor import RayExecutor

        return RayExecutor()
    if name == "slurm":
        from benchrunner_slurm.executor import SlurmExecutor

        return SlurmExecutor().configured({"cpus": "1", "poll-seconds": "0.1", "gpus": "0"})
    from benchrunner.results import Local

    return Local(1 if name == "here" else 2)


def left_files(runs: Path) -> tuple[int, int, int]:
    """Count files and folders below the runs folder, their bytes, and the entries of the runs folder itself."""
    paths = list(runs.rglob("*"))
    size = sum(path.stat().st_size for path in paths if path.is_file())
    return len(paths), size, sum(path.parent == runs for path in paths)


def counted(runs: Path) -> Counter[str]:
    """Return what counts how often this process opens, renames, makes and removes something in the runs folder."""
    counts = Counter[str]()

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and str(arguments[0]).startswith(str(runs)):
            counts[event] += 1

    sys.addaudithook(count)
    return counts


def used() -> tuple[float, float, float]:
    """Return the processor seconds of this process and of its ended children, and the megabytes of this one at most."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime, own.ru_maxrss / 1024


def run(name: str, home: Path, count: int) -> None:
    """Plan so many fits and run them; print what it took."""
    from benchrunner import Recipe, Workspace
    from benchrunner.results import Computing, Runner, discover, predict

    runner = Runner(discover(), Workspace(home / "runs", home / "cache", data=home / "data"), Computing("cpu"))
    task, plan = runner.plugins.tasks.find("growth/00"), runner.planner.plan
    plan(task, "growth/system-0")
    import torch

    torch.set_num_threads(1)
    start = used()
    fits = []
    for number in range(count):
        recipe = Recipe(lr=1e-6 * (1 + number // SEATS))
        fits.append(plan(task, "growth/system-0", recipe=recipe, seed=number % SEATS))
    planned = used()
    ray = StandInRay()
    if name == "ray-stand-in":
        ray.install()
    clock = time.monotonic()
    counts = counted(home / "runs")
    done = 0
    for fit, record in executor_of(name).run(fits, runner.fit_runner):  # type: ignore[attr-defined]
        done += record.status == "done"
        if name == "here":
            predict(fit, "dev", runner)  # as workers do
    seconds = time.monotonic() - clock
    ended = used()
    files, size, entries = left_files(home / "runs")
    own, children = (1e3 * (ended[index] - planned[index]) / count for index in range(2))
    print(f"{name}, {done:,} of {count:,} fits done, milliseconds of the processor a fit:")
    print(f"  {1e3 * (planned[0] - start[0]) / count:.2f} planning, {own:.2f} the command, {children:.2f} its children")
    print(f"  {1e3 * seconds / count:.2f} ms on the clock a fit")
    print(f"  memory {start[2]:.0f} MB, {planned[2]:.0f} MB when planned, {ended[2]:.0f} MB at most")
    print(f"  {files / count:.2f} files and folders a fit, {size / count:,.0f} bytes; runs has {entries:,} entries")
    for event, number in {**counts, **ray.calls}.items():
        print(f"  {event}: {number / count:.3f} times a fit")


def main() -> None:
    """Run the stand-in for SLURM, or a plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executor", choices=("here", "local", "ray", "ray-stand-in", "slurm", "server"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fits", type=int, default=1_000)
    arguments = parser.parse_args()
    home = arguments.folder.absolute()
    home.mkdir(parents=True, exist_ok=True)
    site = str(install(home / "site"))
    sys.path.insert(0, site)
    os.environ["PYTHONPATH"] = f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    os.environ.setdefault("STAND_IN_SECONDS", "0.01")
    if arguments.executor == "server":
        serve(home)
        return
    write_rows(home / "data" / "task-00" / "train.tsv", 50, 0)
    write_rows(home / "data" / "task-00" / "dev.tsv", 200, 1)
    if arguments.executor != "slurm":
        run(arguments.executor, home, arguments.fits)
        return
    stand_in_commands(home)
    server = subprocess.Popen([sys.executable, __file__, "server", str(home)])
    try:
        run("slurm", home, arguments.fits)
    finally:
        (home / "stop").touch()
        server.wait()
    largest = json.loads((home / "largest.json").read_text())
    print(f"  {largest['queued']:,} jobs queued at once, of which SLURM might run {largest['allowed']:,}")


if __name__ == "__main__":
    main()
