"""Audit the fine-tuned baselines of BabyLM 2026's multilingual track with the gold labels of their own repository.

`python benchmarks/babylm_audit.py CHECKOUT` reads a checkout of github.com/babylm-org/babylm-eval. There, each task in
each language becomes a task of benchrunner, and its prediction files are audited.
docs/proofs/audit.md shows the output.
"""

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import final

import pyarrow as pa

from benchrunner import ACCURACY, Classify, Rows, Source, Split, Task, Workspace, hookimpl
from benchrunner.results import Runner, discover
from benchrunner_audit.audit import AuditedFile, audit_files
from benchrunner_audit.question import question_of_task

BATCH = 8
"""The baselines answer whole batches of this size only: the rows of a last, smaller batch have no answer."""


@final
@dataclass(frozen=True)
class Labels(Source):
    """The gold labels of the first rows of a file; audits need no texts."""

    file: Path
    multiple: int = 1
    """As many rows as are a multiple of this are read."""

    def where(self, workspace: Workspace) -> str:
        return str(self.file)

    def read(self, workspace: Workspace) -> Rows:
        labels = self.texts()
        return Rows(pa.table({"a": ["-"] * len(labels), "label": labels}), str(self.file))

    def texts(self) -> list[str]:
        """Return the labels as texts."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        kept = lines[: len(lines) // self.multiple * self.multiple]
        return [str(json.loads(line)["label"]) for line in kept]


def task_of(full_name: str, data: Path) -> Task:
    """Return the task LANGUAGE/NAME. Its labels are all that its rows have."""
    language, _, name = full_name.partition("/")
    folder = data / language / name
    train = Labels(folder / f"{name}_{language}.train.jsonl")
    dev = Labels(folder / f"{name}_{language}.valid.jsonl", BATCH)
    splits = {"train": Split("train", (train,)), "dev": Split("dev", (dev,))}
    problem = Classify(tuple(sorted({*train.texts(), *dev.texts()})))
    return Task(full_name, f"{name} in {language}", problem, splits, (ACCURACY,))


def is_as_reported(file: AuditedFile) -> bool:
    """Say whether the repository reports the accuracy that was computed here."""
    record = json.loads((file.path.parent / "all_results.json").read_text(encoding="utf-8"))
    computed = file.scores["accuracy"].value if file.scores else None
    return computed is not None and abs(computed - record["eval_accuracy"]) < 1e-6


def main() -> None:
    """Print how many files of each task have which flag."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    folder = parser.parse_args().checkout / "multilingual" / "finetune"
    files = dict[str, list[Path]]()
    for path in sorted(folder.glob("results/*/*/*/predictions.txt")):
        language, name = path.parts[-3:-1]
        files.setdefault(f"{language}/{name}", []).append(path)
    tasks = [task_of(name, folder / "data" / "multilingual") for name in files]
    plugins = discover(extra=[("tasks", SimpleNamespace(register_tasks=hookimpl(lambda: tasks)))], installed=False)
    runner = Runner(plugins, Workspace(Path("runs"), Path("cache")))
    total = Counter[str]()
    for task in tasks:
        audit = audit_files(files[task.name], question_of_task(task, "dev", runner))
        reported = sum(is_as_reported(file) for file in audit.files)
        counts = {"files": len(audit.files), "accuracy as reported": reported, **audit.counts}
        counts["invalid"] = sum(bool(file.fault) for file in audit.files)
        total.update(counts)
        print(f"{task.name}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    print(f"all: {', '.join(f'{name} {count}' for name, count in total.items())}")


if __name__ == "__main__":
    main()
