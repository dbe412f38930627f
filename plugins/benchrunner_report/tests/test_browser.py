"""A report in a real browser: it loads without errors, sorts and filters, and texts of data sets do nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import browsers
from benchrunner.results import Grid, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_report.rendering import write_report
from finished_studies import finish, runner, task

HOSTILE = (
    "<script>document.title = 'broken'</script>",
    "</script><script>document.title = 'broken'</script><!-- ",
    "<img src=x onerror=\"document.title='broken'\">",
    "\" onmouseover=\"document.title='broken'\" x='",
    "\u202eright to left override\u202c and שלום עולם",
    "w" * 10_000,
    "{{ 7 * 7 }} ${document.title='broken'} \u2028 line",
    "nul \x00 bell \x07 zero\u200bwidth",
)
NAMES = ("made/good", "made/<b>poor</b>", "made/third")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report of three backbones on two tasks whose texts try to break the page."""
    return made_report(tmp_path_factory.mktemp("report"), NAMES)


def made_report(folder: Path, names: tuple[str, ...]) -> Path:
    """Write the report of a study of some backbones."""
    texts = {row: HOSTILE[row % len(HOSTILE)] for row in range(60)}
    tasks = (task("made/pairs", "classify", texts=texts), task("made/words", "span"))
    made = runner(folder, tasks, names)
    study = compared(names, tasks, Fitting(Grid({"lr": (3e-5, 2e-5)}), seeds=(0, 1, 2)))
    finish(study, made, {name: 0.8 - 0.3 * (number % 2) for number, name in enumerate(names)})
    return write_report(run_study(study, made), folder / "report.html", made)


def test_the_page_opens_without_an_error(report: Path, tmp_path: Path) -> None:
    page = browsers.opened(report, tmp_path)
    assert page.console == []
    assert page.page.count('class="row"') == 20  # the script drew the first rows


def test_hostile_texts_do_nothing(report: Path, tmp_path: Path) -> None:
    values = browsers.answers_of(
        report,
        tmp_path,
        """
        document.getElementById("more").click(); document.getElementById("more").click();
        const list = document.getElementById("list");
        const handlers = document.querySelectorAll("[onmouseover],[onerror]").length;
        return {
          title: document.title, scripts: document.scripts.length, images: document.images.length, handlers,
          bold: document.querySelectorAll("b").length, text: list.textContent,
          width: document.documentElement.scrollWidth - innerWidth,
        };
        """,
    )
    assert "broken" not in values["title"]
    assert (values["scripts"], values["images"], values["bold"], values["handlers"]) == (3, 0, 0, 0)
    assert "<script>document.title = 'broken'</script>" in values["text"]
    assert "⟨U+202E⟩right to left override" in values["text"] and "⟨U+0000⟩" in values["text"]
    assert "[8,800 more characters]" in values["text"] and "{{ 7 * 7 }}" in values["text"]
    assert values["width"] <= 0, "the page is wider than the window"


def test_rows_are_searched_filtered_and_sorted(report: Path, tmp_path: Path) -> None:
    values = browsers.answers_of(
        report,
        tmp_path,
        """
        const by = (id) => document.getElementById(id);
        const texts = (selector) => [...document.querySelectorAll(selector)].map((part) => part.textContent);
        const set = (id, value) => {
          by(id).value = value;
          by(id).dispatchEvent(new Event(id === "query" ? "input" : "change"));
          return parseInt(by("count").textContent) || 0;
        };
        const all = parseInt(by("count").textContent);
        const task = set("task", "1"), heads = texts(".row h3");
        set("task", "");
        const right = set("right", "2"), both = set("wrong", "1");
        const lines = (part) => [...part.children].map((line) => line.textContent);
        const marks = [...document.querySelectorAll(".row dl")].map(lines);
        set("right", ""); set("wrong", ""); set("order", "row");
        const numbers = texts(".row h3").map((head) => Number(head.split("row ")[1]));
        set("query", "nosuchword");
        await new Promise((done) => setTimeout(done, 300));
        return { all, task, heads, right, both, marks, numbers, none: by("count").textContent };
        """,
    )
    assert values["all"] > values["right"] >= values["both"] > 0
    assert 0 < values["task"] < values["all"]
    assert all(head.startswith("made/words") for head in values["heads"])
    assert values["numbers"] == sorted(values["numbers"])
    assert values["none"] == "No row matches."
    for lines in values["marks"]:  # names and answers in turns; systems with the same answers have one line
        answers = dict(zip(lines[::2], lines[1::2], strict=True))
        [third] = [given for names, given in answers.items() if NAMES[2] in names]
        [poor] = [given for names, given in answers.items() if NAMES[1] in names]
        assert "✓" in third and "✗" in poor


