"""From what a user asks to a run: vocabulary, tokens, model, engine, and the model card at its end."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock

from benchrunner import DataError, RequestError, read_json_object, write_json
from benchrunner.engine import step_log
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.pretrained import check_free, register
from benchrunner_bert.pretraining.continuation import check_same, plain
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import PLAN, Manifest, SourceFacts
from benchrunner_bert.pretraining.corpus.store_writer import Progress
from benchrunner_bert.pretraining.corpus.token_store import MANIFEST, TokenStore, file_facts, writing
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.corpus.vocabulary_learning import learn_vocabulary
from benchrunner_bert.pretraining.deepspeed import launch
from benchrunner_bert.pretraining.deepspeed.configuration import check_keys, decisive
from benchrunner_bert.pretraining.deepspeed.engine import Engine
from benchrunner_bert.pretraining.deepspeed.processes import alone, first_here
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.conversion import description
from benchrunner_bert.pretraining.export.model_folder import export
from benchrunner_bert.pretraining.instances.instance import InstanceSettings
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.settings import Settings, check_shared
from benchrunner_bert.pretraining.training.loop import Makers, Pretraining
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.pretraining.training.plan import Plan

FINISHED = "finished.json"
"""In the folder of a run, written last: what was asked."""
HELD_OUT_SEED = 1_000_003
"""Held-out instances are the same whatever the run's seed, so that runs can be compared."""


