"""Time and memory of commands over 10 to 10,000 fits and 1,000 to 1,000,000 rows: `python benchmarks/growth.py FOLDER`.

Fits are stand-ins that learn nothing (`stand_in_plugin.py`), so that the figures are of benchrunner alone. Each command
runs in a process of its own, on one core if the call begins with `taskset -c 0`; its processor time and its peak memory
have those of its children. An exponent of 1 is linear growth; it is that between the last two sizes, after the figures
of the smallest are subtracted. Measured sizes are kept in FOLDER/figures.json, so that a second call adds others.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from stand_in_plugin import install, write_rows

SHAPES = {10: (2, 1, 1), 100: (2, 5, 2), 1_000: (4, 10, 5), 10_000: (4, 50, 10)}
"""Fits -> systems, tasks and grid points, each with `RESTARTS` restarts."""
RESTARTS = 5
FEW = (2, 1, 1)
"""Systems, tasks and grid points where the rows grow."""
TRAINING_ROWS = 50
ROWS = 200
STUDY = "grown"
LEAST = (1.0, 8.0)
"""Seconds and megabytes of growth that are more than noise."""
Figures = dict[str, dict[str, list[float]]]
"""Command -> size -> seconds of the processor and megabytes at most."""


def measured(words: Sequence[str], folder: Path, site: Path) -> list[float]:
    """Run benchrunner in a folder; return its seconds of the processor and its megabytes at most."""
    variables = {"PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "OMP_NUM_THREADS": "1"}
    with (folder / "output.txt").open("w") as output:
        command = [sys.executable, "-m", "benchrunner", *words]
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **variables}, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)  # the usage has that of the children that have ended
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        text = (folder / "output.txt").read_text()[-2_000:]
        raise SystemExit(f"{' '.join(words)}\nended with {process.returncode}:\n{text}")
    return [usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]


def commands(shape: Sequence[int], folder: Path) -> dict[str, list[str]]:
    """Return the words of each command, in the order in which they need each other."""
    systems, tasks, points = shape
    data = ["--data", "data"]
    rates = ",".join(f"{1 + point}e-5" for point in range(points))
    compare = ["compare", *(f"growth/system-{number}" for number in range(systems)), "--tasks"]
    compare += [f"growth/{number:02}" for number in range(tasks)]
    compare += ["--restarts", str(RESTARTS), "--lr", rates, *data, "--jobs", "1", "--name", STUDY]
    kept = ["--runs", "runs"]
    return {
        "compare, new fits": [*compare, *kept],
        "compare, kept fits": [*compare, *kept],
        "report": ["report", STUDY, "--out", "report.html", *kept, *data],
        "share": ["share", STUDY, "--out", "shared/study", *kept, *data],
        "board build": ["board", "build", "shared", "--out", "site", *data],
        "runs": ["runs", "--all", *kept],
        "predict": ["predict", "RUN", "data/task-00/dev.tsv", "--out", "answers.txt", *kept],
    }


def some_run(folder: Path) -> str:
    """Return the id of a run whose model was kept."""
    study = json.loads((folder / "runs" / "studies" / f"{STUDY}.json").read_text())
    return str(next(cell["selected"] for cell in study["cells"] if cell.get("selected")))


def measure(shape: Sequence[int], rows: int, size: str, folder: Path, figures: Figures) -> None:
    """Write the rows of a size, and run each command that has no figures yet."""
    home = folder / size
    for number in range(shape[1]):
        for role, count in (("train", TRAINING_ROWS), ("dev", rows)):
            path = home / "data" / f"task-{number:02}" / f"{role}.tsv"
            if not path.exists():
                write_rows(path, count, 2 * number + (role == "dev"))
    for name, words in commands(shape, home).items():
        of_command = figures.setdefault(name, {})
        if size in of_command:
            continue
        for left in ("shared", "site") if name == "share" else ():
            shutil.rmtree(home / left, ignore_errors=True)
        if name == "predict":
            words[1] = some_run(home)
        of_command[size] = measured(words, home, folder / "site")
        (folder / "figures.json").write_text(json.dumps(figures, indent=1))
        print(f"{size}: {name}: {of_command[size][0]:.1f} s, {of_command[size][1]:.0f} MB", flush=True)


def exponent(sizes: Sequence[float], figures: Sequence[float], least: float) -> str:
    """Return the exponent of the growth between the second and the third of three sizes, the first subtracted.

    A dash where the figure grew by less than `least`, which may be noise.
    """
    start, before, after = figures
    if before - start < least or after - start < least:
        return "-"
    ratio = (sizes[2] - sizes[0]) / (sizes[1] - sizes[0])
    return f"{math.log((after - start) / (before - start)) / math.log(ratio):.2f}"


def table(kind: str, sizes: Sequence[int], figures: Figures) -> list[str]:
    """Return the lines of the table of figures over fits or rows."""
    heads = [f"{size:,} {kind}" for size in sizes]
    lines = [f"| command | {' | '.join(heads)} | exponents |", "|---" * (len(sizes) + 2) + "|"]
    for name, of_command in figures.items():
        known = {size: of_command[f"{kind}-{size}"] for size in sizes if f"{kind}-{size}" in of_command}
        cells = [f"{known[size][0]:.1f} s, {known[size][1]:.0f} MB" if size in known else "" for size in sizes]
        exponents = []
        if len(known) > 2:
            three = [min(known), *sorted(known)[-2:]]
            for index, least in enumerate(LEAST):
                exponents.append(exponent(three, [known[size][index] for size in three], least))
        lines.append(f"| `{name}` | {' | '.join(cells)} | {', '.join(exponents)} |")
    return lines


def numbers(text: str) -> list[int]:
    """Read numbers between commas."""
    return [int(float(number)) for number in text.split(",") if number]


def main() -> None:
    """Measure what was not measured yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fits", type=numbers, default=list(SHAPES), help="of 10, 100, 1000 and 10000")
    parser.add_argument("--rows", type=numbers, default=[10**3, 10**4, 10**5, 10**6])
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    install(folder / "site")
    kept = folder / "figures.json"
    figures: Figures = json.loads(kept.read_text()) if kept.exists() else {}
    for fits in arguments.fits:
        measure(SHAPES[fits], ROWS, f"fits-{fits}", folder, figures)
    for rows in arguments.rows:
        measure(FEW, rows, f"rows-{rows}", folder, figures)
    for kind, sizes in (("fits", arguments.fits), ("rows", arguments.rows)):
        if sizes:
            print("\n".join(["", *table(kind, sizes, figures)]))


if __name__ == "__main__":
    main()
