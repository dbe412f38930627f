"""Sources: files with the quirks of real data, a clear error for each kind of bad file, and the hub."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import forked
from benchrunner.data.delimited import TextTable
from benchrunner.data.rows import Rows, fingerprint
from benchrunner.data.sources import DataNotFound, Filtered, Reshaped, RowsFrom, Source
from benchrunner.errors import DataError, PluginError
from benchrunner.workspace import Workspace
from hub_server import Hub

TABLE = TextTable("t.tsv", {"a": "text", "label": "mood"}, labels={"0": "sad", "1": "glad"})
TEST = TextTable("t.tsv", {"a": "text"}, counted="index")
BROKEN = TextTable("t.tsv", {"a": "q1", "b": "q2"}, breaks_inside_fields=True)
CSV = TextTable("t.csv", {"a": "text", "label": "mood"}, separator=",", quoted=True)


def workspace(folder: Path) -> Workspace:
    return Workspace(runs=folder / "runs", cache=folder / "cache", data=folder)


def read(source: TextTable, folder: Path, content: str | bytes) -> Rows:
    name = source.path if isinstance(source.path, str) else source.path[0]
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return source.read(workspace(folder))


def error(source: TextTable, folder: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(source, folder, content)
    return str(caught.value).replace(f"{folder}{os.sep}", "")


def test_columns_are_found_by_name_and_labels_respelled(tmp_path: Path) -> None:
    rows = read(TABLE, tmp_path, "mood\tid\ttext\n1\t7\tIt works.\n0\t8\tIt rains.\n")
    assert rows.table.to_pydict() == {"a": ["It works.", "It rains."], "label": ["glad", "sad"]}
    assert rows.where(1) == f"{tmp_path / 't.tsv'}:3"


def test_a_csv_file_may_lack_a_header(tmp_path: Path) -> None:
    source = TextTable("t.csv", {"a": "text", "label": "mood"}, names=("mood", "text"), separator=",", quoted=True)
    rows = read(source, tmp_path, '1,"It works, she said."\n0,"It\nrains."\n')
    assert rows.table.to_pydict() == {"a": ["It works, she said.", "It\nrains."], "label": ["1", "0"]}


def test_a_table_is_read_in_its_encoding(tmp_path: Path) -> None:
    source = TextTable("t.tsv", {"a": "text"}, encoding="latin-1")
    assert read(source, tmp_path, "text\nmañana\n".encode("latin-1")).table.to_pydict() == {"a": ["mañana"]}
    assert "t.tsv:2: not UTF-8 text" in error(TextTable("t.tsv", {"a": "text"}), tmp_path, b"text\nma\xf1ana\n")


@pytest.mark.parametrize(
    "name", ["latn", "punycode", "idna", "rot13", "hex", "unicode_escape", "raw_unicode_escape", "undefined", "a\0b"]
)
def test_an_encoding_that_is_not_of_files_is_refused(name: str) -> None:
    with pytest.raises(PluginError, match=r"no encoding '.*'; use, for example, .*'latin-1'"):
        TextTable("t.tsv", {"a": "text"}, encoding=name)


def test_a_filter_leaves_rows_out_and_says_so(tmp_path: Path) -> None:
    source = Filtered(TABLE, lambda row: row["label"] != "-", "without a majority label")
    rows = read_any(source, tmp_path, "mood\ttext\n1\ta\n-\tb\n0\tc\n")
    assert rows.table.to_pydict() == {"a": ["a", "c"], "label": ["glad", "sad"]}
    assert rows.where(1).endswith("t.tsv:4")
    assert rows.notes == ("left out 1 of 3 rows: without a majority label",)
    assert read_any(source, tmp_path, "mood\ttext\n1\ta\n").notes == ()


def test_a_filter_keeps_every_row_of_a_users_file(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("text\na\nb\n")
    moved = Filtered(TABLE, lambda row: row["label"] == "sad", "glad").at(tmp_path / "mine.tsv")
    assert moved is not None
    assert len(moved.unlabelled(("label",)).read(workspace(tmp_path))) == 2


def test_a_filter_that_fails_names_the_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"t\.tsv:2: cannot say whether this row is kept: KeyError: 'mood'"):
        read_any(Filtered(TABLE, lambda row: row["mood"] == "x", "not x"), tmp_path, "mood\ttext\n1\ta\n")


def test_a_reshaped_table_may_have_more_rows(tmp_path: Path) -> None:
    def twice(table: pa.Table) -> pa.Table:
        return pa.concat_tables([table, table])

    rows = read_any(Reshaped(TABLE, twice), tmp_path, "mood\ttext\n1\ta\n")
    assert rows.where(1) == f"{tmp_path / 't.tsv'}, row 1"


def read_any(source: Source, folder: Path, content: str) -> Rows:
    (folder / "t.tsv").write_text(content)
    return source.read(workspace(folder))


def test_labels_of_any_column_are_respelled(tmp_path: Path) -> None:
    source = TextTable("t.tsv", {"a": "text", "mood": "mood"}, labels={"1": "glad"}, label_column="mood")
    rows = read(source, tmp_path, "mood\ttext\n1\t1\n0\t1\n")
    assert rows.table.to_pydict() == {"a": ["1", "1"], "mood": ["glad", "0"]}


def test_an_unlabelled_source_needs_no_label_columns(tmp_path: Path) -> None:
    source = TextTable("t.tsv", {"a": "text", "mood": "mood", "grade": "grade"}).unlabelled(("mood", "grade"))
    assert read(source, tmp_path, "text\nhello\n").table.to_pydict() == {"a": ["hello"]}
    reshaped = Reshaped(source, lambda table: table.rename_columns(["b"])).unlabelled(("mood",))
    assert reshaped.read(workspace(tmp_path)).table.to_pydict() == {"b": ["hello"]}


def test_a_quote_is_text_unless_the_file_is_csv(tmp_path: Path) -> None:
    rows = read(TABLE, tmp_path, 'text\tmood\n"He said\t1\nso" she said\t0\n""\t1\n')
    assert rows.table.column("a").to_pylist() == ['"He said', 'so" she said', '""']


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    assert len(read(TABLE, tmp_path, b"\xef\xbb\xbftext\tmood\nyes\t1\n")) == 1


def test_windows_line_ends_and_a_missing_last_one_are_fine(tmp_path: Path) -> None:
    rows = read(TABLE, tmp_path, "text\tmood\r\nyes\t1\r\nno\t0")
    assert rows.table.column("label").to_pylist() == ["glad", "sad"]


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    rows = read(TABLE, tmp_path, "text\tmood\nnext\x85line\u2028and\x0bpage\t1\nno\t0\n")
    assert rows.table.column("a").to_pylist() == ["next\x85line\u2028and\x0bpage", "no"]
    rows = read(CSV, tmp_path, "text,mood\nnext\x85line\u2028and\x0bpage,1\nno,0\n")
    assert rows.table.column("a").to_pylist() == ["next\x85line\u2028and\x0bpage", "no"]
    assert rows.lines == [2, 3]


def test_spaces_and_empty_fields_stay_as_they_are(tmp_path: Path) -> None:
    rows = read(TABLE, tmp_path, "text\tmood\n spaced \t1\n\t0\n")
    assert rows.table.column("a").to_pylist() == [" spaced ", ""]


def test_a_file_without_a_header_gets_its_names_from_the_source(tmp_path: Path) -> None:
    source = TextTable("t.tsv", {"a": "text", "label": "mood"}, names=("mood", "text"))
    assert read(source, tmp_path, "1\tfirst\n0\tsecond\n").table.column("a").to_pylist() == ["first", "second"]


def test_quoted_fields_may_hold_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    rows = read(CSV, tmp_path, 'text,mood\n"a, ""b""\nc",1\nd,0\n')
    assert rows.table.to_pydict() == {"a": ['a, "b"\nc', "d"], "label": ["1", "0"]}
    assert rows.lines == [2, 4]


def test_the_first_spelling_that_exists_is_read(tmp_path: Path) -> None:
    source = TextTable(("one/t.tsv", "two/t.tsv"), {"a": "text"})
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "t.tsv").write_text("text\nhere\n")
    assert source.read(workspace(tmp_path)).origin == str(tmp_path / "two" / "t.tsv")


def test_a_missing_file_is_not_found_and_lists_searched_places(tmp_path: Path) -> None:
    source = TextTable(("one/t.tsv", "two/t.tsv"), {"a": "text"})
    with pytest.raises(DataNotFound, match=r"one.t\.tsv \(or 1 other usual place\)"):
        source.read(workspace(tmp_path))
    with pytest.raises(DataNotFound, match="give --data DIR or set BENCHRUNNER_DATA"):
        source.read(Workspace(runs=tmp_path, cache=tmp_path))


def test_known_broken_records_are_dropped_aloud(tmp_path: Path) -> None:
    lines = ["q1\tq2\tsame", "one\ttwo\t1", "three\tfo", "", "ur\t0", "five\tsix\t1", "", "seven\teight\t0", "", ""]
    rows = read(BROKEN, tmp_path, "\n".join(lines))
    assert rows.table.column("a").to_pylist() == ["one", "five", "seven"]
    assert rows.lines == [2, 6, 8]
    assert rows.notes == ("dropped 3 broken record(s), as the official file is known to hold (line 3, 7, 9)",)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("q1\tq2\tsame\na\tb\tc\td\n", "t.tsv:2: expected 3 columns, found 4"),
        ("q1\tq2\tsame\na\tb\nc\td\t1\n", "t.tsv:2: expected 3 columns, found 2"),
        ("q1\tq2\tsame\na\tb\nc\td\te\n", "t.tsv:2: expected 3 columns, found 2"),
        ("q1\tq2\tsame\na\tb\t1\nc\td\n", "t.tsv:3: expected 3 columns, found 2"),
    ],
)
def test_what_no_break_explains_is_an_error_in_a_broken_file_too(tmp_path: Path, content: str, line: str) -> None:
    assert line in error(BROKEN, tmp_path, content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.tsv:1: the file is empty; a header line was expected."),
        ("\n \n", "t.tsv:1: the file is empty; a header line was expected."),
        ("sentence\tmood\na\t1\n", "t.tsv:1: no column 'text' in the header; it has sentence, mood."),
        ("text\tmood\ttext\na\t1\tb\n", "t.tsv:1: the header has the column 'text' twice"),
        ("text\tmood\na\t1\nb\n", "t.tsv:3: expected 2 columns, found 1."),
        ("text\tmood\na\t1\t2\n", "t.tsv:2: expected 2 columns, found 3."),
        ("text\tmood\na\t1\n\nb\t0\n", "t.tsv:3: expected 2 columns, found an empty line."),
        (b"text\tmood\na\t1\nca\xe9\t0\n", "t.tsv:3: not UTF-8 text (invalid continuation byte)"),
        (b"\xef\xbb\xbftext\tmood\na\t1\n\xe9\t0\n", "t.tsv:3: not UTF-8 text"),
        ("text\tmood\n".encode("utf-16"), "t.tsv:1: not UTF-8 text"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert error(TABLE, tmp_path, content).startswith(message)


def test_an_empty_file_without_a_header_is_an_error_too(tmp_path: Path) -> None:
    source = TextTable("t.tsv", {"a": "text"}, names=("text",))
    assert error(source, tmp_path, "") == "t.tsv:1: the file is empty; rows were expected."


@pytest.mark.parametrize("order", ["1\ta\n0\tb\n", "0\ta\n2\tb\n", "0\ta\n0\tb\n", "0\ta\n01\tb\n"])
def test_a_counted_file_may_not_be_reordered_or_cut(tmp_path: Path, order: str) -> None:
    assert "column 'index' must count the rows from 0: expected" in error(TEST, tmp_path, f"index\ttext\n{order}")


def test_an_empty_line_of_a_csv_file_is_no_row_at_its_end_alone(tmp_path: Path) -> None:
    source = TextTable("t.csv", {"a": "text"}, separator=",", quoted=True)
    for content in ("text\na\n\n\n", "text\r\na\r\n\r\n", 'text\n"a"\n\n'):
        assert read(source, tmp_path, content).table["a"].to_pylist() == ["a"]
    with pytest.raises(DataError, match=r"t\.csv:3: expected 1 columns, found an empty line\."):
        read(source, tmp_path, "text\na\n\nb\n")


def test_an_unclosed_quote_in_csv_names_its_first_line(tmp_path: Path) -> None:
    assert error(CSV, tmp_path, 'text,mood\na,1\n"b,0\nc,1\n').startswith("t.csv:3: not valid CSV")


def test_a_field_without_end_is_no_puzzle(tmp_path: Path) -> None:
    said = error(CSV, tmp_path, 'text,mood\na,1\n"b,0\n' + "c,1\n" * 40_000)
    assert said == "t.csv:3: a field of over 131,072 characters; is a quote left open?"


def test_a_function_may_give_the_rows(tmp_path: Path) -> None:
    def moods(where: Workspace) -> dict[str, list[str]]:
        return {"a": ["x"], "label": ["glad"]}

    rows = RowsFrom(moods).read(workspace(tmp_path))
    assert rows.table.to_pylist() == [{"a": "x", "label": "glad"}]
    assert rows.where(0).endswith("moods, row 0")


def test_a_fingerprint_depends_on_content_and_nothing_else() -> None:
    one = pa.table({"a": ["x", "yz"], "label": [1.0, None]})
    parts = pa.concat_tables([one.slice(0, 1), one.slice(1)]).select(["label", "a"])
    assert fingerprint(one) == fingerprint(parts)
    others = [{"a": ["xy", "z"], "label": [1.0, None]}, {"a": ["x", "yz"], "label": [1.0, 0.0]}]
    others += [{"a": ["x", "yz"], "label": ["1.0", None]}, {"b": ["x", "yz"], "label": [1.0, None]}]
    assert len({fingerprint(pa.table(data)) for data in [one.to_pydict(), *others]}) == 5


CARD = """---
configs:
- config_name: small
  data_files:
  - {split: train, path: small/train-*}
