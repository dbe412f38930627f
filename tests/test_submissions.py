"""Archives: written whole or not at all, and checked down to the last line, ours or not."""

from __future__ import annotations

import json
import stat
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchrunner.boardfiles import Answers, FileKind
from benchrunner.boardfiles.json_map import JsonMap
from benchrunner.boardfiles.table import Table
from benchrunner.checking import check, detect, unchecked
from benchrunner.errors import PluginError, RequestError
from benchrunner.leaderboards import BoardFile, Leaderboard
from benchrunner.manifests import manifest_path, read_manifest
from benchrunner.spellings import Labels, Number
from benchrunner.submissions import write

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


def answers(**changed: Any) -> dict[tuple[str, str], Answers]:
    return {pair: Answers(changed.get(pair[0].split("/")[1], values)) for pair, values in ANSWERS.items()}


def zipped(folder: Path, files: Mapping[str, bytes]) -> Path:
    path = folder / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def mood(content: str | bytes) -> dict[str, bytes]:
    return {**FILES, "Mood.tsv": content.encode() if isinstance(content, str) else content}


# --- writing


def test_answers_become_the_files_of_the_board(tmp_path: Path) -> None:
    path = write(BOARD, answers(), tmp_path / "moods.zip")
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
    assert check(BOARD, path) == []


