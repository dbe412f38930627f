"""How fast a corpus becomes a token store, beside the bare tokenizer; and instances, beside a small model's step.

python benchmarks/store_writing.py --corpus PATH... [--megabytes 8] [--repeats 3] [--steps 10]

The bare tokenizer is the Rust one on all cores, over the same sentences split beforehand, its results dropped: encoding
alone. Writing is everything: hashing and reading the files, splitting, encoding with an empty memory, borders,
checksums, the disk. Both take turns. The parts of the corpus are of a few megabytes: the larger one is, the more of its
words were met before, so the last line writes everything at once.
Aims: writing at least at 0.9 of the bare tokenizer's speed; instances never slower than the model at size 2/128.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.sentences import split
from benchrunner_bert.pretraining.corpus.sources import Source
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.instances.batches import pack
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.settings import Settings


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of all cores."""
    wall, cores = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cores


def part(corpus: Corpus, number: int, megabytes: float) -> Corpus:
    """Neighbouring files of about this size, another part for each number."""
    chosen, size = list[Source](), 0
    for source in (*corpus.sources[number:], *corpus.sources[:number]):
        chosen.append(source)
        size += source.facts().size
        if size >= megabytes * 1e6:
            break
    return Corpus(tuple(chosen), corpus.blank_lines)


def compare(corpus: Corpus, vocabulary: Vocabulary, repeats: int, megabytes: float) -> None:
    tokenizer = vocabulary.tokenizer()._tokenizer
    clock, cores = list[float](), list[float]()
    for number in range(repeats):
        one = part(corpus, 7 * number % len(corpus.sources), megabytes)
        size = sum(source.facts().size for source in one.sources) / 1e6
        sentences = split("\n".join(one.paragraphs()))
        bare = timed(lambda texts=sentences: tokenizer.encode_batch_fast(texts, add_special_tokens=False))  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            ours = timed(lambda path=Path(folder), texts=one: store_writer.write(path, texts, vocabulary))  # type: ignore[misc]
        for name, (wall, used) in (("bare tokenizer", bare), ("store writing", ours)):
            print(f"{name:15} {size:5.1f} MB: {size / wall:6.2f} MB/s, {size / used:6.2f} MB a second of one core")
        clock.append(bare[0] / ours[0])
        cores.append(bare[1] / ours[1])
    print(f"writing / bare: {statistics.median(clock):.2f} on the clock {[round(one, 2) for one in clock]}")
    print(f"                {statistics.median(cores):.2f} by seconds of cores {[round(one, 2) for one in cores]}")


def miniature(store: TokenStore, vocabulary: Vocabulary, steps: int, batch_size: int) -> None:
    """Making and collating a batch beside the forward and backward pass of BERT 2/128 on it, one thread each."""
    torch.set_num_threads(1)
    settings = Settings()
    architecture, size = architectures.of_size("2/128")
    model = architecture.fresh(size, vocabulary.tokenizer(), settings)
    maker = Instances(store, model.bert.frame, Masking(vocabulary, settings), settings, 0)
    making, learning = list[float](), list[float]()
    for step in range(steps):
        began = time.process_time()
        instances = [maker.make(index) for index in range(step * batch_size, (step + 1) * batch_size)]
        batch = pack(instances).on(torch.device("cpu"))
        made = time.process_time()
        sums = model(batch)
        sums.loss(len(batch.labels), batch_size).backward()
        making.append(made - began)
        learning.append(time.process_time() - made)
    for name, seconds in (("made", making), ("learnt from by 2/128", learning)):
        print(f"instances {name}: {batch_size / statistics.median(seconds):,.0f} a second of one core")
    print(f"making takes {statistics.median(making) / statistics.median(learning):.1%} of the step's time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", required=True)
    parser.add_argument("--vocab", type=Path, default=VOCABULARY)
    parser.add_argument("--megabytes", type=float, default=8.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=256)
    arguments = parser.parse_args()
    corpus, vocabulary = Corpus.named(arguments.corpus, blank_lines=0), Vocabulary.read(arguments.vocab)
    compare(corpus, vocabulary, arguments.repeats, arguments.megabytes)
    with tempfile.TemporaryDirectory() as folder:
        wall, used = timed(lambda: store_writer.write(Path(folder), corpus, vocabulary))
        store = TokenStore.open(Path(folder))
        size = store.manifest.plan.size / 1e6
        print(f"all {size:.0f} MB written: {size / wall:.1f} MB/s, {size / used:.1f} MB a second of one core")
        print(f"  {store.documents:,} documents, {store.sentences:,} sentences, {store.tokens:,} tokens")
        miniature(store, vocabulary, arguments.steps, arguments.batch_size)


if __name__ == "__main__":
    main()
