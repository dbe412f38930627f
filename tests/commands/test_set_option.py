"""A method declares its own parameters; `--set METHOD.NAME=VALUE` sets them, and they are part of a fit's identity."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import pytest

from benchrunner import PluginError, Recipe, RequestError, Workspace
from benchrunner.engine import Parameter
from benchrunner.fits.fit import Fit
from benchrunner.io.decoding import from_json
from benchrunner.io.json_form import as_json
from benchrunner.methods.majority import Majority
from benchrunner.methods.method import Job, Method, Outcome
from benchrunner.parameters.parameter import NamedValues
from benchrunner.results import Grid, Runner, StudyOptions, compared, run_study
from benchrunner.runs.finished_fits import FinishedFit
from benchrunner.runs.folder import RunFolder
from benchrunner.studies.cells import Fitting
from benchrunner_kit.testing.tiny_encoder import TinyBackbone
from command_line import Shell
from inline import mood, plugins

FIXED = (
    Parameter("label", "index of the answer", 0, at_least=0, at_most=1),
    Parameter("strength", "size of the answer's output", 1.5, above=0),
    Parameter("tone", "what is written to the model", "calm", choices=("calm", "loud")),
    Parameter("twice", "write the tone twice", False),
)


@final
@dataclass(frozen=True)
class Fixed(Method):
    """Answers every row with the label that its parameter names."""

    name: str = "fixed"
    about: str = "one answer for all rows"
    needs_backbone: bool = False
    parameters: tuple[Parameter, ...] = FIXED

    def fit(self, job: Job) -> Outcome:
        job.model.mkdir(parents=True)
        (job.model / "values.json").write_text(json.dumps(dict(job.parameters)))
        return Outcome()

    def predict(self, job: Job, table: Any) -> Any:
        import numpy as np

        assert json.loads((job.model / "values.json").read_text()) == job.parameters
        outputs = np.zeros((table.num_rows, job.problem.head.width), dtype=np.float32)
        outputs[:, job.parameters["label"]] = job.parameters["strength"]
        return outputs


@pytest.fixture
def fixed(shell: Shell) -> Shell:
    shell.plugins = plugins(register_tasks=[mood()], register_methods=[Fixed()])
    return shell


def dotted(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of methods among the values of a recipe."""
    return {name: value for name, value in recipe.items() if "." in name}


def test_a_parameter_changes_the_fit_and_its_record(fixed: Shell) -> None:
    code, out, err = fixed.run("--method", "fixed", "--set", "fixed.label=1", "--set", "fixed.tone=loud", "--json")
    assert code == 0, err
    (cell,) = json.loads(out)["cells"]
    run = fixed.folder / "runs" / cell["selected"]
    kept = json.loads((run / "fit.json").read_text())
    assert dotted(kept["recipe"]) == {"fixed.label": 1, "fixed.tone": "loud"}
    values = json.loads((run / "model" / "values.json").read_text())
    assert values == {"label": 1, "strength": 1.5, "tone": "loud", "twice": False}
    assert cell["recipe"]["fixed.label"] == 1
    code, out, _ = fixed.run("--method", "fixed", "--set", "fixed.label=1", "fixed.tone=loud", "--notes")
    assert "fixed.label 1, fixed.tone loud" in out
    out = fixed.done("runs", "show", cell["selected"], *fixed.folders()[2:])
    assert "fixed.label 1, fixed.tone loud" in out
    fixed.done("report", cell["selected"], *fixed.folders(), "--out", "fixed.html")
    assert "fixed.label" in (fixed.folder / "fixed.html").read_text()


