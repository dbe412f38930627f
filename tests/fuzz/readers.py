"""Everything that reads a file or a text that a user brings, each with right files to begin with."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchrunner import JsonTable, Plugins, Runner, TextTable, Workspace, discover
from benchrunner.commands.main import main
from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound
from benchrunner.file_faults import Faults
from benchrunner.fits import Fit, Prediction
from benchrunner.leaderboards.board_toml import read_leaderboard
from benchrunner.leaderboards.checking import constant_files, detect, find_faults
from benchrunner.leaderboards.file_kinds.file_kind import ExpectedRows, FileKind
from benchrunner.leaderboards.file_kinds.json_lines_file import JsonLines
from benchrunner.leaderboards.file_kinds.spellings import Labels
from benchrunner.leaderboards.manifests import archive_digest, find_manifest, read_manifest
from benchrunner.metrics import Score
from benchrunner.recipes import Recipe
from benchrunner.records import Record
from benchrunner.runs.folder import RunFolder, read_prediction
from benchrunner.runs.inventory.summaries import list_runs
from benchrunner.seals import sealed
from benchrunner.studies.study_options import StudyOptions
from benchrunner.study_files.reading import read_study_file
from benchrunner.tasks.prediction_files import rows_of, scores_of_file
from benchrunner.tasks.scorers import Scorer
from benchrunner.tasks.task import Task
from benchrunner.tasks.user_files import read_questions
from benchrunner.workspace import Settings
from board_texts import BOARD_TOML
from file_kinds import CHANCES, CHOICE, COLUMNS, MAYBE, MOODS, QUESTIONS, SENTENCES, TAGGED, TEXTS
from inline import mood, pairs
from inline import plugins as inline_plugins
from mood_boards import BOARD, FILES, MOOD
from study_texts import WHOLE

NOWHERE = Workspace(Path("no-runs"), Path("no-cache"))


@dataclass(frozen=True)
class Reader:
    """A reader of one kind of file."""

    read: Callable[[Path], object]
    """Reads the file. What it returns is not checked, except for a list: sentences that name the file."""
    file: str
    """Name of the file; it may have folders."""
    seeds: Sequence[bytes]
    """Right files."""
    named: str = ""
    """What errors name instead of the file's name."""
    further: dict[str, bytes] = field(default_factory=dict)
    """Right files beside the damaged file."""


def table_reader(source: Any, file: str, *seeds: bytes, task: Task | None = None) -> Reader:
    def read(path: Path) -> object:
        rows: Rows = source.at(path).read(NOWHERE)
        return (task or mood()).checked(rows, NOWHERE, labelled=True)

    return Reader(read, file, seeds)


def sources() -> Iterator[tuple[str, Reader]]:
    """Readers of the core's own layouts of rows."""
    tsv = b'text\tmood\nI am glad.\tglad\nI am "sad.\tsad\n'
    columns, labels = {"a": "text", "label": "mood"}, {"1": "glad", "0": "sad"}
    yield "tsv", table_reader(TextTable("x.tsv", columns), "x.tsv", tsv)
    counted = TextTable("x.tsv", columns, counted="no", labels=labels, breaks_inside_fields=True)
    yield "counted tsv", table_reader(counted, "x.tsv", b"no\ttext\tmood\n0\tone\t1\n1\ttwo\t0\n2\tthr\nee\t1\n")
    csv = TextTable("x.csv", columns, separator=",", quoted=True)
    yield "csv", table_reader(csv, "x.csv", b'text,mood\r\n"I, am ""glad"".",glad\r\n"two\nlines",sad\r\n')
    plain = TextTable("x.csv", columns, names=("text", "mood"), separator=",", quoted=True, encoding="latin-1")
    yield "csv without header", table_reader(plain, "x.csv", b"one,glad\n\xe9t\xe9,sad\n")
    nested = JsonTable("x.jsonl", {"a": "in.text", "label": "mood"}, labels={"true": "glad", "false": "sad"})
    lines = b'{"in": {"text": "one"}, "mood": true}\n{"in": {"text": "\\u00e9"}, "mood": false, "more": [1]}\n'
    yield "jsonl", table_reader(nested, "x.jsonl", lines)
    number = TextTable("x.tsv", {"a": "one", "b": "two", "label": "grade"})
    yield "numbers", table_reader(number, "x.tsv", b"one\ttwo\tgrade\na\tb\t3.5\nc\td\t0\n", task=pairs())
    for suffix, content in {
        "tsv": b"text\nI am glad.\nI am sad.\n",
        "csv": b'text\n"I am, glad"\n',
        "txt": b"I am glad.\nI am sad.\n",
    }.items():
        yield (
            f"questions in {suffix}",
            Reader(lambda path: read_questions(mood(), path, NOWHERE), f"my.{suffix}", [content]),
        )


