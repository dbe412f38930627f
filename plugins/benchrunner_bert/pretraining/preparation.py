"""Prepare a pre-training: the vocabulary, and the corpus as tokens. What exists from an earlier call is used again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from benchrunner.engine import seals
from benchrunner_bert.pretraining.continuation import check_same
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import MANIFEST
from benchrunner_bert.pretraining.corpus.store_writer import Progress
from benchrunner_bert.pretraining.corpus.token_store import TokenStore, writing
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.corpus.vocabulary_learning import learn_vocabulary
from benchrunner_bert.pretraining.deepspeed.processes import first_here
from benchrunner_bert.pretraining.request import Request, text_hashes

Report = Callable[[Progress], None]


def prepare(request: Request, report: Report) -> TokenStore:
    """Learn or read the vocabulary, and write the corpus as tokens."""
    corpus = request.corpus_texts
    folder = request.tokens_folder
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # Held until the tokens are written: meanwhile no other run learns a vocabulary in this folder.
        with FileLock(folder / ".vocabulary.lock"):
            vocabulary = _prepare_vocabulary(request, corpus)
            return store_writer.write(folder, corpus, vocabulary, report=report)


def prepare_once_per_machine(request: Request, report: Report) -> TokenStore:
    """Let the first process of each machine prepare; the others wait, and all open the result."""
    first_here(lambda: prepare(request, report))
    return TokenStore.open(request.tokens_folder)


def _prepare_vocabulary(request: Request, corpus: Corpus) -> Vocabulary:
    if request.vocabulary is not None:
        return Vocabulary.read(request.vocabulary, lowercase=request.texts.lowercase)
    # Not the store's own vocab.txt: the store may belong to a given vocabulary, and must then stay unchanged.
    path = request.tokens_folder / "learnt.txt"
    facts_path = request.tokens_folder / "learnt.json"
    lowercase = request.texts.lowercase is not False
    wanted = {"pieces": request.texts.vocabulary_size, "lowercase": lowercase}
    texts = text_hashes(corpus.facts)
    facts = seals.find_sealed(facts_path, seals.made_again(facts_path)) or {}
    if not facts or _is_stale(facts.get("corpus"), texts, request.tokens_folder):
        vocabulary = learn_vocabulary(corpus.paragraphs, path, size=request.texts.vocabulary_size, lowercase=lowercase)
        seals.write_sealed(facts_path, {**wanted, "corpus": texts, "files": {path.name: seals.file_checksum(path)}})
        return vocabulary
    seals.check_files(path.parent, facts["files"], seals.made_again(facts_path))
    check_same(facts, wanted, facts_path)  # the token store checks whether the corpus is the same
    return Vocabulary.read(path, lowercase=lowercase)


def _is_stale(learned_from: object, texts: list[list[str]], folder: Path) -> bool:
    """Whether a vocabulary of another corpus can be replaced: nobody began to write tokens with it."""
    return learned_from != texts and not (folder / MANIFEST).exists()
