"""The table of a comparison in every format: widths, marks, the conclusion, and hostile names."""

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.facts import headline, lines_below
from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.layout import EVERYTHING, NOTHING_PUBLISHED
from benchrunner.studies.comparison.table import Shown
from benchrunner.studies.entries import MeanRank, Statistics
from benchrunner.studies.intervals import Interval
from benchrunner.studies.pairs import Claim, Comparison, Pair, Pairing, Part
from benchrunner.studies.result import Computing, Result
from benchrunner_report.captions import caption
from benchrunner_statistics.conclusions import caveats, conclusions
from benchrunner_statistics.ranks import ranks
from inline import mood
from made_results import cells, lines, made_result, said_below, written
from published_moods import MEAN, choice

NAMES = [
    "bert/base-uncased",
    "checkpoints/of/mine/final-4/step-1000",
    "b/another",
    "b/the-longest-name-of-all-backbones",
]
PARTS = (Part(2.5e-5, 1e9),)
HOSTILE = "<script>alert(1)</script>|&_"


def result(*backbones: str) -> Result:
    return made_result([mood(), mood(name="mine/gloom")], backbones or ("a", "b"))


def saying(made: Result, statistics: Statistics) -> Statistics:
    """Add the sentences of the plugin to statistics."""
    return replace(statistics, caveats=tuple(caveats(made.study, statistics.tests)), say=conclusions)


def with_statistics(
    made: Result, differences: Mapping[str, float], *, p: float = 0.01, claim: Claim = "backbones"
) -> Result:
    """Give a result a difference of each system but the first on each task."""
    first, *others = made.study.names
    intervals = {
        (name, column.name): Interval(0.91, 0.953) for name in made.study.names for column in made.study.columns
    }
    tests = {}
    for name in others:
        for task, value in differences.items():
            paired = Comparison(
                value,
                value - 0.01,
                value + 0.01,
                p,
                claim,
                "rows and restarts",
                300,
                (3, 3),
                parts=PARTS,
                detectable=0.014,
            )
            tests[Pairing(name, first, f"{task} accuracy")] = Pair(paired, p, 100)
    return replace(made, given_statistics=saying(made, Statistics(intervals, tests, len(tests))))


@pytest.mark.parametrize("backbones", [NAMES[:1], NAMES[:2], NAMES[:3], NAMES])
def test_a_table_fits_into_100_columns_with_whole_names(backbones: Sequence[str]) -> None:
    made = result(*backbones)
    shown = lines(as_table(with_statistics(made, {"mine/mood": 0.1}), choice()), 100)
    assert max(map(len, shown)) <= 100
    assert "…" not in "".join(shown)
    text = "".join(shown)
    has_rows_of_systems = len(backbones) > 2  # these show headlines only
    figures = len(backbones) * (2 if has_rows_of_systems else 4)
    assert text.count("93.1 ± 1.2") == text.count("[91.0, 95.3]") == figures
    rows = [cells(line) for line in shown if line[0] in "│┃"]
    columns = "\n".join("".join(column) for column in zip(*rows, strict=True))
    assert all(name in columns for name in backbones)


@pytest.mark.parametrize("width", [50, 80])
def test_two_systems_stand_below_each_other_on_a_narrow_terminal(width: int) -> None:
    task = mood(name="mine/a-longer-name")
    shown = lines(as_table(with_statistics(made_result([task], ["bert/novels", "bert/random-4/192"]), {})), width)
    assert max(map(len, shown)) <= width
    text = "".join(shown)
    assert "mine/a-longer-n" in text and text.count("93.1±1.2 [91.0, 95.3]") == 4
    assert "bert/novels" in text and "bert/random-4/192" in text


def test_a_clear_difference_has_a_mark_and_a_legend() -> None:
    clear = with_statistics(result(), {"mine/mood": 0.1})
    shown = lines(as_table(clear), 100)
    assert [line.split("│")[1].strip() for line in shown if "*" in line] == ["mine/mood"]
    assert "*  differs from a (p < 0.05, corrected for 1 test)" in said_below(clear)
    unclear = with_statistics(result(), {"mine/mood": 0.1}, p=0.06)
    assert not any("*" in line for line in [*lines(as_table(unclear), 100), *said_below(unclear)])