def test_equal_answers_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (write(BOARD, answers(), tmp_path / name) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()


def test_into_a_folder_the_archive_is_written_under_its_usual_name(tmp_path: Path) -> None:
    assert write(BOARD, answers(), tmp_path) == tmp_path / "moods.zip"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["moods.zip", "moods.zip.json"]


def test_everything_that_stands_against_a_submission_is_told_at_once(tmp_path: Path) -> None:
    wrong = answers(verdict=["yes", "no", "no"], warmth=[1.0, 2.0])
    del wrong["mine/mood", "test"]
    with pytest.raises(RequestError) as told:
        write(BOARD, wrong, tmp_path / "moods.zip")
    assert str(told.value).splitlines() == [
        "No submission to Moods can be written:",
        "  - Mood.tsv: no answers to mine/mood, split test.",
        "  - Ver-dict.tsv, answer 1: found 'no'; expected one of the task's labels: yes, not_yes or maybe. "
        "Also answer 2 ('no'): 2 answers in all.",
        "  - Warmth.tsv: 2 answers to mine/warmth, split test; expected 3.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"Warmth.tsv, answer 1: found 'nan'; expected a finite number"):
        write(BOARD, answers(warmth=[1.0, float("nan"), 2.0]), tmp_path / "moods.zip")


def test_answers_that_the_board_does_not_take_are_left_out(tmp_path: Path) -> None:
    path = write(BOARD, answers() | {("mine/other", "test"): Answers(["x"])}, tmp_path)
    assert check(BOARD, path) == []


def test_a_refused_submission_leaves_the_last_one_as_it_was(tmp_path: Path) -> None:
    path = write(BOARD, answers(), tmp_path)
    before = path.read_bytes(), manifest_path(path).read_bytes()
    with pytest.raises(RequestError):
        write(BOARD, answers(mood=["sad"]), path)
    assert (path.read_bytes(), manifest_path(path).read_bytes()) == before


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot be written"):
        write(BOARD, answers(), tmp_path / "file" / "moods.zip")


def test_a_kind_of_file_at_odds_with_itself_writes_nothing(tmp_path: Path) -> None:
    class Odd(FileKind):
        def write(self, name: str, answers: Answers) -> bytes:
            return b"?"

        def check(
            self, name: str, content: bytes, rows: int, other_rows: Mapping[int, str] = {}, table: object = None
        ) -> list[str]:
            return [f"{name}: nothing is ever right."]

    board = replace(BOARD, files=(replace(BOARD.files[0], kind=Odd()),))
    with pytest.raises(PluginError, match=r"does not pass its own check: Mood.tsv: nothing is ever right"):
        write(board, answers(), tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- manifests


def test_a_manifest_lies_beside_the_archive_and_says_where_each_file_is_from(tmp_path: Path) -> None:
    given_ = answers() | {
        ("mine/mood", "test"): Answers(["sad"] * 4, fit="ab12", method="finetune"),
        ("mine/warmth", "test"): Answers([1, 1, 1], fit="cd34", method="majority", filled="no fit of mine/warmth"),
    }
    path = write(BOARD, given_, tmp_path)
    manifest = read_manifest(path)
    mood_file, verdict, warmth = manifest.files
    assert (mood_file.file, mood_file.fit, mood_file.method, mood_file.filled) == ("Mood.tsv", "ab12", "finetune", "")
    assert (verdict.rows, verdict.official_rows, verdict.task, verdict.split) == (3, 3, "mine/verdict", "test_far")
    assert manifest.filled == (warmth,) and warmth.filled == "no fit of mine/warmth"
    assert manifest.is_official and manifest.board == "moods"
    assert json.loads(manifest_path(path).read_text())["official"] is True
    assert check(BOARD, path, manifest=manifest) == []


def demo(tmp_path: Path) -> Path:
    return write(BOARD, answers(mood=["sad"]), tmp_path, counts={"Mood.tsv": 1})


def test_a_demo_archive_never_passes_as_an_official_one(tmp_path: Path) -> None:
    path = demo(tmp_path)
    assert check(BOARD, path)[0] == "Mood.tsv: 1 row, expected 4."
    assert not read_manifest(path).is_official


def test_a_demo_archive_passes_by_its_own_manifest_when_that_is_asked_for(tmp_path: Path) -> None:
    path = demo(tmp_path)
    assert check(BOARD, path, manifest=read_manifest(path)) == []


def test_an_archive_that_changed_does_not_pass_by_its_manifest(tmp_path: Path) -> None:
    path = demo(tmp_path)
    manifest = read_manifest(path)
    zipped(tmp_path, FILES).replace(path)
    assert check(BOARD, path, manifest=manifest)[0] == (
        "moods.zip has changed since its manifest was written; write it again."
    )


def test_a_manifest_of_another_board_does_not_count(tmp_path: Path) -> None:
    path = write(BOARD, answers(), tmp_path)
    problems = check(replace(BOARD, name="other"), path, manifest=read_manifest(path))
    assert problems == ["The manifest is of an archive for moods, not for other."]


def test_a_count_for_a_file_that_the_board_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"Moods has no file Moood.tsv, for which a row count was given"):
        write(BOARD, answers(), tmp_path, counts={"Moood.tsv": 1})


def test_an_archive_of_others_has_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(
        RequestError, match=r"There is no manifest .*other.zip.json: only archives that benchrunner wrote"
    ):
        read_manifest(zipped(tmp_path, FILES))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object, found a list"),
        ('{"format": 2}', "format: expected 1, found 2"),
        ('{"format": 1, "files": [{"file": "Mood.tsv"}]}', r"\[\[files\]\] 1 \(Mood.tsv\): task: is missing"),
    ],
)
def test_a_broken_manifest_is_told(tmp_path: Path, content: str, said: str) -> None:
    path = zipped(tmp_path, FILES)
    manifest_path(path).write_text(content)
    with pytest.raises(RequestError, match=said):
        read_manifest(path)


# --- checking: the content of a file

CONTENTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "Mood.tsv: the file is empty; a header and one line for each row were expected."),
    "blank": ("\n\n", "Mood.tsv: the file is empty; a header and one line for each row were expected."),
    "header alone": ("index\tprediction\n", "Mood.tsv: 0 rows, expected 4."),
    "wrong header": (
        "id\tlabel\n0\t0\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv: line 1: wrong header: expected 'index\\tprediction', separated by a TAB, found 'id\\tlabel'.",
    ),
    "no header": (
        "0\t0\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv: line 1: there is no header line: expected 'index\\tprediction', separated by a TAB, found '0\\t0'.",
    ),
    "commas": (
        "index\tprediction\n0,0\n1,1\n2,1\n3,0\n",
        "Mood.tsv:2: found '0,0'; expected 2 columns, separated by one TAB. "
        "Also line 3 ('1,1'), line 4 ('2,1'): 4 lines in all.",
    ),
    "three columns": (
        "index\tprediction\n0\t0\n1\t1\tx\n2\t1\n3\t0\n",
        "Mood.tsv:3: found '1\\t1\\tx'; expected 2 columns, separated by one TAB.",
    ),
    "too few": ("index\tprediction\n0\t0\n1\t1\n2\t1\n", "Mood.tsv: 3 rows, expected 4."),
    "missing index": (
        "index\tprediction\n0\t0\n1\t1\n2\t1\n",
        "Mood.tsv: no row with index 3; each must stand once.",
    ),
    "known other count": (
        "index\tprediction\n0\t0\n1\t1\n",
        "Mood.tsv: 2 rows (the rows of last year), expected 4.",
    ),
    "too many": (
        "index\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n4\t0\n",
        "Mood.tsv:6: found '4'; expected an index from 0 to 3.",
    ),
    "order": (
        "index\tprediction\n0\t0\n2\t1\n1\t1\n3\t0\n",
        "Mood.tsv:4: found '1'; out of order: rows must stand in the order of the test file, from index 0 up.",
    ),
    "twice": (
        "index\tprediction\n0\t0\n1\t1\n1\t1\n3\t0\n",
        "Mood.tsv:4: found '1'; this index stands on an earlier line already; each must stand once.",
    ),
    "from one": (
        "index\tprediction\n1\t0\n2\t1\n3\t1\n4\t0\n",
        "Mood.tsv: the index counts from 1 to 4; it must count from 0 to 3.",
    ),
    "decimal index": (
        "index\tprediction\n0.0\t0\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv:2: found '0.0'; expected an index: a whole number, without quotes, spaces or decimals.",
    ),
    "endless index": (
        f"index\tprediction\n0\t0\n1\t1\n2\t1\n{'9' * 5000}\t0\n",
        f"Mood.tsv:5: found '{'9' * 55}...'; expected an index: a whole number, without quotes, spaces or decimals.",
    ),
    "class names": (
        "index\tprediction\n0\tsad\n1\tglad\n2\tglad\n3\tsad\n",
        "Mood.tsv:3: found 'glad'; expected 0 or 1: write 1 for glad. Also line 4 ('glad'): 2 lines in all.",
    ),
    "loud class names": (
        "index\tprediction\n0\tSAD\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv:2: found 'SAD'; expected 0 or 1: write 0 for sad.",
    ),
    "quoted": (
        'index\tprediction\n0\t"0"\n1\t1\n2\t1\n3\t0\n',
        "Mood.tsv:2: found '\"0\"'; expected 0 or 1, without quotes or spaces around it.",
    ),
    "quoted index": (
        'index\tprediction\n"0"\t0\n1\t1\n2\t1\n3\t0\n',
        "Mood.tsv:2: found '\"0\"'; expected an index: a whole number, without quotes, spaces or decimals.",
    ),
    "spaces": (
        "index\tprediction\n0\t0 \n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv:2: found '0 '; expected 0 or 1, without quotes or spaces around it.",
    ),
    "decimals": (
        "index\tprediction\n0\t0.0\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv:2: found '0.0'; expected 0 or 1, without decimals or signs.",
    ),
    "another number": ("index\tprediction\n0\t2\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found '2'; expected 0 or 1."),
    "no answer": ("index\tprediction\n0\t\n1\t1\n2\t1\n3\t0\n", "Mood.tsv:2: found ''; expected 0 or 1."),
    "BOM": (
        b"\xef\xbb\xbfindex\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv: begins with a byte order mark (BOM); save it as UTF-8 without one.",
    ),
    "CR LF": (
        "index\tprediction\r\n0\t0\r\n1\t1\r\n2\t1\r\n3\t0\r\n",
        "Mood.tsv: lines end with CR LF, as Windows writes them (5 in all); end lines with LF alone.",
    ),
    "bare CR": (
        "index\tprediction\r0\t0\r1\t1\r2\t1\r3\t0",
        "Mood.tsv:1: found 'index\\tprediction\\r0\\t0\\r1\\t1\\r2\\t1\\r3\\t0'; a carriage return (CR) stands inside "
        "the line; end lines with LF alone.",
    ),
    "UTF-16": ("index\tprediction\n".encode("utf-16"), "Mood.tsv: UTF-16 text; save it as UTF-8."),
    "Latin-1": (
        b"index\tprediction\n0\t0\n1\t\xe9\n2\t1\n3\t0\n",
        "Mood.tsv: line 3: not UTF-8 text; save it as UTF-8.",
    ),
    "blank at the end": (
        "index\tprediction\n0\t0\n1\t1\n2\t1\n3\t0\n\n\n",
        "Mood.tsv: nothing but blank lines from line 6 on; remove them.",
    ),
    "blank inside": (
        "index\tprediction\n0\t0\n\n1\t1\n2\t1\n3\t0\n",
        "Mood.tsv:3: found ''; blank lines are not allowed.",
    ),
}


