"""Two leaderboards for tests: one takes an archive of tables, the other a plain folder of JSON maps."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from benchrunner_submit import Answers, BoardFile, Leaderboard
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.file_kinds.spellings import Labels, Number
from benchrunner_submit.file_kinds.text_files import Table

HEADER = ("index", "prediction")
MOOD = Table(HEADER, Labels({"sad": "0", "glad": "1"}))
VERDICT = Table(HEADER, Labels({"yes": "yes", "not_yes": "not_yes", "maybe": "maybe"}))
WARMTH = Table(HEADER, Number(0, 5, 3))
BOARD = Leaderboard(
    name="moods",
    title="Moods",
    url="https://moods.example",
    archive="moods.zip",
    files=(
        BoardFile("Mood.tsv", "mine/mood", "test", 4, MOOD, {2: "the rows of last year"}),
        BoardFile("Ver-dict.tsv", "mine/verdict", "test_far", 3, VERDICT),
        BoardFile("Warmth.tsv", "mine/warmth", "test", 3, WARMTH),
    ),
)
ANSWERS: Mapping[tuple[str, str], Sequence[Any]] = {
    ("mine/mood", "test"): ["sad", "glad", "glad", "sad"],
    ("mine/verdict", "test_far"): ["yes", "not_yes", "maybe"],
    ("mine/warmth", "test"): [0.12345, 5.2, -1],
}
FILES = {
    "Mood.tsv": b"index\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n",
    "Ver-dict.tsv": b"index\tprediction\n0\tyes\n1\tnot_yes\n2\tmaybe\n",
    "Warmth.tsv": b"index\tprediction\n0\t0.123\n1\t5.000\n2\t0.000\n",
}
QUESTIONS = pa.table({"id": ["q1", "q2"]})
SPOKEN = Leaderboard(
    name="spoken-2.0",
    title="Spoken",
    url="https://spoken.example",
    archive="spoken-2.0/",
    files=(
        BoardFile("said.json", "mine/spoken", "dev", 2, JsonMap("id")),
        BoardFile("doubt.json", "mine/spoken", "dev", 2, JsonMap("id", Number(0, 1, 3)), extra_figure="doubt"),
    ),
)
ALONE_BOARD = replace(SPOKEN, name="spoken-1.1", archive="spoken-1.1/", files=SPOKEN.files[:1])
SPOKEN_ANSWERS = {("mine/spoken", "dev"): Answers(["yes", ""], QUESTIONS, {"doubt": [0.25, 1]}, fit="ab12")}
ROWS_AT_HAND = {("mine/spoken", "dev"): QUESTIONS}
LABELS = st.lists(st.sampled_from(["sad", "glad"]), min_size=2, max_size=30)
VERDICTS = st.lists(st.sampled_from(["yes", "not_yes", "maybe"]), min_size=2, max_size=30)
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30)


def answers(**changed: Any) -> dict[tuple[str, str], Answers]:
    """Make the answers of a whole submission to `BOARD`; `changed` has other values by the task's short name."""
    return {pair: Answers(changed.get(pair[0].split("/")[1], values)) for pair, values in ANSWERS.items()}


def zipped(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Pack the files into other.zip."""
    path = folder / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
