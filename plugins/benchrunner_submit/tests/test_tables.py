"""Tables of a submission: every fault is reported once, with its line and what to do."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from benchrunner_submit import Answers
from benchrunner_submit.submission_files.checking import findings
from mood_boards import BOARD, FILES, LABELS, MOOD, NUMBERS, VERDICT, VERDICTS, WARMTH, zipped


def mood(content: str | bytes) -> dict[str, bytes]:
    return {**FILES, "Mood.tsv": content.encode() if isinstance(content, str) else content}


CONTENTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "Mood.tsv: the file is empty; an answer to each row was expected."),
    "header alone": ("index\tprediction\n", "Mood.tsv: 0 answers, expected 4."),
    "wrong header": ("id\tlabel\n0\t0\n1\t1\n2\t1\n3\t0\n", "Mood.tsv: line 1: expected the header"),
    "no header": ("0\t0\n1\t1\n2\t1\n3\t0\n", "Mood.tsv: line 1: expected the header"),
    "commas": ("index\tprediction\n0,0\n1,1\n2,1\n3,0\n", "Mood.tsv:2: found '0,0'; expected 2 columns, separated by"),
    "three columns": ("index\tprediction\n0\t0\n1\t1\tx\n2\t1\n3\t0\n", "Mood.tsv:3: found '1\\t1\\tx'; expected 2"),
    "too few": ("index\tprediction\n0\t0\n1\t1\n2\t1\n", "Mood.tsv: 3 answers, expected 4."),
    "missing index": (
        "index\tprediction\n0\t0\n1\t1\n2\t1\n",
        "Mood.tsv: no answer to 3; every id of the rows must be",
    ),
    "known other count": (
        "index\tprediction\n0\t0\n1\t1\n",
        "Mood.tsv: 2 answers (the rows of last year), expected 4.",
    ),
    "too many": (
        "index\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n4\t0\n",
        "Mood.tsv:6: found '4'; no row has this id; this",
    ),
    "order": ("index\tprediction\n0\t0\n2\t1\n1\t1\n3\t0\n", "Mood.tsv:4: found '1'; out of order: rows must be in"),
    "twice": ("index\tprediction\n0\t0\n1\t1\n1\t1\n3\t0\n", "Mood.tsv:4: found '1'; this id is there already; each"),
    "from one": ("index\tprediction\n1\t0\n2\t1\n3\t1\n4\t0\n", "Mood.tsv: the index counts from 1 to 4; it must"),
    "decimal index": ("index\tprediction\n0.0\t0\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found '0.0'; expected an index"),
    "endless index": (
        f"index\tprediction\n0\t0\n1\t1\n2\t1\n{'9' * 5000}\t0\n",
        f"Mood.tsv:5: found '{'9' * 55}...'; expected an index: a whole number, without quotes, spaces or decimals.",
    ),
    "class names": ("index\tprediction\n0\tsad\n1\tglad\n2\tglad\n3\tsad\n", "Mood.tsv:3: found 'glad'; expected 0"),
    "loud class names": ("index\tprediction\n0\tSAD\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found 'SAD'; expected 0 or 1"),
    "quoted": ('index\tprediction\n0\t"0"\n1\t1\n2\t1\n3\t0\n', "Mood.tsv:2: found '\"0\"'; expected 0 or 1, without"),
    "decimals": ("index\tprediction\n0\t0.0\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found '0.0'; expected 0 or 1, without"),
    "another number": ("index\tprediction\n0\t2\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found '2'; expected 0 or 1."),
    "no answer": ("index\tprediction\n0\t\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found ''; expected 0 or 1."),
    "BOM": (b"\xef\xbb\xbfindex\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n", "Mood.tsv: begins with a byte order mark"),
    "CR LF": ("index\tprediction\r\n0\t0\r\n1\t1\r\n2\t1\r\n3\t0\r\n", "Mood.tsv: lines end with CR LF, as Windows"),
    "bare CR": ("index\tprediction\r0\t0\r1\t1\r2\t1\r3\t0", "Mood.tsv: lines end with CR alone; end lines with LF"),
    "CR inside": ("index\tprediction\n0\t0\r1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found '0\\t0\\r1\\t1'; a carriage"),
    "UTF-16": ("index\tprediction\n".encode("utf-16"), "Mood.tsv: UTF-16 text; save it as UTF-8."),
    "Latin-1": (b"index\tprediction\n0\t0\n1\t\xe9\n2\t1\n3\t0\n", "Mood.tsv: line 3: not UTF-8 text; save it as"),
    "blank at the end": ("index\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n\n\n", "Mood.tsv: only blank lines from line 6"),
    "blank inside": ("index\tprediction\n0\t0\n\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:3: found ''; blank lines are not"),
}


SEVERAL = (
    "class names",
    "CR inside",
    "header alone",
    "too few",
    "missing index",
    "known other count",
    "too many",
    "twice",
    "UTF-16",
)
"""Contents that also lack rows or are faulty in another way."""


@pytest.mark.parametrize("name", CONTENTS)
def test_a_fault_is_reported_with_its_line(name: str, tmp_path: Path) -> None:
    content, message = CONTENTS[name]
    faults = findings(BOARD, zipped(tmp_path, mood(content))).faults
    assert any(fault.startswith(message) for fault in faults)
    assert all(fault.startswith("Mood.tsv") for fault in faults)
    assert len(faults) == 1 or name in SEVERAL


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1", "expected yes, not_yes or maybe: write the name of the label, because tools number the labels"),
        ("Yes", "expected yes, not_yes or maybe: write exactly yes."),
        ("not yes", "expected yes, not_yes or maybe: write exactly not_yes."),
        ("'yes'", "expected yes, not_yes or maybe, without quotes or spaces around it."),
        ("perhaps", "expected yes, not_yes or maybe."),
    ],
)
def test_a_misspelled_label_gets_advice(tmp_path: Path, text: str, message: str) -> None:
    content = f"index\tprediction\n0\t{text}\n1\tyes\n2\tyes\n".encode()
    (problem,) = findings(BOARD, zipped(tmp_path, {**FILES, "Ver-dict.tsv": content})).faults
    assert problem.startswith(f"Ver-dict.tsv:2: found {text!r}; {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5.001", "expected a number from 0 to 5: clip numbers outside of this range."),
        ("1e999", "expected a number from 0 to 5: clip numbers outside of this range."),
        ("nan", "expected a number from 0 to 5, with a decimal point; nan and inf are not allowed."),
        ("2,5", "expected a number from 0 to 5, with a decimal point; nan and inf are not allowed."),
        ("1_0", "expected a number from 0 to 5, with a decimal point; nan and inf are not allowed."),
        ("", "expected a number from 0 to 5, with a decimal point; nan and inf are not allowed."),
        ('"2.5"', "expected a number from 0 to 5, without quotes or spaces around it."),
    ],
)
def test_a_text_that_is_no_number_in_the_range_is_a_fault(tmp_path: Path, text: str, message: str) -> None:
    content = f"index\tprediction\n0\t{text}\n1\t0\n2\t5\n".encode()
    problems = findings(BOARD, zipped(tmp_path, {**FILES, "Warmth.tsv": content})).faults
    assert problems == [f"Warmth.tsv:2: found {text!r}; {message}"]


@pytest.mark.parametrize("text", ["3", "2.4567891", "5.0", "1e-3", "+1", "-0", ".5", "2."])
def test_numbers_may_have_any_decimals(tmp_path: Path, text: str) -> None:
    content = f"index\tprediction\n0\t{text}\n1\t0\n2\t5".encode()
    assert findings(BOARD, zipped(tmp_path, {**FILES, "Warmth.tsv": content})).faults == []


def test_a_fault_of_thousands_of_lines_is_one_sentence(tmp_path: Path) -> None:
    board = replace(BOARD, files=(replace(BOARD.files[0], rows=5000),))
    content = "index\tprediction\n" + "".join(f"{index}\tglad\n" for index in range(5000))
    assert findings(board, zipped(tmp_path, {"Mood.tsv": content.encode()})).faults == [
        "Mood.tsv:2: found 'glad'; expected 0 or 1: write 1 for glad. "
        "Also line 3 ('glad'), line 4 ('glad'): 5,000 lines in all."
    ]


def test_shown_content_is_escaped_and_shortened(tmp_path: Path) -> None:
    content = f"index\tprediction\n0\t\x1b[31m{'x' * 500}\n1\t1\n2\t1\n3\t0\n"
    (problem,) = findings(BOARD, zipped(tmp_path, mood(content))).faults
    assert "\x1b" not in problem and len(problem) < 120


# Any single change


def _drop(lines: list[str], at: int) -> list[str]:
    return lines[:at] + lines[at + 1 :]


def _double(lines: list[str], at: int) -> list[str]:
    return lines[: at + 1] + lines[at:]


def _swap(lines: list[str], at: int) -> list[str]:
    neighbour = at - 1 if at > 1 else at + 1
    lines[at], lines[neighbour] = lines[neighbour], lines[at]
    return lines


def _relabel(lines: list[str], at: int) -> list[str]:
    return [*lines[:at], lines[at] + "x", *lines[at + 1 :]]


def _renumber(lines: list[str], at: int) -> list[str]:
    return [*lines[:at], "9" + lines[at], *lines[at + 1 :]]


def _quote(lines: list[str], at: int) -> list[str]:
    return [*lines[:at], '"' + lines[at].replace("\t", '"\t"') + '"', *lines[at + 1 :]]


def _space(lines: list[str], at: int) -> list[str]:
    return [*lines[:at], lines[at].replace("\t", " "), *lines[at + 1 :]]


def _blank(lines: list[str], at: int) -> list[str]:
    return [*lines[:at], "", *lines[at:]]


MUTATIONS = (_drop, _double, _swap, _relabel, _renumber, _quote, _space, _blank)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), kind=st.sampled_from(["mood", "verdict", "warmth"]), mutate=st.sampled_from(MUTATIONS))
def test_any_single_change_to_a_row_is_caught(data: st.DataObject, kind: str, mutate: Any) -> None:
    table = {"mood": MOOD, "verdict": VERDICT, "warmth": WARMTH}[kind]
    strategies: Mapping[str, st.SearchStrategy[Any]] = {"mood": LABELS, "verdict": VERDICTS, "warmth": NUMBERS}
    values: list[Any] = data.draw(strategies[kind])
    lines = table.write("x.tsv", Answers(values)).decode().removesuffix("\n").split("\n")
    changed = mutate(lines, data.draw(st.integers(1, len(lines) - 1)))
    assert table.check("x.tsv", ("\n".join(changed) + "\n").encode(), len(values))