def test_tables_sort_by_every_column(report: Path, tmp_path: Path) -> None:
    values = browsers.answers_of(
        report,
        tmp_path,
        """
        const table = document.querySelector("table.study"), heads = [...table.tHead.rows[0].cells];
        const value = (cell) => parseFloat(cell.textContent) || cell.textContent.trim();
        const direction = (head) => head.getAttribute("aria-sort");
        const click = (place) => {
          heads[place].firstElementChild.click();
          return [direction(heads[place]), [...table.tBodies].map((body) => value(body.rows[0].cells[place]))];
        };
        return { down: click(2), up: click(2), names: click(0), others: heads.map(direction) };
        """,
    )
    direction, figures = values["down"]
    assert direction == "descending" and [float(figure) for figure in figures] == sorted(
        map(float, figures), reverse=True
    )
    direction, figures = values["up"]
    assert direction == "ascending" and [float(figure) for figure in figures] == sorted(map(float, figures))
    assert values["names"][0] == "ascending" and values["others"].count("none") == len(values["others"]) - 1


def test_everything_is_reached_and_named_by_keyboard(report: Path, tmp_path: Path) -> None:
    values = browsers.answers_of(
        report,
        tmp_path,
        """
        const all = (selector) => [...document.querySelectorAll(selector)], ids = all("[id]").map((part) => part.id);
        const named = (part) => part.textContent.trim() || part.labels?.length || part.getAttribute("aria-label");
        return {
          unnamed: all("button, select, input, a[href]").filter((part) => !named(part)).length,
          reached: all("button, select, input").filter((part) => part.tabIndex < 0).length,
          tables: all("table").filter((part) => !part.caption).length,
          scopes: all("th:not([scope])").length,
          charts: all("svg.chart").filter((part) => !part.querySelector("desc").textContent).length,
          twice: ids.filter((id, place) => ids.indexOf(id) !== place),
        };
        """,
    )
    assert values == {"unnamed": 0, "reached": 0, "tables": 0, "scopes": 0, "charts": 0, "twice": []}


@pytest.mark.parametrize("names", [NAMES, tuple(f"made/a-rather-long-name-of-backbone-{n}" for n in range(8))])
def test_a_phone_scrolls_tables_and_not_the_page(
    names: tuple[str, ...], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In a frame of 390 pixels; a small table is whole, and names stay where they are when a wide one is scrolled."""
    browsers.program()
    page = made_report(tmp_path_factory.mktemp("phone"), names)
    values = browsers.answers_of(
        page,
        tmp_path,
        """
        const table = document.querySelector("table.study"), scroll = table.parentElement;
        document.querySelectorAll("details").forEach((part) => { part.open = true; });
        const whole = table.scrollWidth <= scroll.clientWidth;
        table.style.minWidth = "60rem";  // as with more columns
        const name = table.tBodies[0].rows[0].cells[0], before = name.getBoundingClientRect().left;
        scroll.scrollLeft = 100;
        const moved = name.getBoundingClientRect().left - before;
        const cut = [...document.querySelectorAll("main *")].filter((part) => !part.closest(".scroll, svg, .hidden")
          && part.getBoundingClientRect().right > 391).map((part) => part.outerHTML.slice(0, 80));
        const width = document.documentElement.scrollWidth;
        return { fits: width <= 390, inner: innerWidth, whole, scrolls: scroll.scrollLeft > 0, moved, cut };
        """,
        width=390,
    )
    assert values == {"fits": True, "inner": 390, "whole": True, "scrolls": True, "moved": 0, "cut": []}


def test_the_table_is_whole_without_its_script(report: Path, tmp_path: Path) -> None:
    page = re.sub(r"<script>.*?</script>", "", report.read_text(), flags=re.DOTALL)
    plain = tmp_path / "plain.html"
    plain.write_text(page)
    values = browsers.answers_of(
        plain,
        tmp_path,
        """
        const table = document.querySelector("table.study"), heads = [...table.tHead.rows[0].cells];
        return { heads: heads.map((head) => head.textContent), buttons: table.querySelectorAll("button").length };
        """,
    )
    assert values["buttons"] == 0 and values["heads"][0] == "backbone" and len(values["heads"]) == 4


def test_the_button_turns_the_page_dark_and_light(report: Path, tmp_path: Path) -> None:
    values = browsers.answers_of(
        report,
        tmp_path,
        """
        const colour = () => getComputedStyle(document.body).backgroundColor, button = document.getElementById("theme");
        const press = () => { button.click(); return colour(); };
        return { first: colour(), second: press(), third: press() };
        """,
    )
    assert values["first"] == values["third"] != values["second"]
