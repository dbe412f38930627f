"""Record what an installed benchrunner prints and writes, and compare two such recordings.

    python benchmarks/behaviour_net.py record --program .venv/bin/benchrunner --out before
    python benchmarks/behaviour_net.py compare before after --expected accepted.txt

`record` runs the program in a temporary folder, on generated data and tiny backbones. `compare` prints every difference
and ends with exit code 1 if there is one. Ids, dates, versions, times and sizes are replaced by labels before.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from behaviour_faults import pad_test_files, write_fixtures
from behaviour_text import checksums, described_files, normalised, pretty_json, sorted_runs, without_ids

HERE = Path(__file__).parent
PARTS = ("demo", "studies", "commands")
ANSWERING = "demo --out demo --backbone bert/random-1/32 --device cpu --tasks"
DEMO_TASKS = (
    "rte,stsb,mrpc,cola,wnli,mnli,squad/1.1,squad/2.0,swag,conll/ner,conll2002/dutch,superglue,babylm/wsc-filtered"
)
SECONDS = 300.0
"""The longest time of one command; a command that takes longer is recorded as one without an end."""


@dataclass(frozen=True)
class Program:
    """The installed program, and the folder in which all its commands run."""

    path: Path
    work: Path
    hidden: dict[str, str]
    """Text that depends on the machine -> the word that is recorded in its place."""

    def run(self, words: str, *, stdin: str | None = None, runs: str = "runs") -> tuple[int | str, str, str]:
        """Run a command line; return the exit code, standard output and standard error."""
        command = ["nice", str(self.path), *shlex.split(words)]
        environment = {**self._environment(), "BENCHRUNNER_RUNS": runs}
        try:
            ended = subprocess.run(
                command,
                cwd=self.work,
                env=environment,
                capture_output=True,
                timeout=SECONDS,
                input=(stdin or "").encode(),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "none: it took too long", "", ""
        out, err = (stream.decode("utf-8", "backslashreplace") for stream in (ended.stdout, ended.stderr))
        return ended.returncode, self.hide(out), self.hide(err)

    def hide(self, text: str) -> str:
        """Replace the folders of this machine by words."""
        for place, word in self.hidden.items():
            text = text.replace(place, word)
        return text

    def _environment(self) -> dict[str, str]:
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "VECLIB_MAXIMUM")}
        return {
            **threads,
            "PATH": f"{self.path.parent}:/usr/bin:/bin",
            "HOME": str(self.work / "home"),
            "TMPDIR": str(self.work / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "120",
            "LINES": "40",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "BENCHRUNNER_DATA": "demo/data",
            "BENCHRUNNER_CACHE": "cache",
        }


def prepared(path: Path) -> Program:
    """Make the folder of a recording, and find the places that its texts must not name."""
    work = Path(tempfile.mkdtemp(prefix="behaviour-"))
    for name in ("home", "tmp"):
        (work / name).mkdir()
    python = path.parent / "python"
    code = "import benchrunner, pathlib, sys; print(pathlib.Path(benchrunner.__file__).parents[1]); print(sys.prefix)"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=work)
    checkout, environment = found.stdout.split("\n")[:2]
    return Program(path, work, {str(work): "{work}", checkout: "{checkout}", environment: "{environment}"})


@dataclass
class Case:
    """A command line, as it is listed in the table of cases, and what it needs and leaves."""

    line: str
    stdin: str | None = None
    runs: str = "runs"
    collect: list[str] = field(default_factory=list)
    """Files and folders to record besides that of the option --out."""


def recorded(program: Program, case: Case, names: dict[str, str] | None = None) -> tuple[str, str]:
    """Run a case; return the text to record and the standard output. `names` holds the ids of fits."""
    line = case.line
    for name, value in (names or {}).items():
        line = line.replace(f"{{{name}}}", value)
    code, out, err = program.run(line, stdin=case.stdin, runs=case.runs)
    text = f"$ benchrunner {case.line}\nexit code {code}\n"
    printed = pretty_json(out) if out.startswith(("{", "[")) else out
    for title, stream in (("stdout", printed), ("stderr", err)):
        if stream:
            text += f"--- {title}\n{stream.rstrip()}\n"
    for place in [*_written(line), *case.collect]:
        text += program.hide(described_files(program.work / place))
    return text, out


def _written(line: str) -> list[str]:
    """Return the file or folder of the option --out, and of the manifest beside it."""
    match = re.search(r"--out[ =](\S+)", line)
    if match is None or line.startswith(("demo", "pretrain")):
        return []
    place = match.group(1).strip("'\"").rstrip("/")
    return [place, f"{place}.json"]


def record_demo(program: Program, out: Path) -> None:
    """Run the demo, whose data all other parts use, and record what it writes."""
    boards = ("conll2003", "squad-1.1", "squad-2.0", "superglue.zip", "swag")
    written = [f"demo/{name}{suffix}" for name in boards for suffix in ("", ".json")]
    text, _ = recorded(program, Case(f"{ANSWERING} {DEMO_TASKS} --quiet", runs="none", collect=written))
    again = Case(f"compare bert/random-1/32 --tasks {DEMO_TASKS} --lr 1e-3 --epochs 4 --batch-size 16 --json")
    again.runs = "demo/runs"
    (out / "demo").mkdir(parents=True, exist_ok=True)
    (out / "demo" / "demo.txt").write_text(text)
    (out / "demo" / "table.txt").write_text(recorded(program, again)[0])
    (out / "demo" / "data.txt").write_text(checksums(program.work / "demo" / "data"))
    pad_test_files(program.work / "demo" / "data")


def record_study(program: Program, study: dict[str, Any], defaults: dict[str, str], out: Path) -> None:
    """Run a study and the commands that read it, and record a file for each command."""
    name = study["name"]
    runs = f"studies/{name}"
    options = study.get("options", defaults["options"])
    kinds = study.get("then", defaults["then"])
    folder = out / "studies" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file, text in study.get("files", {}).items():
        (program.work / file).write_text(text)
    steps = {"json": f"{study['study']} {options} --name {name} --quiet --json"}
    for kind in kinds:
        if kind in ("table", "markdown", "csv", "latex"):
            steps[kind] = f"{study['study']} {options} --name {name} --format {kind}"
    steps["runs"] = "runs list --sort task --json"
    if "report" in kinds:
        steps["report"] = f"report {name} --out {runs}/report.html"
    if "share" in kinds:
        steps["share"] = f"share {name} --out {runs}/shared"
        steps["verify"] = f"check {runs}/shared"
    steps.update(study.get("steps", {}))
    names: dict[str, str] = {"runs": runs}
    for step, line in steps.items():
        collect = [f"{runs}/{place}" for place in study.get("collect", {}).get(step, [])]
        text, printed = recorded(program, Case(line, None, runs, collect), names)
        (folder / f"{step}.txt").write_text(text)
        if step == "json":
            names.update(_selected_fits(printed))


def _selected_fits(printed: str) -> dict[str, str]:
    """Name the selected fits of a study: fit0, fit1, ... in the order of its cells."""
    try:
        value = json.loads(printed)
    except ValueError:
        return {}
    fits: list[str] = []
    for cell in value.get("cells", []):
        fit = cell.get("selected")
        if isinstance(fit, str) and fit not in fits:
            fits.append(fit)
    return {f"fit{number}": fit for number, fit in enumerate(fits)}


def record_studies(program: Program, out: Path, wanted: re.Pattern[str]) -> None:
    """Record all studies, two at a time."""
    table = tomllib.loads((HERE / "behaviour_studies.toml").read_text())
    studies = [study for study in table["study"] if wanted.search(study["name"])]

    def record(study: dict[str, Any]) -> None:
        start = time.monotonic()
        record_study(program, study, table["defaults"], out)
        print(f"  study {study['name']}: {time.monotonic() - start:.0f} s", flush=True)

    _two_at_a_time(record, studies)


def record_commands(program: Program, out: Path, wanted: re.Pattern[str]) -> None:
    """Record wrong and right command lines: a file for each group of cases, whose cases run one after another."""
    table = tomllib.loads((HERE / "behaviour_commands.toml").read_text())
    names: dict[str, str] = {}
    for line in table["fixture"]["lines"]:
        text, printed = recorded(program, Case(line), names)
        if "exit code 0" not in text:
            raise SystemExit(f"The commands of the fixture must work:\n{text}")
        key = line.partition("--name ")[2].partition(" ")[0]
        names.update({f"{key}-{fit}": value for fit, value in _selected_fits(printed).items()})
    names["absent"] = "0123456789abcdef"
    generated = write_fixtures(program.work, names["small-fit0"])
    groups = {name: group["lines"] for name, group in table["group"].items()}
    for name, lines in generated.items():
        groups[name] = [*groups.get(name, []), *lines]
    (out / "commands").mkdir(parents=True, exist_ok=True)

    def record(name: str) -> None:
        start = time.monotonic()
        runs = f"runs-{name}"
        shutil.copytree(program.work / "runs", program.work / runs)
        texts = []
        for line in groups[name]:
            words, _, stdin = line.partition(" <<< ")
            case = Case(words, stdin=stdin.encode().decode("unicode_escape"), runs=runs)
            texts.append(recorded(program, case, names)[0])
        (out / "commands" / f"{name}.txt").write_text("\n".join(texts))
        print(f"  {len(texts)} commands of {name}: {time.monotonic() - start:.0f} s", flush=True)

    _two_at_a_time(record, [name for name in groups if wanted.search(name)])


def _two_at_a_time(work: Callable[[Any], None], items: list[Any]) -> None:
    with ThreadPoolExecutor(2) as pool:
        for finished in [pool.submit(work, item) for item in items]:
            finished.result()


def record(arguments: argparse.Namespace) -> int:
    """Record the chosen parts into the folder --out."""
    program = prepared(arguments.program.absolute())
    parts = arguments.only or PARTS
    wanted = re.compile(arguments.match)
    start = time.monotonic()
    try:
        record_demo(program, arguments.out if "demo" in parts else program.work / "unused")
        print(f"demo: {time.monotonic() - start:.0f} s", flush=True)
        for part, function in (("studies", record_studies), ("commands", record_commands)):
            if part in parts:
                function(program, arguments.out, wanted)
                print(f"{part}: {time.monotonic() - start:.0f} s from the start", flush=True)
    finally:
        if arguments.keep_work:
            print(f"the folder of the commands: {program.work}")
        else:
            shutil.rmtree(program.work, ignore_errors=True)
    return 0


def blocks_of(path: Path) -> dict[str, str]:
    """Return the parts of a recorded file, normalised: a part for each command line."""
    parts: dict[str, str] = {}
    for block in re.split(r"^(?=\$ benchrunner )", path.read_text(), flags=re.MULTILINE):
        title = block.partition("\n")[0]
        while title in parts:
            title += " (again)"
        parts[title] = _comparable(block.rstrip())
    return parts


def _comparable(block: str) -> str:
    """Return the recording of a command line without what differs from run to run."""
    if re.match(r"\$ benchrunner runs( list| --|\n)", block):
        block = sorted_runs(block)
    if re.match(r"\$ benchrunner runs studies", block):  # its lists of fits are in the order of their ids
        return without_ids(block)
    return normalised(block)


def differences_of(before: Path, after: Path, name: str, accepted: list[re.Pattern[str]]) -> list[str]:
    """Return a unified diff for each command of a file whose recordings differ."""
    old, new = (blocks_of(folder / name) for folder in (before, after))
    differences = []
    for title in [*old, *(title for title in new if title not in old)]:
        left, right = (blocks.get(title, "(not recorded)").split("\n") for blocks in (old, new))
        diff = list(difflib.unified_diff(left, right, f"{name}: {title}", "after", lineterm="", n=2))
        changed = [line for line in diff[2:] if line[:1] in "+-"]
        if any(not any(pattern.search(line) for pattern in accepted) for line in changed):
            differences.append("\n".join(diff))
    return differences


def compare(arguments: argparse.Namespace) -> int:
    """Print all differences of two recordings that the file --expected does not accept."""
    lines = arguments.expected.read_text().splitlines() if arguments.expected else []
    accepted = [re.compile(line) for line in lines if line.strip() and not line.startswith("#")]
    wanted = re.compile(arguments.match)
    folders = (arguments.before, arguments.after)
    found = [{path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")} for folder in folders]
    names = found[0] & found[1] if arguments.common else found[0] | found[1]
    differing = 0
    compared = 0
    for name in sorted(filter(wanted.search, names)):
        for folder, files in zip(folders, found, strict=True):
            if name not in files:
                print(f"{name}: not in {folder}")
                differing += 1
        if name in found[0] & found[1]:
            compared += 1
            differences = differences_of(*folders, name, accepted)
            differing += len(differences)
            for difference in differences:
                print(difference, end="\n\n")
    print(f"{compared} files compared, {differing} differences")
    return 1 if differing else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    recording = commands.add_parser("record", help="record the behaviour of an installed program")
    recording.add_argument("--program", type=Path, required=True, help="the installed benchrunner")
    recording.add_argument("--out", type=Path, required=True, help="folder of the recording")
    recording.add_argument("--only", nargs="+", choices=PARTS, help="only these parts")
    recording.add_argument("--keep-work", action="store_true", help="keep the folder in which the commands ran")
    recording.set_defaults(run=record)
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--expected", type=Path, help="file of regular expressions: changed lines that are accepted")
    comparing.add_argument("--common", action="store_true", help="compare only the files that both recordings have")
    comparing.set_defaults(run=compare)
    for subcommand in (recording, comparing):
        subcommand.add_argument("--match", default="", help="regular expression: only studies, groups or files like it")
    arguments = parser.parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