dataset_info:
- config_name: small
  features:
  - {name: text, dtype: string}
  - {name: mood, dtype: {class_label: {names: {'0': happy, '1': sad}}}}
  - {name: grade, dtype: float32}
  - {name: moods, sequence: {class_label: {names: {'0': happy, '1': sad}}}}
---
"""

CLIENT = """
import json, sys
from pathlib import Path
from benchrunner.errors import DataError
from benchrunner.workspace import Workspace
from benchrunner_tasks import HubTable
workspace = Workspace(runs=Path("runs"), cache=Path("cache"))
found = []
for configuration, split, columns in json.loads(sys.argv[1]):
    try:
        source = HubTable("lab/moods", configuration, split, columns, {"happy": "glad"})
        found.append(source.read(workspace).table.to_pydict())
    except DataError as error:
        found.append(f"{type(error).__name__}: {error}")
print(json.dumps(found))
"""


def ask(hub: dict[str, str], *questions: tuple[str, str, dict[str, str]]) -> list[object]:
    arguments = ["-c", CLIENT, json.dumps(questions)]
    done = forked.run(arguments, env={**os.environ, **hub})
    assert done.returncode == 0, done.stderr
    answers: list[object] = json.loads(done.stdout)
    return answers


def test_hub_rows_have_label_names_and_decimals_and_are_cached(tmp_path: Path) -> None:
    data = tmp_path / "hub" / "datasets" / "lab" / "moods"
    (data / "small").mkdir(parents=True)
    table = {"text": ["x", "y", None], "mood": [0, 1, -1], "grade": pa.array([4.2, 3.083, None], pa.float32())}
    table["moods"] = [[0, 1], [], [1]]
    parquet.write_table(pa.table(table), data / "small" / "train-00000-of-00001.parquet")
    (data / "README.md").write_text(CARD)
    whole = ("small", "train", {"a": "text", "label": "mood", "grade": "grade"})
    rows = {"a": ["x", "y", None], "label": ["glad", "sad", None], "grade": [4.2, 3.083, None]}
    lists = ("small", "train", {"label": "moods"})
    with Hub(tmp_path / "hub") as hub:
        environment = hub.environment(tmp_path / "home")
        answers = ask(environment, whole, ("small", "train", {"a": "texts"}), ("small", "test", {"a": "text"}), lists)
    assert answers[0] == rows
    assert (
        answers[1]
        == "DataError: hub lab/moods (small, train) has no columns named 'texts'; it has text, mood, grade, moods."
    )
    assert str(answers[2]).startswith("DataNotFound: hub lab/moods (small, test) could not be read: ")
    assert answers[3] == {"label": [["glad", "sad"], [], ["sad"]]}
    assert ask(environment | {"HF_HUB_OFFLINE": "1"}, whole) == [rows]
    (absent,) = ask(hub.environment(tmp_path / "new") | {"HF_HUB_OFFLINE": "1"}, whole)
    assert str(absent).endswith(
        "could not be read: it is not in the cache, and --offline or HF_HUB_OFFLINE forbids to ask the hub"
    )


def test_no_text_and_an_empty_text_have_other_fingerprints() -> None:
    tables = [pa.table({"a": pa.array(["x", value, "y"], pa.string())}) for value in (None, "")]
    assert fingerprint(tables[0]) != fingerprint(tables[1])
