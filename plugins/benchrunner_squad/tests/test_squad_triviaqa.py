"""TriviaQA's own files, generated: where answers are found, what is left out with a note, and every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, Rows, Workspace
from benchrunner.errors import BadRows
from benchrunner.workspace import Settings
from benchrunner_squad import register_tasks
from benchrunner_squad.triviaqa import beginning, first_place

TASKS = {task.name: task for task in register_tasks()}
ANSWER = {
    "Value": "The Hague",
    "Aliases": ["Den Haag", "The Hague", "'s-Gravenhage", "?"],
    "NormalizedAliases": ["den haag", "hague", "s gravenhage"],
    "Type": "WikipediaEntity",
}
TEXTS = {
    "wikipedia/Dutch_cities.txt": "Amsterdam is the capital.\n\nThe government sits in the   hague , not there.",
    "wikipedia/Sea.txt": "Haguenau is no city by the sea.",
    "web/12/12_34.txt": "Take the train to DEN\nHAAG, also named The Hague.",
}


def question(**changes: Any) -> dict[str, Any]:
    content = {
        "QuestionId": "tc_1",
        "Question": "Where does the Dutch government sit?",
        "Answer": ANSWER,
        "EntityPages": [{"Title": "Cities", "Filename": "Dutch_cities.txt"}, {"Title": "Sea", "Filename": "Sea.txt"}],
        "SearchResults": [{"Url": "http://x", "Rank": 0, "Filename": "12/12_34.txt"}],
    }
    return {name: value for name, value in (content | changes).items() if value is not None}


def write(folder: Path, *questions: dict[str, Any], root: str = "", texts: dict[str, str] = TEXTS) -> None:
    (folder / root / "qa").mkdir(parents=True)
    content = {"Domain": "Wikipedia", "Split": "train", "VerifiedEval": False, "Data": list(questions)}
    (folder / root / "qa" / "wikipedia-train.json").write_text(json.dumps(content))
    for name, text in texts.items():
        path = folder / root / "evidence" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def load(folder: Path) -> Rows:
    return TASKS["triviaqa/wiki"].load(
        "train", Workspace(folder / "runs", folder / "cache", data=folder, settings=Settings(offline=True))
    )


def test_a_row_is_a_question_a_document_and_its_first_answer(tmp_path: Path) -> None:
    write(tmp_path, question())
    rows = load(tmp_path)
    cities, web = rows.table.to_pylist()
    assert (cities["id"], cities["answers"], cities["starts"]) == ("tc_1--Dutch_cities.txt", ["hague"], [56])
    assert cities["context"] == TEXTS["wikipedia/Dutch_cities.txt"]
    assert (web["id"], web["answers"], web["starts"]) == ("tc_1--12/12_34.txt", ["DEN\nHAAG"], [18])
    assert rows.notes == ("left out 1 of 3 documents: their first 400 tokens do not name the answer",)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("In Paris, in paris.", ["paris"], "Paris"),
        ("Comparison, then PARIS!", ["paris"], "PARIS"),
        ("New York City and New York", ["new york", "new york city"], "New York City"),
        ("York, then New York", ["new york", "york"], "York"),
        ("the year 19840, 1984", ["1984"], "1984"),
        ("x1984 1984x _1984_", ["1984"], "1984"),
        ("born in new\u00a0york", ["new york"], "new\u00a0york"),
        ("İİİ İstanbul", ["İstanbul"], "İstanbul"),  # its lower case has two characters
        ("Straße", ["straße"], "Straße"),
        ("C++ is", ["c++"], "C++"),
        ("Parisian", ["paris"], None),
        ("", ["paris"], None),
        ("Paris", [], None),
    ],
)
def test_a_name_inside_of_a_longer_word_does_not_count(text: str, names: list[str], expected: str | None) -> None:
    place = first_place(text, names)
    assert (None if place is None else text[slice(*place)]) == expected


def test_the_beginning_of_a_text_is_kept_unchanged() -> None:
    assert beginning("It's 4.5% (ca. \u20ac 3)!", 7) == "It's 4.5%"
    assert beginning("\u4e1c\u4eac. na\u00efve", 2) == "\u4e1c\u4eac."
    text = " One  two\r\n\tthree four "
    assert beginning(text, 2) == " One  two"
    assert beginning(text, 3) == " One  two\r\n\tthree"
    assert beginning(text, 4) == beginning(text, 9) == text
    assert beginning("", 3) == ""


def test_only_the_first_tokens_of_a_document_are_read(tmp_path: Path) -> None:
    tokens = 400
    texts = {
        "wikipedia/in.txt": "word, " * (tokens // 2 - 1) + "The Hague, and more",
        "wikipedia/out.txt": "word, " * (tokens // 2 - 1) + "The The Hague",
    }
    write(
        tmp_path,
        question(EntityPages=[{"Filename": "in.txt"}, {"Filename": "out.txt"}], SearchResults=None),
        texts=texts,
    )
    rows = load(tmp_path)
    (row,) = rows.table.to_pylist()
    assert row["id"] == "tc_1--in.txt"
    assert row["answers"] == ["The Hague"]
    assert row["context"].endswith("word, The Hague")
    assert rows.notes == (f"left out 1 of 2 documents: their first {tokens} tokens do not name the answer",)


def test_a_document_listed_twice_is_read_once_with_a_note(tmp_path: Path) -> None:
    write(tmp_path, question(EntityPages=[{"Filename": "Dutch_cities.txt"}] * 3, SearchResults=[]))
    rows = load(tmp_path)
    assert len(rows) == 1
    assert rows.notes == ("left out 2 of 3 documents: listed twice for the same question",)


def test_two_questions_with_the_same_id_are_bad_rows(tmp_path: Path) -> None:
    write(tmp_path, question(), question(Question="Where?"))
    with pytest.raises(BadRows, match=r"the id 'tc_1--Dutch_cities\.txt' stands at row 0 already"):
        load(tmp_path)


def test_the_first_document_without_text_is_named(tmp_path: Path) -> None:
    write(tmp_path, question(), texts={"wikipedia/Sea.txt": "The Hague"})
    with pytest.raises(DataError, match=r"a document has no text: .*wikipedia.Dutch_cities\.txt\. Unpack"):
        load(tmp_path)


@pytest.mark.parametrize("root", ["", "triviaqa/", "triviaqa-rc/"])
def test_the_known_folders_are_searched(tmp_path: Path, root: str) -> None:
    write(tmp_path, question(), root=root)
    assert len(load(tmp_path)) == 2


def test_a_users_file_needs_no_answers_and_keeps_documents(tmp_path: Path) -> None:
    write(tmp_path, question(Answer=None))
    source = TASKS["triviaqa/web"].splits["dev"].sources[0].at(tmp_path / "qa" / "wikipedia-train.json")
    assert source is not None
    rows = source.unlabelled(("answers", "starts")).read(Workspace(tmp_path, tmp_path))
    assert rows.table.column_names == ["id", "question", "context", "article"]
    assert len(rows) == 3
    assert rows.notes == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Answer": None}, r"wikipedia-train\.json: the first question cannot be read: there is no 'Answer'"),
        ({"Answer": {**ANSWER, "Aliases": ["x", 3]}}, "the first question cannot be read: 'int' object"),
        ({"EntityPages": [{"Title": "x"}]}, "there is no 'Filename'"),
        (
            {"SearchResults": [{"Filename": "../../secret"}]},
            r"question after 'tc_1--Dutch_cities\.txt' cannot be read: 'Filename' must be a path below",
        ),
    ],
)
def test_a_bad_file_is_one_error_with_its_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    write(tmp_path, question(**changes))
    with pytest.raises(DataError, match=message):
        load(tmp_path)
