"""For plugin authors: checks that a task or a backbone keeps its contract, and doubles small enough for unit tests.

    from benchrunner.testing import check_backbone, check_task

    def test_my_task(tmp_path):
        check_task(mood, tmp_path)

A check raises `PluginError` with everything that it found. Nothing here needs a network or an installed plugin.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch import nn

from benchrunner.backbones.backbone import Backbone, BackboneFamily, OneBackbone
from benchrunner.backbones.encoder import Encoder, ExportedHead
from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, PluginError, RequestError, Undefined
from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.features.pieces import Frame, Pieces
from benchrunner.fits import Fit
from benchrunner.methods.finetune import Finetune
from benchrunner.methods.method import Job
from benchrunner.metrics import ANSWERS
from benchrunner.problems.classify import Classify
from benchrunner.recipes import Recipe
from benchrunner.training.embedding_rows import WHOLE_TABLE
from benchrunner.training.feature_cache import Cache
from benchrunner.workspace import Settings, Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchrunner.features.arrays import Features
    from benchrunner.metrics import Metric
    from benchrunner.problems.problem import Problem
    from benchrunner.tasks.task import Task

HIDDEN, BUCKETS, LONGEST = 16, 512, 64
WEIGHTS = "tiny.safetensors"

MOOD = Classify(("glad", "sad"))
"""The question that `sentences` answers."""


def _bucket(word: str) -> int:
    return zlib.crc32(word.encode()) % BUCKETS


@final
class TinyEncoder(Encoder):
    """The mean of hashed words and a linear layer: a whole encoder on flat batches, to test with and to copy from."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden_size, self.max_length, self.dropout = HIDDEN, LONGEST, 0.1
        self.tokenizer_fingerprint = f"words by crc32 in {BUCKETS} buckets"
        self.table = nn.Embedding(BUCKETS, HIDDEN)
        self.layer = nn.Linear(HIDDEN, HIDDEN)
        draw = torch.Generator().manual_seed(0)
        for one in self.parameters():
            nn.init.normal_(one, std=0.5, generator=draw)

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.table

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        texts = [one.split() for one in first]
        pairs = [[*a, "|", *b.split()] for a, b in zip(texts, second, strict=True)] if second is not None else texts
        rows = [[_bucket(word) for word in ["<", *words]][:max_length] for words in pairs]
        tokens = np.array([token for row in rows for token in row], dtype=np.int32)
        return Sequences(tokens, np.zeros(len(tokens), dtype=np.int8), np.cumsum([0, *map(len, rows)], dtype=np.int64))

    def pieces(self, texts: Sequence[str]) -> Pieces:
        words = [[one.span() for one in re.finditer(r"\S+", text)] for text in texts]
        tokens = [_bucket(text[first:last]) for text, some in zip(texts, words, strict=True) for first, last in some]
        spans = np.array([span for some in words for span in some], dtype=np.int32).reshape(-1, 2)
        starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
        return Pieces(np.array(tokens, dtype=np.int32), spans, starts)

    @property
    def frame(self) -> Frame:
        return Frame(before=(_bucket("<"),), between=(_bucket("|"),), after=(), unknown=_bucket("?"), segments=(0, 0))

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        hidden = batch.dropout(self.table(batch.tokens), self.dropout, "words")  # (T, H)
        yield hidden
        yield torch.tanh(self.layer(hidden))

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """The mean over every sequence's tokens: (T, H) -> (N, H). What fills a batch up belongs to no sequence."""
        lengths = batch.starts.diff().long()
        owner = torch.repeat_interleave(torch.arange(len(lengths), device=hidden.device), lengths)
        sums = hidden.new_zeros(len(lengths), hidden.shape[1]).index_add(0, owner, hidden[: len(owner)])
        return sums / lengths[:, None]

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        from safetensors.torch import save_file

        tensors = {name: one.contiguous() for name, one in self.state_dict().items()}
        tensors |= {f"head.{name}": one for name, one in (head.tensors if head is not None else {}).items()}
        save_file(tensors, folder / WEIGHTS)

    @classmethod
    def read(cls, folder: Path) -> TinyEncoder:
        """What `save` wrote."""
        from safetensors.torch import load_file

        encoder = cls()
        tensors = load_file(folder / WEIGHTS)
        encoder.load_state_dict({name: one for name, one in tensors.items() if not name.startswith("head.")})
        return encoder


@final
@dataclass(frozen=True)
class TinyBackbone(Backbone):
    """The same weights every time, or those in a folder."""

    name: str = "tiny/words"
    about: str = "the mean of hashed words"
    folder: Path | None = None
    for_demo: bool = True

    def revision(self, workspace: Workspace) -> str:
        return f"tiny {zlib.crc32((self.folder / WEIGHTS).read_bytes())}" if self.folder else "tiny 1"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return TinyEncoder.read(self.folder) if self.folder else TinyEncoder()