def test_a_difference_of_single_fits_has_another_mark() -> None:
    made = with_statistics(result(), {"mine/mood": 0.1}, claim="fits")
    assert any("(*)" in line for line in lines(as_table(made), 100))
    assert "(*)  differs from a as a fit (p < 0.05, corrected for 1 test)" in said_below(made)
    assert said_below(made, "conclusion")[-1].startswith("S1 With one restart this is about these fits")
    assert [warning["code"] for warning in as_json(made)["warnings"]] == ["S1"]


def test_warnings_are_codes_in_cells_with_a_legend() -> None:
    made = result(*NAMES)
    flagged = {"no better than majority": 1, "constant predictions": 1}
    made = replace(made, cells=tuple(replace(cell, flagged=flagged) for cell in made.cells))
    assert said_below(made, "mark") == ["C1  constant answers", "C2  not better than the majority"]
    table = "".join(lines(as_table(made), 100))
    assert table.count(" C1 C2 ") == 8
    assert as_json(made)["cells"][0]["warnings"] == [
        {"code": "C2", "text": "no better than majority"},
        {"code": "C1", "text": "constant predictions"},
    ]


def test_the_conclusion_says_who_is_better_and_where() -> None:
    both = with_statistics(result(), {"mine/mood": 0.04, "mine/gloom": -0.03})
    assert said_below(both, "conclusion") == [
        "Of 2 tasks, b is better than a on 1 (mine/mood +4.0, 95 % interval +3.0 to +5.0) and worse on 1 "
        "(mine/gloom -3.0, 95 % interval -4.0 to -2.0)."
    ]
    assert said_below(with_statistics(result(), {"mine/mood": 0.005}, p=0.3), "conclusion") == [
        "No clear difference between b and a on 1 task (mine/mood +0.5, 95 % interval -0.5 to +1.5; likely to be seen "
        "from 1.4)."
    ]
    assert said_below(result("a"), "conclusion") == []


def test_the_caption_says_what_was_run() -> None:
    made = result()
    made.__dict__["computing"] = Computing(1234.0, ("cpu (x86_64)",), {"torch": ("2.10",)})
    notes = said_below(made, shown=Shown(run_ids=True))
    assert list(caption(made)) == [
        "finetune, epochs 3, batch size 32, 128 tokens, fp32; 3 restarts (seeds 0, 1, 2)",
        "learning rate 5e-05",
    ]
    assert "1,234 seconds of fitting on cpu (x86_64); torch 2.10" in notes
    assert any(note.startswith("runs of a on mine/mood: ") for note in notes)


def test_one_restart_has_no_interval_over_restarts() -> None:
    single = with_statistics(result("a"), {})
    (first, *others) = single.cells
    point = first.cell.candidates[0]
    fits = tuple(replace(point.fits[0], seed=seed) for seed in range(3))
    repeated = replace(first, cell=replace(first.cell, candidates=(replace(point, fits=fits),)))
    several = replace(single, cells=(repeated, *others))
    about = "[95 %] is the interval over examples"
    assert f"{about}, for these restarts; the interval over restarts is in --format json" in said_below(several)
    assert about in said_below(single)


def test_markdown_latex_and_html_escape_names() -> None:
    made = result(HOSTILE, "b")
    text = {form: written(form, made, choice("none")) for form in ("markdown", "latex")}
    head = text["markdown"].splitlines()[0]
    assert "<script" not in text["markdown"] and head.count("|") - head.count("\\|") == 6
    assert r"\&\_" in text["latex"] and "&_" not in text["latex"].replace(r"\&\_", "")
    page = written("html", made)
    assert "<script" not in page and "&lt;script&gt;" in page


def test_the_long_csv_has_a_line_for_every_score() -> None:
    text = written("csv", with_statistics(result("=1+1", "b"), {"mine/mood": 0.1}), long=True)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 2 * 2 * 2
    assert {row["backbone"] for row in rows} == {"'=1+1", "b"}
    [marked] = [row for row in rows if row["mark"]]
    assert (marked["system"], marked["task"], marked["metric"]) == ("b", "mine/mood", "accuracy")
    assert (marked["mark"], float(marked["score"]), float(marked["low"])) == ("*", 0.931, 0.91)
    assert (marked["restarts"], marked["values"]) == ("3", "0.931 0.931 0.931")