def predictions() -> Iterator[tuple[str, Reader]]:
    """Readers of prediction files."""
    glad = Rows(pa.table({"a": ["x"] * 3, "label": ["glad", "sad", "glad"]}), "rows")
    grades = Rows(pa.table({"a": ["x"] * 3, "b": ["x"] * 3, "label": [1.0, 2.0, 5.0]}), "rows")
    for name, task, rows, answers in (
        ("labels", mood(), glad, ["glad", "sad", "sad"]),
        ("numbers", pairs(), grades, "123"),
    ):
        indexed = "index\tprediction\n" + "".join(f"{at}\t{answer}\n" for at, answer in enumerate(answers))
        seeds = [indexed.encode(), "".join(f"{answer}\n" for answer in answers).encode()]
        yield f"predicted {name}", Reader(functools.partial(scores_of_file, task, rows), "answers.tsv", seeds)


def board_files() -> Iterator[tuple[str, Reader]]:
    """Checks of the files of leaderboards."""
    kinds: dict[str, tuple[FileKind, int, pa.Table | None, bytes]] = {
        "table": (MOOD, 4, None, FILES["Mood.tsv"]),
        "lines": (CHOICE, 3, None, b"0\n1\n2\n"),
        "lines of several numbers": (CHANCES, 2, None, b"0.1,0.2,0.7\n1,0,0\n"),
        "json texts": (TEXTS, 3, QUESTIONS, b'{"q1": "a", "q2": "", "q3": "\\u00e9"}'),
        "json numbers": (MAYBE, 3, QUESTIONS, b'{"q1": 0.5, "q2": 1, "q3": 0}'),
        "json labels": (MOODS, 3, QUESTIONS, b'{"q1": "0", "q2": "1", "q3": "1"}'),
        "columns": (TAGGED, 3, SENTENCES, COLUMNS.encode()),
        "json lines": (
            JsonLines("id", Labels({"sad": "0", "glad": "1"})),
            3,
            QUESTIONS,
            b'{"idx": "q1", "label": "0"}\n{"idx": "q2", "label": "1"}\n{"idx": "q3", "label": "1"}\n',
        ),
    }
    for name, (kind, rows, table, seed) in kinds.items():
        yield f"board file: {name}", Reader(functools.partial(check_file, kind, rows, table), "answers", [seed])


def check_file(kind: FileKind, rows: int, table: pa.Table | None, path: Path) -> list[str]:
    content = path.read_bytes()
    if len(content) > kind.max_bytes(rows):
        return []
    faults = Faults(path.name, kind.unit)
    kind.find_faults(content, ExpectedRows(rows, {}, table), faults)
    if not faults.sentences():
        kind.same_answer(content)
    return faults.sentences()


def boards() -> Iterator[tuple[str, Reader]]:
    """Readers of leaderboards, manifests and whole submissions."""
    yield "board", Reader(read_leaderboard, "moods.toml", [BOARD_TOML.encode()])
    origin = {
        "task": "mine/mood",
        "split": "test",
        "rows": 4,
        "official_rows": 4,
        "sha256": "0",
        "dev": {"dev f1": 0.5},
    }
    manifest = {
        "format": 2,
        "board": "moods",
        "archive_sha256": "0",
        "date": "2025",
        "files": [{"file": "Mood.tsv", **origin}],
    }

    def of_manifest(path: Path) -> object:
        archive = path.with_suffix("")
        find_manifest(archive)
        return find_faults(BOARD, archive, manifest=read_manifest(archive)) and None

    zipped = archive(FILES)
    seeds = [json.dumps(manifest, indent=2).encode()]
    yield "manifest", Reader(of_manifest, "moods.zip.json", seeds, further={"moods.zip": zipped})
    yield (
        "archive",
        Reader(
            of_archive,
            "moods.zip",
            [zipped, archive({"__MACOSX/x": b"", "a/b/": b"", "": b"x", "Mood.tsv": b"x"})],
            named=" ",
        ),
    )
    yield "single file", Reader(lambda path: find_faults(BOARD, path), "Mood.tsv", [FILES["Mood.tsv"]])


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename = name
            packed.writestr(entry, content)
    return buffer.getvalue()


