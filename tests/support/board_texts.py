"""A board in TOML as text, and the function that reads a board from text."""

from pathlib import Path

from benchrunner_submit import Leaderboard
from benchrunner_submit.board_toml import read_leaderboard

BOARD_TOML = """
name = "moods"
title = "Moods"
url = "https://moods.example"
archive = "moods.zip"

[[file]]
name = "Mood.tsv"
kind = "table"
header = ["index", "prediction"]
task = "mine/mood"
split = "test"
rows = 3
labels = {sad = "0", glad = "1"}
other_rows = {4 = "the rows of last year"}

[[file]]
name = "Warmth.tsv"
kind = "table"
header = ["index", "prediction"]
task = "mine/warmth"
split = "test"
rows = 2
number = {low = 0, high = 5, decimals = 3}

[[file]]
name = "said.json"
kind = "json"
key = "id"
task = "mine/spoken"
split = "dev"
rows = 2

[[file]]
name = "doubt.json"
kind = "json"
key = "id"
extra_figure = "no_answer"
task = "mine/spoken"
split = "dev"
rows = 2
number = {low = 0, high = 1, outside = "a log-odds is no probability"}

[[file]]
name = "choice.csv"
kind = "lines"
task = "mine/choice"
split = "test"
rows = 5
labels = {0 = "0", 1 = "1"}

[[file]]
name = "chances.csv"
kind = "lines"
values = 2
extra_figure = "probabilities"
task = "mine/choice"
split = "test"
rows = 5
number = {low = 0, high = 1, decimals = 3}

[[file]]
name = "tags.out"
kind = "columns"
columns = ["words", "labels"]
types = ["PER", "LOC"]
border = ["-DOCSTART-", "O"]
task = "mine/tags"
split = "test"
rows = 5

[columns]
Mood = {kind = "test", task = "mine/mood", metric = "accuracy", split = "test", beside = "dev"}
"Mood, dev" = {kind = "dev", task = "mine/mood", metric = "accuracy", split = "dev"}
"Mood, hidden" = {kind = "test", task = "mine/mood", metric = "f1"}
mean = {kind = "test", suite = "mine", average = "mean of moods"}

[[published]]
system = "Thermometer"
variant = "mercury"
source = "Nobody 2019, Table 1"
version = "second"
cells = {Mood = 80.5, mean = 70}
notes = "read twice"
by_default = true

[[published]]
system = "Barometer"
source = "Nobody 2019, Table 2"
cells = {Mood = 81}
other_data = "the weather of 2018"
"""


def read_board(folder: Path, text: str) -> Leaderboard:
    """Write a board `moods.toml` and read the leaderboard from it."""
    path = folder / "moods.toml"
    path.write_text(text)
    return read_leaderboard(path)
