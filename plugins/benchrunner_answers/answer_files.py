"""Files with the answers of a system that ran elsewhere, in place of a model, and the method that returns them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, RequestError, Rows, Task, Workspace
from benchrunner.engine import Backbone, BackboneFamily, Job, Method, Outcome, write_json

if TYPE_CHECKING:
    from benchrunner.engine import Encoder
    from benchrunner.results import Plugins

SUFFIXES = (".tsv", ".csv", ".txt", ".json", ".jsonl", ".parquet", ".eval")
MODEL_FILES = ("config.json", "adapter_config.json", "vocab.txt", "tokenizer.json", "modules.json", "fit.json")
WEIGHTS = (".safetensors", ".bin", ".pt")
"""A folder with such a file at any depth holds a model, perhaps a damaged one, and no answers."""
_SEED = re.compile(r"[._-]seed[._-]?([0-9]{1,9})$")
_DATED = re.compile(r"^samples_|_?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.:+-]+_?|(?<=_)[A-Za-z0-9]{22}$")
"""What programs write around the name of a task, such as the time at which a log was written."""
_NAMED_BY_FOLDER = ("predictions", "answers")
"""Names of files that say nothing: the names of their folders do."""


@final
class Given(Method):
    """Returns the answers in a system's files. Nothing is learned or computed."""

    name = "answers"
    about = "no fit: the answers that another system wrote to files, which stand in place of a backbone"
    trains_encoder = False
    trains_in_steps = False

    def seeds(self, backbone: str, *tasks: Task) -> tuple[int, ...]:
        source = Path(backbone)
        seeds = set[int]()
        for task in tasks:
            if task.folds:
                raise RequestError(f"{backbone} answers whole splits, and no folds: leave --folds out.")
            seeds.update(files_of(source, task, next(iter(task.named("dev")), "")))
        if len(tasks) > 1 and source.is_file():
            raise RequestError(
                f"{backbone} is one file, and {len(tasks)} tasks are asked for: give a folder with a file for each "
                f"task, such as {_stem(tasks[0])}{source.suffix}, or name one task."
            )
        return tuple(sorted(seeds))

    def fit(self, job: Job) -> Outcome:
        assert job.reference is not None
        write_json(job.model / job.reference.FILE, vars(job.reference))
        return Outcome()

    def predict(self, job: Job, table: Any) -> Any:
        raise RequestError(f"{job.fit.backbone} holds answers and no scores of the possible answers.")

    def given_answers(self, job: Job, rows: Rows, split: str, plugins: Plugins) -> Sequence[Any]:
        from benchrunner_answers.layouts import answers_in

        task = plugins.tasks.find(job.fit.task)
        source = Path(job.fit.backbone)
        if rows.limit is not None:
            raise DataError(f"{source} answers all rows of {rows.origin}: leave --limit-dev out.")
        files = files_of(source, task, split)
        if job.fit.seed not in files:
            folder = "FOLDER" if source.is_file() else source
            path = f"{folder}/{_stem(task)}.{split}.tsv"
            raise DataError(f"{source}: no file of answers to {task.name}, {split}, such as {path}.")
        return answers_in(files[job.fit.seed], task, rows, plugins)


@final
@dataclass(frozen=True)
class AnswerFiles(Backbone):
    """A file of answers, or a folder with a file a task."""

    name: str
    about: str = "answers of a system that ran elsewhere"
    frozen: bool = True
    only_method: str = Given.name

    def revision(self, workspace: Workspace) -> str:
        from benchrunner.engine import Cache

        cache = Cache(workspace.cache)
        digest = hashlib.sha256()
        for path in _files(Path(self.name)):
            digest.update(f"{path.relative_to(self.name)} {cache.file_hash(path)}\n".encode())
        return digest.hexdigest()

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        raise RequestError(f"{self.name} holds answers, and no model can be loaded from it.")


@final
class AnswerFolders(BackboneFamily):
    """Files and folders of answers, by their paths."""

    def listed(self) -> list[Backbone]:
        return []

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        path = Path(reference)
        is_model = any(file.name in MODEL_FILES or file.suffix in WEIGHTS for file in path.rglob("*"))
        return None if is_model or next(_files(path), None) is None else AnswerFiles(reference)


def files_of(source: Path, task: Task, split: str) -> dict[int, Path]:
    """Map seeds to the files with a system's answers to a split; a file whose name has no seed is of seed 0.

    A file is named after task and split, such as `mnli.test.tsv`. For the first dev split, the name of the task is
    enough, and a single file may have any name.
    """
    is_first = split == next(iter(task.named("dev")), split)
    names = {_plain(name) for name in (task.name, task.name.rpartition("/")[2], task.title or task.name)}
    of_split = {name + _plain(split) for name in names}
    if is_first:
        of_split |= names
    found = dict[int, Path]()
    for path in _files(source):
        stem = _DATED.sub("", _SEED.sub("", path.stem))
        name = str(path.parent.relative_to(source)) if stem in _NAMED_BY_FOLDER and source != path else stem
        if (source == path and is_first) or _plain(name) in of_split:
            seed = _SEED.search(path.stem)
            other = found.setdefault(int(seed[1]) if seed else 0, path)
            if other != path:
                raise DataError(f"{path} and {other} both answer {task.name}, {split}. Keep one of them.")
    return found


def _stem(task: Task) -> str:
    """Return the usual name of a file of answers to a task, without split and suffix."""
    return (task.title or task.name.rpartition("/")[2]).lower()


def _files(source: Path) -> Iterator[Path]:
    """Yield the file, or the files below a folder, that may hold answers."""
    for path in [source] if source.is_file() else sorted(source.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.is_file():
            yield path


def _plain(name: str) -> str:
    """Return the letters and digits of a name: `SST-2` and `sst2` are the same task."""
    return re.sub(r"[\W_]", "", name.lower())