def of_archive(path: Path) -> list[str]:
    archive_digest(path)
    faults = find_faults(detect([BOARD], path), path)
    if not faults:
        constant_files(BOARD, path)
    return faults


def studies() -> Iterator[tuple[str, Reader]]:
    """Readers of study files and of recipes as texts."""
    given = {"corpus": "a.txt,b.txt"}
    yield "study file", Reader(lambda path: read_study_file(path, given), "mine.toml", [WHOLE.encode()])
    recipe = {
        "epochs": "1,2",
        "lr": "1e-5,3e-5",
        "batch-size": "16",
        "dropout": "0.1",
        "restarts": "2",
    }
    yield "recipe", Reader(of_recipe, "recipe", [json.dumps(recipe).encode()], named=" ")
    words = "--epochs 1,2 --lr 1e-5 --batch-size 16 --method finetune --restarts 2 --limit-train 10 --seed 0"
    yield "command line", Reader(of_words, "words", [words.encode(), b"--grid x --keep all --max-length 12"], named=" ")


@functools.cache
def core_plugins() -> Plugins:
    return inline_plugins(register_tasks=[mood(), pairs()])


def of_recipe(path: Path) -> object:
    """Read options as the texts of a study file's recipe."""
    try:
        texts = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(texts, dict):
        return None
    texts = {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in texts.items()}
    options = StudyOptions.read(texts, "recipe", core_plugins())
    options.study(("words",), [core_plugins().task("mood")], Runner(core_plugins(), NOWHERE, device="cpu"))
    return None


def of_words(path: Path) -> object:
    """Parse a command line; the exit code is that of a request that is or is not understood."""
    words = path.read_bytes().decode("utf-8", "replace").split(" ")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main(["--parse-only", "run", "mood", "--backbone", "words", *words], plugins=core_plugins())
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    assert code in (0, 2) and "Traceback" not in out.getvalue()
    return None


def runs() -> Iterator[tuple[str, Reader]]:
    """Readers of what fits and studies leave. A damaged file that is still an object gets a right checksum."""
    fit = Fit("mine/mood", "words", "finetune", Recipe(), 0, "d" * 16, {"kind": "classify"}, "r" * 16, {"core": "1"})
    record = Record(fit.id, "done", scores={"accuracy": Score(0.5)}, checksums={}, timings={"seconds": 1.0})
    seeds = {"fit.json": fit.as_dict(), "record.json": record.as_json()}
    for name, value in seeds.items():
        further = {f"runs/{fit.id}/{other}": sealed(seeds[other]) for other in seeds if other != name}
        yield name, sealed_reader(of_run, f"runs/{fit.id}/{name}", value, further)
    prediction = Prediction(fit.id, "mine/mood", "dev", "d", {})
    yield (
        "prediction.json",
        sealed_reader(
            lambda path: read_prediction(path.parent),
            f"{prediction.id}/prediction.json",
            {name: getattr(prediction, name) for name in ("fit", "task", "split", "data", "settings")},
        ),
    )


def sealed_reader(
    read: Callable[[Path], object], file: str, value: dict[str, Any], further: dict[str, bytes] | None = None
) -> Reader:
    def read_sealed(path: Path) -> object:
        with contextlib.suppress(ValueError, RecursionError):
            damaged = json.loads(path.read_bytes())
            if isinstance(damaged, dict):
                path.write_bytes(sealed(damaged))
        return read(path) and None

    return Reader(read_sealed, file, [json.dumps(value).encode()], further=further or {})


def of_run(path: Path) -> object:
    folder = RunFolder(path.parent.parent, path.parent.name)
    list_runs(path.parent.parent, core_plugins())
    return folder.fit() if path.name == "fit.json" else folder.record()


@functools.cache
def installed() -> Plugins:
    return discover()