def tiny_family(name: str = "tiny/words") -> BackboneFamily:
    """What `register_backbones` may yield in a test."""

    def saved(folder: Path) -> Backbone | None:
        return TinyBackbone(str(folder), folder=folder) if (folder / WEIGHTS).is_file() else None

    return OneBackbone(TinyBackbone(name), saved)


def sentences(count: int, *, seed: int = 0) -> dict[str, list[str]]:
    """Columns a and label: made-up sentences, glad or sad by one of their words. The same for the same seed."""
    draw = random.Random(seed)
    words = {"glad": ("sunny", "merry", "bright"), "sad": ("rainy", "gloomy", "bleak")}
    labels = [draw.choice(MOOD.labels) for _ in range(count)]
    fillers = ("the", "day", "was", "walk", "by", "river", "we", "had", "a")
    texts = []
    for label in labels:
        text = draw.choices(fillers, k=draw.randint(2, 9))
        text.insert(draw.randrange(len(text)), draw.choice(words[label]))
        texts.append(" ".join(text))
    return {"a": texts, "label": labels}


def check_task(task: Task, folder: Path, *, workspace: Workspace | None = None) -> None:
    """Every split loads and encodes, labels come back as they are, and the metrics are right about right answers.

    The rows are those of `workspace`, or of the task's own demo files, which are written below `folder`.
    """
    faults: list[str] = []
    if workspace is None:
        if task.demo_files is None:
            raise PluginError(f"{task.name}: without demo_files, give a workspace with its data.")
        task.demo_files(0, folder / "data")
        task.demo_files(0, folder / "again")
        if _contents(folder / "data") != _contents(folder / "again"):
            faults.append("demo_files writes other files for the same seed")
        workspace = Workspace(
            folder / "runs",
            folder / "cache",
            data=folder / "data",
            settings=Settings(offline=True, official_counts=False),
        )
    for name, split in task.splits.items():
        try:
            rows = task.load(name, workspace)
        except BenchrunnerError as error:
            faults.append(f"split {name}: {error}")
            continue
        faults += [f"split {name}: {fault}" for fault in _row_faults(task, rows, labelled=split.role != "test")]
    _raise(task.name, faults)


def _row_faults(task: Task, rows: Rows, *, labelled: bool) -> Iterator[str]:
    problem, gold = task.problem, task.problem.gold(rows.table)
    features = problem.encode(rows.table, TinyEncoder(), task.recipe, training=False)
    outputs = np.zeros((len(features.tokens if problem.head.level == "token" else features.owner), problem.head.width))
    gathered = problem.gather(outputs, features, rows.table)
    entries = problem.output_count(rows.table)
    if len(gathered) != entries:
        yield f"gather gives {len(gathered)} raw outputs, where output_count says {entries}"
    else:
        yield from _decoding_faults(problem, gathered, rows)
    workspace, sequences = problem.recurrent_sequences(features, rows.table)
    if len(workspace) != len(sequences.tokens):
        yield f"strands gives {len(workspace)} workspace for {len(sequences.tokens)} tokens"
    if gold is None:
        if labelled:
            yield "the rows have no labels; only a test split may be without"
        return
    yield from _decoding_faults(problem, np.repeat(problem.majority_output(rows.table)[None], entries, axis=0), rows)
    written = [problem.spell(problem.best_answer(one)) for one in gold]
    read = [problem.parse(text) for text in written]
    if any(problem.spell(answer) != text for answer, text in zip(read, written, strict=True)):
        yield "an answer that is written to a file and parsed again is another one"
    figures = problem.extra_figures(gathered, rows.table, problem.decoding)
    for metric in task.metrics:
        if metric.computed_from != ANSWERS:
            if metric.computed_from not in figures:
                yield f"{metric.name} is computed from {metric.computed_from}, which extra_figures does not give"
            continue
        score = _score(metric, gold, read)
        if len(set(map(repr, gold))) > 1 and score is not None and not score > 0:
            yield f"{metric.name} of the right answers is not above zero"


def _decoding_faults(problem: Problem, outputs: np.ndarray, rows: Rows) -> Iterator[str]:
    """Whether raw outputs are decoded to an answer a row that JSON can hold, and copies of them to the same answers."""
    answers = problem.decode(outputs, rows.table, problem.decoding)
    if len(answers) != len(rows):
        yield f"decode gives {len(answers)} answers to {len(rows)} rows"
    try:
        if json.loads(json.dumps(answers)) != answers:
            yield "an answer is another one after a way through JSON"
    except TypeError as error:
        yield f"an answer cannot be written as JSON: {error}"
    with contextlib.suppress(RequestError):  # some answers have no average
        if problem.decode(problem.average([outputs] * 2), rows.table, problem.decoding) != answers:
            yield "the average of two equal outputs has other answers"