@pytest.mark.parametrize(("content", "said"), CONTENTS.values(), ids=CONTENTS)
def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path, content: str | bytes, said: str) -> None:
    problems = check(BOARD, zipped(tmp_path, mood(content)))
    assert said in problems
    assert all(one.startswith("Mood.tsv") for one in problems)


ALONE = (
    "wrong header",
    "no header",
    "order",
    "from one",
    "quoted",
    "BOM",
    "CR LF",
    "UTF-16",
    "Latin-1",
    "blank inside",
)


@pytest.mark.parametrize("fault", ALONE)
def test_one_fault_is_not_told_as_many(tmp_path: Path, fault: str) -> None:
    content, said = CONTENTS[fault]
    assert check(BOARD, zipped(tmp_path, mood(content))) == [said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1", "expected yes, not_yes or maybe: write the label's name; tools number the labels differently"),
        ("Yes", "expected yes, not_yes or maybe: write yes to the letter."),
        ("not yes", "expected yes, not_yes or maybe: write not_yes to the letter."),
        ("'yes'", "expected yes, not_yes or maybe, without quotes or spaces around it."),
        ("perhaps", "expected yes, not_yes or maybe."),
    ],
)
def test_a_misspelled_label_gets_the_right_one_where_it_can_be_told(tmp_path: Path, text: str, said: str) -> None:
    content = f"index\tprediction\n0\t{text}\n1\tyes\n2\tyes\n".encode()
    (problem,) = check(BOARD, zipped(tmp_path, {**FILES, "Ver-dict.tsv": content}))
    assert problem.startswith(f"Ver-dict.tsv:2: found {text!r}; {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5.001", "expected a number from 0 to 5: clip what lies outside."),
        ("-0.1", "expected a number from 0 to 5: clip what lies outside."),
        ("1e9", "expected a number from 0 to 5: clip what lies outside."),
        ("1e999", "expected a number from 0 to 5: clip what lies outside."),
        ("nan", "expected a number from 0 to 5, with a decimal point; nan and inf are no numbers here."),
        ("inf", "expected a number from 0 to 5, with a decimal point; nan and inf are no numbers here."),
        ("2,5", "expected a number from 0 to 5, with a decimal point; nan and inf are no numbers here."),
        ("1_0", "expected a number from 0 to 5, with a decimal point; nan and inf are no numbers here."),
        ("", "expected a number from 0 to 5, with a decimal point; nan and inf are no numbers here."),
        ('"2.5"', "expected a number from 0 to 5, without quotes or spaces around it."),
    ],
)
def test_what_is_no_number_in_the_range_is_told(tmp_path: Path, text: str, said: str) -> None:
    content = f"index\tprediction\n0\t{text}\n1\t0\n2\t5\n".encode()
    problems = check(BOARD, zipped(tmp_path, {**FILES, "Warmth.tsv": content}))
    assert problems == [f"Warmth.tsv:2: found {text!r}; {said}"]


@pytest.mark.parametrize("text", ["3", "2.4567891", "5.0", "1e-3", "+1", "-0", ".5", "2."])
def test_numbers_of_others_may_have_other_decimals(tmp_path: Path, text: str) -> None:
    content = f"index\tprediction\n0\t{text}\n1\t0\n2\t5".encode()
    assert check(BOARD, zipped(tmp_path, {**FILES, "Warmth.tsv": content})) == []


