"""Tasks of every kind over made-up sentences whose answers are in their words."""

from collections.abc import Callable
from typing import Any

from benchrunner import ACCURACY, Classify, Metric, Regress, Task
from benchrunner.data.sources import RowsFrom
from benchrunner.parameters.recipes import Recipe
from benchrunner.tasks.task import Split
from benchrunner_kinds import Choose, MultiLabel, Span, Tag
from benchrunner_kit.testing import sentences

PROBLEMS: dict[str, Any] = {
    "classify": Classify(("glad", "sad")),
    "regress": Regress(0, 1),
    "choose": Choose(2),
    "span": Span(),
    "tag": Tag(("O", "B")),
    "labels": MultiLabel(("glad", "sad")),
}
"""Kind of a task -> its problem."""
_FIRST_WORD = Metric("first word", lambda gold, answers: 0.5, per_row=lambda gold, answer: 0.5)


def rows_of_kind(kind: str, count: int, seed: int) -> dict[str, list[Any]]:
    """Make the columns of a kind of task."""
    made = sentences(count, seed=seed)
    glad = [int(label == "glad") for label in made["label"]]
    if kind == "choose":
        moods: tuple[list[str], list[str]] = ([], [])
        for text, mood in zip(made["a"], glad, strict=True):
            moods[mood].append(text)
        places = [row % 2 for row in range(count // 3)]
        pairs = [[moods[0][row], moods[1][row]][:: 1 if place else -1] for row, place in enumerate(places)]
        return {"a": ["A day."] * len(pairs), "choices": pairs, "label": places}
    if kind == "tag":
        words = [text.split() for text in made["a"]]
        return {"words": words, "labels": list(map(_tags, words))}
    if kind == "span":
        answers = [[text.split()[0]] for text in made["a"]]
        ids = [str(number) for number in range(count)]
        return {
            "id": ids,
            "question": ["first"] * count,
            "context": made["a"],
            "answers": answers,
            "starts": [[0]] * count,
        }
    columns: dict[str, list[Any]] = {
        "classify": made["label"],
        "regress": [float(label) for label in glad],
        "labels": [["glad"] if label else [] for label in glad],
    }
    return {"a": made["a"], ("labels" if kind == "labels" else "label"): columns[kind]}


def _tags(words: list[str]) -> list[str]:
    return ["B" if word in ("river", "walk") else "O" for word in words]


def task_of_kind(
    kind: str, *, rows: Callable[[int], dict[str, list[Any]]] | None = None, recipe: Recipe | None = None
) -> Task:
    """Make a task of a kind, with a train and a dev split; `rows` gives the columns of the split of a number."""

    def columns(seed: int) -> dict[str, list[Any]]:
        return rows_of_kind(kind, 160, seed) if rows is None else rows(seed)

    splits = {
        role: Split(role, (RowsFrom(lambda workspace, seed=seed: columns(seed)),))  # type: ignore[misc, arg-type]
        for seed, role in enumerate(("train", "dev"))
    }
    metric = _FIRST_WORD if kind == "span" else ACCURACY
    default = Recipe(context="sentence")
    return Task(f"mine/{kind}", "About glad words.", PROBLEMS[kind], splits, (metric,), recipe or default)
