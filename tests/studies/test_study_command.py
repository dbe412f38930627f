"""`compare --study`: the systems of a study file are built and fitted, and their table is printed."""

import csv
import io
import json

import pytest

from benchrunner.results import discover
from inline import METHODS, STATISTICS, STUDIES, mood, own, pairs
from kitchen import STUDY, Kitchen, labelled_test
from made_results import cells

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


def test_a_study_makes_systems_once_and_shows_published_scores(kitchen: Kitchen) -> None:
    code, out, err = kitchen("--study", "study.toml", "--json", "--limit-train", "16")
    assert code == 0, err
    assert (kitchen.folder / "made.txt").read_text() == "rye fits\nspelt fits\n"
    assert "1 of 2, rye: benchrunner bake rye out/rye" in err
    result = json.loads(out)
    assert result["parameters"] == {"doughs": "rye,spelt", "more": ""}
    cells = {(cell["system"], cell["column"]): cell for cell in result["figures"]}
    assert len(cells) == 9
    assert len(cells["rye", "taste"]["restarts"]) == 2 and len(cells["rye", "crust"]["restarts"]) == 1
    for figure, column in (("restarts", "taste"), ("restarts", "crust"), ("mean", "loss")):
        assert cells["rye", column][figure] == cells["spelt", column][figure], "the same weights twice"
    assert (cells["rye", "taste"]["published"], cells["spelt", "taste"]["published"]) == (99.5, None)
    assert (cells["rye", "loss"]["mean"], cells["rye (sliced)", "loss"]["mean"]) == (2.25, None)
    assert "C5 rye (sliced) on loss: no figure: the study names no log of this system" in result["notes"]
    recipes = {
        (cell["method"], cell["recipe"]["lr"], cell["recipe"]["epochs"], cell["recipe"]["limit_train"])
        for cell in result["cells"]
    }
    assert recipes == {
        ("finetune", 2e-3, 1, 16),
        ("finetune+bilstm", 2e-3, 2, 16),
        ("features", 1e-3, 1, 16),
        ("features", 1e-3, 2, 16),
    }
    assert [len(cells["rye (sliced)", column]["restarts"]) for column in ("taste", "crust")] == [3, 1]
    mean = cells["rye", "taste"]["mean"]
    shown = kitchen.done("--study", "study.toml", "--limit-train", "16", "--quiet", "--notes")
    assert kitchen.made() == ["rye", "spelt"] * 2
    assert f"{mean:.1f} ± " in shown and "(2)" in shown and "paper 99.5" in shown and "paper 2.50" in shown
    assert "  paper: the baker's own book\n" in shown and "  taste: asked of few\n" in shown


def test_published_rows_are_told_apart_from_measured_ones(kitchen: Kitchen) -> None:
    out = kitchen.done("--study", "study.toml", "--scale", "crumb", "--columns", "taste,price", "--quiet", "--notes")
    rows = [cells(line) for line in out.splitlines() if line[0] == "│"]
    measured = [row[1] for row in rows if row[0] in ("rye", "rye (sliced)")]
    assert len(measured) == 2 and all(float(figure.split()[0]) >= 0 for figure in measured)
    assert len([row for row in rows if row[0] == "" and row[1].startswith("[")]) == 2, "intervals"
    assert [row for row in rows if "paper" in "".join(row)] == [
        ["rye", measured[0], "paper 3.0"],
        ["", "paper 99.5", ""],
        ["paper: toast", "paper 88.5", ""],
        ["paper: stone", "paper 0.5", "-"],
    ]
    assert "paper: market ┃" in out.splitlines()[3]
    assert "  paper (toast): a cookery book\n  paper, toast: from yesterday\n" in out
    assert "  scale crumb: for a mouse\n" in out


def test_a_figure_has_its_points_in_the_json_output(kitchen: Kitchen) -> None:
    (kitchen.folder / "study.toml").write_text(
        'title = "How fast?"\naxis = "hours"\n[[system]]\neach = {kind = "fast,slow", hours = "10,2"}\n'
        'name = "{kind} at {hours}"\nbackbone = "none"\nfigures = "{kind}-{hours}.jsonl"\nseries = "{kind}"\n'
        'at = "{hours}"\n[[column]]\nname = "loss"\nfigure = "loss"\n'
    )
    for name, loss in (("fast-2", 3.5), ("fast-10", 1.5), ("slow-2", 4.5)):
        (kitchen.folder / f"{name}.jsonl").write_text(json.dumps({"step": 1, "loss": loss}) + "\n")
    result = kitchen.json("--study", "study.toml", "--quiet")
    assert result["axis"] == "hours"
    fast = {"column": "loss", "series": "fast", "at": [2, 10], "mean": [3.5, 1.5], "restarts": [[3.5], [1.5]]}
    slow = {"column": "loss", "series": "slow", "at": [2, 10], "mean": [4.5, None], "restarts": [[4.5], []]}
    none = {"deviation": [None, None], "interval_over_examples": [None, None]}
    assert result["series"] == [{**series, **none} for series in (fast, slow)]