def test_a_default_that_is_given_makes_the_same_fit(fixed: Shell) -> None:
    ids = {fixed.fitted("--method", "fixed", *words) for words in ((), ("--set", "fixed.strength=1.5"))}
    assert len(ids) == 1
    ids |= {fixed.fitted("--method", "fixed", "--set", f"fixed.{word}") for word in ("strength=2", "twice=TRUE")}
    assert len(ids) == 3
    later = Fixed(parameters=(*FIXED, Parameter("later", "a parameter of a later version", 3)))
    fixed.plugins = plugins(register_tasks=[mood()], register_methods=[later])
    assert fixed.fitted("--method", "fixed") in ids, "a new parameter with its default changes no older id"


def test_several_values_are_a_grid_that_dev_selects_in(fixed: Shell) -> None:
    words = ("compare", "words", "--tasks", "mood", "--method", "fixed,majority", *fixed.folders(), "--json")
    out = fixed.done(*words, "--set", "fixed.label=0,1", "fixed.strength=1,2")
    first, second = json.loads(out)["cells"]
    assert [fit["recipe"].get("fixed.label") for fit in first["fits"]] == [None, None, 1, 1]
    assert (len(first["fits"]), len(second["fits"])) == (4, 1)
    options = StudyOptions(method=("fixed",), recipe={"fixed.label": (0, 1), "fixed.strength": (1, 2)})
    own = Runner(fixed.plugins, Workspace.from_environment(data=fixed.folder / "data", runs=fixed.folder / "runs"))
    tasks = fixed.plugins.tasks_of(["mood"])
    result = run_study(options.study(["words"], tasks, own), own)
    assert [fit.id for fit in result.cells[0].cell.fits] == [fit["id"] for fit in first["fits"]]
    study = compared(("words",), tuple(tasks), Fitting(Grid({"fixed.label": (1,)})), methods=("fixed",))
    assert [fit.recipe.parameters for fit in run_study(study, own).cells[0].cell.fits] == [{"fixed.label": 1}]


FILE = """
title = "Which answer?"
[parameters.tone]
about = "a tone"
default = "calm"
[recipe]
fixed.tone = "{tone}"
[[system]]
each = {label = "0,1"}
name = "always {label}"
backbone = "words"
method = "fixed"
recipe = {fixed.label = "{label}"}
[[system]]
name = "most frequent"
backbone = "words"
method = "majority"
[[column]]
name = "mood"
task = "mine/mood"
"""


def test_study_files_set_parameters(fixed: Shell) -> None:
    (fixed.folder / "file.toml").write_text(FILE)
    words = ("compare", "--study", "file.toml", *fixed.folders(), "--quiet", "--json", "--set", "tone=loud")

    def recipes(*more: str) -> list[dict[str, Any]]:
        out = fixed.done(*words, *more)
        cells = json.loads(out)["cells"]
        return [dotted(cell["recipe"]) for cell in cells]

    assert recipes() == [
        {"fixed.label": 0, "fixed.tone": "loud"},
        {"fixed.label": 1, "fixed.tone": "loud"},
        {},
    ]
    assert recipes("--set", "fixed.strength=3", "--systems", "always 1") == [
        {"fixed.label": 1, "fixed.strength": 3.0, "fixed.tone": "loud"}
    ]
    error = fixed.refused(*words, "--set", "fixed.strength=3", "--systems", "most frequent")
    assert "fixed.strength is a parameter of the method 'fixed', and no fit of this study is of that method" in error
    (fixed.folder / "file.toml").write_text(FILE.replace("fixed.label =", "fixed.lable ="))
    assert "system always 0: There is no parameter 'lable' of the method 'fixed'. Did you mean label?" in fixed.refused(
        *words
    )


