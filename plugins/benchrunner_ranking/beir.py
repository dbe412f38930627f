"""Tasks of BEIR (Thakur et al. 2021) in its own layout of files, and tasks of any corpus in the same layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from shutil import unpack_archive

from benchrunner import Recipe, Role, Split, Suite, Task
from benchrunner_ranking import metrics
from benchrunner_ranking.corpus import BeirQueries, Corpus
from benchrunner_ranking.retrieve import Retrieve

METRICS = (
    metrics.ndcg(10),
    metrics.recall(100),
    metrics.mean_average_precision(100, detail=True),
    metrics.reciprocal_rank(10, detail=True),
)
"""BEIR's headline first (Thakur et al. 2021, 3.4); `map@100` and `mrr@10` are in JSON."""
RECIPE = Recipe(lr=2e-5, epochs=3, batch_size=32, max_length=256, summary="mean")
"""Means of token states and a batch of 32 pairs: Reimers and Gurevych 2019, 3; the length is ours."""
SUITE = Suite("beir")


def beir_task(
    name: str,
    about: str,
    counts: Mapping[Role, int | None],
    *,
    problem: Retrieve | None = None,
) -> Task:
    """Make the task `SUITE/CORPUS` of a corpus in BEIR's layout, in the folder CORPUS or beir/CORPUS of the data.

    `counts` has the splits that the folder `qrels` has files for, with the number of judged queries if it is known.
    Without dev, the task is cross-validated (`--folds 5`), and has no part in `benchrunner demo`.
    """
    suite, folder = name.split("/")
    corpus = Corpus((folder, f"{suite}/{folder}"))
    archive = Path(__file__).parent / f"demo_data/{folder}.zip"
    splits = dict[str, Split]()
    for role, count in counts.items():
        splits[role] = Split(role, (BeirQueries(corpus, role, has_passages=role == "train"),), count)
    return Task(
        name=name,
        about=about,
        problem=problem or Retrieve(corpus),
        splits=splits,
        metrics=METRICS,
        recipe=RECIPE,
        method="two-tower",
        suite=SUITE if suite == SUITE.name else None,
        demo_files=partial(unpack_archive, archive) if archive.is_file() else None,
        columns=("query_id",),
        language="en",
    )


def tasks() -> Iterator[Task]:
    """Yield the data sets of BEIR that have queries to train on, and a corpus that is encoded within minutes."""
    about = "Which passages of {} answer the query?"
    yield beir_task("beir/fiqa", about.format("financial forums"), {"train": 5_500, "dev": 500, "test": 648})
    yield beir_task("beir/nfcorpus", about.format("medical abstracts"), {"train": 2_590, "dev": 324, "test": 323})
    yield beir_task(
        "beir/scifact", "Which abstracts tell whether the scientific claim holds?", {"train": 809, "test": 300}
    )
