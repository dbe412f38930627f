"""Faulty files for behaviour_net.py: study files, submissions, predictions, data, shared folders and runs.

Each fault is one edit of a right file, so that the recording shows the message for this fault alone.
"""

from __future__ import annotations

import csv
import shutil
import zipfile
from pathlib import Path

from behaviour_study_faults import STUDIES

OFFICIAL_ROWS = {
    "RTE/test.tsv": 3000,
    "STS-B/test.tsv": 1379,
    "CoLA/test.tsv": 1063,
    "MRPC/test.tsv": 1725,
    "WNLI/test.tsv": 146,
    "MNLI/test_matched.tsv": 9796,
    "MNLI/test_mismatched.tsv": 9847,
    "diagnostic/diagnostic.tsv": 1104,
}


def pad_test_files(data: Path) -> None:
    """Repeat the rows of test files of GLUE until they are as many as the official ones."""
    for name, count in OFFICIAL_ROWS.items():
        path = data / name
        header, *lines = path.read_text().splitlines()
        rows = [line.partition("\t")[2] for line in lines]
        repeated = (f"{number}\t{rows[number % len(rows)]}" for number in range(count))
        path.write_text("\n".join([header, *repeated]) + "\n")


# name: (file of the submission, text to replace or "" for the whole file, new text or None to remove the file)
SUBMISSIONS: dict[str, tuple[str, str, str | None]] = {
    "right": ("RTE.tsv", "index", "index"),
    "missing-file": ("RTE.tsv", "", None),
    "further-file": ("notes.txt", "", "nothing\n"),
    "wrong-header": ("RTE.tsv", "index\tprediction", "id\tprediction"),
    "no-header": ("RTE.tsv", "index\tprediction\n", ""),
    "wrong-label": ("RTE.tsv", "\n1\tentailment", "\n1\tentails"),
    "wrong-label-case": ("RTE.tsv", "entailment", "Entailment"),
    "index-twice": ("RTE.tsv", "\n3\t", "\n2\t"),
    "index-word": ("RTE.tsv", "\n3\t", "\nthree\t"),
    "index-outside": ("RTE.tsv", "\n3\t", "\n30000\t"),
    "missing-column": ("RTE.tsv", "\n3\t", "\n3 "),
    "empty-line": ("RTE.tsv", "\n3\t", "\n\n3\t"),
    "empty-file": ("RTE.tsv", "", ""),
    "not-utf8": ("RTE.tsv", "\n3\t", "\n\udcff\t"),
    "score-outside": ("STS-B.tsv", "\n0\t", "\n0\t9"),
    "score-word": ("STS-B.tsv", "\n0\t", "\n0\tx"),
    "score-nan": ("STS-B.tsv", "\n0\t", "\n0\tnan\n9999\t"),
    "windows-lines": ("RTE.tsv", "\n", "\r\n"),
}
PREDICTIONS = {
    "squad-list.json": "[]",
    "squad-no-json.json": "{",
    "squad-empty.json": "{}",
    "squad-unknown.json": '{"abc": "Martha"}',
    "squad-number.json": '{"abc": 3}',
    "squad-twice.json": '{"abc": "a", "abc": "b"}',
    "na-word.json": '{"abc": "x"}',
    "na-outside.json": '{"abc": 2}',
    "labels.txt": "entailment\n",
    "labels-wrong.txt": "entailed\n",
    "labels-empty.txt": "",
    "labels-header.tsv": "index\tlabel\n0\tentailment\n",
    "labels-two.tsv": "index\tprediction\n0\tentailment\n0\tentailment\n",
    "numbers.txt": "1.5\n2.5\n",
    "numbers-word.txt": "1.5\nx\n",
    "tags.txt": "EU NNP I-NP B-ORG B-ORG\n",
    "tags-wrong.txt": "EU NNP I-NP B-ORG B-XYZ\n",
    "tags-columns.txt": "EU\n",
    "choices.csv": "0\n9\n",
}
DATA = {
    "unknown-label": ("not_entailment", "not_entailed"),
    "missing-column": ("sentence1\t", ""),
    "renamed-column": ("sentence1", "sentence_1"),
    "short-row": ("\n3\t", "\n3 "),
    "empty-line": ("\n3\t", "\n\n3\t"),
    "not-utf8": ("\n3\t", "\n\udcff\t"),
}
QUESTIONS = {
    "no-json": ('{"version"', '{"version'),
    "no-data": ('"data"', '"date"'),
    "answer-elsewhere": ('"answer_start": 86', '"answer_start": 85'),
    "start-word": ('"answer_start": 86', '"answer_start": "x"'),
    "no-question": ('"question"', '"qestion"'),
}
# name: (file of the shared folder, text to replace, new text or None to remove the file)
SHARED: dict[str, tuple[str, str, str | None]] = {
    "right": ("study.json", "title", "title"),
    "changed-study": ("study.json", '"mean": 0.', '"mean": 0.1'),
    "no-study": ("study.json", "", None),
    "study-no-json": ("study.json", "{", "["),
    "study-of-other-version": ("study.json", '"format": 3', '"format": 99'),
    "no-manifest": ("manifest.json", "", None),
    "manifest-no-json": ("manifest.json", "{", ""),
    "changed-table": ("README.md", "rte", "rtx"),
    "further-file": ("notes.txt", "", "more"),
}
RECORDS: dict[str, tuple[str, str, str | None]] = {
    "record-changed": ("record.json", '"accuracy"', '"acuracy"'),
    "record-no-json": ("record.json", "{", ""),
    "record-empty": ("record.json", "", ""),
    "no-record": ("record.json", "", None),
    "fit-changed": ("fit.json", '"finetune"', '"lora"'),
    "no-fit": ("fit.json", "", None),
    "study-changed": ("../studies/small.json", "small", "tiny"),
    "study-no-json": ("../studies/small.json", "{", ""),
}