def _score(metric: Metric, gold: Sequence[object], answers: Sequence[object]) -> float | None:
    try:
        return metric.value(gold, answers)
    except Undefined:
        return None


def check_backbone(backbone: Backbone, family: BackboneFamily, workspace: Workspace, folder: Path) -> None:
    """Check that revision and load are stable, that shapes are right, that sequences are independent of each other, and
    that an encoder is the same model when it is saved and read again: as loaded, and fine-tuned."""
    faults: list[str] = []
    if backbone.revision(workspace) != backbone.revision(workspace):
        faults.append("revision differs from call to call")
    encoder, again = (backbone.load(workspace, seed=0).eval() for _ in range(2))
    texts = sentences(4)["a"]
    with torch.inference_mode():
        summaries = _summaries(encoder, texts)
        if tuple(summaries.shape) != (4, encoder.hidden_size):
            faults.append(f"summary gives {tuple(summaries.shape)} for 4 sequences, not (4, {encoder.hidden_size})")
        if not torch.equal(summaries, _summaries(again, texts)):
            faults.append("two loads with one seed are two models")
        alone = torch.cat([_summaries(encoder, [text]) for text in texts])
        if summaries.shape == alone.shape and not torch.allclose(summaries, alone, atol=1e-5):
            faults.append("a sequence's summary depends on the others in its batch")
        if encoder.assemble(texts, None, 3).starts.tolist()[-1] > 3 * len(texts):
            faults.append("assemble keeps more tokens than max_length")
        folder.mkdir(parents=True, exist_ok=True)
        encoder.save(folder)
        found = family.find(str(folder), workspace)
        if found is None:
            faults.append("the family does not find the folder that its own encoder saved")
        elif not torch.equal(summaries, _summaries(found.load(workspace, seed=1).eval(), texts)):
            faults.append("saved and read again, the encoder is another model")
    faults += _training_faults(backbone, family, workspace)
    _raise(backbone.name, faults)


@final
@dataclass(frozen=True)
class _Loaded(Backbone):
    """A backbone whose encoder is loaded already, to keep hold of what a fit trains."""

    encoder: Encoder
    name: str = "loaded"
    about: str = "an encoder in memory"

    def revision(self, workspace: Workspace) -> str:
        return ""

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.encoder


def _training_faults(backbone: Backbone, family: BackboneFamily, workspace: Workspace) -> Iterator[str]:
    """Fine-tune for a few steps, save, and predict with the encoder in memory and with the one read back."""
    import pyarrow as pa

    with tempfile.TemporaryDirectory() as name:
        home, table = Path(name), pa.table(sentences(16))
        recipe = Recipe(lr=1e-3, epochs=2, batch_size=8)
        job = Job(
            fit=Fit("check", backbone.name, "finetune", recipe, 0, "", MOOD.identity(), "", {}),
            problem=MOOD,
            workspace=workspace,
            cache=Cache(home / "cache"),
            device="cpu",
            model=home / "model",
            checkpoint=home / "checkpoint",
            log=home / "log.jsonl",
            report=lambda event: None,
            train=Rows(table, "sentences"),
            backbone=_Loaded(backbone.load(workspace, seed=0)),
        )
        outcome = Finetune().fit(job)
        if outcome.status != "done":
            yield f"fine-tuning on {len(table)} sentences ends early: {outcome.reason}"
            return
        if WHOLE_TABLE in outcome.notes:
            yield "word_embedding is used for more than looking up batch.tokens; without that, it must be None"
        found = family.find(str(job.model), workspace)
        if found is None:
            yield "the family does not find the folder that a fit with its encoder left"
            return
        trained, read = (Finetune().predict(replace(job, backbone=one), table) for one in (job.backbone, found))
        if not np.array_equal(trained, read):
            yield "fine-tuned, saved and read again, the encoder is another model"


def _summaries(encoder: Encoder, texts: Sequence[str]) -> torch.Tensor:
    """One vector a text, in the order of the texts."""
    import pyarrow as pa

    features: Features = MOOD.encode(pa.table({"a": list(texts)}), encoder, Recipe(), training=False)
    batch = collate(features, np.arange(len(texts)), torch.device("cpu"))
    return encoder.summary(encoder(batch), batch)[batch.restore]


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def _raise(name: str, faults: Sequence[str]) -> None:
    if faults:
        raise PluginError(f"{name} breaks its contract:\n" + "\n".join(f"  - {fault}" for fault in faults))