def test_a_fault_of_thousands_of_lines_is_one_sentence(tmp_path: Path) -> None:
    board = replace(BOARD, files=(replace(BOARD.files[0], rows=5000),))
    content = "index\tprediction\n" + "".join(f"{index}\tglad\n" for index in range(5000))
    assert check(board, zipped(tmp_path, {"Mood.tsv": content.encode()})) == [
        "Mood.tsv:2: found 'glad'; expected 0 or 1: write 1 for glad. "
        "Also line 3 ('glad'), line 4 ('glad'): 5,000 lines in all."
    ]


def test_what_a_file_holds_is_escaped_and_cut_where_it_is_shown(tmp_path: Path) -> None:
    content = f"index\tprediction\n0\t\x1b[31m{'x' * 500}\n1\t1\n2\t1\n3\t0\n"
    (problem,) = check(BOARD, zipped(tmp_path, mood(content)))
    assert "\x1b" not in problem and len(problem) < 120


# --- checking: the archive


def test_a_plain_folder_of_files_is_checked_like_an_archive(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    assert check(BOARD, tmp_path) == []
    (tmp_path / "Mood.tsv").unlink()
    (tmp_path / "notes").mkdir()
    assert check(BOARD, tmp_path) == [
        "Mood.tsv is missing; every file must be there.",
        "Not of this leaderboard: 'notes/'; servers refuse extra files.",
    ]


ARCHIVES: dict[str, tuple[dict[str, bytes], str]] = {
    "missing": (
        {name: content for name, content in FILES.items() if name != "Mood.tsv"},
        "Mood.tsv is missing; every file must be there.",
    ),
    "extra": (
        FILES | {"log.txt": b"x"},
        "Not of this leaderboard: 'log.txt'; servers refuse extra files.",
    ),
    "extras": (
        FILES | {f"{one}.txt": b"x" for one in "abcde"},
        "Not of this leaderboard: 'a.txt', 'b.txt', 'c.txt' and 2 more; servers refuse extra files.",
    ),
    "case": (
        {name.replace("Mood", "mood"): content for name, content in FILES.items()},
        "'mood.tsv' must be called Mood.tsv, to the letter; it is read as that here.",
    ),
    "hyphen": (
        {name.replace("-", ""): content for name, content in FILES.items()},
        "'Verdict.tsv' must be called Ver-dict.tsv, to the letter; it is read as that here.",
    ),
    "folder": (
        {f"moods/{name}": content for name, content in FILES.items()},
        "Inside a folder: 'moods/Mood.tsv', 'moods/Ver-dict.tsv', 'moods/Warmth.tsv'; "
        "pack the files themselves, at the top level.",
    ),
    "backslash": (
        {name.replace("Mood", "moods\\Mood"): content for name, content in FILES.items()},
        "Inside a folder: 'moods\\\\Mood.tsv'; pack the files themselves, at the top level.",
    ),
    "macOS": (
        FILES | {"__MACOSX/._Mood.tsv": b"x", ".DS_Store": b"x"},
        "Left there by the desktop: '__MACOSX/._Mood.tsv', '.DS_Store'; remove them, on macOS by packing with zip -X.",
    ),
    "empty folder": (
        FILES | {"notes/": b""},
        "Not of this leaderboard: 'notes/'; servers refuse extra files.",
    ),
}


@pytest.mark.parametrize(("files", "said"), ARCHIVES.values(), ids=ARCHIVES)
def test_a_fault_of_the_archive_is_told(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    assert check(BOARD, zipped(tmp_path, files)) == [said]


def test_the_content_of_misplaced_and_misnamed_files_is_checked_too(tmp_path: Path) -> None:
    files = {"moods/mood.tsv": FILES["Mood.tsv"].replace(b"0\t0", b"0\tsad"), **FILES}
    del files["Mood.tsv"]
    problems = check(BOARD, zipped(tmp_path, files))
    assert "Mood.tsv:2: found 'sad'; expected 0 or 1: write 0 for sad." in problems
    assert len(problems) == 3


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("Mood.tsv", b"another")
    assert check(BOARD, path)[0] == "Mood.tsv is in the archive 2 times; it must be there once."


def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    path = tmp_path / "moods.zip"
    path.write_bytes(FILES["Mood.tsv"])
    assert check(BOARD, path) == ["moods.zip is not a zip archive, or is damaged; pack the files again."]


def test_a_path_where_nothing_is_cannot_be_checked(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"There is no file or folder .*none.zip"):
        check(BOARD, tmp_path / "none.zip")


def test_an_encrypted_file_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")  # the first entry of the central directory; its flags stand 8 bytes on
    content[at + 8] |= 1
    path.write_bytes(content)
    assert check(BOARD, path) == ["Mood.tsv is encrypted; pack the files without a password."]


def test_a_file_compressed_in_a_rare_way_is_told(tmp_path: Path) -> None:
    path = tmp_path / "moods.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    assert check(BOARD, path)[0] == (
        "Mood.tsv is compressed in a way that servers seldom read; pack it with the usual method, deflate."
    )


def test_a_damaged_member_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    path.write_bytes(path.read_bytes().replace(b"prediction", b"predictiom", 1))
    (problem,) = check(BOARD, path)
    assert problem.startswith("Mood.tsv is damaged (Bad CRC-32")


def test_a_member_that_unpacks_to_gigabytes_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "moods.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content if name != "Mood.tsv" else b"0" * 2**24)
    (problem,) = check(BOARD, path)
    assert problem == "Mood.tsv is larger than 1,048,832 bytes, more than its rows can need; it may be another file."


def test_an_archive_that_lies_about_its_sizes_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 20 : at + 28] = struct.pack("<II", 2**31, 2**31)  # compressed and plain size of the first entry
    path.write_bytes(content)
    (problem,) = check(BOARD, path)
    assert problem.startswith("Mood.tsv is damaged")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_damage_to_an_archive_is_a_traceback(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = write(BOARD, answers(), tmp_path_factory.mktemp("damage"))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    assert all(isinstance(one, str) for one in check(BOARD, path))


@pytest.mark.skipif(not hasattr(stat, "S_ISFIFO"), reason="no named pipes here")
def test_what_is_not_a_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    import os

    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "Mood.tsv").unlink()
    os.mkfifo(tmp_path / "Mood.tsv")
    assert check(BOARD, tmp_path) == ["Mood.tsv is not a plain file."]


