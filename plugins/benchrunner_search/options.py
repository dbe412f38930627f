"""Options of a study that choose which of its fits are run, and what a study cannot have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchrunner import STEPS, RequestError
from benchrunner.engine import Parameter
from benchrunner.results import Plugins, Runner, Study, cells, planning
from benchrunner_search.budget import Budget
from benchrunner_search.choosing import Choosing
from benchrunner_search.lines import lines_of

PARAMETERS = (
    Parameter(
        "until_clear",
        "restarts to add until it is clear, such as 3,6,12; in place of restarts. Restarts are added, up to the next "
        "number, only where a comparison is not clear yet. The tests are corrected for these looks",
        kind=int,
        at_most=10_000,
        separator=",",
    ),
    Parameter(
        "early_stop",
        "of trainings of several lengths, such as --epochs 1-10, run no longer one after this number of lengths at "
        "which the mean over the restarts did not improve on dev",
        kind=int,
        at_least=1,
        read_by=STEPS,
    ),
    Parameter(
        "search",
        "train only the grid points that a search of 'benchrunner list searches' chooses, by the mean over two or more "
        "restarts on dev",
        kind=str,
    ),
    Parameter("trials", "number of grid points that the search tries", kind=int, at_least=1),
)
BUDGET = Parameter(
    "limit",
    "for --search, --early-stop and --until-clear: add grid points and restarts while all fits together cost at most "
    "40fits, 60epochs, 4h or 90min",
    kind=str,
    option="budget",
)


def choice(values: Mapping[str, Any], plugins: Plugins) -> cells.PointChoice | None:
    """Return what chooses the grid points; raise a `RequestError` for a search that nobody offers."""
    if not values:
        return None
    search = values.get("search")
    if search is not None:
        plugins.searches.find(search)
    return cells.PointChoice(search or f"early stop {values.get('early_stop')}", values, values.get("trials"))


def chooser(study: Study, runner: Runner, budget: str | None) -> planning.Chooser:
    """Check the options of a study, and return what chooses its fits."""
    if budget and not (study.looks or any(cell.fitting.search for cell in study.cells)):
        raise RequestError(
            "A budget limits a search, or the restarts that are added until comparisons are clear: give --search, "
            "--early-stop or --until-clear."
        )
    if study.looks and len(study.compared) < 2:
        raise RequestError(
            f"Restarts are added until comparisons are clear, and {study.compared[0]} is compared with nothing: "
            "name another system, or give --restarts in place of --until-clear."
        )
    if study.looks and not runner.plugins.hook.compare_systems.get_hookimpls():
        raise RequestError("No plugin says what is clear (--until-clear): the plugin 'statistics' does.")
    for cell in study.cells:
        if cell.fitting.search:
            _check(cell, cell.fitting.search, runner)
    return Choosing(runner, Budget.read(budget) if budget else Budget())


def _check(cell: cells.Cell, choice: cells.PointChoice, runner: Runner) -> None:
    """Raise a `RequestError` for trials and searches that do not go together, and for a search without a choice."""
    searches, given, trials = runner.plugins.searches, choice.options, choice.most
    name = given.get("search")
    if name and len(cell.fitting.first_seeds) < 2:
        raise RequestError(
            f"A search by {name} leaves grid points out, and one restart is too few to do so: give two or more, such "
            "as --restarts 3."
        )
    has_trials = name and searches.find(name).has_trials
    if has_trials and (trials is None or "early_stop" in given):
        raise RequestError(
            f"The search {name} tries a number of grid points of any length: give --trials, such as --trials 8, and "
            "leave early-stop out."
        )
    if trials is not None and not has_trials:
        names = [other for other, search in searches.items() if search.has_trials]
        raise RequestError(
            "The option trials is the number of grid points that a search tries: give it with --search "
            f"{' or '.join(names) or 'tpe (pip install benchrunner[optuna])'}, or leave it out."
        )
    method = runner.plugins.methods.find(cell.method or cell.task.method)
    recipes, _ = planning.grid_and_seeds(cell.fitting, cell.task, method)
    if method.trains_in_steps and not has_trials and max(map(len, lines_of(recipes))) < 2:
        raise RequestError(
            f"The option {'early-stop' if 'early_stop' in given else 'search'} ends trainings that are "
            "shorter than others, and all trainings have one length: give several, such as --epochs 1-10."
        )


SEARCH = planning.StudySearch(chooser, PARAMETERS, choice, "until_clear", BUDGET)
