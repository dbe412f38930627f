"""The tasks: their files, their data sets on the hub, and their recipes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import unpack_archive

from benchrunner import Recipe, Role, Split, Suite, Task
from benchrunner_kinds import Span
from benchrunner_squad.comparing import ANSWERED, ANSWERED_OR_NONE
from benchrunner_squad.questions import SquadFile
from benchrunner_squad.scorers import AnsweredOrNoneScorer, AnsweredScorer
from benchrunner_squad.triviaqa import TOKENS, TriviaFile
from benchrunner_tasks import HubTable

SQUAD = Suite("squad")
TRIVIAQA = Suite("triviaqa")
SQUAD_ROOTS = ("", "squad/", "SQuAD/")
TRIVIAQA_ROOTS = ("", "triviaqa/", "triviaqa-rc/")
"""Folders below the data folder that are searched; the last is the name of TriviaQA's archive."""

RECIPE = Recipe(lr=5e-5, epochs=3, batch_size=32, max_length=384, stride=128)
"""Recipe of SQuAD: Devlin et al. 2019, 4.2, and their released code."""
HUB_COLUMNS = {"id": "id", "question": "question", "context": "context", "article": "title"}
HUB_COLUMNS |= {"answers": "answers.text", "starts": "answers.answer_start"}


def tasks() -> Iterator[Task]:
    """Yield all tasks of SQuAD and TriviaQA."""
    yield Task(
        name="squad/1.1",
        title="SQuAD 1.1",
        about="Which words of the paragraph answer the question?",
        problem=Span(),
        splits={
            "train": _squad("train", "v1.1", ("rajpurkar/squad", "plain_text", "train"), 87_599),
            "dev": _squad("dev", "v1.1", ("rajpurkar/squad", "plain_text", "validation"), 10_570),
        },
        metrics=ANSWERED,
        recipe=RECIPE,
        suite=SQUAD,
        scorer=AnsweredScorer(),
        demo_files=partial(
            unpack_archive, Path(__file__).parent / "demo_data/squad-1.1.zip"
        ),  # with TriviaQA, for its studies
        clusters="article",
        language="en",
        licence="CC BY-SA 4.0",
    )
    yield Task(
        name="squad/2.0",
        title="SQuAD 2.0",
        about="Which words of the paragraph answer the question, if any do?",
        problem=Span(unanswerable=True),
        splits={
            "train": _squad("train", "v2.0", ("rajpurkar/squad_v2", "squad_v2", "train"), 130_319),
            "dev": _squad("dev", "v2.0", ("rajpurkar/squad_v2", "squad_v2", "validation"), 11_873),
        },
        metrics=ANSWERED_OR_NONE,
        recipe=RECIPE.changed(batch_size=48, epochs=2),
        suite=SQUAD,
        scorer=AnsweredOrNoneScorer(),
        demo_files=partial(unpack_archive, Path(__file__).parent / "demo_data/squad-2.0.zip"),
        clusters="article",
        language="en",
        licence="CC BY-SA 4.0",
    )
    for name, domain in (("wiki", "wikipedia"), ("web", "web")):
        yield _trivia_task(f"triviaqa/{name}", domain)


def _squad(role: Role, version: str, hub: tuple[str, str, str], rows: int) -> Split:
    file = SquadFile(tuple(f"{root}{role}-{version}.json" for root in SQUAD_ROOTS))
    return Split(role, (file, HubTable(*hub, HUB_COLUMNS)), rows)


def _trivia_task(name: str, domain: str) -> Task:
    """Build a task of TriviaQA."""

    def split(role: Role) -> Split:
        names = tuple(f"{root}qa/{domain}-{role}.json" for root in TRIVIAQA_ROOTS)
        return Split(role, (TriviaFile(names),))

    document = "page" if domain == "web" else "article"
    return Task(
        name=name,
        about=f"Where do the first {TOKENS} tokens of the {document} name the answer to the trivia question?",
        problem=Span(),
        splits={"train": split("train"), "dev": split("dev")},
        metrics=ANSWERED,
        recipe=RECIPE,
        suite=TRIVIAQA,
        clusters="question",
        language="en",
    )