WRONG = {
    "name": ("fixed.lable=1", "There is no parameter 'lable' of the method 'fixed'. Did you mean label? 'benchrunner"),
    "method": ("fixd.label=1", "There is no method 'fixd'. Did you mean fixed?"),
    "no parameters": ("majority.label=1", "There is no parameter 'label' of the method 'majority'."),
    "range": ("fixed.label=2", "fixed.label must be a whole number from 0 to 1, not 2."),
    "no value": ("fixed.label", "--set takes NAME=VALUE, not 'fixed.label'"),
    "no dot": ("label=1", "There is no parameter 'label'."),
    "unused": ("lora.rank=4", "lora.rank is a parameter of the method 'lora', and no fit of this study is of that"),
    "dots": ("fixed..label=1", "There is no method 'fixed.'."),
    "characters": ("fixed.\x1b[31m=1", "There is no parameter '\\x1b[31m' of the method 'fixed'."),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_one_sentence(name: str, fixed: Shell) -> None:
    setting, message = WRONG[name]
    error = fixed.refused("run", "mood", *fixed.folders(), "--method", "fixed", "--set", setting)
    assert message in error and error.count("\n") == 1


def test_set_twice_and_short_options_are_refused(fixed: Shell) -> None:
    run = ("run", "mood", *fixed.folders(), "--method", "fixed")
    assert "--set names fixed.label twice" in fixed.refused(*run, "--set", "fixed.label=1", "--set", "fixed.label=0")
    assert "there is no option --lora-rank" in fixed.refused(*run, "--lora-rank", "4")


def test_a_parameter_may_not_be_declared_twice() -> None:
    with pytest.raises(PluginError, match="declares the parameter 'label' twice"):
        Fixed(parameters=(FIXED[0], FIXED[0])).check_declared()


def test_a_recipe_keeps_parameters_through_json() -> None:
    recipe = Recipe().changed(**{"lora.rank": 4, "lr": 1e-3})
    assert recipe.as_dict() == {**Recipe(lr=1e-3).as_dict(), "lora.rank": 4}
    assert Recipe.from_json(json.loads(json.dumps(recipe.as_dict()))) == recipe
    assert hash(recipe) == hash(recipe.changed(**{"lora.rank": 4})) and recipe != Recipe(lr=1e-3)
    assert recipe.changed(parameters={}) == Recipe(lr=1e-3)
    assert NamedValues({"b.a": 1, "a.b": 2}) == {"a.b": 2, "b.a": 1}
    for wrong in ({"lora.rank": None}, {"lora.rank": [4]}, {"rank": 4}, 3):
        with pytest.raises(RequestError):
            Recipe(parameters=wrong)  # type: ignore[arg-type]
    fit = Fit("t", "b", "lora", recipe, 0, "", {}, "", {})
    assert from_json(Fit, json.loads(json.dumps(as_json(fit))), "fit.json") == fit
    assert replace(fit, recipe=Recipe(lr=1e-3)).id != fit.id


def test_a_head_goes_on_unless_a_shaping_parameter_differs(tmp_path: Path) -> None:
    method = Fixed(parameters=(FIXED[0], replace(FIXED[1], shapes_head=False)))
    first = Fit("t", "b", "fixed", Recipe(), 0, "", {}, "", {})
    finished = FinishedFit("run:first", TinyBackbone(), RunFolder(tmp_path, first.id), first)

    def goes_on(**values: Any) -> bool:
        return finished.hands_on(replace(first, recipe=Recipe().changed(**values)), method)

    assert goes_on() and goes_on(**{"fixed.strength": 2.0}) and goes_on(**{"fixed.label": 0})
    assert not goes_on(**{"fixed.label": 1})


def test_every_method_of_the_core_declares_parameters_well() -> None:
    for method in plugins().methods.values():
        method.check_declared()
    assert Majority().parameters == ()


def test_list_shows_the_parameters_of_methods(fixed: Shell) -> None:
    out = fixed("list", "methods")[1]
    assert "--set fixed.tone" in out and "(default calm; one of calm, loud)" in out
    assert "--set lora.rank" in out
    listed = {method["name"]: method for method in json.loads(fixed("list", "methods", "--json")[1])["methods"]}
    assert listed["lora"]["parameters"][0] == {
        "name": "lora.rank",
        "about": "rank of the updates: the width between their two matrices",
        "default": 8,
        "values": "a whole number from 1 to 16,384",
    }
