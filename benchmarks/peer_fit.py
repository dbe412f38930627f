"""Fits with transformers' Trainer as a script: python benchmarks/peer_fit.py REQUEST.json

The request names the model's folder, describes the task, and has the training rows, the rows to answer, and the seed
and the learning rate of each fit. The answers of the fits are printed as a JSON list. Uses no code of this project, so
that its time is the Trainer's own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from peer_tasks import Description, grouped_trainer, peer_task


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    precision, padded, answers = request["precision"], request["padded"], []
    peer = peer_task(Description(**request["task"]), Path(request["model"]))
    examples = peer.examples(request["train"], padded=padded)
    for seed, rate in request["fits"]:
        with tempfile.TemporaryDirectory() as folder:
            loop = grouped_trainer(
                peer, examples, Path(folder), precision=precision, padded=padded, seed=seed, rate=rate
            )
            loop.train()
        loop.data_collator = peer.collator()
        answers.append(peer.answers(loop, request["dev"], precision=precision))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