@dataclass(frozen=True)
class Request:
    """One pre-training as it was asked for."""

    size: str
    """`tiny` ... `large`, L/H, or L/H/A."""
    corpus: tuple[str, ...]
    out: Path
    settings: Settings
    held_out: tuple[str, ...] = ()
    blank_lines: int = 1
    """How many in a row end a document of a text file; 0: only its end does."""
    vocabulary: Path | None = None
    """Given; else one of `vocabulary_size` pieces is learnt from the corpus."""
    vocabulary_size: int = 30_522
    lowercase: bool | None = None
    """None: as a given vocabulary shows, and lower case for one that is learnt."""
    plan: Plan = dataclasses.field(default_factory=Plan)
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """For DeepSpeed's configuration."""
    command: str = ""
    """For the card."""
    tokens: Path | None = None
    """Where the corpus is kept as tokens, with the vocabulary that was learnt from it; runs may share it."""
    name: str | None = None
    """Of the finished model among the backbones; else its folder's."""
    runs: Path = Path("runs")
    """Where names are kept."""

    @property
    def model(self) -> Path:
        """Where the finished model is."""
        return self.out / "model"

    def prepared(self, report: Callable[[Progress], None] = lambda progress: None) -> tuple[TokenStore, Vocabulary]:
        """The corpus as tokens, and the vocabulary: made once, and found again."""
        home = self._home
        with writing(home):
            home.mkdir(parents=True, exist_ok=True)
            # Held until the tokens are there: no other request learns a vocabulary in between.
            with FileLock(home / ".vocabulary.lock"):
                vocabulary = self._vocabulary(home)
                return store_writer.write(
                    home, self._corpus, vocabulary, facts=self._sources, report=report
                ), vocabulary

    def prepared_once(
        self, report: Callable[[Progress], None] = lambda progress: None
    ) -> tuple[TokenStore, Vocabulary]:
        """The same in one of several processes: the first of each machine prepares, the others wait and open it."""
        if not launch.is_ours():  # else who started them all has prepared
            first_here(lambda: self.prepared(report))
        store = TokenStore.open(self._home)
        return store, store.vocabulary

    @property
    def _home(self) -> Path:
        return self.tokens or self.out / "tokens"

    @cached_property
    def _corpus(self) -> Corpus:
        return Corpus.named(self.corpus, blank_lines=self.blank_lines)

    @cached_property
    def _sources(self) -> tuple[SourceFacts, ...]:
        """What the corpus is made of, every file read once."""
        return tuple(source.facts() for source in self._corpus.sources)

    @cached_property
    def _held_out_sources(self) -> tuple[SourceFacts, ...]:
        """The same of the text that is only looked at: figures of one text are not another's."""
        if not self.held_out:
            return ()
        return tuple(source.facts() for source in Corpus.named(self.held_out, blank_lines=self.blank_lines).sources)

    def _vocabulary(self, home: Path) -> Vocabulary:
        if self.vocabulary is not None:
            return Vocabulary.read(self.vocabulary, lowercase=self.lowercase)
        # Not the store's own vocab.txt: what is tokenised there may be of a given vocabulary, and must stay whole.
        path, asked, lowercase = home / "learnt.txt", home / "learnt.json", self.lowercase is not False
        wanted = {"pieces": self.vocabulary_size, "lowercase": lowercase}
        corpus = {"corpus": _named(self._sources)}
        found = read_json_object(asked) if asked.is_file() else {}
        # Of another corpus, and no token was written with it: a writer was stopped in between.
        stale = found.get("corpus") != corpus["corpus"] and not (home / PLAN).exists()
        if not found or stale:
            learnt = learn_vocabulary(self._corpus.paragraphs, path, size=self.vocabulary_size, lowercase=lowercase)
            write_json(asked, wanted | corpus)
            return learnt
        check_same(found, wanted, asked)  # whether the corpus is the tokens', the tokens know
        return Vocabulary.read(path, lowercase=lowercase)

    def is_finished(self) -> bool:
        """Whether this very request has been done before; a `RequestError` where another one has."""
        path = self.out / FINISHED
        if not path.exists() or not (self.model / "config.json").exists():
            return False
        check_same(read_json_object(path), self._asked(self._sources), path)
        if missing := [step for step in self.plan.export_at if not self.export_of(step).exists()]:
            steps = ", ".join(map(str, missing))
            raise RequestError(f"{self.out} was finished without a model of step {steps}: choose another --out.")
        return True

    def announce(self) -> None:
        """The finished model under the name that was asked for."""
        config = Configuration.read(self.model / "config.json")
        register(self.called, self.model, self._about(config), self.runs)

    @property
    def called(self) -> str:
        """The model's name, behind the prefix."""
        return self.name or self.out.resolve().name

    def _about(self, config: Configuration) -> str:
        """A line for `benchrunner list`."""
        looks = "; its attention looks left only" if config.left_only else ""
        return (
            f"pre-trained here: {config.layers} layers, {config.hidden} wide, {self.settings.objective}, "
            f"{self.settings.steps:,} steps{looks}"
        )

    def export_of(self, step: int) -> Path:
        """Where the model of a step on the way is."""
        return self.out / "exports" / f"step-{step}"

    def run(self, store: TokenStore, vocabulary: Vocabulary, report: Callable[..., None]) -> bool:
        """Learn, from the last checkpoint where there is one; whether the end was reached."""
        with alone(self.out, f"{self.out} is being trained by another process"):
            return self._run(store, vocabulary, report)

    def _run(self, store: TokenStore, vocabulary: Vocabulary, report: Callable[..., None]) -> bool:
        settings, tokenizer = self.settings, vocabulary.tokenizer()
        longest = max(512, *settings.lengths)
        config = dataclasses.replace(Configuration.of_size(self.size, tokenizer.size), positions=longest)
        model = PretrainingModel.fresh(config, tokenizer, named(settings.objective), seed=settings.seed)
        if settings.positions == "waves":
            model.bert.embeddings.set_sinusoidal_positions()
        model.bert.set_dropout(settings.dropout)  # while it learns; config.json says what fine-tuning begins with
        model.bert.recomputes = settings.recompute
        makers = self._makers(store, vocabulary, settings.seed)
        held_out = None
        if self.held_out:
            other = store_writer.write(
                self.out / "held-out", Corpus.named(self.held_out, blank_lines=self.blank_lines), vocabulary
            )
            held_out = self._makers(other, vocabulary, HELD_OUT_SEED)
        engine = Engine(model, settings, overrides=self.overrides)
        if not engine.agrees(int(file_facts(store.folder / MANIFEST).sha256[:15], 16)):
            raise DataError(f"{store.folder} is not the same on all machines: give each the same files as --corpus.")
        run = Pretraining(
            engine=engine,
            model=model,
            settings=settings,
            makers=makers,
            folder=self.out,
            facts=self._facts(store),
            plan=self.plan,
            held_out=held_out,
            export=lambda step: self._export(model, store.manifest, step),
            describe=lambda step: description(
                model, vocabulary.path, lowercase=vocabulary.lowercase, card=self._card(store.manifest, step)
            ),
            report=report,
        )
        finished = run.run()
        engine.close()  # not after a fault: the others wait elsewhere, and would wait here for each other
        return finished

    def _makers(self, store: TokenStore, vocabulary: Vocabulary, seed: int) -> Makers:
        frame = vocabulary.tokenizer().frame
        return {
            length: Instances(store, frame, vocabulary, self.instances(length), seed)
            for length in self.settings.lengths
        }

    def instances(self, length: int) -> InstanceSettings:
        """What instances of a length are to be like."""
        settings = self.settings
        return InstanceSettings(settings.objective, length, settings.chosen, settings.masking, settings.short)

    def _asked(self, sources: Sequence[SourceFacts]) -> dict[str, Any]:
        """What decides the result, as far as the user says it."""
        given = None if self.vocabulary is None else hashlib.sha256(self.vocabulary.read_bytes()).hexdigest()
        return {
            "settings": self.settings.asked(),
            "size": self.size,
            "blank_lines": self.blank_lines,
            "vocabulary": given or self.vocabulary_size,
            "lowercase": self.lowercase,
            "overrides": decisive(self.overrides),
            "corpus": _named(sources),
            "held_out": _named(self._held_out_sources),
        }

    def _facts(self, store: TokenStore) -> dict[str, Any]:
        """What a checkpoint must share with the run that goes on from it."""
        return plain(self._asked(store.manifest.sources) | {"tokenizer": store.manifest.plan.tokenizer})

    def _export(self, model: PretrainingModel, corpus: Manifest, step: int) -> None:
        """The finished model, or one on the way, or one that is both."""
        done, card = step == self.settings.steps, self._card(corpus, step)
        if step in self.plan.export_at:
            export(model, self.export_of(step), card)
        if done:
            export(model, self.model, card)
            self.announce()
            write_json(self.out / FINISHED, self._asked(corpus.sources))

    def _card(self, corpus: Manifest, step: int) -> Card:
        settings = self.settings
        first = min(step, settings.border)
        phases = [(first, settings.length_at(0)), (step - first, settings.length_at(settings.steps - 1))]
        masked = settings.objective != "ltr"
        return Card(
            name=self.called,
            corpus=corpus,
            phases=tuple(one for one in phases if one[0]),
            batch_size=settings.batch_size,
            masking=dict(zip(("[MASK]", "random", "same"), settings.masking, strict=True)) if masked else {},
            chosen=settings.chosen if masked else 1.0,
            losses=self._last_figures(),
            seed=settings.seed,
            precision=settings.precision,
            dropout=settings.dropout,
            positions=settings.positions,
            command=self.command,
            versions={name: importlib.metadata.version(name) for name in ("torch", "deepspeed", "tokenizers")},
        )

    def _last_figures(self) -> dict[str, float]:
        """The last of each kind that the log holds."""
        found: dict[str, float] = {}
        for line in step_log.read(self.out / "log.jsonl"):
            for name, value in line.items():
                if name.endswith(("loss", "accuracy", "perplexity")):
                    found[name.replace("_", " ")] = value
        return found


def check(request: Request, processes: int) -> None:
    """A `RequestError` for what cannot work, before any text is read."""
    Configuration.of_size(request.size, 100)
    check_shared(request.settings.batch_size, processes)
    check_keys(request.overrides)
    for length in request.settings.lengths:
        request.instances(length)
    if wrong := [step for step in request.plan.export_at if not 1 <= step <= request.settings.steps]:
        raise RequestError(f"A model of step {wrong[0]} cannot be kept: steps are 1 to {request.settings.steps}.")
    for paths in (request.corpus, request.held_out):
        if paths:
            Corpus.named(paths, blank_lines=request.blank_lines)
    if request.out.exists() and not request.out.is_dir():
        raise DataError(f"{request.out}: a run is kept in a folder, and this is none.")
    check_free(request.called, request.model, request.runs)


def _named(sources: Sequence[SourceFacts]) -> list[list[str | None]]:
    """Which texts they are: a name and the content's hash each."""
    return [[one.name, one.sha256 or one.revision] for one in sources]
