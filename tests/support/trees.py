"""A span task that lives nowhere but here: which tree stood there? Sometimes none."""

from typing import Any

import numpy as np
import pyarrow as pa

from benchrunner import Metric, Recipe, Split, Task, Workspace
from benchrunner.data.rows import Rows
from benchrunner.data.sources import Source
from benchrunner_kinds import Span

ONE_BY_ONE = Metric("exact", lambda gold, said: sum(map(hit, gold, said)) / len(gold), per_row=lambda g, s: hit(g, s))


def hit(gold: list[str], said: str) -> float:
    return float(said in (gold or [""]))


class Paragraphs(Source):
    """Where is the tree? Sometimes there is none."""

    def __init__(self, role: str, count: int) -> None:
        self.role, self.count = role, count

    def where(self, workspace: Workspace) -> str:
        return self.role

    def read(self, workspace: Workspace) -> Rows:
        draw = np.random.default_rng(len(self.role))
        contexts, answers = [], []
        for _ in range(self.count):
            words = draw.choice(["by", "the", "lake", "stood", "some", "old"], 8).tolist()
            tree = str(draw.choice(["oak", "elm", ""]))
            words.insert(int(draw.integers(8)), tree or "house")
            contexts.append(" ".join(words))
            answers.append([tree] if tree else [])
        pairs = zip(contexts, answers, strict=True)
        starts = [list(map(context.find, texts)) for context, texts in pairs]
        columns: dict[str, Any] = {"id": [f"{self.role}{at}" for at in range(self.count)], "context": contexts}
        columns["question"] = ["which tree"] * self.count
        columns["answers"] = pa.array(answers, pa.list_(pa.string()))
        columns["starts"] = pa.array(starts, pa.list_(pa.int64()))
        return Rows(pa.table(columns), self.role)


def trees(name: str = "mine/trees") -> Task:
    counts: dict[Any, int] = {"train": 80, "dev": 40, "test": 20}
    splits = {role: Split(role, (Paragraphs(role, count),)) for role, count in counts.items()}
    recipe = Recipe(lr=0.03, epochs=6, batch_size=8)
    return Task(name, "Which tree?", Span(unanswerable=True), splits, (ONE_BY_ONE,), recipe=recipe)