def tasks() -> Iterator[tuple[str, Reader]]:
    """Readers of the files of every installed task, which begin with the task's own demo data."""
    with demo_data() as workspace:
        for name, task in installed().tasks.items():
            if task.demo_files is None:
                continue
            task.demo_files(0, workspace.data)
            for split in ("train", *task.named("dev")[:1], *task.named("test")[:1]):
                try:
                    origin = Path(task.load(split, workspace).origin)
                except (DataNotFound, KeyError):  # the demo has no such split
                    continue
                content = origin.read_bytes()
                beginning = b"".join(content.splitlines(keepends=True)[:12])
                seed = content if origin.suffix in (".json", ".csv") else beginning
                yield f"{name} {split}", Reader(functools.partial(of_task, task, split), origin.name, [seed])


@contextlib.contextmanager
def demo_data() -> Iterator[Workspace]:
    """Give a workspace for demo data that is there while its files are read."""
    with tempfile.TemporaryDirectory() as folder:
        yield Workspace(Path(folder, "runs"), Path(folder, "cache"), Path(folder, "data"), Settings(offline=True))


def of_task(task: Task, split: str, path: Path) -> object:
    rows_of(task, split, path, NOWHERE)
    return None


def plugin_files() -> Iterator[tuple[str, Reader]]:
    """Readers of the further files of the official plugins."""
    from benchrunner_bert.configuration import Configuration
    from benchrunner_bert.pretraining.corpus.corpus import Corpus
    from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
    from benchrunner_bert.tokenizer import BertTokenizer
    from benchrunner_squad.answer_files import read_answers, read_probabilities

    pieces = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\nthe\n"
    yield "vocabulary", Reader(lambda path: Vocabulary.read(path).tokenizer() and None, "vocab.txt", [pieces])
    yield (
        "vocabulary of a model",
        Reader(lambda path: BertTokenizer.from_vocabulary(path, lowercase=True) and None, "vocab.txt", [pieces]),
    )
    config = {
        "vocab_size": 30,
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config |= {"max_position_embeddings": 32, "type_vocab_size": 2, "hidden_act": "gelu", "model_type": "bert"}
    yield (
        "config.json of BERT",
        Reader(lambda path: Configuration.read(path) and None, "config.json", [json.dumps(config).encode()]),
    )
    for file, seed in {
        "corpus.txt": b"One. Two.\n\nThree.\n",
        "corpus.jsonl": b'{"text": "One.\\n\\nTwo."}\n{"text": "3"}\n',
    }.items():

        def read(path: Path) -> object:
            for _ in Corpus.named([str(path)]).paragraphs():
                pass
            return None

        yield file, Reader(read, file, [seed])
    yield "SQuAD answers", Reader(lambda path: read_answers(path) and None, "said.json", [b'{"q1": "a", "q2": ""}'])
    yield (
        "SQuAD probabilities",
        Reader(lambda path: read_probabilities(path) and None, "none.json", [b'{"q1": 0.5, "q2": 1}']),
    )
    with demo_data() as workspace:
        for name in ("conll/ner", "squad/1.1", "squad/2.0"):
            task = installed().task(name)
            assert task.scorer is not None and task.demo_files is not None
            task.demo_files(0, workspace.data)
            gold = task.load("dev", workspace)
            said = predictions_of(gold).encode()
            yield f"scorer of {name}", Reader(functools.partial(of_scorer, task.scorer, gold), "said.json", [said])


def predictions_of(gold: Rows) -> str:
    """Write predictions in the layout of the official scorer: by question, or beside the words and their tags."""
    table = gold.table.to_pydict()
    if "id" in table:
        return json.dumps(dict.fromkeys(table["id"], "one"))
    rows = zip(table["words"], table["labels"], strict=True)
    return "\n".join("".join(f"{word} {tag} O\n" for word, tag in zip(*row, strict=True)) for row in rows)


def of_scorer(scorer: Scorer, gold: Rows, path: Path) -> object:
    if scorer.recognizes(path):
        scorer.score(path, gold, {})
    return None


PARTS = {
    "sources": sources,
    "predictions": predictions,
    "board files": board_files,
    "boards": boards,
    "studies": studies,
    "runs": runs,
    "tasks": tasks,
    "plugins": plugin_files,
}


@functools.cache
def readers(part: str) -> dict[str, Reader]:
    """Return the readers of a part by their names."""
    return dict(PARTS[part]())
