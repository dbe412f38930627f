"""The table of a result in other formats than the terminal's: HTML, LaTeX that compiles, data frames."""

import builtins
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_comparison import ABOVE, HOSTILE, ranked, result, with_statistics

from benchrunner.errors import RequestError
from benchrunner.studies.comparison.facts import headline
from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.table import Shown
from benchrunner.tasks.folds import in_folds
from inline import mood
from made_results import cells, lines, made_result, written
from published_moods import MEAN, choice


def tree(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{page.replace('<br>', ' ')}</div>")


def test_html_has_a_caption_scopes_and_a_strong_best_group() -> None:
    page = tree(written("html", ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c")))
    assert page.findtext("table/caption") == "dev, mean ± sd"
    heads = page.findall("table/thead/tr/th")
    assert [head.text for head in heads] == ["backbone", "mine/one accuracy", "mine/two accuracy", "mean rank"]
    assert {head.get("scope") for head in heads} == {"col"}
    rows = page.findall("table/tbody/tr/th")
    assert [row.text for row in rows[:3]] == ["a", "b", "c"] and {row.get("scope") for row in rows} == {"row"}
    assert [cell.text for cell in page.iter("strong")] == ["93.1 ± 1.2 *", "93.1 ± 1.2 =", "93.1 ± 1.2 ="]


def test_every_row_of_html_has_as_many_cells_as_the_head() -> None:
    made = with_statistics(made_result([mood(suite=MEAN)], ["a", "b", HOSTILE]), {"mine/mood": 0.1})
    page = tree(written("html", made, choice("all"), Shown()))
    columns = len(page.findall("table/thead/tr/th"))
    covered = 0
    for row in page.findall("table/tbody/tr"):
        header = row.find("th")
        covered = covered - 1 if header is None else int(header.get("rowspan", "1")) - 1
        assert len(row.findall("td")) == columns - 1 and covered >= 0
    assert page.findall("table/tbody/tr/th")[2].text == HOSTILE


def test_tables_show_the_title_of_a_file_and_csv_its_name() -> None:
    errors = mood(name="file/errors-0a1b2c", title="errors", suite=None)
    made = with_statistics(made_result([errors, mood(title="MOOD")], ["a", "b"]), {"file/errors-0a1b2c": 0.01})
    shown = lines(as_table(made), 100)
    assert [cells(line)[0] for line in shown if "accuracy" in line] == ["errors", "mine/mood"]
    assert "a (errors +1.0, 95 % interval" in headline(made, 5)
    assert "file/errors-0a1b2c accuracy" in written("csv", made).splitlines()[0]
    study = as_json(made)
    assert study["columns"][0]["name"] == "file/errors-0a1b2c accuracy"
    assert study["cells"][0]["task"] == "file/errors-0a1b2c"


def test_tables_show_names_of_equal_titles_and_of_folds() -> None:
    names = ["file/errors-0a1b2c", "file/errors-3d4e5f"]
    tasks = [mood(name=name, title="errors", suite=None) for name in names]
    for shown in (tasks, [in_folds(tasks[0], "5")]):
        table = lines(as_table(made_result(shown, ["a"])), 100)
        assert [cells(line)[0] for line in table if "accuracy" in line] == [task.name for task in shown]


def test_a_narrow_table_names_the_rows_of_every_group() -> None:
    tasks = [mood(name=f"mine/task-{number}", suite=MEAN) for number in range(12)]
    made = with_statistics(made_result(tasks, "abc"), {})
    for width in (60, 80, 100):
        shown = lines(as_table(made, choice("all"), Shown(intervals=False)), width)
        assert max(map(len, shown)) <= width
        figures = [line for line in shown if "93.1" in line]
        assert {line.split()[0] for line in figures} == {"a", "b", "c"}
        assert sum(line.count("93.1±1.2") for line in figures) == 3 * 12


def test_tables_without_intervals_have_a_line_for_a_system() -> None:
    made = with_statistics(result("a", "b", "c"), {})
    shown = lines(as_table(made, shown=Shown(intervals=False)), 100)
    assert not any("91.0" in line for line in shown) and sum("93.1" in line for line in shown) == 3
    assert shown[0].strip() == "dev, mean ± sd"


def test_frames_have_the_table_and_every_score() -> None:
    pytest.importorskip("pandas")
    made = ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c")
    table = made.to_pandas()
    assert table.loc["a"].to_dict() == {"mine/one accuracy": 0.931, "mine/two accuracy": 0.931, "mean rank": 1.5}
    assert "mine/one matthews" in made.to_pandas(every_metric=True)
    lost = replace(made, cells=(replace(made.cells[0], figures={}), *made.cells[1:])).to_pandas()
    assert list(lost) == list(table) and lost["mine/one accuracy"].isna().tolist() == [True, False, False]
    long = made.to_pandas(long=True)
    assert len(long) == 3 * 2 * 2 and long["score"].tolist() == [0.931] * 12
    assert long.query("mark == '*'")[["system", "task"]].values.tolist() == [["a", "mine/one"]]


def test_a_missing_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pandas(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(RequestError, match="pip install pandas"):
        result("a").to_pandas()


def check_latex(text: str) -> None:
    """Check braces, environments, and that every special character of a text is escaped."""
    code = re.sub(r"(?<!\\)%.*", "", text).replace(r"\ifdim\width>\linewidth", "")
    depth, opened = 0, []
    for found in re.finditer(r"\\(begin|end)\{(\w+)\}|\\.|[{}]", code):
        if found[1] == "begin":
            opened.append(found[2])
        elif found[1]:
            assert opened.pop() == found[2]
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        assert depth >= 0
    assert depth == 0 and not opened
    assert not re.search(r"(?<!\\)[#_^~<>|]", code.replace("$\\pm$", "")), code


def test_latex_has_a_caption_a_label_and_the_names_of_papers() -> None:
    tasks = [mood(title="Mood-1", suite=None), mood(name="file/errors-0a1b2c", title="errors", suite=None)]
    made = replace(with_statistics(made_result(tasks, ["a", "b_1"]), {"mine/mood": 0.01}), name="mine_1")
    text = written("latex", made, choice("none"))
    check_latex(text)
    caption = re.search(r"\\caption\{(.*)\}\n\\label\{tab:mine-1\}", text)
    assert caption is not None
    assert caption[1].startswith(
        r"Scores of a, b\_1 on Mood-1, errors. Mean $\pm$ standard deviation of 3 restarts. In brackets: 95 \% "
        r"intervals over other examples. *: differs from a (p \textless{} 0.05, corrected for 1 test)."
    )
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert not any("mine/mood" in line or "0a1b2c" in line for line in body)
    assert sum(line.startswith(("Mood-1 & accuracy", "errors & accuracy")) for line in body) == 2


@pytest.mark.parametrize("long", [False, True])
def test_latex_escapes_every_name(long: bool) -> None:
    hostile = r"a\b~^<>|{}_%$#&±[x]" + HOSTILE
    made = with_statistics(made_result([mood(suite=MEAN)], [hostile, "[a]", "*b"]), {})
    check_latex(written("latex", made, choice("all"), long=long))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles_and_is_not_wider_than_the_page(tmp_path: Path) -> None:
    hostile = r"a\b~^<>|{}_%$#&±[x]" + HOSTILE
    tasks = [mood(name=f"mine/{hostile.replace('/', '')}{number}", suite=MEAN) for number in range(8)]
    tables = []
    for names in ([hostile], ["[a]", "*b"], [*"abcdefgh", hostile]):
        made = with_statistics(made_result(tasks, names), {})
        for shown in (Shown(), Shown(intervals=False)):
            tables.append(written("latex", made, choice("all"), shown))
        tables.append(written("latex", made, long=True))
    tables.append(written("latex", ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c")))
    body = "\n\\clearpage\n".join(tables)
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}"
    text = f"\\documentclass{{article}}{packages}\\begin{{document}}\n{body}\n\\end{{document}}"
    (tmp_path / "tables.tex").write_text(text, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, encoding="latin-1", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull \\hbox" not in done.stdout