def test_only_the_systems_that_are_named_are_built(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--systems", "spelt", "--columns", "loss", "--json", "--quiet"]
    out = kitchen.done(*words)
    assert kitchen.made() == ["spelt"]
    assert [(cell["system"], cell["mean"]) for cell in json.loads(out)["figures"]] == [("spelt", 2.25)]


def test_a_scale_sets_parameters_and_options_of_every_fit(kitchen: Kitchen) -> None:
    result = kitchen.json("--study", "study.toml", "--scale", "crumb", "--columns", "taste,crust,mean")
    assert (result["scale"], result["parameters"]["doughs"]) == ("crumb", "rye") and kitchen.made() == ["rye"]
    recipes = [cell["recipe"] for cell in result["cells"]]
    assert {recipe["limit_train"] for recipe in recipes} == {8}
    cells = {(cell["system"], cell["column"]): cell for cell in result["figures"]}
    assert {len(cell["restarts"]) for cell in cells.values()} == {1}
    for system in ("rye", "rye (sliced)"):
        mean = (cells[system, "taste"]["mean"] + cells[system, "crust"]["mean"]) / 2
        assert cells[system, "mean"]["mean"] == pytest.approx(mean)
    chosen = ("--study", "study.toml", "--scale", "crumb", "--columns", "taste,mean")
    (note,) = [note for note in kitchen.json(*chosen)["notes"] if note.startswith("C5 mean: ")]
    assert note == "C5 mean: no figure: there is no figure in crust"


def test_options_of_the_command_override_the_file(kitchen: Kitchen) -> None:
    typed = ["--restarts", "1", "--lr", "1e-3", "--columns", "taste", "--set", "doughs=rye"]
    result = kitchen.json("--study", "study.toml", "--quiet", *typed)
    assert [system["name"] for system in result["systems"]] == ["rye", "rye (sliced)"]
    assert {cell["recipe"]["lr"] for cell in result["cells"]} == {1e-3}
    assert [len(cell["restarts"]) for cell in result["figures"]] == [1, 1]


def test_test_splits_with_labels_are_scored_and_do_not_select(kitchen: Kitchen) -> None:
    kitchen.plugins = discover(
        extra=[METHODS, STATISTICS, STUDIES, ("own", own(register_tasks=[labelled_test()]))], installed=False
    )
    columns = [f'[[column]]\nname = "{split}"\ntask = "known"\nsplit = "{split}"\n' for split in ("dev", "test")]
    text = "\n".join([STUDY[: STUDY.index("[[column]]")].replace('published = "toast"\n', ""), *columns])
    (kitchen.folder / "study.toml").write_text(text)
    words = ["--study", "study.toml", "--set", "doughs=rye", "--lr", "1e-3,2e-2", "--restarts", "2", "--json"]
    out = kitchen.done(*words)
    result = json.loads(out)
    cells = {(cell["system"], cell["column"]): cell for cell in result["figures"]}
    for system in ("rye", "rye (sliced)"):
        dev, test = cells[system, "dev"], cells[system, "test"]
        assert len(test["restarts"]) == 2
        assert (test["restarts"], test["best_on_dev"]) == (dev["restarts"], dev["best_on_dev"]), "the same rows"
    selected = {tuple(cell["selected_on"]) for cell in result["cells"]}
    assert selected == {("dev",)}
    fits = [fit["id"] for cell in result["cells"] for fit in cell["fits"]]
    assert len(set(fits)) == 8, "both columns are scores of the same fits"
    kept = {path.parent.parent.name for path in (kitchen.folder / "fits").glob("*/model/*.safetensors")}
    assert kept == {cell["selected"] for cell in result["figures"]}, "no restart was fitted again to be scored"


def test_a_system_without_a_finished_fit_shows_a_gap_and_reason(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--quiet", "--lr", "1e38", "--columns", "taste,loss", "--restarts", "1"]
    code, out, _ = kitchen(*words, "--set", "doughs=spelt")
    assert code == 1
    assert "C4 some fits have no scores; C5 a score is absent\n" in out and "diverged: the loss was not a finite" in out
    assert "2.25" in out, "the other columns are there"


def test_a_study_file_is_printed_in_every_format(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--scale", "crumb", "--columns", "taste,loss,price", "--quiet"]
    figures = {(figure["system"], figure["column"]): figure for figure in kitchen.json(*words)["figures"]}
    mean = figures["rye", "taste"]["mean"]
    markdown = kitchen(*words, "--format", "markdown")[1]
    assert "| system | taste | loss | price paper: market |" in markdown and f"| rye | {mean:.1f}" in markdown
    assert "|  | *paper 99.5* |" in markdown and "- scale crumb: for a mouse" in markdown
    latex = kitchen(*words, "--format", "latex")[1]
    assert r"\begin{tabular}{lrrr}" in latex and f"rye & {mean:.1f}" in latex
    [first, *_, last] = csv.DictReader(io.StringIO(kitchen(*words, "--format", "csv", "--long")[1]))
    assert (first["column"], 100 * float(first["score"])) == ("taste", pytest.approx(mean))
    assert (last["system"], last["column"], last["score"]) == ("rye (sliced)", "loss", "")
    [row, *_] = csv.DictReader(io.StringIO(kitchen(*words, "--format", "csv")[1]))
    assert (row["system"], 100 * float(row["taste"])) == ("rye", pytest.approx(mean))
    assert f"  runs of rye on taste: {figures['rye', 'taste']['selected']}\n" in kitchen(*words, "--run-ids")[1]


def test_a_format_that_no_plugin_writes_is_refused_at_once(kitchen: Kitchen) -> None:
    tasks = own(register_tasks=[mood(), pairs()])
    kitchen.plugins = discover(extra=[METHODS, STATISTICS, STUDIES, ("own", tasks)], installed=False)
    words = ("--scale", "crumb", "--columns", "taste,loss,price", "--quiet", "--format")
    error = kitchen.refused(*words, "latex")
    assert "No plugin writes tables as latex: the plugin 'report' does." in error
    assert not (kitchen.folder / "made.txt").exists(), "nothing was built"
    assert kitchen("--study", "study.toml", *words, "csv")[0] == 0, "the same study needs no such plugin"