# --- plain folders and single files

QUESTIONS = pa.table({"id": ["q1", "q2"]})
SPOKEN = Leaderboard(
    name="spoken-2.0",
    title="Spoken",
    url="https://spoken.example",
    archive="spoken-2.0/",
    files=(
        BoardFile("said.json", "mine/spoken", "dev", 2, JsonMap("id")),
        BoardFile("doubt.json", "mine/spoken", "dev", 2, JsonMap("id", Number(0, 1, 3)), takes="doubt"),
    ),
)
ALONE_BOARD = replace(SPOKEN, name="spoken-1.1", archive="spoken-1.1/", files=SPOKEN.files[:1])
SPOKEN_ANSWERS = {("mine/spoken", "dev"): Answers(["yes", ""], QUESTIONS, {"doubt": [0.25, 1]}, fit="ab12")}
ROWS_AT_HAND = {("mine/spoken", "dev"): QUESTIONS}


def test_a_board_may_take_a_plain_folder_of_files(tmp_path: Path) -> None:
    path = write(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert path == tmp_path / "spoken-2.0"
    assert {one.name: json.loads(one.read_text()) for one in path.iterdir()} == {
        "said.json": {"q1": "yes", "q2": ""},
        "doubt.json": {"q1": 0.25, "q2": 1.0},
    }
    assert sorted(one.name for one in tmp_path.iterdir()) == ["spoken-2.0", "spoken-2.0.json"]
    assert check(SPOKEN, path, manifest=read_manifest(path), tables=ROWS_AT_HAND) == []
    assert unchecked(SPOKEN, path, tables=ROWS_AT_HAND) == []


def test_a_later_submission_takes_the_folder_of_an_earlier_one(tmp_path: Path) -> None:
    write(SPOKEN, SPOKEN_ANSWERS, tmp_path / "mine")
    later = {("mine/spoken", "dev"): Answers(["no", "no"], QUESTIONS, {"doubt": [0, 0]})}
    assert write(SPOKEN, later, tmp_path / "mine") == tmp_path / "mine"
    assert json.loads((tmp_path / "mine" / "said.json").read_text()) == {"q1": "no", "q2": "no"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine", "mine.json"]


@pytest.mark.parametrize("name", ["notes.txt", "said.json.bak", ".hidden"])
def test_a_folder_that_holds_anything_else_is_not_written_over(tmp_path: Path, name: str) -> None:
    home = tmp_path / "spoken-2.0"
    home.mkdir()
    (home / name).write_text("of use")
    with pytest.raises(RequestError, match=r"spoken-2.0 is there and is no earlier submission to Spoken: name another"):
        write(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert [(one.name, one.read_text()) for one in home.iterdir()] == [(name, "of use")]


def test_a_file_in_the_folders_place_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "spoken-2.0").write_text("of use")
    with pytest.raises(RequestError, match="is there and is no earlier submission"):
        write(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert (tmp_path / "spoken-2.0").read_text() == "of use"


def test_a_folder_that_changed_does_not_pass_by_its_manifest(tmp_path: Path) -> None:
    path = write(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    manifest = read_manifest(path)
    (path / "said.json").write_text('{"q1": "no", "q2": ""}')
    assert check(SPOKEN, path, manifest=manifest) == [
        "spoken-2.0 has changed since its manifest was written; write it again."
    ]


def test_a_file_of_figures_beside_the_answers_needs_them(tmp_path: Path) -> None:
    with pytest.raises(RequestError) as told:
        write(SPOKEN, {("mine/spoken", "dev"): Answers(["yes", ""], QUESTIONS, {"length": [3, 0]})}, tmp_path)
    assert "doubt.json: it holds 'doubt'; beside the answers to mine/spoken there is length." in str(told.value)


@pytest.mark.parametrize("table", [None, pa.table({"name": ["q1", "q2"]}), QUESTIONS.slice(0, 1)])
def test_a_file_that_names_rows_needs_them(tmp_path: Path, table: pa.Table | None) -> None:
    with pytest.raises(RequestError, match=r"said.json: the rows of mine/spoken, split dev, are needed, with id"):
        write(ALONE_BOARD, {("mine/spoken", "dev"): Answers(["yes", ""], table)}, tmp_path)


def test_what_a_check_without_the_rows_does_not_see_is_said(tmp_path: Path) -> None:
    path = write(ALONE_BOARD, SPOKEN_ANSWERS, tmp_path)
    others = {("mine/spoken", "dev"): pa.table({"id": ["p1", "p2"]})}
    assert check(ALONE_BOARD, path) == []
    (said,) = unchecked(ALONE_BOARD, path)
    assert said.startswith("said.json was checked for its form and its counts; it was not compared with the rows of")
    assert len(check(ALONE_BOARD, path, tables=others)) == 2 and unchecked(ALONE_BOARD, path, tables=others) == []
    assert unchecked(BOARD, write(BOARD, answers(), tmp_path)) == []


def test_one_file_alone_is_checked_as_what_its_name_says(tmp_path: Path) -> None:
    path = write(SPOKEN, SPOKEN_ANSWERS, tmp_path) / "doubt.json"
    assert check(SPOKEN, path, tables=ROWS_AT_HAND) == []
    assert unchecked(SPOKEN, path, tables=ROWS_AT_HAND) == ["A whole submission holds said.json as well."]
    path.write_text('{"q1": 3, "q2": 0}')
    assert check(SPOKEN, path) == [
        "doubt.json, id 'q1': found '3'; expected a number from 0 to 1: clip what lies outside."
    ]
    renamed = path.rename(tmp_path / "Doubt.json")
    assert "'Doubt.json' must be called doubt.json, to the letter; it is read as that here." in check(SPOKEN, renamed)
    assert check(SPOKEN, renamed.rename(tmp_path / "mine.json")) == [
        "'mine.json': its name does not tell which file this is; call it said.json or doubt.json."
    ]


def test_the_only_file_of_a_board_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text('{"q1": "a", "q2": 7}')
    assert check(ALONE_BOARD, path) == ["said.json, id 'q2': found '7'; expected a text, in quotes."]
    assert unchecked(ALONE_BOARD, path, tables=ROWS_AT_HAND) == []


def test_files_of_a_folder_are_accepted_in_an_archive(tmp_path: Path) -> None:
    path = write(SPOKEN, SPOKEN_ANSWERS, tmp_path)
    assert check(SPOKEN, zipped(tmp_path, {one.name: one.read_bytes() for one in path.iterdir()})) == []


def test_boards_with_a_file_of_one_name_are_told_apart_by_the_other_files_or_by_the_folders_name(
    tmp_path: Path,
) -> None:
    boards = [ALONE_BOARD, SPOKEN]
    assert detect(boards, write(SPOKEN, SPOKEN_ANSWERS, tmp_path / "any")) is SPOKEN
    assert detect(boards, write(ALONE_BOARD, SPOKEN_ANSWERS, tmp_path)) is ALONE_BOARD
    with pytest.raises(RequestError, match=r"spoken-1.1 and spoken-2.0 fit alike. Name the board"):
        detect(boards, tmp_path / "any" / "said.json")


# --- telling the board from the archive

OTHER = replace(BOARD, name="other", archive="other.zip", files=(replace(BOARD.files[0], name="Answers.tsv"),))


def test_the_board_is_told_by_the_names_of_the_files(tmp_path: Path) -> None:
    assert detect([OTHER, BOARD], zipped(tmp_path, FILES)) is BOARD
    assert detect([OTHER, BOARD], zipped(tmp_path, {"x/answers.tsv": b""})) is OTHER


def test_the_board_of_a_damaged_archive_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "other.zip").write_bytes(b"?")
    assert detect([OTHER, BOARD], tmp_path / "other.zip") is OTHER


def test_an_archive_of_no_board_asks_for_the_board(tmp_path: Path) -> None:
    zipped(tmp_path, {"a.txt": b""}).rename(tmp_path / "mine.zip")
    with pytest.raises(RequestError, match=r"none of its files is known to a leaderboard.*Known: moods, other"):
        detect([OTHER, BOARD], tmp_path / "mine.zip")


def test_an_archive_of_two_boards_asks_for_the_board(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"moods and twin fit alike. Name the board"):
        detect([BOARD, replace(BOARD, name="twin")], zipped(tmp_path, FILES))


# --- properties

LABELS = st.lists(st.sampled_from(["sad", "glad"]), min_size=2, max_size=30)
VERDICTS = st.lists(st.sampled_from(["yes", "not_yes", "maybe"]), min_size=2, max_size=30)
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30)


@settings(max_examples=60, deadline=None)
@given(moods=LABELS, verdicts=VERDICTS, numbers=NUMBERS)
def test_what_is_written_always_checks_clean(
    tmp_path_factory: pytest.TempPathFactory, moods: list[str], verdicts: list[str], numbers: list[float]
) -> None:
    sizes = zip(BOARD.files, (len(moods), len(verdicts), len(numbers)), strict=True)
    board = replace(BOARD, files=tuple(replace(file, rows=rows) for file, rows in sizes))
    path = write(board, answers(mood=moods, verdict=verdicts, warmth=numbers), tmp_path_factory.mktemp("clean"))
    assert check(board, path) == []


def _drop(lines: list[str], at: int) -> list[str]:
    return lines[:at] + lines[at + 1 :]


def _double(lines: list[str], at: int) -> list[str]:
    return lines[: at + 1] + lines[at:]


def _swap(lines: list[str], at: int) -> list[str]:
    other = at - 1 if at > 1 else at + 1
    lines[at], lines[other] = lines[other], lines[at]
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
    given_: list[Any] = data.draw(strategies[kind])
    lines = table.write("x.tsv", Answers(given_)).decode().removesuffix("\n").split("\n")
    changed = mutate(lines, data.draw(st.integers(1, len(lines) - 1)))
    assert table.check("x.tsv", ("\n".join(changed) + "\n").encode(), len(given_))
