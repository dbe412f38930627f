"""Fine-tune, evaluate and submit language-model backbones.

Everything the command line does can be done from here:

    from benchrunner import Places, Runner, Study, discover, run_study

    plugins = discover()
    runner = Runner(plugins, Places.from_environment())
    tasks = tuple(plugins.tasks_of(["mine/mood"]))
    study = Study(("mine/words", "another/words"), tasks, seeds=(0, 1, 2))
    result = run_study(study, runner)
    for cell in result.cells:
        print(cell.cell.backbone, {term.metric: spread.mean.value for term, spread in cell.spreads.items()})
    answers = runner.predict(result.cells[0].selected, "test").answers

Importing this loads no torch, so that looking around stays quick.
"""

from benchrunner.backbones import Backbone, BackboneFamily, OneBackbone
from benchrunner.boardfiles import Answers, FileKind
from benchrunner.boardfiles.columns import Columns
from benchrunner.boardfiles.json_map import JsonMap
from benchrunner.boardfiles.lines import Lines
from benchrunner.boardfiles.table import Table
from benchrunner.checking import check
from benchrunner.ensembles import Ensemble
from benchrunner.errors import (
    BadRows,
    BenchrunnerError,
    CheckpointError,
    DataError,
    FitError,
    PluginError,
    RequestError,
    Undefined,
    UnknownName,
)
from benchrunner.executors import Executor, Local
from benchrunner.fits import Fit, Prediction
from benchrunner.hookspecs import hookimpl
from benchrunner.leaderboards import BoardFile, Leaderboard
from benchrunner.methods import Job, Method, Outcome
from benchrunner.metrics import ACCURACY, MATTHEWS, PEARSON, SPEARMAN, Metric, Score, f1
from benchrunner.places import Places
from benchrunner.plugins import Plugins, discover
from benchrunner.problems import HeadShape, Problem
from benchrunner.problems.choose import Choose
from benchrunner.problems.classify import Classify
from benchrunner.problems.regress import Regress
from benchrunner.problems.span import Span
from benchrunner.problems.tag import Tag
from benchrunner.recipes import GRIDS, Grid, Recipe
from benchrunner.records import Record
from benchrunner.runner import Predicted, Runner
from benchrunner.scoring import Scored, Scorer
from benchrunner.sources import HubTable, Reshaped, Rows, RowsFrom, Source, TextTable
from benchrunner.spellings import Labels, Number
from benchrunner.studies import Result, Study
from benchrunner.studies import run as run_study
from benchrunner.submissions import write
from benchrunner.tasks import Average, Split, Suite, Task, Term

__version__ = "0.1.0"

__all__ = [
    "ACCURACY",
    "GRIDS",
    "MATTHEWS",
    "PEARSON",
    "SPEARMAN",
    "Answers",
    "Average",
    "Backbone",
    "BackboneFamily",
    "BadRows",
    "BenchrunnerError",
    "BoardFile",
    "CheckpointError",
    "Choose",
    "Classify",
    "Columns",
    "DataError",
    "Ensemble",
    "Executor",
    "FileKind",
    "Fit",
    "FitError",
    "Grid",
    "HeadShape",
    "HubTable",
    "Job",
    "JsonMap",
    "Labels",
    "Leaderboard",
    "Lines",
    "Local",
    "Method",
    "Metric",
    "Number",
    "OneBackbone",
    "Outcome",
    "Places",
    "PluginError",
    "Plugins",
    "Predicted",
    "Prediction",
    "Problem",
    "Recipe",
    "Record",
    "Regress",
    "RequestError",
    "Reshaped",
    "Result",
    "Rows",
    "RowsFrom",
    "Runner",
    "Score",
    "Scored",
    "Scorer",
    "Source",
    "Span",
    "Split",
    "Study",
    "Suite",
    "Table",
    "Tag",
    "Task",
    "Term",
    "TextTable",
    "Undefined",
    "UnknownName",
    "check",
    "discover",
    "f1",
    "hookimpl",
    "run_study",
    "write",
]
