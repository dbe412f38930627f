"""Compare models by their loss on held-out text with one share of masks, whatever share each was trained with.

python benchmarks/masked_loss.py RUN MODEL...

RUN is the folder of a pre-training with --held-out; its vocabulary must be that of all models.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch

from benchrunner_bert.checkpoint import WEIGHTS, read
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch, pack
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_bert.pretraining.instances.masking import Masking
from benchrunner_bert.pretraining.pretrain import HELD_OUT_SEED
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.token_head import published_head
from benchrunner_checkpoints import hub_files

BATCH = 64


def batches(store: TokenStore, settings: Settings, sequences: int) -> list[PretrainingBatch]:
    """Make the same masked sequences for every model."""
    masking = Masking(store.vocabulary, settings)
    maker = Instances(store, store.vocabulary.tokenizer().frame, masking, settings, HELD_OUT_SEED)
    starts = range(0, sequences, BATCH)
    return [pack([maker.make(start + number) for number in range(BATCH)]).on(torch.device("cpu")) for start in starts]


def mean_loss(model: Path, parts: list[PretrainingBatch]) -> tuple[float, float]:
    """Give the mean loss of a masked token, and the share of tokens that are guessed right."""
    bert = read(model, seed=0).eval()
    [path] = hub_files.weight_files(model, WEIGHTS)
    head = published_head(bert, path)
    loss = hits = count = 0.0
    for part in parts:
        with torch.no_grad():
            summed, correct = cross_entropy.summed(head(bert(part.flat)[part.positions]), part.labels)
        loss += summed.item()
        hits += correct.item()
        count += len(part.labels)
    return loss / count, hits / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    parser.add_argument("--chosen", type=float, default=0.15, help="share of masked tokens")
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 128], help="tokens of a sequence")
    parser.add_argument("--sequences", type=int, default=1024, help=f"a multiple of {BATCH}")
    arguments = parser.parse_args()
    store = TokenStore.open(arguments.run / "held-out")
    for length in arguments.lengths:
        settings = Settings(objective="mlm", input="document", length=length, chosen=arguments.chosen)
        parts = batches(store, settings, arguments.sequences)
        tokens = sum(len(part.labels) for part in parts)
        for model in arguments.models:
            loss, accuracy = mean_loss(model, parts)
            figures = f"loss {loss:.3f}, perplexity {math.exp(loss):.1f}, accuracy {accuracy:.3f}"
            print(f"{length} tokens, {model}: {figures} ({tokens:,} masked tokens)", flush=True)


if __name__ == "__main__":
    main()
