"""Kinds of files for tests, rows to answer, and a column file with answers to them."""

import pyarrow as pa

from benchrunner_submit.file_kinds.columns_file import Columns
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.file_kinds.spellings import Labels, Number
from benchrunner_submit.file_kinds.text_files import Lines

CHOICE = Lines(Labels({str(number): str(number) for number in range(3)}))
CHANCES = Lines(Number(0, 1, 3, outside="write probabilities, not scores"), values=3)
TEXTS = JsonMap("id")
MAYBE = JsonMap("id", Number(0, 1, outside="a log-odds is no probability"))
MOODS = JsonMap("id", Labels({"sad": "0", "glad": "1"}))
TAGGED = Columns(("words", "pos", "labels"), ("PER", "LOC"), ("-DOCSTART-", "-X-", "O"))
QUESTIONS = pa.table({"id": ["q1", "q2", "q3"]})
SENTENCES = pa.table(
    {
        "words": [["John", "Smith", "left", "Rome"], ["He", "sang"], ["Paris"]],
        "pos": [["NNP", "NNP", "VBD", "NNP"], ["PRP", "VBD"], ["NNP"]],
        "labels": [["B-PER", "I-PER", "O", "B-LOC"], ["O", "O"], ["B-LOC"]],
        "document": [0, 0, 1],
    }
)
SAID = [["B-PER", "I-LOC", "O", "B-LOC"], ["O", "I-PER"], ["B-LOC"]]
COLUMNS = """-DOCSTART- -X- O O

John NNP B-PER B-PER
Smith NNP I-PER I-LOC
left VBD O O
Rome NNP B-LOC B-LOC

He PRP O O
sang VBD O I-PER

-DOCSTART- -X- O O

Paris NNP B-LOC B-LOC

"""


def columns(old: str, new: str) -> str:
    assert old in COLUMNS
    return COLUMNS.replace(old, new, 1)