def test_json_has_statistics_and_machine() -> None:
    made = with_statistics(result(), {"mine/mood": 0.1})
    made.__dict__["computing"] = Computing(3.0, ("cpu",), {})
    values = as_json(made)
    [test] = values["comparisons"]
    assert (test["system"], test["with"], test["task"], test["is_clear"]) == ("b", "a", "mine/mood", True)
    assert values["cells"][0]["scores"][0]["interval_over_examples"] == [0.91, 0.953]
    assert values["computing"] == {"seconds": 3.0, "devices": ["cpu"], "versions": {}, "without_kernels": ""}
    assert values["conclusion"].startswith("b is better than a (mine/mood +10.0, ")


def ranked(columns: Mapping[str, set[tuple[str, str]]], *names: str, claim: Claim = "backbones") -> Result:
    """Make a result of these systems in which these pairs are clear: the first of a pair is 4 points better."""
    made = made_result([mood(name=f"mine/{column}") for column in columns], names)
    tests = {}
    of_columns = {}
    for column, clear in columns.items():
        name = f"mine/{column} accuracy"
        for other, system in itertools.combinations(names, 2):
            sign = 1 if (system, other) in clear else -1
            is_clear = bool({(system, other), (other, system)} & clear)
            low, high = (0.03, 0.05) if is_clear else (-0.01, 0.09)
            low, high = min(sign * low, sign * high), max(sign * low, sign * high)
            paired = Comparison(sign * 0.04, low, high, 0.01, claim, "rows", 300, (3, 3), parts=PARTS, detectable=0.014)
            tests[Pairing(system, other, name)] = Pair(paired, 0.01 if is_clear else 0.5, 100)
        of_columns[name] = ranks(names, clear)
    means = {name: MeanRank(1.5, 1.0, 2.0, is_best=name == names[0]) for name in names}
    return replace(made, given_statistics=saying(made, Statistics({}, tests, len(tests), of_columns, means)))


ABOVE = {("a", "b"), ("a", "c")}


@pytest.mark.parametrize(
    ("deviations", "seen"),
    [((1, 4, 2), "under 5.6 points with 300 rows"), ((1, 400, 2), "any difference with 300 rows")],
)
def test_the_verdict_promises_what_every_pair_shows(deviations: tuple[int, ...], seen: str) -> None:
    made = ranked({"one": set()}, "a", "b", "c")
    tests = {}
    for deviation, (pairing, test) in zip(deviations, made.statistics.tests.items(), strict=True):
        tests[pairing] = replace(test, comparison=replace(test.comparison, detectable=0.014 * deviation))
    made = replace(made, given_statistics=replace(made.statistics, tests=tests))
    assert f"mine/one ({seen})" in said_below(made, "conclusion")[0]


def test_the_verdict_says_who_is_best_tied_or_unclear() -> None:
    made = ranked({"one": ABOVE, "two": ABOVE, "three": {("a", "c")}, "four": set()}, "a", "b", "c")
    assert said_below(made, "conclusion") == [
        "Best on 2 of 4 tasks (mine/one, mine/two): a.",
        "Tied for best on 1 of 4 tasks, mine/three (likely to be seen from 1.4): a, b.",
        "Nothing is clear on 1 of 4 tasks: mine/four (under 1.4 points with 300 rows). In parentheses, the differences "
        "that may be missed with 3 restarts.",
        "Mean rank over 4 tasks, with its interval: a 1.5 (1.0 to 2.0); clearly behind: b, c.",
    ]


def test_the_best_and_those_tied_for_best_have_marks() -> None:
    made = ranked({"one": ABOVE, "two": {("a", "c")}, "three": set()}, "a", "b", "c")
    shown = {}
    for column in ("one", "two", "three"):
        shown[column] = [made.entries[name, f"mine/{column} accuracy"].mark for name in "abc"]
    assert shown == {"one": ["*", "", ""], "two": ["=", "=", ""], "three": ["", "", ""]}
    assert said_below(made, "mark") == [
        "*  best, all others clearly behind (p < 0.05, corrected for 9 tests)",
        "=  tied for best",
    ]
    fits = ranked({"one": ABOVE}, "a", "b", "c", claim="fits")
    assert fits.entries["a", "mine/one accuracy"].mark == "(*)"


