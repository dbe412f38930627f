"""Fine-tune, evaluate and submit language-model backbones.

Everything the command line does can be done from here:

    from benchrunner import Workspace, Runner, Study, discover, run_study

    plugins = discover()
    runner = Runner(plugins, Workspace.from_environment())
    tasks = tuple(plugins.tasks_of(["mine/mood"]))
    study = Study(("mine/words", "another/words"), tasks, seeds=(0, 1, 2))
    result = run_study(study, runner)
    for cell in result.cells:
        print(cell.cell.backbone, {term.metric: spread.mean.value for term, spread in cell.spreads.items()})
    answers = runner.predict(result.cells[0].selected, "test").answers

Importing this loads no torch, so that looking around stays quick.
"""

from benchrunner.backbones.backbone import Backbone, BackboneFamily, OneBackbone
from benchrunner.data.delimited import TextTable
from benchrunner.data.hub import HubTable
from benchrunner.data.rows import Rows
from benchrunner.data.sources import Reshaped, RowsFrom, Source
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
from benchrunner.executor import Executor
from benchrunner.fits import Fit, Prediction
from benchrunner.leaderboards.checking import check
from benchrunner.leaderboards.columns_file import Columns
from benchrunner.leaderboards.file_kind import Answers, FileKind
from benchrunner.leaderboards.json_file import JsonMap
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard
from benchrunner.leaderboards.lines_file import Lines
from benchrunner.leaderboards.spellings import Labels, Number
from benchrunner.leaderboards.table_file import Table
from benchrunner.leaderboards.writing import write
from benchrunner.methods.method import Job, Method, Outcome
from benchrunner.metrics import ACCURACY, MATTHEWS, PEARSON, SPEARMAN, Metric, Score, f1
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.hookspecs import hookimpl
from benchrunner.plugins.registry import Plugins
from benchrunner.problems.choose import Choose
from benchrunner.problems.classify import Classify
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.regress import Regress
from benchrunner.problems.span import Span
from benchrunner.problems.tag import Tag
from benchrunner.recipes import GRIDS, Grid, Recipe
from benchrunner.records import Record
from benchrunner.runs.ensembles import Ensemble
from benchrunner.runs.executors import Local
from benchrunner.runs.runner import Predicted, Runner
from benchrunner.studies.study import Result, Study, run_study
from benchrunner.tasks.scorers import Scored, Scorer
from benchrunner.tasks.suites import Average, Suite, Term
from benchrunner.tasks.task import Split, Task
from benchrunner.workspace import Workspace

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
    "Workspace",
    "check",
    "discover",
    "f1",
    "hookimpl",
    "run_study",
    "write",
]
