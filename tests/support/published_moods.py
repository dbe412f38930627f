"""A leaderboard with published figures of the task `mine/mood`, in several columns and variants."""

from dataclasses import replace

from benchrunner import Average, PublishedColumn, PublishedRow, Suite, Term
from benchrunner.leaderboards.published_choice import PublishedChoice, choose_published
from benchrunner_submit import Leaderboard
from inline import board

TERM = Term("mine/mood", "dev", "accuracy")
MEAN = Suite("mine", (Average("mean", ((TERM,),)), Average("score", ((TERM, Term("mine/mood", "dev", "matthews")),))))
COLUMNS = {
    "test": PublishedColumn("test", "accuracy", task="mine/mood", split="test"),
    "dev": PublishedColumn("dev", "accuracy", task="mine/mood", split="dev"),
    "matthews": PublishedColumn("dev", "matthews", task="mine/mood", split="dev"),
    "mean": PublishedColumn("test", "mean", suite="mine"),
    "other mean": PublishedColumn("test", "mean", suite="theirs"),
    "score": PublishedColumn("test", "score", suite="mine"),
}
SOURCE = "Nobody 2019, Table 1"
ROWS = (
    PublishedRow("Mercury", SOURCE, {"test": 80.5, "dev": 81.5, "matthews": 11.1}, by_default=True),
    PublishedRow("Mercury", SOURCE, {"dev": 82.5}, variant="ensemble", notes="7 of them"),
    PublishedRow("Barometer", "Somebody 2020", {"mean": 70.5, "other mean": 22.2, "score": 33.3}, by_default=True),
    PublishedRow("Barometer", "Nobody 2018", {"dev": 44.4}, other_data="the weather of 2018"),
)


def published_board() -> Leaderboard:
    """Return the board of moods with published figures."""
    return replace(board(), columns=COLUMNS, published=ROWS)


def choice(*names: str) -> PublishedChoice:
    """Choose published figures of the board by the names of systems."""
    return choose_published([published_board()], names or None)