def test_three_systems_are_rows_with_headlines_as_columns() -> None:
    shown = lines(as_table(ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c")), 100)
    body = [cells(line) for line in shown if line.startswith("│")]
    assert shown[0].strip() == "dev, mean ± sd"
    interval = ["", "", "", "[1.0, 2.0]"]
    assert body == [
        ["a", "93.1 ± 1.2 *", "93.1 ± 1.2 =", "1.5"],
        interval,
        ["b", "93.1 ± 1.2", "93.1 ± 1.2 =", "1.5"],
        interval,
        ["c", "93.1 ± 1.2", "93.1 ± 1.2", "1.5"],
        interval,
        ["majority", "50.0", "50.0", ""],
    ]


def test_a_suite_average_stands_instead_of_mean_ranks() -> None:
    made = ranked({"mood": ABOVE, "two": ABOVE}, "a", "b", "c")
    assert written("markdown", made).splitlines()[0].endswith(" mean rank |")
    averaged = made_result([mood(suite=MEAN), mood(name="mine/two")], "abc")
    averaged = replace(averaged, given_statistics=made.statistics)
    head = written("markdown", averaged).splitlines()[0]
    assert head == "| backbone | mine/mood accuracy | mine/two accuracy | mean | score |"


def test_the_best_group_is_bold_in_markdown_and_latex() -> None:
    made = ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c")
    markdown, latex = (written(form, made, choice("none")) for form in ("markdown", "latex"))
    assert markdown.count("**93.1 ± 1.2") == latex.count(r"\textbf{93.1 $\pm$ 1.2") == 3
    assert r"| b | 93.1 ± 1.2 | **93.1 ± 1.2 =** |" in markdown
    assert r"a & \textbf{93.1 $\pm$ 1.2 *} & \textbf{93.1 $\pm$ 1.2 =}" in latex


@pytest.mark.parametrize("width", [80, 100])
def test_many_columns_stand_in_groups_below_each_other(width: int) -> None:
    tasks = [mood(name=f"mine/task-{number}") for number in range(12)]
    made = with_statistics(made_result(tasks, NAMES), {})
    shown = lines(as_table(made), width)
    assert max(map(len, shown)) <= width and "…" not in "".join(shown)
    assert sum("b/another" in line for line in shown) == {80: 4, 100: 3}[width]
    assert all(f"mine/task-{number}" in "".join(shown) for number in range(12))
    assert sum(line.count("[91.0, 95.3]") for line in shown) == 12 * len(NAMES)
    assert "mine/task-11" in written("markdown", made, choice("none")).splitlines()[0]


def test_a_ranking_says_which_systems_are_equivalent() -> None:
    made = ranked({"one": ABOVE}, "a", "b", "c")
    tests = {pairing: replace(test, margin=6.0) for pairing, test in made.statistics.tests.items()}
    statistics = replace(made.statistics, tests=tests)
    made = replace(made, study=replace(made.study, margin=6.0), given_statistics=statistics)
    [_, equivalent, rest] = said_below(made, "conclusion")
    assert equivalent.startswith("Equivalent within 6 points: b and a on mine/one (interval -")
    assert rest == "Not shown to be equivalent within 6 points: c and b on mine/one."


def five_lines(made: Result, shown: Shown = EVERYTHING, published: PublishedChoice = NOTHING_PUBLISHED) -> list[str]:
    return lines_below(made, published, shown, notes_by="--notes", then="next: benchrunner report")


def test_five_lines_say_verdict_marks_doubts_and_next_step() -> None:
    made = with_statistics(result(), {"mine/mood": 0.1, "mine/gloom": 0.02}, claim="fits")
    cells = tuple(replace(cell, flagged={"constant predictions": 3}) for cell in made.cells)
    below = five_lines(replace(made, cells=cells, name="a-vs-b"))
    assert below == [
        "Of 2 tasks, b is better than a on 2 (mine/mood +10.0, 95 % interval +9.0 to +11.0; ...).",
        "(*) differs from a as a fit (p < 0.05, corrected for 2 tests); C3 some restarts learned nothing; "
        "S1 one restart: other seeds may reverse this, so give more",
        "next: benchrunner report a-vs-b",
        "1 note: --notes",
    ]


def test_the_number_of_notes_is_that_of_the_lines_held_back() -> None:
    made = with_statistics(result(), {"mine/mood": 0.1})
    made = replace(made, study=replace(made.study, about="which is better?"))
    held = set(said_below(made)) - set(said_below(made, "conclusion", "mark"))
    assert five_lines(made)[-1] == f"{len(held)} notes: --notes"
    assert len(held) == 2


def test_all_remarks_stand_below_where_they_are_asked_for() -> None:
    made = replace(with_statistics(result(), {"mine/mood": 0.1}), name="kept")
    every = lines_below(made, NOTHING_PUBLISHED, EVERYTHING, notes_by="", then="kept as the study")
    assert every == [*said_below(made), "kept as the study kept"]
    with_ids = five_lines(made, Shown(run_ids=True))
    assert any(line.startswith("runs of a on mine/mood: ") for line in with_ids)


def test_a_verdict_has_its_figures_while_they_fit() -> None:
    made = with_statistics(result(), {"mine/mood": 0.04, "mine/gloom": -0.03})
    assert headline(made, 2) == said_below(made, "conclusion")[0]
    assert headline(made, 1) == "Of 2 tasks, b is better than a on 1 and worse on 1."
    assert headline(result("a"), 5) == ""
    ranking = ranked({"one": ABOVE, "two": {("a", "c")}, "three": set()}, "a", "b", "c")
    assert headline(ranking, 2).startswith("Best on 1 of 3 tasks: a. Tied for best on 1 of 3 tasks: a, b. Nothing is")


def test_of_many_pairs_the_verdict_says_a_clear_difference() -> None:
    made = with_statistics(result(*(f"system-{number}" for number in range(10))), {"mine/mood": 0.0001})
    tests = {}
    for pairing, test in made.statistics.tests.items():
        is_last = pairing.system == "system-9"
        tests[pairing] = replace(test, adjusted_p=0.01 if is_last else 0.9)
    made = replace(made, given_statistics=replace(made.statistics, tests=tests))
    assert headline(made, 1) == "system-9 is better than system-0. (8 more)"


def test_a_mark_of_csv_is_no_formula() -> None:
    made = ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c")
    rows = list(csv.DictReader(io.StringIO(written("csv", made, long=True))))
    marks = {(row["system"], row["task"]): row["mark"] for row in rows if row["mark"]}
    assert marks == {("a", "mine/one"): "*", ("a", "mine/two"): "=", ("b", "mine/two"): "="}


def test_the_best_need_not_be_tested_better_than_each() -> None:
    """a is clearly better than b, and b than c: only a can be the best, although a and c do not differ clearly."""
    made = ranked({"one": {("a", "b"), ("b", "c")}}, "a", "b", "c")
    assert made.entries["a", "mine/one accuracy"].mark == "*"
    assert said_below(made, "mark")[0].startswith("*  best, all others clearly behind (")


def test_json_has_ranks_and_the_tests_of_all_pairs() -> None:
    values = as_json(ranked({"one": ABOVE, "two": {("a", "c")}}, "a", "b", "c"))
    assert [(test["system"], test["with"]) for test in values["comparisons"]] == [
        ("b", "a"),
        ("c", "a"),
        ("c", "b"),
    ] * 2
    of_figures = {(figure["system"], figure["column"]): figure["ranks"] for figure in values["figures"]}
    assert of_figures["a", "mine/one accuracy"] == [1, 1] and of_figures["c", "mine/two accuracy"] == [2, 3]
    assert values["mean_ranks"]["a"] == {"mean": 1.5, "low": 1.0, "high": 2.0, "is_best": True}


def test_a_difference_can_be_read_from_both_sides() -> None:
    statistics = ranked({"one": ABOVE}, "a", "b", "c").statistics
    from_a = statistics.of_places["a", "mine/one accuracy"]["b"].comparison
    from_b = statistics.of_places["b", "mine/one accuracy"]["a"].comparison
    assert (from_a.difference, from_a.low, from_a.high) == (-from_b.difference, -from_b.high, -from_b.low)


def test_a_table_says_what_kernels_would_gain() -> None:
    said = []
    for seconds, units in ((59.0, "AVX2"), (60.0, "AVX2"), (60.0, "9.0"), (60.0, "")):
        made = result()
        made.__dict__["computing"] = Computing(seconds, ("cpu",), {}, without_kernels=units)
        said.append("pip install benchrunner-kernels" in "\n".join(said_below(made)))
    assert said == [False, True, False, False]