def write_fixtures(work: Path, fit: str) -> dict[str, list[str]]:
    """Write all faulty files below the folder of a recording; return the command lines that read them, by group.

    `fit` is the id of the run that is damaged.
    """
    groups = {"study-faults": [f"compare --study {_written(work, name, text)}" for name, text in STUDIES.items()]}
    groups["submission-faults"] = _submissions(work)
    groups["score-faults"] = _predictions(work)
    groups["data-faults"] = _data(work)
    groups["verify-faults"] = _shared(work)
    groups["damaged-runs"] = _damaged_runs(work, fit)
    return groups


def _written(work: Path, name: str, text: str) -> str:
    path = work / "faults" / f"{name}.toml"
    _write(path, text)
    return f"{path.relative_to(work)} --device cpu --jobs 1 --limit-train 16 --quiet"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _edit(path: Path, old: str, new: str | None) -> None:
    """Replace text of a file once; without `old`, write the file; with None as `new`, remove it."""
    if new is None:
        path.unlink()
    elif not old:
        _write(path, new)
    else:
        _write(path, path.read_text(errors="surrogateescape").replace(old, new, 1))


def _submissions(work: Path) -> list[str]:
    lines = []
    for name, (file, old, new) in SUBMISSIONS.items():
        folder = work / "submissions" / name
        folder.mkdir(parents=True)
        with zipfile.ZipFile(work / "sent" / "glue.zip") as archive:
            archive.extractall(folder)
        _edit(folder / file, old, new)
        lines.append(f"check submissions/{name} --board glue")
    archive_text = (work / "sent" / "glue.zip").read_bytes()
    (work / "submissions" / "damaged.zip").write_bytes(archive_text[: len(archive_text) // 2])
    _write(work / "submissions" / "empty.zip", "")
    _write(work / "submissions" / "text.zip", "no archive\n")
    shutil.copy(work / "sent" / "glue.zip", work / "submissions" / "other.zip")
    for manifest in ("{", "[]", "{}", '{"board": "glue", "files": 3}'):
        name = f"manifest-{len(lines)}.zip"
        shutil.copy(work / "sent" / "glue.zip", work / "submissions" / name)
        _write(work / "submissions" / f"{name}.json", manifest)
        lines.append(f"check submissions/{name} --counts-from-manifest")
    lines += [f"check submissions/{name}.zip" for name in ("damaged", "empty", "text", "other", "absent")]
    for file, text in PREDICTIONS.items():
        _write(work / "predictions" / file, text)
        board = next((board for start, board in BOARDS.items() if file.startswith(start)), "swag")
        lines.append(f"check predictions/{file} --board {board}")
    return lines


BOARDS = {"squad": "squad-1.1", "na": "squad-2.0", "tags": "conll2003", "choices": "swag", "labels": "glue"}
TASKS = {
    "squad": "squad/1.1",
    "tags": "conll/ner",
    "choices": "swag/swag",
    "labels": "glue/rte",
    "numbers": "glue/stsb",
}


def _predictions(work: Path) -> list[str]:
    lines = []
    for file in PREDICTIONS:
        task = next((task for start, task in TASKS.items() if file.startswith(start)), "")
        if task:
            lines.append(f"score {task} predictions/{file}")
        else:
            lines.append(f"audit demo/squad-2.0/predictions.json --task squad/2.0 --file na-prob=predictions/{file}")
    return lines


def _data(work: Path) -> list[str]:
    lines = []
    for name, (old, new) in DATA.items():
        folder = work / "wrong-data" / name
        shutil.copytree(work / "demo" / "data" / "RTE", folder / "RTE")
        _edit(folder / "RTE" / "train.tsv", old, new)
        lines.append(f"data status rte --data wrong-data/{name}")
        lines.append(f"run rte --backbone bert/random-1/16 --data wrong-data/{name} --limit-train 16 --quiet")
    for name, (old, new) in QUESTIONS.items():
        folder = work / "wrong-data" / f"squad-{name}"
        shutil.copytree(work / "demo" / "data" / "squad", folder / "squad")
        _edit(folder / "squad" / "dev-v1.1.json", old, new)
        lines.append(f"data status squad/1.1 --data wrong-data/squad-{name} --json")
        lines.append(f"data status squad/1.1 --data wrong-data/squad-{name} --leave-out-bad-rows")
    columns = work / "wrong-data" / "columns"
    _write(columns / "conll2003" / "eng.train", "EU NNP I-NP I-ORG\nrejects VBZ I-VP\n")
    _write(columns / "conll2003" / "eng.testa", "EU NNP I-NP B-XYZ\n")
    _write(columns / "swag" / "val.csv", "a,b\n1\n")
    with (columns / "swag" / "train.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["startphrase", "label"], ["x", "7"]])
    return [*lines, "data status conll/ner swag --data wrong-data/columns"]


def _shared(work: Path) -> list[str]:
    lines = []
    for name, (file, old, new) in SHARED.items():
        folder = work / "wrong-shared" / name
        shutil.copytree(work / "shared", folder)
        _edit(folder / file, old, new)
        lines.append(f"check wrong-shared/{name}")
    folder = work / "wrong-shared" / "changed-answer"
    shutil.copytree(work / "shared", folder)
    answers = _first_with(folder / "predictions", '"entailment"')
    _edit(answers, '"entailment"', '"not_entailment"')
    lines.append("check wrong-shared/changed-answer")
    lines.append("check wrong-shared/changed-answer --json")
    lines.append("check shared --data wrong-data/columns")
    return lines


def _first_with(folder: Path, text: str) -> Path:
    """Return a file with a text; which one does not depend on the ids in the names of files."""
    paths = [path for path in folder.rglob("*.jsonl") if text in path.read_text()]
    return min(paths, key=lambda path: path.read_text())


def _damaged_runs(work: Path, fit: str) -> list[str]:
    lines = []
    for name, (file, old, new) in RECORDS.items():
        folder = work / "damaged" / name
        shutil.copytree(work / "runs", folder)
        _edit(folder / fit / file, old, new)
        for command in ("runs list --sort task", "runs studies", "runs show {small-fit0}"):
            lines.append(f"{command} --runs damaged/{name}")
        lines.append(f"report small --out damaged-{name}.html --runs damaged/{name}")
    model = work / "damaged" / "model-changed"
    shutil.copytree(work / "runs", model)
    weights = max((model / fit / "model").rglob("*.safetensors"), key=lambda path: path.stat().st_size)
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    lines.append("predict {small-fit0} demo/data/RTE/dev.tsv --runs damaged/model-changed --json")
    return [*lines, "runs export {small-fit0} damaged-export --runs damaged/model-changed"]
